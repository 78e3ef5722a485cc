import { expect } from 'bun:test'

import { type Dashboard, MINUTE } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'

/** A customer with a named webhook and a monitor for a word. */
async function startCustomer({ daemon }: Dashboard, name: string, word: string) {
  const key = daemon.mint(name)
  const send = (path: string, body: object) =>
    daemon.call(path, { method: 'POST', body: JSON.stringify(body) }, key)
  const { body: hook } = await send('/forum/monitor/webhook/create', {
    url: daemon.receiver.url,
  })
  await send('/forum/monitor/webhook/update', { id: hook.id, name: 'Oven alarm' })
  await send('/forum/monitor/add', {
    name: word,
    filter_spec: { subforum: 'bread', include_any: [word] },
  })
  await daemon.clock.advance(2 * MINUTE)
  return key
}

/** Scenarios of the overview while something fails. */
export function problemStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario(
    'a failing receiver is named on the overview within a minute, in amber, then in red',
    async (it) => {
      const { sandbox, clock, receiver } = it.daemon
      const key = await startCustomer(it, 'attentive', 'brioche')
      await using client = await it.openClient()
      await client.setViewport('wide', 'light')
      await client.enter(key)
      await client.waitForText('All good')

      const refusal = { status: 503, headers: { 'retry-after': '300' } }
      receiver.answers.push(refusal)
      sandbox.post({ subforum: 'bread', title: 'Brioche', text: 'A brioche, at last.' })
      await clock.advance(MINUTE)
      await client.open()
      await client.waitForText(
        'Webhook Oven alarm is failing: 1 delivery is tried again (the receiver answered 503)',
      )
      await client.waitForText('Repair the receiver and test the webhook.')
      await client.waitFor("document.querySelector('.status-banner.warn') !== null")
      await client.waitFor("document.querySelector('.tiles > .warn dt').innerText === 'Retrying'")
      expect(await client.text()).not.toContain('Pending')
      await client.open('/deliveries', 'retrying')

      receiver.answers.push(...Array.from({ length: 6 }, () => 503))
      await clock.advance(7 * MINUTE)
      await client.open('', 'Webhook Oven alarm is failing: deliveries have failed')
      await client.waitFor("document.querySelector('.status-banner.bad') !== null")
      await client.press('Webhook Oven alarm is failing: deliveries have failed')
      await client.waitFor("location.pathname.startsWith('/dashboard/webhooks/wh_')")
      await client.waitForText('The receiver answered 503.')

      await using operator = await it.openClient()
      await operator.enter(it.operator)
      await operator.waitForText('Webhook Oven alarm of attentive is failing')
      await operator.press('Webhook Oven alarm of attentive is failing: deliveries have failed')
      await operator.waitForText('Usage of 30 days')
      await operator.waitFor("document.querySelector('table .badge.bad').innerText === 'Failing'")
      await operator.press('Webhook Oven alarm is failing: deliveries have failed')
      await operator.waitFor("location.hash === '#webhooks'")

      receiver.answers.splice(0)
      sandbox.post({ subforum: 'bread', title: 'Brioche again' })
      await clock.advance(2 * MINUTE)
      await client.open('', 'All good')
      expect([...client.strange, ...operator.strange]).toEqual([])
    },
  )

  scenario(
    'the overview shows each match once, with its terms and the counts of a day',
    async (it) => {
      await using client = await it.openClient()
      await client.enter(it.daemon.key)
      await client.waitForText('Newest matches')
      await client.page.waitForSelector('.chart canvas')
      const marked: unknown = await client.page.evaluate(
        "JSON.stringify([...new Set([...document.querySelectorAll('.matches mark')].map((it) => it.innerText.toLowerCase()))].toSorted())",
      )
      const titles: unknown = await client.page.evaluate(
        "JSON.stringify([...document.querySelectorAll('.matches h3')].map((it) => it.innerText))",
      )
      const shown: string[] = JSON.parse(String(titles))
      await client.press('Show as a table', 'Matches and deliveries by hour')

      expect(JSON.parse(String(marked))).toEqual(['rye', 'sourdough'])
      expect(shown).toContain('Is sourdough worth it?')
      expect(new Set(shown).size).toBe(shown.length)
      expect(client.strange).toEqual([])
    },
  )
}
