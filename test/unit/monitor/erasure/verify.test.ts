// Goal: what is deleted at its source leaves every stored byte within the promised time, its receivers learn of it once,
// and no answer that is not clear erases anything. Method: monitoring over a database file and a scripted platform.
import { afterEach, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import type { Fault } from '../../../../src/core/base/result.ts'
import { runNow } from '../../../../src/store/db/chunked.ts'
import { claimDue, recordAttempts } from '../../../../src/store/delivery/outbox.ts'
import { listTombstones } from '../../../../src/store/erasure/kept-items.ts'
import { needsScrub, scrub } from '../../../../src/store/erasure/scrub.ts'
import { commentOf } from '../../../support/items.ts'
import { type MonitorFixture, post, START, startMonitorFixture } from '../fixture.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WORDS = 'unmistakable walrus'

const fixtures: MonitorFixture[] = []

/** Monitoring that checks stored items. */
function start(
  options: { requests_per_minute?: number; archive?: 'matches' | 'feeds' | null } = {},
) {
  const fixture = startMonitorFixture({ recheck_share: 0.1, ...options })
  fixtures.push(fixture)
  return fixture
}

afterEach(async () => {
  for (const fixture of fixtures.splice(0)) await fixture[Symbol.asyncDispose]()
})

/** Monitoring with a target that takes all events and one that takes matches, and an item that both have in a delivery. */
async function watching({
  filter_spec = {},
  requests_per_minute = Infinity,
  archive = null as 'matches' | 'feeds' | null,
} = {}) {
  const fixture = start({ requests_per_minute, archive })
  fixture.webhook('wh_all', { events: ['match', 'item.deleted', 'item.edited'] })
  fixture.webhook('wh_matches')
  fixture.feed.put('cats', post(1, 'old', START - 1000))
  fixture.monitor('mon_1', { subforum: ['cats'], kind: 'both', ...filter_spec })
  await fixture.pollDue()
  fixture.feed.put('cats', post(2, `${WORDS} two`, START + 1000, { text: WORDS, author: 'ann' }))
  await fixture.check()
  return fixture
}

/** Sends everything that waits: one attempt each, accepted unless `status` says otherwise. */
function deliverAll(fixture: MonitorFixture, verdict: 'delivered' | 'pending' = 'delivered') {
  const now = fixture.clock.now()
  const free = { slots: 100, of: () => 100 }
  const sent = claimDue(fixture.db, { run_id: 'run', now, free, served_last: '' })
  for (const delivery of sent) {
    const outcome =
      verdict === 'delivered'
        ? ({ status: 'delivered' } as const)
        : ({ status: 'pending', error: 'timeout', delay_ms: 1000 } as const)
    const times = { started_at: now, ended_at: now, http_status: 200 }
    const excerpt = {
      headers: {},
      body_start: new TextDecoder().decode(delivery.body).slice(0, 500),
    }
    recordAttempts(fixture.db, [{ delivery, verdict: outcome, ...times, excerpt }], now)
  }
  return sent.map(({ webhook_id, body }) => ({
    webhook_id,
    body: JSON.parse(new TextDecoder().decode(body)),
  }))
}

/** Advances in steps, each with a due check. */
async function advance(fixture: MonitorFixture, ms: number, step = 30 * MINUTE) {
  for (let passed = 0; passed < ms; passed += step) {
    fixture.pass(step)
    await fixture.monitoring.checkDue()
    await fixture.monitoring.idle()
  }
  // As the maintenance does.
  if (needsScrub(fixture.db)) expect(runNow(scrub(fixture.db))).toBe(true)
}

const textOf = (n: number): string => `walrus-${n}-words`

/** Names of the files of the data folder that contain a text. */
const filesWith = (fixture: MonitorFixture, text: string): string[] => {
  const folder = dirname(fixture.path)
  return readdirSync(folder).filter((it) => readFileSync(join(folder, it)).includes(text))
}

const events = (fixture: MonitorFixture) =>
  fixture
    .deliveries()
    .filter((it) => 'event' in it && it.event !== null)
    .map((it) => ({ webhook_id: it.webhook_id, status: it.status, ...fixture.payload(it) }))

const kept = (fixture: MonitorFixture) =>
  fixture.db
    .query<{ item_id: string; next_check_at: number }, []>(
      'SELECT item_id, next_check_at FROM kept_items',
    )
    .all()

test('a deleted item leaves every byte of the folder, and its receivers learn of it once by id', async () => {
  const fixture = await watching()
  deliverAll(fixture)
  expect(filesWith(fixture, WORDS)).not.toEqual([])
  fixture.feed.remove('cats', 't3_2')
  fixture.feed.shown.set('t3_2', { state: 'deleted' })

  await advance(fixture, 2 * HOUR)

  expect(filesWith(fixture, WORDS)).toEqual([])
  expect(filesWith(fixture, '"ann"')).toEqual([])
  const [event, ...more] = events(fixture)
  expect(more).toEqual([])
  expect(event).toMatchObject({
    webhook_id: 'wh_all',
    status: 'pending',
    type: 'item.deleted',
    item: { id: 't3_2', source: 'forum' },
    monitor_ids: ['mon_1'],
    reason: 'author',
    items: [],
  })
  expect(listTombstones(fixture.db, { after: 0, limit: 10 })).toMatchObject([
    { seq: 1, item_id: 't3_2', source: '~', reason: 'author' },
  ])
  await advance(fixture, 8 * DAY, 6 * HOUR)
  expect(events(fixture)).toHaveLength(1)
})

test('a delivery that waits is not sent any more, and one in flight is not repeated', async () => {
  const fixture = await watching()
  const now = fixture.clock.now()
  const one = { slots: 1, of: () => 1 }
  const [in_flight] = claimDue(fixture.db, { run_id: 'run', now, free: one, served_last: '' })
  fixture.feed.shown.set('t3_2', { state: 'removed' })

  await advance(fixture, 2 * HOUR)

  const waiting = fixture.deliveries().filter(({ status }) => status === 'suppressed')
  expect(waiting.map(({ reason }) => reason)).toEqual(['item_deleted'])
  expect(waiting.map((it) => fixture.payload(it).suppressed)).toEqual([{ reason: 'item_deleted' }])
  if (in_flight === undefined) throw new Error('nothing was in flight')
  const verdict = { status: 'pending', error: 'timeout', delay_ms: 1000 } as const
  const ended = { started_at: now, ended_at: now, http_status: null, excerpt: null }
  recordAttempts(fixture.db, [{ delivery: in_flight, verdict, ...ended }], now)
  fixture.pass(MINUTE)
  const sent = deliverAll(fixture)
  expect(JSON.stringify(sent)).not.toContain(WORDS)
  // Only the target in flight may have received it, and only if it asked for events it is notified.
  expect(sent.every(({ body }) => body.type === 'item.deleted')).toBe(true)
  expect(fixture.deliveries().filter(({ status }) => status === 'pending')).toEqual([])
})

test('the answer to an attempt that was in flight during an erasure is not kept', async () => {
  const fixture = await watching()
  const now = fixture.clock.now()
  const all = { slots: 9, of: () => 9 }
  const sent = claimDue(fixture.db, { run_id: 'run', now, free: all, served_last: '' })
  fixture.feed.shown.set('t3_2', { state: 'removed' })

  await advance(fixture, 2 * HOUR)
  for (const delivery of sent) {
    const verdict = { status: 'delivered' } as const
    const excerpt = { headers: { 'x-echo': WORDS }, body_start: `got ${WORDS}` }
    const ended = { started_at: now, ended_at: now, http_status: 200, excerpt }
    recordAttempts(fixture.db, [{ delivery, verdict, ...ended }], now)
  }

  expect(sent).toHaveLength(2)
  expect(fixture.one('SELECT count(*) AS n FROM attempts')).toEqual({ n: 2 } as never)
  expect(filesWith(fixture, WORDS)).toEqual([])
})

test('a target that cannot have received the match receives no event', async () => {
  const fixture = await watching()
  fixture.feed.shown.set('t3_2', { state: 'deleted' })

  await advance(fixture, 2 * HOUR)

  expect(fixture.deliveries().map(({ status }) => status)).toEqual(['suppressed', 'suppressed'])
  expect(events(fixture)).toEqual([])
})

test('a waiting bundle and a candidate lose the item and an author, and a bundle keeps the others', async () => {
  const fourth = post(4, 'stays', START + 3 * MINUTE, { author: 'ann_the_fourth' })
  const fixture = await watching({ filter_spec: { group: true, group_window_s: 3600 } })
  fixture.monitor('mon_votes', { subforum: ['cats'], min_score: 1000 })
  await fixture.check()
  fixture.feed.put('cats', post(3, `${WORDS} three`, START + 2 * MINUTE), fourth)
  await fixture.check()
  await fixture.check()
  fixture.feed.shown.set('t3_2', { state: 'deleted' })
  fixture.feed.shown.set('t3_3', { state: 'deleted' })
  const masked = { ...fourth, author: '[deleted]' }
  fixture.feed.shown.set('t3_4', { state: 'live', item: masked, author_gone: true })
  // Now, before the window closes.
  fixture.db.run('UPDATE kept_items SET next_check_at = 0')
  await fixture.monitoring.checkDue()
  await fixture.monitoring.idle()
  expect(runNow(scrub(fixture.db))).toBe(true)

  expect([WORDS, 'ann_the_fourth'].map((text) => filesWith(fixture, text))).toEqual([[], []])
  await advance(fixture, 2 * HOUR)
  expect(
    fixture
      .deliveries()
      .flatMap((it) => fixture.payload(it).items.map(({ name }: { name: string }) => name)),
  ).toEqual(['t3_4', 't3_4'])
})

const FAULTS: Fault[] = [
  { kind: 'blocked' },
  { kind: 'login_required' },
  { kind: 'forbidden', reason: null },
  { kind: 'not_found', reason: 'absent' },
  { kind: 'unreadable', path: '$' },
  { kind: 'unavailable', status: 503, retry_after_s: null },
]
test.each(FAULTS)('an answer of %j erases nothing', async (fault) => {
  const fixture = await watching()
  fixture.feed.remove('cats', 't3_2')
  fixture.feed.failStates(fault)

  await advance(fixture, 30 * DAY, DAY)

  expect(fixture.feed.state_requests.length).toBeGreaterThan(20)
  expect(fixture.one('SELECT count(*) AS n FROM item_tombstones')).toEqual({ n: 0 } as never)
  expect(filesWith(fixture, WORDS)).not.toEqual([])
  fixture.feed.failStates(null)
  fixture.feed.shown.set('t3_2', { state: 'deleted' })
  await advance(fixture, HOUR)
  expect(filesWith(fixture, WORDS)).toEqual([])
})

test('an item that is missing from an answer stays, one that its source does not know is confirmed first', async () => {
  const fixture = await watching()
  fixture.feed.shown.set('t3_2', 'unclear')
  await advance(fixture, 5 * DAY, 6 * HOUR)
  expect(kept(fixture)).toHaveLength(1)

  fixture.feed.shown.set('t3_2', { state: 'absent' })
  await advance(fixture, 8 * HOUR, 2 * HOUR)
  expect(fixture.feed.state_requests.length).toBeGreaterThan(10)
  expect(kept(fixture)).toEqual([])

  const other = await watching()
  other.feed.shown.set('t3_2', { state: 'absent' })
  await advance(other, HOUR)
  expect(kept(other)).toHaveLength(1)
  other.feed.shown.delete('t3_2')
  await advance(other, 3 * DAY, 4 * HOUR)
  expect(kept(other)).toHaveLength(1)
})

test('a source that knows none of its items any more loses none here', async () => {
  const fixture = await watching()
  const many = Array.from({ length: 30 }, (_, n) =>
    post(10 + n, `cat ${n}`, START + MINUTE + n * 1000),
  )
  fixture.feed.put('cats', ...many)
  await fixture.check()
  for (const { name } of many) fixture.feed.shown.set(name, { state: 'absent' })

  await advance(fixture, 3 * DAY, 2 * HOUR)

  expect(kept(fixture)).toHaveLength(31)
})

test('an account that is gone is forgotten on all of its items, whose texts stay', async () => {
  const fixture = await watching()
  const by_ann = { author: 'ann', author_info: { fullname: 't2_ann', flair: 'vet', premium: null } }
  const second = post(3, 'a second of hers', START + 90_000, by_ann)
  const third = post(4, 'a third of hers', START + 91_000, by_ann)
  fixture.feed.put('cats', second, third)
  await fixture.check()
  deliverAll(fixture)
  const masked = {
    ...second,
    author: '[deleted]',
    author_info: { fullname: null, flair: null, premium: null },
  }
  fixture.feed.shown.set('t3_3', { state: 'live', item: masked, author_gone: true })

  await advance(fixture, 2 * HOUR)

  expect(filesWith(fixture, '"ann"')).toEqual([])
  expect(filesWith(fixture, 't2_ann')).toEqual([])
  expect(filesWith(fixture, 'a third of hers')).not.toEqual([])
  const edits = events(fixture).filter(({ type }) => type === 'item.edited')
  expect(edits.map(({ items }) => [items[0].name, items[0].author])).toEqual([
    ['t3_3', '[deleted]'],
  ])
})

test('an account that is gone is read again within hours, until it is forgotten', async () => {
  const fixture = await watching()
  const item = post(2, `${WORDS} two`, START + 1000, { text: WORDS, author: '[deleted]' })
  fixture.feed.shown.set('t3_2', { state: 'live', item, author_gone: true })
  fixture.db.run(
    "CREATE TRIGGER stop BEFORE INSERT ON item_tombstones BEGIN SELECT RAISE(ABORT, 'stop'); END",
  )
  for (let n = 0; n < 3; n += 1) await advance(fixture, 30 * MINUTE).catch(() => {})

  const [row] = kept(fixture).filter(({ item_id }) => item_id === 't3_2')
  expect((row?.next_check_at ?? 0) - fixture.clock.now()).toBeLessThan(6 * HOUR)
})

test('a large erasure lets other work run in between', async () => {
  const fixture = await watching()
  const by_ann = { author: 'ann', author_info: { fullname: 't2_ann', flair: null, premium: null } }
  const many = Array.from({ length: 90 }, (_, n) =>
    post(10 + n, `cat ${n}`, START + MINUTE + n * 100, by_ann),
  )
  fixture.feed.put('cats', ...many)
  await fixture.check()
  const [first] = many
  if (first === undefined) throw new Error('no post')
  const item = { ...first, author: '[deleted]' }
  fixture.feed.shown.set(first.name, { state: 'live', item, author_gone: true })
  const counts = [0]
  const count = fixture.db.query<{ n: number }, []>('SELECT count(*) AS n FROM item_tombstones')
  let is_over = false
  const watch = () => {
    if (is_over) return
    counts.push(count.get()?.n ?? 0)
    setImmediate(watch)
  }
  watch()

  await advance(fixture, HOUR)
  is_over = true

  expect(count.get()).toEqual({ n: 91 })
  const steps = counts.slice(1).map((n, at) => n - (counts[at] ?? 0))
  expect(Math.max(...steps)).toBeLessThanOrEqual(20)
})

test('a deleted post takes its title from the comments under it', async () => {
  const fixture = await watching()
  const title = `${WORDS} two`
  const under = commentOf({
    id: 'c1',
    name: 't1_c1',
    subforum: 'cats',
    author: 'bob',
    body: 'bobs words',
    post_id: '2',
    link_title: title,
    created: new Date(START + 70_000).toISOString(),
    created_utc: (START + 70_000) / 1000,
  })
  fixture.feed.put('cats', under)
  await fixture.check()
  deliverAll(fixture)
  fixture.feed.shown.set('t3_2', { state: 'deleted' })

  await advance(fixture, 2 * HOUR)

  expect(filesWith(fixture, WORDS)).toEqual([])
  expect(filesWith(fixture, 'bobs words')).not.toEqual([])
})

test('the title of a post that was never stored leaves with it the comments under it', async () => {
  const fixture = await watching()
  const under = commentOf({
    id: 'c1',
    name: 't1_c1',
    subforum: 'cats',
    author: 'bob',
    body: 'bobs words',
    post_id: '9',
    link_title: 'a quiet capybara',
    created: new Date(START + 70_000).toISOString(),
    created_utc: (START + 70_000) / 1000,
  })
  fixture.feed.put('cats', under)
  await fixture.check()
  deliverAll(fixture)
  expect(filesWith(fixture, 'a quiet capybara')).not.toEqual([])
  fixture.feed.shown.set('t3_9', { state: 'deleted' })

  await advance(fixture, 2 * HOUR)

  expect(filesWith(fixture, 'a quiet capybara')).toEqual([])
  expect(filesWith(fixture, 'bobs words')).not.toEqual([])
})

test.each(['feeds', 'matches'] as const)(
  'the title of a deleted post does not come back with a comment under it, nor into an archive of %s',
  async (archive) => {
    const fixture = await watching({ archive })
    fixture.monitor('mon_votes', { subforum: ['cats'], kind: 'comment', min_score: 1000 })
    await fixture.check()
    const title = `${WORDS} two`
    const at = (ms: number) => ({
      subforum: 'cats',
      body: 'bobs words',
      post_id: '2',
      link_title: title,
      link_url: `https://forum.test/r/cats/comments/2/${title.replaceAll(' ', '_')}/`,
      created: new Date(START + ms).toISOString(),
      created_utc: (START + ms) / 1000,
    })
    const early = commentOf({ id: 'c1', name: 't1_c1', author: 'bob', ...at(70_000) })
    fixture.feed.put('cats', early)
    await fixture.check()
    deliverAll(fixture)
    fixture.feed.remove('cats', 't3_2')
    fixture.feed.shown.set('t3_2', { state: 'removed' })
    await advance(fixture, 2 * HOUR)
    expect(filesWith(fixture, WORDS)).toEqual([])

    const edited = { ...early, body: 'bobs new words', edited: new Date(START + DAY).toISOString() }
    fixture.feed.shown.set('t1_c1', { state: 'live', item: edited, author_gone: false })
    await advance(fixture, 2 * DAY, 6 * HOUR)
    const late = fixture.clock.now() - START
    fixture.feed.put('cats', commentOf({ id: 'c2', name: 't1_c2', author: 'eve', ...at(late) }))
    await fixture.check()

    expect(filesWith(fixture, 'bobs new words')).not.toEqual([])
    expect(filesWith(fixture, '"eve"')).not.toEqual([])
    expect(filesWith(fixture, WORDS)).toEqual([])
    expect(filesWith(fixture, WORDS.replaceAll(' ', '_'))).toEqual([])
  },
)

test('an edit is sent once to those who ask for it, in its new form', async () => {
  const fixture = await watching()
  deliverAll(fixture)
  await advance(fixture, 2 * HOUR)
  const edited = post(2, 'quite another title', START + 1000, {
    author: 'ann',
    edited: new Date(START + DAY).toISOString(),
  })
  fixture.feed.shown.set('t3_2', { state: 'live', item: edited, author_gone: false })

  await advance(fixture, 10 * DAY, 6 * HOUR)

  expect(events(fixture)).toMatchObject([
    {
      webhook_id: 'wh_all',
      type: 'item.edited',
      items: [{ name: 't3_2', title: 'quite another title' }],
    },
  ])
  fixture.feed.shown.set('t3_2', { state: 'deleted' })
  await advance(fixture, 8 * DAY, 6 * HOUR)
  expect(filesWith(fixture, 'quite another title')).toEqual([])
})

test('checks keep their times, and their share of the requests', async () => {
  const fixture = await watching({ requests_per_minute: 10 })
  const asked = () => fixture.feed.state_requests.length
  await advance(fixture, 55 * MINUTE, 5 * MINUTE)
  expect(asked()).toBe(0)
  await advance(fixture, 6 * MINUTE, 3 * MINUTE)
  expect(asked()).toBe(1)
  await advance(fixture, 21 * HOUR, 3 * HOUR)
  expect(asked()).toBe(1)
  await advance(fixture, 2 * HOUR, HOUR)
  expect(asked()).toBe(2)
  await advance(fixture, 6 * DAY, 12 * HOUR)
  expect(asked()).toBe(2)
  await advance(fixture, 2 * DAY, 12 * HOUR)
  expect(asked()).toBe(3)
  // A share of 0.1 of 10 a minute is one request a minute, however many are due.
  fixture.db.run(
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
     INSERT INTO kept_items (item_id, source, digest, first_kept_at, last_kept_at, next_check_at)
     SELECT 't3_x' || n, '~', 'd', 0, 0, 0 FROM n`,
  )
  await advance(fixture, 3 * MINUTE, 10_000)
  expect(asked() - 3).toBeLessThanOrEqual(5)
  expect(asked() - 3).toBeGreaterThanOrEqual(3)
})

test('a week of deletions at random moments with kills: no text stays, and each receiver learns of each once', async () => {
  const fixture = start()
  fixture.webhook('wh_all', { events: ['match', 'item.deleted'] })
  fixture.feed.put('cats', post(1, 'old', START - 1000))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  // A fixed sequence, so that a failure can be repeated.
  let seed = 7
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  const gone = new Map<number, number>()
  const COUNT = 60
  const ROUNDS = 56
  let next = 2
  for (let round = 0; round < ROUNDS; round += 1) {
    const room = Math.min(3, COUNT + 2 - next)
    for (let i = 0; i < room; i += 1) {
      const at = fixture.clock.now() - 1000
      fixture.feed.put('cats', post(next, textOf(next), at, { text: textOf(next) }))
      next += 1
    }
    await fixture.check()
    if (random() < 0.8) deliverAll(fixture, random() < 0.9 ? 'delivered' : 'pending')
    for (let n = 2; n < next; n += 1) {
      if (gone.has(n) || random() > 0.03) continue
      gone.set(n, fixture.clock.now())
      const name = `t3_${n.toString(36)}`
      fixture.feed.remove('cats', name)
      fixture.feed.shown.set(name, { state: random() < 0.5 ? 'deleted' : 'removed' })
    }
    if (random() < 0.05) fixture.reboot()
    await advance(fixture, 3 * HOUR, HOUR)
  }
  // The promise: a week, the interval of checks, and an hour.
  await advance(fixture, 7 * DAY + HOUR, 12 * HOUR)
  deliverAll(fixture)

  expect(gone.size).toBeGreaterThan(COUNT / 3)
  const left = [...gone.keys()].filter((n) => filesWith(fixture, textOf(n)).length > 0)
  expect(left).toEqual([])
  const by_item = Map.groupBy(
    events(fixture).filter(({ type }) => type === 'item.deleted'),
    ({ item }) => String(item.id),
  )
  for (const [, deliveries] of by_item) expect(deliveries).toHaveLength(1)
  const received = fixture.db
    .query<{ item_id: string }, []>(
      'SELECT item_id FROM item_tombstones WHERE item_id IN (SELECT item_id FROM matches)',
    )
    .all()
  // An item that was deleted before its poll has never been stored.
  const names = JSON.stringify([...gone.keys()].map((n) => `t3_${n.toString(36)}`))
  const matched = fixture.db
    .query<{ n: number }, [string]>(
      'SELECT count(*) AS n FROM matches WHERE item_id IN (SELECT value FROM json_each(?))',
    )
    .get(names)
  expect(received).toHaveLength(matched?.n ?? -1)
  expect(by_item.size).toBeGreaterThan(gone.size / 2)
  // All else is still there, and the file is whole.
  const stored = fixture.deliveries().map((it) => JSON.stringify(fixture.payload(it)))
  const alive = Array.from({ length: next - 2 }, (_, n) => n + 2).filter((n) => !gone.has(n))
  const isMatched = (n: number) =>
    fixture.one(`SELECT 1 FROM matches WHERE item_id = 't3_${n.toString(36)}'`) !== null
  const lost = alive.filter((n) => isMatched(n) && !stored.some((it) => it.includes(textOf(n))))
  expect(lost).toEqual([])
  expect(fixture.one('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' } as never)
}, 30_000)
