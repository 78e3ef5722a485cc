import { expect } from 'bun:test'

import { type Dashboard, MINUTE } from './dashboard-fixture.ts'
import { createScenarios, newcomer, register } from './dashboard-scenarios.ts'

/** Scenarios of monitors and webhooks, against the sandbox and a real receiver. */
export function monitorStories(fixture: () => Dashboard) {
  const { asCustomer, scenario } = createScenarios(fixture)

  scenario(
    'a webhook of a service has fields for its credentials, which are not shown again',
    async (it) => {
      await using client = await newcomer(it, 'services')
      await client.open('/webhooks')
      await client.press('New webhook')
      await client.choose('Kind', 'mqtt')
      await client.typeAll({ User: 'ann', Password: 'house-password' })
      await client.choose('Kind', 'gotify')
      const { origin } = new URL(it.daemon.receiver.url)
      await client.typeAll({ URL: `${origin}/message`, 'Application token': ' ' })
      await client.press('Create', 'Token is required')
      await client.type('Application token', 'Agotify-token')
      await client.press('Create', 'The signing secret')
      await client.press('I have stored it', 'gotify')
      await client.misses('Agotify-token')

      it.daemon.receiver.answers.push({ body: JSON.stringify({ id: 1 }) })
      await client.press('Test', 'Test delivered.')
      const sent = it.daemon.receiver.received.at(-1)
      expect(sent?.headers.get('x-gotify-key')).toBe('Agotify-token')
    },
  )

  scenario('a customer creates, tests, renames, rotates and deletes a webhook', async (it) => {
    const { receiver } = it.daemon
    await using client = await newcomer(it, 'hooks')
    await client.open('/webhooks')
    await client.press('New webhook')
    await client.type('URL', 'https://10.0.0.1/hook')
    await client.press('Create', 'public addresses only')
    await client.press('Cancel')

    const secret = await register(client, receiver.url)
    await client.misses(secret)
    receiver.answers.push(404)
    await client.press('Test', 'Test failed.')
    await client.waitForText('Nothing exists at this path')
    receiver.answers.push({ body: 'stored as 17' })
    await client.press('Test', 'Test delivered.')
    await client.waitForText('stored as 17')

    await client.press('Edit')
    await client.type('Rate limit', 'fast')
    await client.press('Save', 'max_per_second must be a number')
    await client.typeAll({ 'Rate limit': '2', Name: 'Kitchen' })
    await client.press('Save', 'at most 2 a second')

    await client.press('New secret')
    await client.press('Rotate secret', 'The old secret also signs')
    const second = await client.value('Secret')
    await client.press('I have stored it')

    await client.press('Delete')
    await client.press('Cancel')
    await client.press('Delete')
    await client.press('Delete webhook', 'No webhooks yet')

    expect([secret, second].map((text) => text.slice(0, 6))).toEqual(['whsec_', 'whsec_'])
    expect(second).not.toBe(secret)
    expect(client.strange).toEqual([])
  })

  scenario(
    'a webhook is shown as paused after a 410, and a successful test resumes it',
    async (it) => {
      const { sandbox, clock, receiver, mint, call } = it.daemon
      const key = mint('gone')
      const send = (path: string, body: object) =>
        call(path, { method: 'POST', body: JSON.stringify(body) }, key)
      await send('/forum/monitor/webhook/create', { url: receiver.url })
      await send('/forum/monitor/add', {
        filter_spec: { subforum: 'bread', include_any: ['bagel'] },
      })
      await clock.advance(MINUTE)
      receiver.answers.push(410)
      sandbox.post({ subforum: 'bread', title: 'A bagel for a gone receiver' })
      await clock.advance(2 * MINUTE)
      await using client = await it.openClient()
      await client.enter(key)
      const { host } = new URL(receiver.url)
      await client.press(`Webhook ${host} was paused, because its receiver answered 410`)
      await client.waitForText('the receiver answered 410 Gone. Fix the receiver')
      await client.press('Test', 'Test delivered.')
      await client.misses('the receiver answered 410 Gone. Fix the receiver')

      expect(await client.text()).toContain('Active')
      expect(client.strange).toEqual([])
    },
  )

  scenario('a failing receiver is named until it recovers at its new address', async (it) => {
    const { sandbox, clock, receiver, mint, call } = it.daemon
    const key = mint('failing')
    const send = (path: string, body: object) =>
      call(path, { method: 'POST', body: JSON.stringify(body) }, key)
    await using client = await it.openClient()
    await client.enter(key)
    await client.open('/webhooks')
    await client.press('New webhook')
    await client.typeAll({ URL: receiver.url, Name: 'Back room' })
    await client.press('Create')
    await client.press('I have stored it', 'Active, not used yet')
    await send('/forum/monitor/add', {
      name: 'Crumpets',
      filter_spec: { subforum: 'bread', include_any: ['crumpet'] },
    })
    await clock.advance(MINUTE)
    receiver.answers.push({ status: 503, headers: { 'retry-after': '700' }, body: 'stocktaking' })
    sandbox.post({ subforum: 'bread', title: 'A crumpet that waits' })
    await clock.advance(2 * MINUTE)
    await client.open('/webhooks', 'Attempts are repeated.')
    await client.waitForText('stocktaking')
    await client.picture('webhook-retrying')
    await client.press('1 retrying', 'A crumpet that waits')
    await client.waitForText('next attempt in')
    await client.picture('deliveries-retrying')
    await client.choose('State', 'waiting')
    await client.waitForText('No deliveries match these filters')
    await client.choose('State', 'retrying')
    await client.press('A crumpet that waits', 'It cannot be sent again: it is still pending.')
    await client.waitForText('Next attempt')

    // Its Retry-After holds the target, so that both deliveries are sent after it.
    receiver.answers.push(...Array.from({ length: 11 }, () => ({ status: 500, body: 'no shelf' })))
    sandbox.post({ subforum: 'bread', title: 'A crumpet on a full shelf' })
    await clock.advance(14 * MINUTE)

    await client.open('/webhooks', 'Failing')
    await client.waitForText('The receiver answered 500.')
    await client.waitForText('no shelf')
    await client.waitForText('0 % of 12 attempts in 24 h succeeded')
    await client.picture('webhook-failing')
    await client.press('Back room', 'Monitors that send here')
    await client.waitForText('(sends to every active webhook)')
    await client.waitForText('A crumpet on a full shelf')
    await client.waitForText('the receiver answered 500')
    await client.picture('webhook')
    await client.setViewport('phone', 'dark')
    await client.picture('webhook-phone')
    await client.setViewport('wide', 'light')
    await client.press('Send failed deliveries again')
    await client.press('Count', '2 deliveries would be sent')
    await client.press('Cancel')
    await client.press('New secret')
    await client.press('Cancel')
    await client.open('/webhooks/wh_none', 'Webhook not found')
    await client.open('/webhooks')
    await client.press('send failed deliveries again')
    await client.press('Count', '2 deliveries would be sent')
    await client.press('Cancel')
    await client.open('/monitors', 'Failing')
    await client.press('Crumpets', 'Back room: failing.')
    await client.misses('wh_')

    await client.open('/webhooks')
    await client.press('Edit')
    await client.setViewport('phone', 'dark')
    await client.picture('webhook-edit')
    await client.setViewport('wide', 'light')
    await client.type('URL', 'https://10.0.0.1/hook')
    await client.press('Save', 'public addresses only')
    await client.type('URL', receiver.url.replace('/hook', '/shelf'))
    await client.press('Save', 'Test the new address.')
    await client.waitForText('Active, not used yet')
    sandbox.post({ subforum: 'bread', title: 'A crumpet for the new shelf' })
    await clock.advance(2 * MINUTE)
    await client.open('/webhooks', '100 % of 1 attempt in 24 h succeeded')

    expect(receiver.received.at(-1)?.path).toBe('/shelf')
    expect(client.strange).toEqual([])
  })

  scenario(
    'the form previews matches while typing and shows errors beside their fields',
    async (it) => {
      it.daemon.sandbox.post({
        subforum: 'bread',
        title: 'Pumpernickel in a pot',
        text: 'It takes a whole night.',
      })
      // Lets cached reads expire.
      await it.daemon.clock.advance(MINUTE)
      await using client = await newcomer(it, 'previews')
      await client.open('/monitors/new', 'No filter yet')
      await client.typeAll({
        Subforums: 'bread',
        'Any of these words or phrases': 'pumpernickel\nwhole night',
      })
      await client.waitForText('Pumpernickel in a pot')
      await client.waitForText('1 match among')
      await client.waitForText('It takes a whole night.')
      await client.waitForText('Items per term')
      await client.type('Query', '(pumpernickel')
      await client.page.waitForSelector('[aria-invalid=true]')
      const beside = await client.page.$eval(
        '.field.wrong',
        (field: { innerText: string }) => field.innerText,
      )
      await client.type('Query', '')
      await client.misses('Fix the marked fields')

      expect(beside).toContain('Query, position 14: expected ) for the (')
      expect(client.strange).toEqual([])
    },
  )

  scenario('the form names what a source can do, and watches the selected ones', async (it) => {
    const kind = 'hackernews'
    await using client = await newcomer(it, 'sources')
    await client.open('/monitors/new', 'Completeness is proved by an item for every id')
    await client.check(`hn (${kind})`)
    await client.waitForText('hn: story, ask, show, job')
    await client.check('forum (reddit)')
    await client.misses('main: coffee')
    await client.typeAll({ Subforums: 'coffee', 'Any of these words or phrases': 'rust' })
    await client.press('Create monitor', 'coffee is no place of hn')
    await client.type('Subforums', 'show')
    await client.press('Create monitor', 'Monitor created.')
    it.site.story('Show HN: a rust oven')
    await it.daemon.clock.advance(2 * MINUTE)

    expect(client.strange).toEqual([])
  })

  scenario(
    'a customer creates, pauses, resumes, edits and removes a monitor, and sees matches live',
    async (it) => {
      const { sandbox, clock, receiver } = it.daemon
      await using client = await newcomer(it, 'watcher')
      await register(client, receiver.url)
      await client.open('/monitors/new')
      await client.typeAll({
        Subforums: 'bread',
        'Any of these words or phrases': 'brioche',
        Name: 'Brioche',
      })
      await client.press('Create monitor', 'Monitor created.')
      await client.waitForText('No matches yet')

      await client.go()
      await clock.advance(MINUTE)
      sandbox.post({ subforum: 'bread', title: 'A brioche appears' })
      await clock.advance(2 * MINUTE)
      // Without a reload: the event stream delivered it.
      await client.waitForText('A brioche appears')
      await client.press('A brioche appears', 'Explanation')
      await client.waitForText('delivered')

      await client.open('/monitors', 'Collecting')
      await client.press('Brioche')
      await client.press('Pause', 'Paused')
      await client.press('Resume', 'Resumed. Polling continues')
      await client.press('Atom feed')
      const before = await client.value('Feed URL')
      await client.press('New URL')
      await client.page.waitForSelector('dialog[open]')
      await client.page.$eval('dialog .danger', (button: { click(): void }) => button.click())
      await client.waitForText('The feed has a new URL')
      await client.changes('Feed URL', before)
      await client.press('Edit')
      await client.type('Name', 'Brioche and more')
      await client.press('Save', 'Saved.')
      await client.press('Remove')
      await client.press('Remove monitor', 'No monitors yet')

      expect(client.strange).toEqual([])
    },
  )

  asCustomer('a monitor explains why a post did not match', async (client, it) => {
    const { name } = it.daemon.sandbox.post({ subforum: 'bread', title: 'A plain white loaf' })
    await it.daemon.clock.advance(2 * MINUTE)
    await client.open('/monitors')
    await client.press('Sourdough')
    await client.press('Explain a post or comment')
    await client.type('Id of the post or comment', 'no id')
    await client.press('Explain', 'item_id must be the id')
    await client.type('Id of the post or comment', name)
    await client.press('Explain', 'Not met')
    await client.waitForText('Include any')
  })

  asCustomer('unobserved periods and their reasons are shown', async (client) => {
    await client.open('/monitors')
    await client.press('Sourdough', 'The platform could not be read.')
    await client.waitForText('no longer fresh')
    const drawn = await client.page.$$eval('.strip rect', (all) =>
      all.map((it) => it.getAttribute('class')),
    )

    expect(drawn).toContain('seen')
    expect(drawn).toContain('healed')
  })
}
