import { expect } from 'bun:test'

import type { Page } from 'puppeteer-core'

import { openInstance } from '../../src/store/maintenance/instance.ts'
import { type Dashboard, MINUTE } from './dashboard-fixture.ts'
import { createScenarios } from './dashboard-scenarios.ts'

const COUNT = 100_000
/** Matches of one transaction, so that the daemon waits for none for long. */
const CHUNK = 10_000
/** The longest that a task of the page may take. @see https://www.w3.org/TR/longtasks-1/ */
const TASK_MAX_MS = 50

/** Stores matches of a monitor as a poll does: a body each, one row of the inbox, the newest last. */
function insertMatches(
  { daemon: { config, clock } }: Dashboard,
  customer: string,
  monitor: string,
) {
  const random = {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
  }
  const { db, close } = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  const started_at = clock.now() - COUNT * 1000
  const numbers = `WITH RECURSIVE n (i) AS (SELECT $from UNION ALL SELECT i + 1 FROM n WHERE i < $to)`
  for (let from = 1; from <= COUNT; from += CHUNK) {
    const span = { from, to: from + CHUNK - 1, started_at }
    db.transaction(() => {
      db.query(
        `${numbers} INSERT INTO messages (monitor_id, seq, body, matched_at)
         SELECT $monitor, i, CAST(json_object('items', json_array(json_object(
             'name', 't3_b' || i, 'title', 'Loaf number ' || i, 'author', 'baker_' || (i % 50), 'subforum', 'bulk',
             'url', 'https://forum.example/b' || i, 'upvotes', i % 90, 'comments', i % 7,
             'text', 'I baked a loaf with rye and water, number ' || i || ', and wonder about the crust. It came out flat after a night in the fridge; the next loaf will have less water.',
             'enrichment', json('{"relevance":{"score":1,"matched_terms":["loaf"]},"sentiment":{"label":"negative"},"intent":{"tag":"question"}}')
           ))) AS BLOB), $started_at + i * 1000 FROM n`,
      ).run({ ...span, monitor })
      db.query(
        `${numbers} INSERT INTO inbox_items (customer_id, item_id, matched_at, source, place, author)
         SELECT $customer, 't3_b' || i, $started_at + i * 1000, '~', 'bulk', 'baker_' || (i % 50) FROM n`,
      ).run({ ...span, customer })
      db.query(
        `${numbers} INSERT INTO inbox_matches (item, monitor_id, matched_at, found_at, message)
         SELECT i.row, $monitor, i.matched_at, i.matched_at, b.row FROM n
           JOIN inbox_items i ON i.item_id = 't3_b' || n.i AND i.customer_id = $customer
           JOIN messages b ON b.monitor_id = $monitor AND b.seq = n.i`,
      ).run({ from: span.from, to: span.to, customer, monitor })
    })()
  }
  close()
}

type TraceEvent = {
  name: string
  ph: string
  pid: number
  tid: number
  dur?: number
  tdur?: number
  args?: { name?: string }
}

/** Milliseconds of the longest of times in microseconds. */
const longest = (times: number[]) => times.reduce((most, it) => Math.max(most, it), 0) / 1000

/**
 * Longest task of the page's thread while `run` runs, in ms of the processor: time in which other programs had the processor
 * is no fault of the page. `wall`: in ms of the clock.
 */
async function longestTask(page: Page, run: () => Promise<unknown>) {
  await page.tracing.start({ categories: ['toplevel'] })
  await run()
  const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse(
    Buffer.from((await page.tracing.stop()) ?? new Uint8Array()).toString(),
  )
  const threads = new Set(
    traceEvents
      .filter((it) => it.name === 'thread_name' && it.args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = traceEvents.filter(
    (it) => it.ph === 'X' && it.name.endsWith('RunTask') && threads.has(`${it.pid} ${it.tid}`),
  )
  return {
    tasks: tasks.length,
    cpu: longest(tasks.map((it) => it.tdur ?? it.dur ?? 0)),
    wall: longest(tasks.map((it) => it.dur ?? 0)),
  }
}

const FRAME = 'await new Promise((done) => requestAnimationFrame(done))'
const scroll = (body: string) =>
  `(async () => { const list = document.querySelector('.inbox-list'); ${body} })()`

/** Ways to move through the list. */
const MOVES = {
  'with a wheel': scroll(`for (let n = 0; n < 300; n++) { list.scrollTop += 80; ${FRAME} }`),
  'with a quick finger': scroll(
    `for (let n = 0; n < 150; n++) { list.scrollTop += 2500; ${FRAME} }`,
  ),
  'to the end': scroll(
    `list.scrollTop = list.scrollHeight; for (let n = 0; n < 30; n++) { ${FRAME} }
     while (document.querySelector('.match-row.loading')) { ${FRAME} }`,
  ),
  'by the scroll bar': scroll(
    `for (let n = 0; n < 60; n++) { list.scrollTop = (n * 7919 % 60) / 60 * list.scrollHeight; for (let m = 0; m < 6; m++) { ${FRAME} } }`,
  ),
}

/** Scenario of a long inbox. */
export function inboxScrolling(fixture: () => Dashboard) {
  const { scenario } = createScenarios(fixture)

  scenario('100,000 matches scroll without a stall over 50 ms', async (it) => {
    const { mint, call, clock } = it.daemon
    const key = mint('scroller')
    const { id: customer } = (await call('/account/me', {}, key)).body
    const monitor = await call(
      '/forum/monitor/add',
      {
        method: 'POST',
        body: JSON.stringify({
          name: 'Loaves in bulk',
          filter_spec: { subforum: 'bread', include_any: ['a word that is nowhere'] },
        }),
      },
      key,
    )
    insertMatches(it, customer, monitor.body.id)
    await clock.advance(MINUTE)

    await using client = await it.openClient({ own: true })
    await client.setViewport('wide', 'light')
    await client.enter(key)
    await client.go('/inbox')
    await client.waitForText(`Loaf number ${COUNT}`)
    await client.waitForText('100K')
    const { page } = client
    page.setDefaultTimeout(60_000)
    const found: Record<string, Awaited<ReturnType<typeof longestTask>>> = {}
    for (const [name, move] of Object.entries(MOVES)) {
      found[name] = await longestTask(page, () => page.evaluate(move))
      if (name === 'to the end')
        await client.waitFor(
          "[...document.querySelectorAll('.row-title')].some((it) => it.innerText === 'Loaf number 1')",
        )
    }
    await page.focus('.inbox-list')
    found['with j'] = await longestTask(page, async () => {
      for (let n = 0; n < 100; n++) await page.keyboard.press('j')
    })
    if (process.env['FORUMD_FIGURES']) console.table(found)

    const slow = Object.entries(found).filter(([, { cpu }]) => cpu >= TASK_MAX_MS)
    expect(slow).toEqual([])
    expect(Object.values(found).every(({ tasks }) => tasks > 50)).toBe(true)
    // Only the rows in view are elements, wherever the list is.
    const rows: unknown = await page.evaluate("document.querySelectorAll('.match-row').length")
    expect(Number(rows)).toBeLessThan(60)
    expect(client.strange).toEqual([])
  })
}
