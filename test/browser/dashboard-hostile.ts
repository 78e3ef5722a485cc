import { expect } from 'bun:test'

import { type Dashboard, MINUTE } from './dashboard-stage.ts'
import { telling } from './dashboard-telling.ts'
import type { Visitor } from './dashboard-visitor.ts'
import { HOSTILE } from './hostile.ts'

const CUSTOMER_PAGES = [
  '',
  '/monitors',
  '/monitors/ID',
  '/monitors/ID/edit',
  '/deliveries',
  '/deliveries/DELIVERY',
  '/webhooks',
  '/usage',
  '/drafts',
  '/feedback',
]
const OPERATOR_PAGES = ['', '/pool', '/customers', '/feedback']

/** Whatever strangers write is text on every page, and does nothing. */
export function hostileStories(stage: () => Dashboard) {
  const { story } = telling(stage)

  story(
    'sixty hostile titles come through as deliveries, and show as they were written',
    async (it) => {
      const { house } = it
      const { sandbox, clock, receiver } = house
      const key = house.mint('<b onclick=globalThis.hacked=1>eve')
      const send = (path: string, body: object) =>
        house.call(path, { method: 'POST', body: JSON.stringify(body) }, key)
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

      await using visitor = await it.visitor()
      await visitor.signIn(key)
      await visitor.sees('<b onclick=globalThis.hacked=1>eve')
      const seen = new Set<string>()
      const look = async () => {
        const text = await visitor.text()
        for (const title of HOSTILE) if (text.includes(title)) seen.add(title)
      }
      await visitor.open('/deliveries')
      await visitor.press('Load older ones')
      await visitor.holds("document.querySelectorAll('.rows tbody tr').length >= 60")
      await look()
      await visitor.open(`/monitors/${monitor.body.id}/edit`)
      await visitor.sees('61 matches among')

      expect(HOSTILE.filter((title) => !seen.has(title))).toEqual([])
      expect(await unharmed(visitor)).toEqual([])
    },
  )

  story('whatever text the API answers with, every page shows it as text', async (it) => {
    const { key } = it.house
    const delivery = (await it.house.call('/forum/monitor/deliveries')).body.deliveries[0]
    for (const [who, pages] of [
      [key, CUSTOMER_PAGES],
      [it.operator, OPERATOR_PAGES],
    ] as const) {
      await using visitor = await it.visitor()
      await visitor.signIn(who)
      await visitor.page.evaluateOnNewDocument(poisoned(HOSTILE))
      for (const page of pages) {
        const path = page
          .replace('ID', delivery.monitor_id)
          .replace('DELIVERY', delivery.delivery_id)
        await visitor.open(path)
        // Hostile text of some kind stands on it: the page has taken what was answered.
        await visitor.sees('hacked')
        await visitor.holds("document.querySelector('.frame .waiting') === null")
        expect([page, await unharmed(visitor)]).toEqual([page, []])
      }
      if (who === key) {
        await visitor.open('/webhooks')
        for (const text of HOSTILE) await visitor.sees(text)
      }
    }
  })
}

/** What should not have happened to a page: script that ran, a request elsewhere, a link that is one to a script. */
async function unharmed({ page, strange }: Visitor): Promise<unknown[]> {
  const found: unknown = await page.evaluate(`[
    ...('hacked' in globalThis ? ['a script ran'] : []),
    ...[...document.querySelectorAll('a')].map((it) => it.href).filter((it) => !/^https?:\\/\\//.test(it)),
    ...[...document.querySelectorAll('#app :is(script, iframe, object, embed, link, img, base, meta)')].map((it) => it.tagName),
    ...[...document.querySelectorAll('a[target]')].filter((it) => it.rel !== 'noopener noreferrer').map((it) => it.outerHTML),
    ...[...document.querySelectorAll('*')].flatMap((it) => it.getAttributeNames().filter((name) => name.startsWith('on'))),
  ]`)
  return [...(Array.isArray(found) ? found : ['nothing was told']), ...strange]
}

/**
 * A script for the page that goes between it and the daemon: of every answer each text but ids, instants and what the
 * page goes by is replaced, and each list is made sixty rows long, one for each text.
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
    const told = answer.ok && text !== '' ? JSON.stringify(poison(JSON.parse(text), '', 0)) : text
    return new Response(told, { status: answer.status, headers: answer.headers })
  }
  const line = EventSource.prototype.addEventListener
  EventSource.prototype.addEventListener = function (name, heard) {
    line.call(this, name, (event) =>
      heard(event.data === undefined ? event : { data: JSON.stringify(poison(JSON.parse(event.data), '', 0)) }))
  }
}`
