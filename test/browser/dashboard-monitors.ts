import { expect } from 'bun:test'

import { type Dashboard, MINUTE } from './dashboard-stage.ts'
import { newcomer, register, telling } from './dashboard-telling.ts'

/** What a customer does with monitors and webhooks, against the practice platform and a real receiver. */
export function monitorStories(stage: () => Dashboard) {
  const { asCustomer, story } = telling(stage)

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

      expect(beside).toContain('Query, position 14: expected ) for the (')
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
}
