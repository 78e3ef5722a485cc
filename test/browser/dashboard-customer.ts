import { expect } from 'bun:test'

import { type Dashboard, MINUTE } from './dashboard-fixture.ts'
import { createScenarios, newcomer } from './dashboard-scenarios.ts'

/** The words of a command, as a shell passes them to its program. */
function wordsOf(command: string): string[] {
  const { stdout } = Bun.spawnSync(['sh', '-c', `curl() { printf '%s\\0' "$@"; }; ${command}`])
  return stdout.toString().split('\0').slice(0, -1)
}

/** Scenarios of a customer: sign-in, navigation, deliveries, usage and sign-out. */
export function customerStories(fixture: () => Dashboard) {
  const { asCustomer, scenario } = createScenarios(fixture)

  scenario('an invalid key and an empty key are rejected with a message', async (it) => {
    await using client = await it.openClient()
    await client.open()
    await client.press('Sign in', 'Enter an API key')
    await client.type('API key', 'fk_wrong')
    await client.press('Sign in', 'The key is unknown')

    expect(client.strange).toEqual([])
  })

  scenario('signing in stores no key in the browser', async (it) => {
    await using client = await it.openClient({ own: true })
    await client.signIn(it.daemon.key)
    await client.waitForText('The last minute')
    const stored = await client.page.evaluate(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
    )

    expect(stored).toBe('["",{},{}]')
  })

  scenario(
    'a new customer sees the first steps, and each empty page explains how to fill it',
    async (it) => {
      await using client = await newcomer(it, 'newcomer')
      await client.waitForText('First steps')
      for (const [path, text] of [
        ['/monitors', 'No monitors yet'],
        ['/deliveries', 'No deliveries yet'],
        ['/webhooks', 'No webhooks yet'],
        ['/usage', 'No calls in this period'],
        ['/drafts', 'No drafts'],
        ['/elsewhere', 'Page not found'],
        ['/monitors/mon_none', 'Monitor not found'],
        ['/deliveries/dlv_none', 'There is no such delivery'],
      ] as const) {
        await client.open(path)
        await client.waitForText(text)
      }

      expect(client.strange).toEqual([])
    },
  )

  asCustomer('a customer filters, searches, opens and resends deliveries', async (client, it) => {
    await client.open('/deliveries', 'Is sourdough worth it?')
    await client.choose('State', 'dead')
    await client.misses('Is sourdough worth it?')
    await client.waitForText('Sourdough that never arrives')
    await client.choose('State', '')
    await client.type('Search text or id', 'best flour')
    await client.misses('Sourdough that never arrives')
    await client.waitForText('Rye: best flour')
    // The URL keeps the filters.
    const { webhooks } = (await it.daemon.call('/forum/monitor/webhook/list')).body
    await client.choose('Webhook', webhooks[0].id)
    await client.choose('Period', '24')
    await client.waitFor("location.search.includes('q=best+flour&webhook=wh_')")
    await client.page.reload()
    await client.waitForText('Rye: best flour')
    await client.misses('Is sourdough worth it?')
    await client.press('Clear filters')
    await client.press('Sourdough that never arrives', 'oven is cold')
    await client.waitForText('the receiver answered 503')
    // A dead delivery has no further attempt.
    await client.misses('not yet')
    await client.press('Raw payload', '"delivery_id"')
    const [, id = ''] = /(dlv_[\w-]+)/.exec(client.page.url()) ?? []
    await client.press('Request headers and curl')
    await client.waitForText(`x-service-delivery-id: ${id}`)
    await client.waitForText('Send it by hand')
    await client.picture('delivery-request')
    const words = wordsOf(await client.value('Request as curl'))
    const { body: request } = await it.daemon.call(
      `/forum/monitor/deliveries/request?delivery_id=${id}`,
    )
    expect(words.filter((word) => word.startsWith('x-service-delivery-id'))).toEqual([
      `x-service-delivery-id: ${id}`,
    ])
    expect([words.at(-1), words.at(-2)]).toEqual([request.url, request.body])
    await client.press('Send again', 'Queued again.')
    await it.daemon.clock.advance(MINUTE)
    await client.open('/deliveries', 'Is sourdough worth it?')
    await client.choose('State', 'dead')
    await client.waitForText('No deliveries match these filters')
    await client.press('Clear filters')
    await client.type('Search text or id', id)
    await client.misses('Is sourdough worth it?')
    await client.waitForText('Sourdough that never arrives')
  })

  asCustomer(
    'failed deliveries are counted before they are sent again',
    async (client, { daemon }) => {
      await client.open('/deliveries')
      await client.press('Send failed deliveries again')
      await client.press('Count', 'would be sent')
      await client.page.keyboard.press('Escape')
      await client.misses('would be sent')

      const { webhooks } = (await daemon.call('/forum/monitor/webhook/list')).body
      await client.open(`/deliveries?resend=${webhooks[0].id}`)
      await client.waitFor("document.querySelector('dialog[open]') !== null")
      const chosen = "dialog select[id]:has(option[value^='wh_']:checked)"
      await client.page.waitForSelector(chosen)
      const sent = client.page.waitForRequest((it) => it.url().endsWith('/deliveries/redeliver'))
      await client.press('Count')
      expect(JSON.parse((await sent).postData() ?? '')).toMatchObject({
        webhook_id: webhooks[0].id,
        dry_run: true,
      })
      await client.waitForText('would be sent')
      await client.press('Cancel')
      await client.waitFor("!location.search.includes('resend')")
    },
  )

  scenario('a page whose code cannot be loaded says so, and is loaded again', async (it) => {
    await using client = await newcomer(it, 'upgraded', { own: true })
    let is_away = true
    await client.page.setRequestInterception(true)
    client.page.on('request', (request) => {
      const wanted = /\/assets\/inbox-\w+\.js$/.test(request.url())
      void (wanted && is_away ? request.abort() : request.continue())
    })
    await client.go('/inbox')
    await client.waitForText('This page could not be loaded.')

    is_away = false
    await client.press('Load again')
    await client.page.waitForSelector('h1')
    await client.misses('This page could not be loaded.')
  })

  asCustomer('the period of the charts is kept in the address', async (client) => {
    const selected = () =>
      client.page.evaluate(
        "document.querySelector('.periods [aria-pressed=true]').innerText + ' ' + document.querySelectorAll('.charts + details tbody tr').length",
      )
    await client.page.waitForSelector('.chart canvas')
    expect(await selected()).toBe('24 hours 24')
    await client.press('7 days')
    await client.waitFor("document.querySelectorAll('.charts + details tbody tr').length === 168")
    await client.picture('overview-7d')
    await client.press('30 days')
    await client.waitFor("document.querySelectorAll('.charts + details tbody tr').length === 30")
    await client.picture('overview-30d')
    await client.waitFor("location.search === '?period=30d'")
    await client.open('?period=7d')
    await client.page.waitForSelector('.chart canvas')
    expect(await selected()).toBe('7 days 168')
    await client.press('24 hours')
    await client.waitFor("location.search === ''")
  })

  asCustomer('usage is shown as a chart and as a table', async (client) => {
    await client.open('/usage')
    await client.page.waitForSelector('.chart canvas')
    await client.press('Show as a table', '$0.004')
    await client.waitForText('Signup credit')
    await client.choose('Period', '48')
    await client.waitForText('Hour')
  })

  scenario('a session that ended elsewhere shows the sign-in form', async (it) => {
    await using client = await newcomer(it, 'leaver')
    // Navigates in case the page has not noticed by itself.
    await client.page.evaluate(`{
      const usage = [...document.querySelectorAll('a')].find((it) => it.innerText === 'Usage')
      fetch('/dashboard/session', { method: 'DELETE' }).then(() => usage.isConnected && usage.click())
    }`)
    await client.waitForText('Your session has ended')
    await client.signIn(it.daemon.mint('leaver-too'))
    await client.setViewport('wide', 'light')
    await client.press('Sign out', 'API key')
    await client.open('/monitors', 'API key')

    expect(client.strange).toEqual([])
  })

  scenario('a rejected event stream is reported and reconnected', async (it) => {
    await using client = await it.openClient({ own: true })
    await client.enter(it.daemon.key)
    let refused = 0
    await client.page.setRequestInterception(true)
    client.page.on('request', (request) => {
      const line = request.url().endsWith('/dashboard/live')
      if (line && refused++ === 0) void request.respond({ status: 502, body: 'no daemon' })
      else void request.continue()
    })
    await client.open('/usage', 'Connection to the daemon lost')
    await client.misses('Connection to the daemon lost')

    expect(refused).toBeGreaterThan(1)
    expect(client.strange).toEqual([])
  })

  asCustomer(
    'every control is reachable by keyboard, and nothing traps the focus',
    async (client) => {
      const { page } = client
      const focused = () =>
        page.evaluate('document.activeElement.innerText || document.activeElement.type')
      await client.open('/deliveries', 'Is sourdough worth it?')
      await page.keyboard.press('Tab')
      const first = await focused()
      await page.keyboard.press('Enter')
      await page.keyboard.press('/')
      const sought = await focused()
      await page.keyboard.press('Tab')
      const left = await page.evaluate('document.activeElement.tagName')
      await client.press('Send failed deliveries again')
      await page.waitForSelector('dialog[open]')
      const focus_inside = await page.evaluate("document.activeElement.closest('dialog') !== null")
      // Closing the dialog in any way restores the focus, after the next render.
      const returns = () =>
        page.waitForFunction(
          "document.querySelector('dialog') === null && document.activeElement.innerText === 'Send failed deliveries again'",
        )
      await page.keyboard.press('Escape')
      await returns()
      await page.evaluate('document.activeElement.click()')
      await page.waitForSelector('dialog[open]')
      await client.press('Cancel')
      await returns()

      expect([first, sought, left, focus_inside]).toEqual([
        'Skip to content',
        'search',
        'SELECT',
        true,
      ])
    },
  )

  asCustomer('a dialog with a form focuses its first field', async (client) => {
    await client.open('/webhooks')
    await client.press('New webhook')
    await client.page.waitForSelector('dialog[open]')
    await client.page.keyboard.sendCharacter('https://typed.at.once.example/')

    expect(await client.value('URL')).toBe('https://typed.at.once.example/')
  })

  asCustomer('the chosen theme persists', async (client) => {
    const ground = () =>
      client.page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    await client.setViewport('wide', 'light')
    await client.open()
    const light = await ground()
    await client.press('Dark')
    const dark = await ground()
    await client.open('/usage', 'Payments')
    const background = await ground()
    await client.press('System')

    expect(light).not.toBe(dark)
    expect(background).toBe(dark)
    expect(await ground()).toBe(light)
  })
}
