import { expect } from 'bun:test'

import type { DashboardClient } from './dashboard-client.ts'
import { type Dashboard, MINUTE } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'
import { HOSTILE } from './hostile.ts'

const CUSTOMER_PAGES = [
  '',
  '/inbox?state=any&item=ITEM',
  '/monitors',
  '/monitors/ID',
  '/monitors/ID/edit',
  '/deliveries',
  '/deliveries/DELIVERY',
  '/webhooks',
  '/usage',
  '/drafts',
]
const OPERATOR_PAGES = ['', '/pool', '/customers']

/** Scenarios of hostile platform content, which every page must show as inert text. */
export function hostileStories(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario('sixty hostile titles are delivered and shown unchanged', async (it) => {
    const { daemon } = it
    const { sandbox, clock, receiver } = daemon
    const key = daemon.mint('<b onclick=globalThis.hacked=1>eve')
    const send = (path: string, body: object) =>
      daemon.call(path, { method: 'POST', body: JSON.stringify(body) }, key)
    sandbox.post({ subforum: 'alley', title: 'It begins' })
    await clock.advance(MINUTE)
    await send('/forum/monitor/webhook/create', { url: receiver.url })
    const monitor = await send('/forum/monitor/add', {
      name: HOSTILE[0],
      filter_spec: { subforum: 'alley' },
    })
    await clock.advance(MINUTE)
    for (const title of HOSTILE) sandbox.post({ subforum: 'alley', title, text: title })
    await clock.advance(3 * MINUTE)

    await using client = await it.openClient()
    await client.enter(key)
    await client.waitForText('<b onclick=globalThis.hacked=1>eve')
    const seen = new Set<string>()
    const findInjected = async () => {
      const text = await client.text()
      for (const title of HOSTILE) if (text.includes(title)) seen.add(title)
    }
    await client.open('/deliveries')
    await client.press('Load older')
    await client.waitFor("document.querySelectorAll('.rows tbody tr').length >= 60")
    await findInjected()
    await client.open(`/monitors/${monitor.body.id}/edit`, '61 matches among')

    expect(HOSTILE.filter((title) => !seen.has(title))).toEqual([])
    expect(await unharmed(client)).toEqual([])
  })

  scenario('every page shows hostile text of any API response as text', async (it) => {
    const { key } = it.daemon
    const delivery = (await it.daemon.call('/forum/monitor/deliveries')).body.deliveries[0]
    for (const [who, pages] of [
      [key, CUSTOMER_PAGES],
      [it.operator, OPERATOR_PAGES],
    ] as const) {
      await using client = await it.openClient({ own: true })
      await client.enter(who)
      await client.page.evaluateOnNewDocument(poisoned(HOSTILE))
      for (const page of pages) {
        const path = page
          .replace('ID', delivery.monitor_id)
          .replace('DELIVERY', delivery.delivery_id)
          .replace('ITEM', delivery.payload.items[0].name)
        await client.open(path)
        // Hostile text is visible, so the page has rendered the response.
        await client.waitForText('hacked')
        await client.waitFor("document.querySelector('.frame .waiting') === null")
        expect([page, await unharmed(client)]).toEqual([page, []])
      }
      if (who === key) {
        await client.open('/webhooks')
        for (const text of HOSTILE) await client.waitForText(text)
      }
    }
  })
}

/** Signs of an injection: executed script, requests to other hosts, links to scripts. */
async function unharmed({ page, strange }: DashboardClient): Promise<unknown[]> {
  const found: unknown = await page.evaluate(`[
    ...('hacked' in globalThis ? ['a script ran'] : []),
    ...[...document.querySelectorAll('a')].map((it) => it.href).filter((it) => !/^https?:\\/\\//.test(it)),
    ...[...document.querySelectorAll('#app :is(script, iframe, object, embed, link, img, base, meta)')].map((it) => it.tagName),
    ...[...document.querySelectorAll('a[target]')].filter((it) => it.rel !== 'noopener noreferrer').map((it) => it.outerHTML),
    ...[...document.querySelectorAll('*')].flatMap((it) => it.getAttributeNames().filter((name) => name.startsWith('on'))),
  ]`)
  return [...(Array.isArray(found) ? found : ['no result']), ...strange]
}

/**
 * A script that intercepts the daemon's responses in the page: it replaces every text except ids, instants and control
 * fields by a hostile one, and extends each list to one row for each hostile text.
 */
const poisoned = (texts: readonly string[]) => `{
  const texts = ${JSON.stringify(texts)}
  const kept = /^(id|.*_id|role|.*_path|words|platform|community|communities|at|.*_at|created|since|from|until|start)$/
  const instant = /^\\d{4}-\\d\\d-\\d\\dT/
  const poison = (value, name, n) => {
    if (kept.test(name)) return value
    if (typeof value === 'string') return instant.test(value) ? value : texts[n % texts.length]
    if (Array.isArray(value)) {
      const long = value.length > 0 && n === 0 ? texts.map((_, i) => value[i % value.length]) : value
      return long.map((it, i) => {
        const row = poison(it, '', n === 0 ? i : n)
        return row && row.id && i >= value.length ? { ...row, id: row.id + i } : row
      })
    }
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, poison(it, key, n)]))
  }
  const asked = globalThis.fetch
  globalThis.fetch = async (...call) => {
    const answer = await asked(...call)
    const text = await answer.text()
    const changed = answer.ok && text !== '' ? JSON.stringify(poison(JSON.parse(text), '', 0)) : text
    return new Response(changed, { status: answer.status, headers: answer.headers })
  }
  const line = EventSource.prototype.addEventListener
  EventSource.prototype.addEventListener = function (name, heard) {
    line.call(this, name, (event) =>
      heard(event.data === undefined ? event : { data: JSON.stringify(poison(JSON.parse(event.data), '', 0)) }))
  }
}`
