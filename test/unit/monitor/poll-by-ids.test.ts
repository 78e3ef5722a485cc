import { describe, expect, test } from 'bun:test'

import { fail, type Fault, ok } from '../../../src/core/base/result.ts'
import { type Item, MORE_PLACES } from '../../../src/core/forum/items.ts'
import { DAY_MS } from '../../../src/core/polling/days.ts'
import type { StepWatch, Watch } from '../../../src/gateway/watch.ts'
import { eraseItems, listErased } from '../../../src/store/erasure/erase.ts'
import { listEvents, listGaps } from '../../../src/store/monitoring/checks.ts'
import { listCoverage } from '../../../src/store/monitoring/coverage-days.ts'
import { findMonitor, listMonitorFeeds } from '../../../src/store/monitoring/monitors.ts'
import { limitWrites } from '../../simulation/disk.ts'
import { CUSTOMER, type MonitorFixture, post, START, startMonitorFixture } from './fixture.ts'

const S = 1000

/** A source of dense ids: a step reads every id after the last one, up to a number. */
function createSource(name: string) {
  const items = new Map<number, Item | null>()
  const steps: (string | null)[] = []
  const places: (readonly string[])[] = []
  const rereads: { from_id: number; to_id: number }[] = []
  const script = {
    most: Infinity,
    fault: null as Fault | null,
    unanswered: [] as number[],
    gone: [] as string[],
    skipped: [] as { from_id: number; to_id: number }[],
    answered: [] as number[],
    missing: new Set<number>(),
    rereads: 0,
    relisted_ms: 0,
    behind_ms: 0,
    arrived: [] as string[],
    again: [] as number[],
    partial: null as 'no_paging' | null,
    verified_until: null as number | null,
    hold: null as Promise<void> | null,
  }
  let max = 10
  const source: StepWatch = {
    name,
    proof: 'dense',
    has: () => true,
    isPlace: () => true,
    spell: (place) => place,
    place: async () => ({ kind: 'exists' }),
    per_minute: () => 600,
    createdAt: async () => ok(null),
    measured_ms: () => 0,
    earliest_ms: () => 0,
    placeNames: async () => [],
    partialFor: () => null,
    ahead_ms: () => 0,
    left_out: () => null,
    behind_ms: () => script.behind_ms,
    ours: (at) => at + script.behind_ms,
    async step(state, call) {
      steps.push(state)
      places.push(call.places)
      await script.hold
      if (script.fault !== null) return fail(script.fault)
      const last = state === null ? max : Number(state)
      const to = Math.min(max, last + script.most)
      const ids = Array.from({ length: to - last }, (_, n) => last + 1 + n)
      return ok({
        items: [...script.again, ...ids].flatMap((id) => items.get(id) ?? []),
        arrived: script.arrived,
        gone: script.gone,
        state: String(to),
        proven: { from_id: 11, to_id: to },
        behind: to < max ? { from_id: to + 1, to_id: max } : null,
        skipped: script.skipped,
        unanswered: script.unanswered,
        answered: script.answered,
        verified_until: script.verified_until ?? START + to,
        partial: script.partial,
        requests: 1 + ids.length,
      })
    },
    get relisted_ms() {
      return script.relisted_ms
    },
    interval_max_s: Infinity,
    reread_requests: () => script.rereads,
    async reread(ids) {
      rereads.push(ids)
      if (script.fault !== null) return fail(script.fault)
      const to = Math.min(ids.to_id, ids.from_id + script.rereads - 1)
      const read = Array.from({ length: to - ids.from_id + 1 }, (_, n) => ids.from_id + n)
      script.rereads -= read.length
      return ok({
        items: read.flatMap((id) => (script.missing.has(id) ? [] : (items.get(id) ?? []))),
        unanswered: read.filter((id) => script.missing.has(id)),
        behind: to < ids.to_id ? { from_id: to + 1, to_id: ids.to_id } : null,
        requests: read.length,
      })
    },
    sample: async () => ok({ rows: [], after: null }),
    refetch: async () => ({ tried: [], found: [], fault: null }),
  }
  return {
    source,
    steps,
    places,
    rereads,
    script,
    put(title: string, created_at: number, fields: Partial<Item> = {}): number {
      max += 1
      items.set(max, { ...post(max, title, created_at), ...fields, source: name } as Item)
      return max
    },
    /** Takes items away until the returned function is called. */
    hide(ids: readonly number[]) {
      const before = ids.map((id) => [id, items.get(id) ?? null] as const)
      for (const id of ids) items.set(id, null)
      return () => {
        for (const [id, item] of before) items.set(id, item)
      }
    },
    change(id: number, fields: Partial<Item>) {
      items.set(id, { ...items.get(id), ...fields } as Item)
    },
  }
}

function startWith(...names: string[]) {
  return startWithin({}, ...names)
}

function startWithin(bounds: { source_bytes_per_day?: number }, ...names: string[]) {
  const sources = names.map((name) => [name, createSource(name)] as const)
  const watches: Map<string, Watch> = new Map(sources.map(([name, { source }]) => [name, source]))
  const fixture = startMonitorFixture({ watches, ...bounds })
  fixture.webhook('wh_1')
  const site = (name: string) => new Map(sources).get(name) ?? createSource(name)
  return Object.assign(fixture, { site })
}

/** A monitor of the source a, which has been read once. */
async function watching(spec: object = {}) {
  const owned = startWith('a')
  owned.monitor('mon_1', { source: 'a', ...spec })
  await owned.pollDue()
  return owned
}

const failureOf = (turn: Promise<unknown>) => turn.then(() => 'none', String)

const facts = (fixture: MonitorFixture, id = 'mon_1') => listMonitorFeeds(fixture.db, id)[0]

test('a source that is read by ids starts at the present end, and its items match once', async () => {
  await using owned = startWith('a')
  const a = owned.site('a')
  a.put('before', START)
  owned.monitor('mon_1', { source: 'a' })
  await owned.pollDue()
  expect(a.steps).toEqual([null])
  a.put('one', START + S)
  await owned.check()
  a.put('two', START + 61 * S)
  await owned.check()
  await owned.check()

  expect(a.steps.slice(1)).toEqual(['11', '12', '13'])
  expect(owned.titles()).toEqual(['one', 'two'])
  expect(facts(owned)).toMatchObject({ key: 'all:a', proof: 'dense', behind_to: null })
})

const settled = (state: string, items: Item[]) =>
  ok({
    items,
    gone: [],
    state,
    proven: { from_id: 11, to_id: 11 },
    behind: null,
    skipped: [],
    unanswered: [],
    answered: [],
    verified_until: START,
    partial: null,
    requests: 1,
  })

test('ids that a step leaves are read after its items were matched, until nothing is left', async () => {
  await using owned = await watching()
  const a = owned.site('a')
  const found: string[][] = []
  const left = [post(901, 'later', START + S), post(902, 'last', START + S)]
  a.source.settle = async (state) => {
    found.push(owned.titles())
    const item = left.shift()
    if (item === undefined) return ok(null)
    return settled(state, [{ ...item, source: 'a' }])
  }
  a.put('listed', START + S)
  await owned.check()
  expect(found).toEqual([['listed'], ['listed', 'later'], ['listed', 'later', 'last']])
})

test('requests for ids that a step left end when the next step is due', async () => {
  await using owned = await watching()
  const a = owned.site('a')
  let rounds = 0
  a.source.settle = async (state, { interval_s }) => {
    rounds += 1
    owned.pass(interval_s * 0.4 * S)
    return settled(state, [])
  }
  await owned.check()
  expect(rounds).toBe(3)
})

const query = { monitor_id: 'mon_1', since_at: 0 }

test('a stored proof that is later than the clock is lowered, and is an event', async () => {
  await using owned = await watching()
  owned.db
    .query(`UPDATE feeds SET state = json_set(state, '$.verified_until', 9000000000000000)`)
    .run()
  owned.site('a').put('one', START + S)
  await owned.check()
  expect(facts(owned)?.verified_until).toBeLessThanOrEqual(owned.clock.now())
  expect(listEvents(owned.db, query).map(({ kind }) => kind)).toContain('proof_lowered')
  owned.site('a').put('two', START + 61 * S)
  await owned.check()
  expect(listEvents(owned.db, query).filter(({ kind }) => kind === 'proof_lowered')).toHaveLength(1)
})

test('ids that went back are a gap of their own', async () => {
  await using owned = startWith('a')
  const { source } = owned.site('a')
  owned.monitor('mon_1', { source: 'a' })
  await owned.pollDue()
  const { step } = source
  source.step = async (...given) => {
    const read = await step(...given)
    return read.ok ? ok({ ...read.value, went_back: true as const }) : read
  }
  await owned.check()
  const gaps = listGaps(owned.db, { ...query, offset_ms: 0 })
  expect(gaps).toMatchObject([{ reason: 'ids_went_back', closed_at: null, missed_estimate: null }])
})

test('a wait that a source asks for is bounded before it is scheduled', async () => {
  await using owned = await watching()
  for (const retry_after_s of [99_999_999_999, Infinity, Number.NaN, -1]) {
    owned.site('a').script.fault = { kind: 'throttled', retry_after_s }
    await owned.check()
    const { at } = owned.db
      .query<{ at: number }, []>('SELECT next_check_at AS at FROM feeds')
      .get() ?? { at: Infinity }
    expect(at).toBeLessThanOrEqual(owned.clock.now() + 900 * S)
    owned.db.query('UPDATE feeds SET next_check_at = 0').run()
  }
})

test('a source that has added its share of bytes is read later, from where it was, and its monitors say so', async () => {
  await using owned = startWithin({ source_bytes_per_day: 24 * 100_000 }, 'a', 'b')
  const [a, b] = [owned.site('a'), owned.site('b')]
  owned.monitor('mon_1', { source: ['a', 'b'] })
  await owned.pollDue()
  const text = 'x'.repeat(50_000)
  for (let n = 0; n < 4; n++) a.put(`long ${n}`, owned.clock.now() + n, { text })
  await owned.check()
  const titles = owned.titles().length
  const position = String(a.put('meanwhile', owned.clock.now() + S) - 1)
  b.put('of another', owned.clock.now() + S)
  const steps = a.steps.length
  await owned.check()

  expect([titles, a.steps.length]).toEqual([4, steps])
  expect(owned.titles()).toContain('of another')
  expect(facts(owned)).toMatchObject({ key: 'all:a', last_fault: 'over_disk_budget' })
  owned.pass(2 * 3_600_000)
  a.put('after', owned.clock.now())
  await owned.check()
  expect(a.steps.at(-1)).toBe(position)
  expect(owned.titles()).toContain('after')
  expect(facts(owned)?.last_fault).toBeNull()
})

test('monitors of one source share its feed', async () => {
  await using owned = startWith('a')
  for (let n = 0; n < 5; n++) owned.monitor(`mon_${n}`, { source: 'a', q: `word${n}` })
  await owned.pollDue()
  owned.site('a').put('word1 word3', START + S)
  await owned.check()

  expect(owned.site('a').steps).toHaveLength(2)
  expect(owned.deliveries().map(({ monitor_id }) => monitor_id)).toEqual(['mon_1', 'mon_3'])
})

test('a crash between the request and the commit loses nothing', async () => {
  await using owned = await watching()
  owned.site('a').put('one', START + S)
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  owned.site('a').script.hold = promise
  owned.pass(60 * S)
  owned.monitoring.nudge()
  await owned.monitoring.checkDue()
  const dead = owned.monitoring
  owned.reboot()
  answer()
  await dead.idle()
  expect(owned.deliveries()).toEqual([])

  await owned.check()
  expect(owned.site('a').steps).toEqual([null, '10', '10'])
  expect(owned.titles()).toEqual(['one'])
})

test('after any write of a step fails on a full disk, the next step delivers everything once', async () => {
  await using owned = await watching()
  let [before, capacity] = [Infinity, Infinity]
  const counts = limitWrites(owned.db, () => (before-- === 0 ? capacity : Infinity))
  const titles: string[] = []
  let most = 0
  // Each transaction of a step in turn, with room for one more of its writes each time, until all fit.
  for (let nth = 0; nth < 5; nth++)
    for (let writes = 0, commits = counts.commits; counts.commits === commits; writes++) {
      const { failed } = counts
      titles.push(`${nth} ${writes}`)
      owned.site('a').put(`${nth} ${writes}`, owned.clock.now() + S)
      ;[before, capacity] = [nth, writes]
      await failureOf(owned.check())
      before = Infinity
      await failureOf(owned.monitoring.checkDue())
      await owned.check()
      expect(owned.titles()).toEqual(titles)
      if (counts.failed === failed) break
      most = Math.max(most, writes)
    }
  expect(most).toBeGreaterThan(5)
})

test('equal ids of sources and of the platform are different items', async () => {
  await using owned = startWith('a', 'b')
  owned.monitor('mon_1', { source: ['forum', 'a', 'b'], q: 'kettle' })
  await owned.pollDue()
  owned.site('a').put('kettle of a', START + S)
  owned.site('b').put('kettle of b', START + S)
  owned.feed.put('kettle', post(11, 'kettle of forum', START + S))
  await owned.check()
  await owned.check()

  expect(owned.titles().toSorted()).toEqual(['kettle of a', 'kettle of b', 'kettle of forum'])
  const ids = owned.db.query('SELECT item_id FROM matches ORDER BY item_id').values().flat()
  expect(ids).toEqual(['a/t3_b', 'b/t3_b', 't3_b'])
  expect(new Set(owned.deliveries().map(({ id }) => id)).size).toBe(3)
})

describe('an id that a source gives again, to another item', () => {
  test('is a match and a delivery of its own, once', async () => {
    await using owned = await watching()
    const a = owned.site('a')
    const id = a.put('first', owned.clock.now())
    await owned.check()
    a.change(id, { title: 'second', created_utc: Math.floor(owned.clock.now() / 1000) })
    a.script.again = [id]
    await owned.check()
    a.change(id, { text: 'edited' })
    await owned.check()

    expect(owned.titles()).toEqual(['first', 'second'])
    expect(new Set(owned.deliveries().map((it) => it.id)).size).toBe(2)
  })

  test('is one of an item that was erased, too', async () => {
    await using owned = await watching()
    const a = owned.site('a')
    const id = a.put('first', owned.clock.now())
    await owned.check()
    const key = `a/t3_${id.toString(36)}`
    const deps = {
      db: owned.db,
      instance_id: 'ins_1',
      words: { community: 'subforum', home: 'forum' },
      clock_offset_ms: () => 0,
    }
    eraseItems(deps, [{ item_id: key, reason: 'author' }], owned.clock.now())
    expect([...listErased(owned.db, [key])]).toEqual([key])
    a.change(id, { title: 'second', created_utc: Math.floor(owned.clock.now() / 1000) + 30 })
    a.script.again = [id]
    await owned.check()

    expect(owned.titles()).toContain('second')
    expect([...listErased(owned.db, [key])]).toEqual([])
  })

  test('is delivered of a polled platform, whose health says that ids went back', async () => {
    await using owned = startWith('a')
    owned.monitor('mon_1', { subforum: ['cats'] })
    await owned.pollDue()
    owned.feed.put('cats', post(1, 'first', owned.clock.now()))
    await owned.check()
    owned.feed.remove('cats', post(1, '', 0).name)
    owned.feed.put('cats', post(1, 'second', owned.clock.now() + S))
    await owned.check()

    expect(owned.titles()).toEqual(['first', 'second'])
    const gaps = listGaps(owned.db, { ...query, offset_ms: 0 })
    expect(gaps.map(({ reason }) => reason)).toContain('ids_went_back')
  })
})

test('a known item that comes again is matched again, and delivered once', async () => {
  await using owned = startWith('a')
  const a = owned.site('a')
  const old = a.put('a teapot from before', START - 60 * S)
  owned.monitor('mon_1', { source: 'a', q: 'kettle' })
  await owned.pollDue()
  const id = a.put('a teapot', START + S)
  await owned.check()
  for (const it of [id, old]) a.change(it, { title: 'a kettle' })
  a.script.again = [old, id]
  await owned.check()
  await owned.check()

  expect(owned.titles()).toEqual(['a kettle'])
})

test('unanswered ids are gaps by their ranges, until one of them is answered', async () => {
  await using owned = await watching()
  owned.site('a').script.unanswered = [22, 20, 21, 30]
  await owned.check()
  owned.site('a').script.unanswered = []
  owned.site('a').script.answered = [30, 21]
  await owned.check()

  const gaps = owned.db
    .query(
      'SELECT from_id, to_id, missed_estimate, closed_at IS NULL AS open FROM gaps ORDER BY from_id',
    )
    .all()
  expect(gaps).toEqual([
    { from_id: 20, to_id: 20, missed_estimate: 1, open: 1 },
    { from_id: 21, to_id: 21, missed_estimate: 1, open: 0 },
    { from_id: 22, to_id: 22, missed_estimate: 1, open: 1 },
    { from_id: 30, to_id: 30, missed_estimate: 1, open: 0 },
  ])
})

test('the coverage of a day has a gap for steps that proved nothing, also after later ones did', async () => {
  await using owned = startWith('a')
  const { script } = owned.site('a')
  owned.monitor('mon_1', { source: 'a' })
  const stepFor = async (minutes: number) => {
    for (let n = 0; n < minutes; n++) {
      script.verified_until = owned.clock.now()
      await owned.pollDue()
      owned.pass(60 * S)
    }
  }
  await stepFor(5)
  script.partial = 'no_paging'
  await stepFor(3)
  script.partial = null
  await stepFor(5)

  const monitor = findMonitor(owned.db, CUSTOMER, 'mon_1') ?? expect.unreachable()
  const day = Math.floor(START / DAY_MS)
  const coverage = { offset_ms: 0, limitOf: () => null }
  const days = { first: day, last: day, now: owned.clock.now() }
  const [today] = listCoverage(owned.db, monitor, days, coverage)
  const gaps = today?.gaps.map((it) => [(it.from - START) / 60_000, (it.until - START) / 60_000])
  // The steps of minutes 4 to 7: the one of minute 8 proves what came since that of minute 7.
  expect(gaps?.slice(1)).toEqual([
    [4, 7],
    [12, 13],
  ])
})

const gapsOf = ({ db }: MonitorFixture) =>
  db
    .query(
      `SELECT reason, from_id, to_id, missed_estimate AS n, closed_at IS NULL AS open, retry_at IS NULL AS tired
         FROM gaps ORDER BY from_id, open`,
    )
    .all()

test('unanswered ids are requested again, matched late and once, and given up after a week', async () => {
  await using owned = await watching({ q: 'kettle' })
  const a = owned.site('a')
  const ids = ['kettle one', 'a teapot', 'kettle two'].map((it) => a.put(it, START + S))
  const [one = 0, , two = 0] = ids
  a.script.gone = []
  // The step passes them as if they had no item.
  const held = a.hide(ids)
  a.script.unanswered = ids
  await owned.check()
  a.script.unanswered = []
  expect(owned.titles()).toEqual([])

  a.script.rereads = 10
  a.script.missing = new Set(ids)
  await owned.check()
  expect(a.rereads).toEqual([])
  await owned.check()
  expect(a.rereads).toEqual([{ from_id: one, to_id: two }])

  held()
  a.script.missing = new Set([two])
  a.script.rereads = 2
  for (let n = 0; n < 5; n++) await owned.check()
  const reread = { reason: 'unanswered', tired: 0 }
  expect(gapsOf(owned)).toEqual([
    { ...reread, from_id: one, to_id: two - 1, n: 2, open: 0, tired: 1 },
    { ...reread, from_id: two, to_id: two, n: 1, open: 1 },
  ])
  expect(owned.titles()).toEqual(['kettle one'])
  expect(facts(owned)).toMatchObject({ verified_until: expect.any(Number) })
  const found = "SELECT count(*) AS n FROM feed_items WHERE found_by = 'audit'"
  expect(owned.one(found)).toEqual({ n: 2 })

  a.script.rereads = 1000
  owned.pass(8 * 24 * 3_600_000)
  await owned.check()
  await owned.check()
  expect(gapsOf(owned).at(-1)).toMatchObject({ from_id: two, open: 1, tired: 1 })
  const { length } = a.rereads
  owned.pass(24 * 3_600_000)
  await owned.check()
  expect(a.rereads).toHaveLength(length)
})

test('ids that were passed without a request are read within the share, over a restart', async () => {
  await using owned = await watching({ q: 'kettle' })
  const a = owned.site('a')
  const ids = Array.from({ length: 10 }, (_, n) => a.put(`kettle ${n}`, START + S))
  const [from_id = 0] = ids
  const to_id = from_id + 9
  const held = a.hide(ids)
  a.script.skipped = [{ from_id, to_id }]
  await owned.check()
  held()
  a.script.skipped = []
  a.script.missing = new Set([from_id + 1, from_id + 2])
  a.script.rereads = 4
  await owned.check()
  expect(a.rereads).toEqual([{ from_id, to_id }])
  expect(owned.titles()).toEqual(['kettle 0', 'kettle 3'])
  a.script.fault = { kind: 'timeout' }
  await owned.check()
  a.script.fault = null
  owned.reboot()
  a.script.rereads = 100
  await owned.check()
  expect(a.rereads[1]).toEqual({ from_id: from_id + 4, to_id })
  expect(owned.titles()).toHaveLength(8)
  const closed = { reason: 'skipped', open: 0, tired: 1 }
  expect(gapsOf(owned)).toEqual([
    { ...closed, from_id, to_id: from_id + 3, n: 2 },
    { reason: 'unanswered', open: 1, tired: 0, from_id: from_id + 1, to_id: from_id + 2, n: 2 },
    { ...closed, from_id: from_id + 4, to_id, n: 6 },
  ])
})

test('recent ids are read again in passes of growing depth where items are listed late', async () => {
  await using owned = startWith('a')
  const a = owned.site('a')
  a.script.relisted_ms = 24 * 3_600_000
  owned.monitor('mon_1', { source: 'a', q: 'kettle' })
  await owned.pollDue()
  const hidden = a.put('a kettle shown late', START + S)
  const held = a.hide([hidden])
  const known = a.put('a kettle', START + S)
  for (let n = 0; n < 100; n++) {
    a.put('a teapot', owned.clock.now())
    await owned.check()
  }
  expect(a.rereads).toEqual([])
  expect(owned.titles()).toEqual(['a kettle'])
  held()
  // A monitor whose filter was edited since takes no old item.
  a.script.rereads = 1000
  await owned.check()
  expect(a.rereads[0]?.to_id).toBeGreaterThan(known)
  for (let n = 0; n < 12; n++) await owned.check()
  const froms = a.rereads.map(({ from_id }) => from_id)
  expect(froms[0]).toBeGreaterThan(known)
  expect(Math.min(...froms)).toBe(11)
  // The deepest pass of the day counts, not the last one.
  expect(froms.at(-1)).toBeGreaterThan(11)
  expect(owned.one("SELECT state ->> '$.reread_since' AS reread_since FROM feeds")).toEqual({
    reread_since: START + 10,
  })
  // An hour late: it is stored, and not sent.
  expect(owned.db.query('SELECT item_id FROM matches ORDER BY item_id').values().flat()).toEqual(
    [hidden, known].map((id) => `a/t3_${id.toString(36)}`),
  )
  expect(gapsOf(owned)).toEqual([])
})

test('open gaps of ids are bounded, and each of their ids is still requested', async () => {
  await using owned = await watching()
  const a = owned.site('a')
  const ids = Array.from({ length: 700 }, (_, n) => 100 + 3 * n + (n > 600 ? n : 0))
  a.script.unanswered = ids
  await owned.check()
  a.script.unanswered = ids.slice(0, 3)
  await owned.check()
  const gaps = gapsOf(owned) as { from_id: number; to_id: number; n: number }[]
  expect(gaps).toHaveLength(500)
  expect(gaps.reduce((sum, { n }) => sum + n, 0)).toBe(700)
  for (const id of ids)
    expect(gaps.some(({ from_id, to_id }) => id >= from_id && id <= to_id)).toBe(true)
})

test('a fault leaves the position, and a throttled source its wait', async () => {
  await using owned = startWith('a', 'b')
  const a = owned.site('a')
  owned.monitor('mon_1', { source: 'a' })
  owned.monitor('mon_2', { source: 'b' })
  await owned.pollDue()
  a.script.fault = { kind: 'throttled', retry_after_s: 200 }
  a.put('one', START + S)
  owned.site('b').put('two', START + S)
  await owned.check()
  expect(facts(owned)).toMatchObject({ last_fault: 'throttled', verified_until: START + 10 })
  expect(owned.titles()).toEqual(['two'])
  await owned.check()
  expect(a.steps).toHaveLength(2)
  a.script.fault = null
  owned.pass(150 * S)
  await owned.check()

  expect(a.steps).toEqual([null, '10', '10'])
  expect(owned.titles()).toEqual(['two', 'one'])
  expect(facts(owned)?.last_fault).toBeNull()
})

test('a source that does not answer takes no slot of another feed', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  await using owned = startWith(...names)
  const { promise: hold, resolve: answer } = Promise.withResolvers<void>()
  for (const name of names) owned.site(name).script.hold = hold
  owned.monitor('mon_1', { source: names })
  owned.monitor('mon_2', { subforum: ['cats'] })
  owned.monitoring.nudge()
  await owned.monitoring.checkDue()
  owned.feed.put('cats', post(1, 'of forum', START + S))
  for (let n = 0; n < 20; n++) await Bun.sleep(1)
  owned.pass(60 * S)
  await owned.monitoring.checkDue()
  for (let n = 0; n < 20; n++) await Bun.sleep(1)
  expect(owned.titles()).toEqual(['of forum'])
  answer()
})

test('a source without active monitors is not read, and then starts over', async () => {
  await using owned = await watching()
  owned.edit('mon_1', { active: false })
  owned.site('a').put('meanwhile', START + S)
  await owned.check()
  expect(owned.site('a').steps).toHaveLength(1)
  owned.edit('mon_1', { active: true })
  await owned.pollDue()
  owned.site('a').put('after', owned.clock.now() + S)
  await owned.check()

  expect(owned.site('a').steps).toEqual([null, null, '11'])
  expect(owned.titles()).toEqual(['after'])
})

test('feeds by ids are no part of batches and audits', async () => {
  await using owned = startWith('a', 'b')
  owned.monitor('mon_1', { source: ['a', 'b'] })
  await owned.pollDue()
  for (let n = 0; n < 30; n++) await owned.check()

  expect(owned.feed.page_requests).toEqual([])
  expect(
    owned.db.query('SELECT poll_batch_id, audit_due_at, audited_at FROM feeds').values(),
  ).toEqual([
    [null, null, null],
    [null, null, null],
  ])
})

test('a monitor of all sources follows the configuration at a start', async () => {
  await using owned = startWith('a')
  owned.monitor('mon_1', { source: 'all', q: 'kettle' })
  const keys = () => listMonitorFeeds(owned.db, 'mon_1').map(({ key }) => key)
  owned.db.run(
    "UPDATE feeds SET key = 'all:gone', source = 'gone', place = 'gone' WHERE kind = 'all'",
  )
  expect(keys()).toEqual(['search:kettle', 'all:gone'])
  owned.reboot()

  expect(keys()).toEqual(['search:kettle', 'all:a'])
})

test('a source that is no longer configured is a fault of its feed', async () => {
  await using owned = startWith('a')
  owned.monitor('mon_1', { source: 'a' })
  owned.db.run("UPDATE feeds SET key = 'all:gone', source = 'gone', place = 'gone'")
  await owned.pollDue()

  expect(facts(owned)).toMatchObject({ last_fault: 'not_configured', last_check_at: null })
})

test('a step that takes longer than its interval is not started twice', async () => {
  await using owned = startWith('a')
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  owned.site('a').script.hold = promise
  owned.monitor('mon_1', { source: 'a' })
  for (let n = 0; n < 3; n++) {
    owned.pass(60 * S)
    owned.monitoring.nudge()
    await owned.monitoring.checkDue()
  }
  expect(owned.site('a').steps).toHaveLength(1)
  answer()
})

test('a step of a feed that was paused meanwhile is discarded', async () => {
  await using owned = await watching()
  owned.site('a').put('one', START + S)
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  owned.site('a').script.hold = promise
  owned.pass(60 * S)
  await owned.monitoring.checkDue()
  owned.edit('mon_1', { active: false })
  answer()
  await owned.monitoring.idle()

  expect(owned.deliveries()).toEqual([])
  expect(owned.one("SELECT state ->> '$.state' AS state FROM feeds")).toEqual({ state: '10' })
})

test('an item that is gone is no candidate any more', async () => {
  await using owned = await watching({ min_score: 1000 })
  owned.site('a').put('one', START + S)
  owned.site('a').put('two', START + S)
  await owned.check()
  const waiting = () => owned.db.query('SELECT item_id FROM candidates').values().flat()
  expect(waiting()).toEqual(['a/t3_b', 'a/t3_c'])
  owned.site('a').script.gone = ['t3_b']
  await owned.check()

  expect(waiting()).toEqual(['a/t3_c'])
})

test('the newest ids are read again every half minute, between passes over older ones', async () => {
  await using owned = startWith('a')
  const a = owned.site('a')
  a.script.relisted_ms = 24 * 3_600_000
  owned.monitor('mon_1', { source: 'a', q: 'kettle' })
  await owned.pollDue()
  for (let n = 0; n < 600; n++) a.put('a teapot', START + S)
  await owned.check()
  a.script.rereads = 10_000
  await owned.check()
  const top = 610
  expect(a.rereads).toEqual([
    { from_id: top - 499, to_id: top },
    { from_id: 11, to_id: top },
  ])
  expect(
    owned.one(
      "SELECT state ->> '$.reread_since' AS reread_since, state ->> '$.reread_done_at' AS reread_done_at FROM feeds",
    ),
  ).toEqual({
    reread_since: START + 10,
    reread_done_at: owned.clock.now(),
  })
  a.rereads.length = 0
  // A pass that is cut goes on with the next step, in turns.
  owned.pass(5 * 60 * S)
  a.script.rereads = 4
  await owned.check()
  a.script.rereads = 4
  await owned.check()
  expect(a.rereads.map(({ from_id }) => from_id)).toEqual([top - 499, 11])
})

test('an item that changed without a word is matched when it is read again', async () => {
  await using owned = startWith('a')
  const a = owned.site('a')
  a.script.relisted_ms = 24 * 3_600_000
  owned.monitor('mon_1', { source: 'a', subforum: 'moved' })
  await owned.pollDue()
  const ids = ['one', 'two', 'three'].map((title) => a.put(title, START + S))
  await owned.check()
  expect(owned.titles()).toEqual([])
  const [one = 0, two = 0, three = 0] = ids
  a.change(one, { subforum: 'moved' })
  a.change(two, { upvotes: 99 })
  a.change(three, { [MORE_PLACES]: ['Moved'] })
  a.script.rereads = 1000
  await owned.check()
  expect(owned.titles()).toEqual(['one', 'three'])
  // An edited filter concerns new items only.
  owned.db.run(
    `UPDATE monitors SET filter_spec = json_set(filter_spec, '$.subforum', json('["cats"]')), updated_at = updated_at + 1`,
  )
  owned.pass(60 * S)
  await owned.check()
  expect(owned.titles()).toEqual(['one', 'three'])
})

test('ids decide what is new where times are those of another site or of a slow clock', async () => {
  await using owned = await watching()
  const a = owned.site('a')
  const [federated, late] = ['federated', 'late'].map((title) => a.put(title, START - 3600 * S))
  a.script.arrived = [`t3_${federated?.toString(36)}`]
  await owned.check()
  expect(late).toBeGreaterThan(Number(federated))
  expect(matchesOf(owned)).toEqual([`a/t3_${federated?.toString(36)}`])

  a.script.arrived = []
  a.put('before', START - 101 * S)
  const slow = a.put('by a clock that is behind', START - 90 * S)
  a.script.behind_ms = 100 * S
  await owned.check()
  expect(matchesOf(owned).at(-1)).toBe(`a/t3_${slow.toString(36)}`)
  expect(matchesOf(owned)).toHaveLength(2)
  const { verified_until, verified_from } = facts(owned) ?? {}
  expect(verified_until).toBe(START + slow + 100 * S)
  expect(verified_from).toBe(START + 10)
})

const matchesOf = ({ db }: MonitorFixture) =>
  db.query('SELECT item_id FROM matches ORDER BY item_id').values().flat()

test('a step is given the places that its active monitors name', async () => {
  await using owned = startWith('a')
  owned.monitor('mon_1', { source: 'a', subforum: ['tag:x', 'cats'] })
  owned.monitor('mon_2', { source: 'a', q: 'kettle', exclude_subforums: ['dogs'] })
  owned.monitor('mon_3', { source: 'a', subforum: 'birds' })
  owned.db.run("UPDATE monitors SET active = 0 WHERE id = 'mon_3'")
  await owned.pollDue()
  expect(owned.site('a').places.at(-1)?.toSorted()).toEqual(['cats', 'dogs', 'tag:x'])
})
