/**
 * The inbox with many items: longest work of one call in the event loop, which no other call can interrupt, on a file
 * database in a temporary folder. `bun scripts/bench/matching/inbox.ts [items]`, default 100,000.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { readPage } from '../../../src/api/inbox/rows.ts'
import { type InboxFilter, NO_FILTER, spanOf } from '../../../src/core/inbox/filter.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { insertKey } from '../../../src/store/customers/keys.ts'
import { openDb, transact } from '../../../src/store/db/connection.ts'
import { changeInbox, inboxVersion, undoInbox } from '../../../src/store/inbox/actions.ts'
import { countFiltered, countInbox, listLabels } from '../../../src/store/inbox/counts.ts'
import { insertInbox } from '../../../src/store/inbox/items.ts'
import { listInbox } from '../../../src/store/inbox/list.ts'
import { insertPulled } from '../../../test/support/pulled.ts'

const ITEMS = Number(process.argv[2] ?? 100_000)
const ROUNDS = 15
const BATCH = 1000
const START = Date.parse('2026-01-01T00:00:00Z')
const DAY_MS = 86_400_000

const dir = mkdtempSync(join(tmpdir(), 'forumd-inbox-'))
const db = openDb(join(dir, 'forumd.sqlite'), { create: true })
const customer_id = 'cus_1'
insertCustomer(db, {
  id: customer_id,
  name: 'ann',
  plan: 'entry',
  created_at: START,
  starting_credit_micros: 0,
  payment_id: 'pay_1',
})
insertKey(db, {
  id: 'key_1',
  customer_id,
  token: 'fk_1',
  name: 'laptop',
  scopes: ['monitor'],
  created_at: START,
  expires_at: null,
})
for (let n = 0; n < 10; n++)
  db.query(
    `INSERT INTO monitors (id, customer_id, name, filter_spec, cadence_s, active_since, created_at, updated_at)
     VALUES (?, 'cus_1', ?, '{}', 60, 0, 0, 0)`,
  ).run(`mon_${n}`, `monitor ${n}`)

const SENTIMENTS = ['positive', 'negative', 'neutral', 'mixed']
const WORDS = 'the grinder that I bought last year broke and now I look for another one with burrs '

/** A stored match of one post of about 2.5 kB, as deliveries have it. */
function storeMatch(n: number): void {
  const item = {
    kind: 'post',
    id: n.toString(36),
    name: `t3_${n.toString(36)}`,
    title: `Question ${n} about a grinder`,
    author: `user_${n % 5000}`,
    subforum: `place_${n % 200}`,
    url: `https://www.forum.example/r/coffee/comments/${n.toString(36)}/`,
    upvotes: n % 50,
    comments: n % 7,
    created: new Date(START).toISOString(),
    text: WORDS.repeat(20),
    enrichment: {
      relevance: { score: 1, matched_terms: ['grinder', 'burrs'] },
      sentiment: { label: SENTIMENTS[n % 4] },
      intent: { tag: 'question' },
    },
  }
  const monitor_of = Math.floor(n / 7) % 10
  const monitors = n % 5 === 0 ? [monitor_of, (monitor_of + 1) % 10] : [monitor_of]
  const found_at = START + Math.floor((n / ITEMS) * 30 * DAY_MS)
  for (const monitor of monitors) {
    const monitor_id = `mon_${monitor}`
    const body = new TextEncoder().encode(
      JSON.stringify({ delivery_id: 'dlv_1', monitor_id, count: 1, grouped: false, items: [item] }),
    )
    const [message = 0] = insertPulled(db, [{ monitor_id, body, matched_at: found_at }])
    insertInbox(db, [
      {
        customer_id,
        monitor_id,
        message,
        found_at,
        items: [
          {
            item_id: item.name,
            source: '~',
            place: item.subforum,
            author: item.author,
          },
        ],
      },
    ])
  }
}

const begun = performance.now()
for (let from = 0; from < ITEMS; from += BATCH)
  transact(db, () => {
    for (let n = from; n < Math.min(ITEMS, from + BATCH); n++) storeMatch(n)
  })
const filled_ms = performance.now() - begun
console.log(`${ITEMS} items of ${ITEMS * 1.2} matches stored in ${Math.round(filled_ms)} ms`)

let actions = 0
const actor = () => ({
  customer_id,
  key_id: 'key_1',
  id: `act_${++actions}`,
  now: START + 30 * DAY_MS,
})
/** States of an inbox that is in use: most items are dismissed, a few are starred or labelled. */
for (let n = 0; n < ITEMS; n += 5000) {
  const ids = (pick: (m: number) => boolean) =>
    Array.from({ length: 5000 }, (_, m) => n + m)
      .filter(pick)
      .map((it) => `t3_${it.toString(36)}`)
  changeInbox(db, actor(), { ids: ids((m) => m % 10 < 7) }, { state: 'dismissed' })
  changeInbox(db, actor(), { ids: ids((m) => m % 10 === 7) }, { state: 'read' })
  changeInbox(db, actor(), { ids: ids((m) => m % 100 === 8) }, { starred: true, label: 'ann' })
}

const page = (filter: Partial<InboxFilter>, limit = 50) => {
  const whole = { ...NO_FILTER, ...filter }
  const searches = whole.text !== null
  const found = listInbox(db, {
    customer_id,
    filter: whole,
    span: spanOf(whole, null),
    limit: searches ? 400 : limit + 1,
    examined: 20_000,
  })
  const read = readPage(db, {
    items: found.rows,
    filter: whole,
    wanted: limit,
    words: { community: 'subforum', home: 'forum' },
  })
  return `${read.rows.length} items`
}

/** Action to undo, made before each round. */
let undoable = ''
function before() {
  const who = actor()
  changeInbox(
    db,
    who,
    { filter: { ...NO_FILTER, state: ['dismissed'] }, after: null },
    { label: `label ${actions % 2}` },
  )
  undoable = who.id
}

/** Undoes what a round changed, so that every round changes the same. Not part of the time. */
let restore = () => {}
const change = (filter: Partial<InboxFilter>) => {
  const who = actor()
  const changed = changeInbox(
    db,
    who,
    { filter: { ...NO_FILTER, ...filter }, after: null },
    { state: 'answered' },
  )
  restore = () => void undoInbox(db, actor(), who.id)
  return `${changed.rows.length} changed`
}

const WORK: Record<string, () => string> = {
  'list, all, 50': () => page({}),
  'list, all, 100': () => page({}, 100),
  'list, unread': () => page({ state: ['unread'] }),
  'list, unread and read': () => page({ state: ['unread', 'read'] }),
  'list, monitor and unread': () => page({ monitor: 'mon_3', state: ['unread'] }),
  'list, author': () => page({ author: 'user_77' }),
  'list, place and starred': () => page({ place: 'place_8', starred: true }),
  'list, nothing found (rare combination)': () =>
    page({ source: 'other', state: ['read', 'answered'] }),
  'list, oldest day': () => page({ to: START + DAY_MS }),
  'list, text that most have': () => page({ text: 'grinder burrs' }),
  'list, text that none has': () => page({ text: 'quagga' }),
  'counts, all': () =>
    JSON.stringify({ ...countInbox(db, customer_id), labels: listLabels(db, customer_id).length }),
  'counts, monitor': () =>
    JSON.stringify(countFiltered(db, customer_id, { ...NO_FILTER, monitor: 'mon_3' })),
  'counts, source': () =>
    JSON.stringify(countFiltered(db, customer_id, { ...NO_FILTER, source: '~' })),
  'update, 500 ids': () => {
    const who = actor()
    const ids = Array.from({ length: 500 }, (_, n) => `t3_${(n * 150).toString(36)}`)
    const { rows } = changeInbox(db, who, { ids }, { state: 'answered', label: 'bob' })
    restore = () => void undoInbox(db, actor(), who.id)
    return `${rows.length} changed`
  },
  'update, 3,000 of a filter': () => change({ state: ['unread'] }),
  'update, 3,000 of everything': () => change({}),
  'update, filter that finds nothing': () => change({ source: 'other' }),
  'undo, 3,000': () => JSON.stringify(undoInbox(db, actor(), undoable)),
  'live, version': () => JSON.stringify(inboxVersion(db, customer_id)),
}

/** Processor time of this process, ms: unlike the wall clock, it does not count what other processes take. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

console.log(
  '\n| Work of one call | processor, median ms | longest | wall clock, median ms | shortest | result |\n| --- | --- | --- | --- | --- | --- |',
)
for (const [name, work] of Object.entries(WORK)) {
  const walls: number[] = []
  const processor: number[] = []
  let result = ''
  for (let round = 0; round < ROUNDS; round++) {
    restore = () => {}
    before()
    const began_ms = processorMs()
    const started = performance.now()
    result = work()
    walls.push(performance.now() - started)
    processor.push(processorMs() - began_ms)
    restore()
  }
  const [wall, cpu] = [walls, processor].map((it) => it.toSorted((a, b) => a - b))
  const figures = [
    cpu?.[Math.floor(ROUNDS / 2)],
    cpu?.at(-1),
    wall?.[Math.floor(ROUNDS / 2)],
    wall?.[0],
  ].map((it) => (it ?? 0).toFixed(1))
  console.log(`| ${name} | ${figures.join(' | ')} | ${result.slice(0, 60)} |`)
}
db.close()
rmSync(dir, { recursive: true })
