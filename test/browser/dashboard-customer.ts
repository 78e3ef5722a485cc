import { expect, test } from 'bun:test'

import { type Dashboard, MINUTE, type Visitor } from './dashboard-stage.ts'
import { TEST_MS } from './stage.ts'

/** Some look at every page from every side, beside whatever else the machine does. */
const STORY_MS = 3 * TEST_MS

/** A customer of the name, new, and somebody who is signed in as it. */
async function newcomer(it: Dashboard, name: string) {
  const key = it.house.mint(name)
  const visitor = await it.visitor()
  await visitor.signIn(key)
  return visitor
}

/** Registers the receiver as a webhook, through the page, and answers the secret that was shown. */
async function register(visitor: Visitor, url: string) {
  await visitor.open('/webhooks')
  await visitor.press('New webhook')
  await visitor.type('Address', url)
  await visitor.press('Register')
  await visitor.sees('This is its secret')
  const secret = await visitor.value('Secret')
  await visitor.press('I have kept it')
  return secret
}

/** What a customer does on the dashboard, against a whole daemon, the practice platform and a real receiver. */
export function customerStories(stage: () => Dashboard) {
  const { asCustomer, story } = telling(stage)

  story('a key that is none is refused in words, and none at all too', async (it) => {
    await using visitor = await it.visitor()
    await visitor.open()
    await visitor.press('Sign in')
    await visitor.sees('A key is needed')
    await visitor.type('API key', 'fk_wrong')
    await visitor.press('Sign in')
    await visitor.sees('This key is not known here')

    expect(visitor.strange).toEqual([])
  })

  story('who signs in keeps no key in the browser, and is told of plain http', async (it) => {
    await using visitor = await it.visitor()
    await visitor.signIn(it.house.key)
    await visitor.sees('This page came over plain http')
    const kept = await visitor.page.evaluate(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
    )
    await visitor.press('I know')
    await visitor.misses('This page came over plain http')

    expect(kept).toBe('["",{},{}]')
  })

  story(
    'who is new is told the first steps, and each page says how something comes there',
    async (it) => {
      await using visitor = await newcomer(it, 'newcomer')
      await visitor.sees('First steps')
      for (const [path, text] of [
        ['/monitors', 'No monitors yet'],
        ['/deliveries', 'No deliveries yet'],
        ['/webhooks', 'No webhook yet'],
        ['/usage', 'No calls in this time'],
        ['/drafts', 'No drafts wait'],
        ['/feedback', 'Nothing yet'],
        ['/elsewhere', 'There is no such page'],
        ['/monitors/mon_none', 'There is no such monitor'],
        ['/deliveries/dlv_none', 'There is no such delivery'],
      ] as const) {
        await visitor.open(path)
        await visitor.sees(text)
      }

      expect(visitor.strange).toEqual([])
    },
  )

  story('a webhook is registered, tested, named, given a new secret and deleted', async (it) => {
    const { receiver } = it.house
    await using visitor = await newcomer(it, 'hooks')
    await visitor.open('/webhooks')
    await visitor.press('New webhook')
    await visitor.type('Address', 'https://10.0.0.1/hook')
    await visitor.press('Register')
    await visitor.sees('public addresses only')
    await visitor.press('Cancel')

    const secret = await register(visitor, receiver.url)
    await visitor.misses(secret)
    receiver.answers.push(404)
    await visitor.press('Test')
    await visitor.sees('It did not arrive.')
    await visitor.sees('Nothing is at this path')
    await visitor.press('Test')
    await visitor.sees('It arrived.')

    await visitor.press('Edit')
    await visitor.type('At most a second', 'fast')
    await visitor.press('Save')
    await visitor.sees('max_per_second must be a number')
    await visitor.type('At most a second', '2')
    await visitor.type('Name', 'Kitchen')
    await visitor.press('Save')
    await visitor.sees('at most 2 a second')

    await visitor.press('New secret')
    await visitor.press('Make a new secret')
    await visitor.sees('The old one signs too')
    const second = await visitor.value('Secret')
    await visitor.press('I have kept it')

    await visitor.press('Delete')
    await visitor.press('Keep it')
    await visitor.press('Delete')
    await visitor.press('Delete it')
    await visitor.sees('No webhook yet')

    expect([secret, second].map((text) => text.slice(0, 6))).toEqual(['whsec_', 'whsec_'])
    expect(second).not.toBe(secret)
    expect(visitor.strange).toEqual([])
  })

  story(
    'a webhook whose receiver is gone is shown paused, and a test that arrives brings it back',
    async (it) => {
      const { sandbox, clock, receiver, mint, call } = it.house
      const key = mint('gone')
      const send = (path: string, body: object) =>
        call(path, { method: 'POST', body: JSON.stringify(body) }, key)
      await send('/forum/monitor/webhook/create', { url: receiver.url })
      await send('/forum/monitor/add', {
        filter_spec: { subforum: 'bread', include_any: ['bagel'] },
      })
      await clock.advance(MINUTE)
      receiver.answers.push(410)
      sandbox.post({ subforum: 'bread', title: 'A bagel for nobody' })
      await clock.advance(2 * MINUTE)
      await using visitor = await it.visitor()
      await visitor.signIn(key)
      await visitor.sees('A webhook is paused')
      await visitor.press('See why and test')
      await visitor.sees('the receiver answered 410')
      await visitor.press('Test')
      await visitor.sees('It arrived.')
      await visitor.misses('the receiver answered 410')

      expect(await visitor.text()).toContain('Active')
      expect(visitor.strange).toEqual([])
    },
  )

  story(
    'a filter shows what it would match while it is typed, and what is wrong beside its field',
    async (it) => {
      it.house.sandbox.post({
        subforum: 'bread',
        title: 'Pumpernickel in a pot',
        text: 'It takes a whole night.',
      })
      // What is read is kept for a moment.
      await it.house.clock.advance(MINUTE)
      await using visitor = await newcomer(it, 'previews')
      await visitor.open('/monitors/new')
      await visitor.sees('Name a place or a word')
      await visitor.type('Subforums', 'bread')
      await visitor.type('Any of these words or phrases', 'pumpernickel\nwhole night')
      await visitor.sees('Pumpernickel in a pot')
      await visitor.sees('1 match among')
      await visitor.sees('It takes a whole night.')
      await visitor.sees('Items that hold each term')
      await visitor.type('Query', '(pumpernickel')
      await visitor.page.waitForSelector('[aria-invalid=true]')
      const beside = await visitor.page.$eval(
        '.field.wrong',
        (field: { innerText: string }) => field.innerText,
      )
      await visitor.type('Query', '')
      await visitor.misses('Mend what is marked')

      expect(beside).toContain('Query')
      expect(beside).toContain('filter_spec.q')
      expect(visitor.strange).toEqual([])
    },
  )

  story('a monitor is made, matches live, is paused, resumed, edited and removed', async (it) => {
    const { sandbox, clock, receiver } = it.house
    await using visitor = await newcomer(it, 'watcher')
    await register(visitor, receiver.url)
    await visitor.open('/monitors/new')
    await visitor.type('Subforums', 'bread')
    await visitor.type('Any of these words or phrases', 'brioche')
    await visitor.type('Name', 'Brioche')
    await visitor.press('Create monitor')
    await visitor.sees('Created: it watches from now on.')
    await visitor.sees('Nothing has matched yet')

    await visitor.go()
    await clock.advance(MINUTE)
    sandbox.post({ subforum: 'bread', title: 'A brioche appears' })
    await clock.advance(2 * MINUTE)
    // Nothing was loaded again: the line to the daemon told it.
    await visitor.sees('A brioche appears')
    await visitor.press('A brioche appears')
    await visitor.sees('What became of it')
    await visitor.sees('delivered')

    await visitor.open('/monitors')
    await visitor.sees('All seen')
    await visitor.press('Brioche')
    await visitor.press('Pause')
    await visitor.sees('Paused')
    await visitor.press('Resume')
    await visitor.sees('Resumed: it watches from now on.')
    const before = await visitor.value('Address of the feed')
    await visitor.press('New address')
    await visitor.page.waitForSelector('dialog[open]')
    await visitor.page.$eval('dialog .danger', (button: { click(): void }) => button.click())
    await visitor.sees('The feed has a new address')
    await visitor.changes('Address of the feed', before)
    await visitor.press('Edit')
    await visitor.type('Name', 'Brioche and more')
    await visitor.press('Save')
    await visitor.sees('Saved.')
    await visitor.press('Remove')
    await visitor.press('Remove it')
    await visitor.sees('No monitors yet')

    expect(visitor.strange).toEqual([])
  })

  asCustomer('a monitor explains why a post did not match', async (visitor, it) => {
    const { name } = it.house.sandbox.post({ subforum: 'bread', title: 'A plain white loaf' })
    await it.house.clock.advance(2 * MINUTE)
    await visitor.open('/monitors')
    await visitor.press('Sourdough')
    await visitor.type('Id of the post or comment', 'no id')
    await visitor.press('Explain')
    await visitor.sees('item_id must be the id')
    await visitor.type('Id of the post or comment', name)
    await visitor.press('Explain')
    await visitor.sees('Not met')
    await visitor.sees('Include any')
  })

  asCustomer('what could not be seen is drawn and told', async (visitor) => {
    await visitor.open('/monitors')
    await visitor.press('Sourdough')
    await visitor.sees('The platform could not be read.')
    await visitor.sees('no longer fresh')
    const drawn = await visitor.page.$$eval('.strip rect', (all) =>
      all.map((it) => it.getAttribute('class')),
    )

    expect(drawn).toContain('seen')
    expect(drawn).toContain('healed')
  })

  asCustomer('deliveries are filtered, searched, opened and sent again', async (visitor, it) => {
    await visitor.open('/deliveries')
    await visitor.sees('Is sourdough worth it?')
    await visitor.choose('State', 'dead')
    await visitor.misses('Is sourdough worth it?')
    await visitor.sees('Sourdough that nobody gets')
    await visitor.choose('State', '')
    await visitor.type('Search deliveries', 'best flour')
    await visitor.misses('Sourdough that nobody gets')
    await visitor.sees('Rye: best flour')
    await visitor.type('Search deliveries', '')
    await visitor.press('Sourdough that nobody gets')
    await visitor.sees('oven is cold')
    await visitor.sees('the receiver answered 503')
    await visitor.press('As it was sent')
    await visitor.sees('"delivery_id"')
    await visitor.press('Send again')
    await visitor.sees('On its way again.')
    await it.house.clock.advance(MINUTE)
    await visitor.open('/deliveries')
    await visitor.choose('State', 'dead')
    await visitor.sees('None is like that')
  })

  asCustomer('failed ones are counted before they are sent again', async (visitor) => {
    await visitor.open('/deliveries')
    await visitor.press('Send failed ones again')
    await visitor.press('Count them')
    await visitor.sees('would be sent')
    await visitor.page.keyboard.press('Escape')
    await visitor.misses('would be sent')
  })

  asCustomer('usage is drawn, and stands in a table beside the picture', async (visitor) => {
    await visitor.open('/usage')
    await visitor.page.waitForSelector('.chart canvas')
    await visitor.press('The figures')
    await visitor.sees('$0.004')
    await visitor.sees('Signup credit')
    await visitor.choose('Span', '48')
    await visitor.sees('Hour')
  })

  story('a session that ended elsewhere asks for the key again', async (it) => {
    await using visitor = await newcomer(it, 'leaver')
    await visitor.page.evaluate("fetch('/dashboard/session', { method: 'DELETE' })")
    await visitor.press('Usage')
    await visitor.sees('Your session has ended')
    await visitor.signIn(it.house.mint('leaver-too'))
    await visitor.look('wide', 'light')
    await visitor.press('Sign out')
    await visitor.sees('API key')
    await visitor.open('/monitors')
    await visitor.sees('API key')

    expect(visitor.strange).toEqual([])
  })

  asCustomer('everything can be reached by keys, and nothing holds the focus', async (visitor) => {
    const { page } = visitor
    const focused = () =>
      page.evaluate('document.activeElement.innerText || document.activeElement.type')
    await visitor.open('/deliveries')
    await visitor.sees('Is sourdough worth it?')
    await page.keyboard.press('Tab')
    const first = await focused()
    await page.keyboard.press('Enter')
    await page.keyboard.press('/')
    const sought = await focused()
    await page.keyboard.press('Tab')
    const left = await page.evaluate('document.activeElement.tagName')
    await visitor.press('Send failed ones again')
    await page.waitForSelector('dialog[open]')
    const inside = await page.evaluate("document.activeElement.closest('dialog') !== null")
    await page.keyboard.press('Escape')
    await page.waitForFunction("document.querySelector('dialog') === null")

    const escaped = await focused()
    await page.evaluate('document.activeElement.click()')
    await visitor.press('Cancel')
    await page.waitForFunction("document.querySelector('dialog') === null")

    expect([first, sought, left, inside]).toEqual(['Skip to the page', 'search', 'SELECT', true])
    // However the box is closed, one is where one was.
    expect([escaped, await focused()]).toEqual(Array(2).fill('Send failed ones again'))
  })

  asCustomer('the theme that was chosen stays', async (visitor) => {
    const ground = () =>
      visitor.page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    await visitor.look('wide', 'light')
    await visitor.open()
    const light = await ground()
    await visitor.press('Dark')
    const dark = await ground()
    await visitor.open('/usage')
    await visitor.sees('Payments')
    const kept = await ground()
    await visitor.press('As the system')

    expect(light).not.toBe(dark)
    expect(kept).toBe(dark)
    expect(await ground()).toBe(light)
  })
}

/** Stories told against the one stage; those of the customer who has used it for a while share one window. */
export function telling(stage: () => Dashboard) {
  const story = (title: string, tell: (it: Dashboard) => Promise<void>) =>
    test(title, () => tell(stage()), STORY_MS)
  const asCustomer = (title: string, tell: (visitor: Visitor, it: Dashboard) => Promise<void>) =>
    story(title, async (it) => {
      await using visitor = await it.visitor()
      await visitor.look('wide', 'light')
      await visitor.signIn(it.house.key)
      await tell(visitor, it)
      expect(visitor.strange).toEqual([])
    })
  return { story, asCustomer }
}
