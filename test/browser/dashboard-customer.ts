import { expect } from 'bun:test'

import { type Dashboard, MINUTE } from './dashboard-stage.ts'
import { newcomer, telling } from './dashboard-telling.ts'

/** How a customer comes in, looks around and leaves. */
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
    // It is dead: nothing is to come.
    await visitor.misses('not yet')
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
    // Unless the page hears of it by itself before that, somebody goes elsewhere.
    await visitor.page.evaluate(`{
      const usage = [...document.querySelectorAll('a')].find((it) => it.innerText === 'Usage')
      fetch('/dashboard/session', { method: 'DELETE' }).then(() => usage.isConnected && usage.click())
    }`)
    await visitor.sees('Your session has ended')
    await visitor.signIn(it.house.mint('leaver-too'))
    await visitor.look('wide', 'light')
    await visitor.press('Sign out')
    await visitor.sees('API key')
    await visitor.open('/monitors')
    await visitor.sees('API key')

    expect(visitor.strange).toEqual([])
  })

  story('a line to the daemon that is refused is told, and tried again', async (it) => {
    await using visitor = await it.visitor()
    await visitor.signIn(it.house.key)
    let refused = 0
    await visitor.page.setRequestInterception(true)
    visitor.page.on('request', (request) => {
      const line = request.url().endsWith('/dashboard/live')
      if (line && refused++ === 0) void request.respond({ status: 502, body: 'no daemon' })
      else void request.continue()
    })
    await visitor.open('/usage')
    await visitor.sees('The line to the daemon is down')
    await visitor.misses('The line to the daemon is down')

    expect(refused).toBeGreaterThan(1)
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
    // However the box is closed, one is where one was; not before the page has been painted without it.
    const returns = () =>
      page.waitForFunction(
        "document.querySelector('dialog') === null && document.activeElement.innerText === 'Send failed ones again'",
      )
    await page.keyboard.press('Escape')
    await returns()
    await page.evaluate('document.activeElement.click()')
    await page.waitForSelector('dialog[open]')
    await visitor.press('Cancel')
    await returns()

    expect([first, sought, left, inside]).toEqual(['Skip to the page', 'search', 'SELECT', true])
  })

  asCustomer('a box with a form begins at its first field', async (visitor) => {
    await visitor.open('/webhooks')
    await visitor.press('New webhook')
    await visitor.page.waitForSelector('dialog[open]')
    await visitor.page.keyboard.sendCharacter('https://typed.at.once.example/')

    expect(await visitor.value('Address')).toBe('https://typed.at.once.example/')
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
