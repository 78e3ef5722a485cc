import { expect } from 'bun:test'

import type { DashboardClient } from './dashboard-client.ts'
import { type Dashboard, MINUTE, OTHER_HOST } from './dashboard-fixture.ts'
import { BRIEF, faultsOf } from './dashboard-rendering.ts'
import { createScenarios, linkOf, newcomer } from './dashboard-scenarios.ts'

/** Keys that a person types in a minute, at a leisurely five a second. */
const KEYS_A_MINUTE = 300
const TABS_MAX = 80
const OUTAGE = 'Outage of the platform: the platform could not be reached.'

/** Reads the focused element: its name, and if a ring or an outline shows it. */
const FOCUSED = `(() => {
  const at = document.activeElement
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at)
  const label = at.labels?.[0]?.textContent
  return JSON.stringify({
    name: (label ?? at.getAttribute('aria-label') ?? at.innerText ?? '').trim(),
    place: at.tagName,
    visible: (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none',
  })
})()`

/** The first field of the dialog has the focus: keys that are pressed before would be lost. */
const IN_FIRST_FIELD =
  "document.activeElement === document.querySelector('dialog[open] :is(input, select, textarea)')"

/** A person at the keyboard, with a count of the keys. */
function keyboardOf({ page }: DashboardClient) {
  let keys = 0
  const press = async (key: 'Tab' | 'Enter') => {
    keys += 1
    await page.keyboard.press(key)
  }
  const focused = async (): Promise<{ name: string; place: string; visible: boolean }> =>
    JSON.parse(String(await page.evaluate(FOCUSED)))
  return {
    press,
    focused,
    keys: () => keys,
    type: async (text: string) => {
      keys += text.length
      await page.keyboard.type(text)
    },
    /** Moves the focus by Tab to the control of that name. Every stop must be visible and named. */
    async tabTo(name: string) {
      const passed: string[] = []
      while (passed.length < TABS_MAX) {
        await press('Tab')
        const at = await focused()
        if (at.name === name) return expect([name, at.visible]).toEqual([name, true])
        if (at.place !== 'BODY') expect([at, at.name !== '', at.visible]).toEqual([at, true, true])
        passed.push(at.name)
      }
      throw new Error(`Tab does not reach "${name}"; it passes ${passed.join(', ')}`)
    },
  }
}

/** Scenarios of forms: errors, outages, fresh installations, and the keyboard. */
export function formStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario('plain HTTP is warned of elsewhere, and never on the loopback', async (it) => {
    const text = 'This page was loaded over plain HTTP'
    await using client = await it.openClient({ own: true })
    await client.open('', 'API key')
    expect(await client.text()).not.toContain(text)
    await client.signIn(it.daemon.key)
    await client.waitForText('Sign out')
    expect(await client.text()).not.toContain(text)

    const { port } = new URL(it.daemon.url())
    await client.page.goto(`http://${OTHER_HOST}:${port}/dashboard`)
    await client.waitForText(text)
    await client.type('API key', it.daemon.key)
    await client.press('Sign in', 'Sign out')
    await client.waitForText(text)
    await client.press('Dismiss')
    await client.misses(text)
  })

  scenario('all errors of a form stand beside their fields at once', async (it) => {
    await using client = await newcomer(it, 'mistaken')
    await client.open('/monitors/new', 'No filter yet')
    expect(await client.page.$('details[open]')).toBeNull()
    await client.typeAll({ Subforums: 'bread', Query: '(rye' })
    await client.press('More conditions')
    await client.type('Minimum score', 'many')
    await client.press('More conditions')
    await client.type('Poll interval (seconds)', 'often')
    await client.press('Create monitor', 'Not saved: 3 fields are marked above.')
    const marked: unknown = await client.page.evaluate(
      `JSON.stringify([...document.querySelectorAll('.field.wrong label')].map((it) => it.textContent))`,
    )
    expect(JSON.parse(String(marked))).toEqual([
      'Query',
      'Minimum score',
      'Poll interval (seconds)',
    ])
    await client.waitFor("document.querySelector('details[open]') !== null")
    await client.waitFor("document.activeElement?.labels?.[0]?.textContent === 'Query'")
    expect(await faultsOf(client, 'monitor-errors', BRIEF)).toEqual([])
    await client.setViewport('wide', 'light')

    // The error of a field ends with its change; the others stay.
    await client.typeAll({ Query: 'rye', 'Minimum score': '3' })
    await client.misses('Query, position')
    await client.waitForText('Poll interval must be a whole number of seconds from 1 to 86400')
    await client.type('Poll interval (seconds)', '')
    await client.press('Create monitor', 'Monitor created.')
    expect(client.strange).toEqual([])
  })

  scenario('an outage of the platform is named as one, and the preview recovers', async (it) => {
    const { sandbox, clock } = it.daemon
    await clock.advance(MINUTE)
    sandbox.addFault({ path: '/', fault: '5xx' })
    await using client = await newcomer(it, 'outage')
    await client.open('/monitors/new', 'No filter yet')
    await client.type('Subforums', 'bread')
    // The reads of the preview repeat a failed request on the daemon's clock.
    for (let at = 0; at < 120 && !(await client.text()).includes(OUTAGE); at++) {
      await clock.advance(1000)
      await Bun.sleep(50)
    }
    await client.waitForText(OUTAGE)
    await client.waitForText('Your filter is not at fault.')
    expect(await client.page.$('.field.wrong')).toBeNull()
    expect(await faultsOf(client, 'monitor-outage', BRIEF)).toEqual([])
    sandbox.clearFaults()
    await clock.advance(MINUTE)
    await client.misses(OUTAGE)
    await client.waitForText('among')
    expect(client.strange).toEqual([])
  })

  scenario(
    'from the sign-in link, a new person makes a monitor and a target by keyboard',
    async (it) => {
      const { receiver, mint } = it.daemon
      const key = mint('typist')
      await using client = await it.openClient()
      const person = keyboardOf(client)
      await client.open(linkOf(it, key))
      await client.waitForText('This link signs this browser in, once.')
      await person.press('Enter')
      await client.waitForText('First steps')

      await person.tabTo('More conditions')
      await person.press('Enter')
      await client.waitForText('No filter yet')
      await person.tabTo('Subforums')
      await person.type('bread')
      await person.tabTo('Any of these words or phrases')
      await person.type('pumpernickel')
      await person.tabTo('New webhook')
      await person.press('Enter')
      await client.waitForText('detect from the URL')
      await client.waitFor(IN_FIRST_FIELD)
      await person.type(receiver.url)
      await person.press('Enter')
      await client.waitForText('The signing secret')
      await person.tabTo('I have stored it')
      await person.press('Enter')
      await client.waitFor('document.activeElement?.innerText?.trim() === "New webhook"')
      await person.tabTo('Create monitor')
      await person.press('Enter')
      await client.waitForText('Monitor created.')
      await client.waitForText('Collecting')
      expect(await faultsOf(client, 'monitor-collecting', BRIEF)).toEqual([])

      expect(await client.text()).toContain('Every active webhook of the account')
      expect(person.keys()).toBeLessThan(KEYS_A_MINUTE)
      const { webhooks } = (await it.daemon.call('/forum/monitor/webhook/list', {}, key)).body
      expect(webhooks).toMatchObject([{ url: receiver.url, active: true }])
      expect(client.strange).toEqual([])
    },
  )

  scenario(
    'several quiet hours, rules of one webhook and the repeats of alarms are saved',
    async (it) => {
      const { receiver, mint } = it.daemon
      const key = mint('sleeper')
      const post = (path: string, body: object) =>
        it.daemon.call(path, { method: 'POST', body: JSON.stringify(body) }, key)
      const target = { url: receiver.url, name: 'Night desk' }
      const { id: webhook_id } = (await post('/forum/monitor/webhook/create', target)).body
      const watch = { filter_spec: { subforum: 'bread', include_any: ['rye'] } }
      const { id } = (await post('/forum/monitor/add', watch)).body
      await using client = await it.openClient()
      await client.enter(key)
      await client.open(`/monitors/${id}/edit`)
      await client.press('Quiet hours, digests and alarms')
      for (const [at, from, to] of [
        [1, '22:00', '24:00'],
        [2, '12:00', '13:30'],
      ] as const) {
        await client.press(at === 1 ? 'Add quiet hours' : 'Add more quiet hours')
        const fields = await client.page.$$(`[aria-label="Quiet hours ${at}"] .field input`)
        await fields[0]?.type(from)
        await fields[1]?.type(to)
      }
      await client.choose('Rules of one webhook', webhook_id)
      await client.waitForText('Digest of Night desk')
      await client.page.select('section[aria-label="Rules of Night desk"] select', 'day')
      await client.check('Degraded coverage')
      await client.typeAll({ 'Repeat every (minutes)': '30', 'Repeat at most (times)': '3' })
      expect(await faultsOf(client, 'monitor-rules-filled', BRIEF)).toEqual([])
      await client.press('Save', 'Saved.')
      const { monitors } = (await it.daemon.call('/forum/monitor/list', {}, key)).body
      expect(monitors[0].attention).toMatchObject({
        quiet_hours: [
          { from: '22:00', to: '24:00' },
          { from: '12:00', to: '13:30' },
        ],
        targets: [{ webhook_id, time_zone: null, quiet_hours: [], digest: { every: 'day' } }],
        escalate: { every_min: 30, max: 3 },
      })
      expect(client.strange).toEqual([])
    },
  )

  scenario(
    'an unknown place is refused beside its field with the nearest known one',
    async (it) => {
      await using client = await it.openClient()
      await client.signIn(it.daemon.key)
      await client.open('/monitors/new', 'No filter yet')
      await client.waitFor('document.querySelector(\'input[placeholder="default: 60"]\') !== null')
      await client.type('Subforums', 'breda')
      await client.press('Create monitor', 'Breda cannot be watched at forum; did you mean bread?')
      expect(client.strange).toEqual([])
    },
  )
}
