import { expect, test } from 'bun:test'

import { DAY_MS } from '../../src/core/polling/days.ts'
import { createUpkeep } from '../../src/monitor/maintenance.ts'
import { startMonitors } from '../support/monitors-fixture.ts'
import { post, START } from '../unit/monitor/fixture.ts'

const MIN = 60_000
const H = 60 * MIN
const TODAY = new Date(START).toISOString().slice(0, 10)

type TestDaemon = ReturnType<typeof startMonitors>
type Gap = { from: string; until: string; status: string; reason: string }

async function start(spec: object = { subforum: 'cats' }) {
  const daemon = startMonitors({ audit_interval_s: 60 })
  daemon.fixture.webhook('wh_1')
  // An empty listing has to be confirmed before it counts.
  for (const place of ['cats', 'dogs'])
    daemon.fixture.feed.put(place, post(1, 'the first', START - H, { subforum: place }))
  const { id } = (await daemon.add({ filter_spec: spec, cadence_s: 60 })).body
  return { daemon, id: String(id) }
}

const ask = (daemon: TestDaemon, id: string, query = '', customer?: string) =>
  daemon.call(`/forum/monitor/coverage?id=${id}${query}`, undefined, customer)

/** Polls and audits for this long. A feed is audited between its polls. */
async function pollFor(daemon: TestDaemon, ms: number) {
  for (let done = 0; done < ms; done += MIN / 2) {
    daemon.fixture.pass(MIN / 2)
    await daemon.fixture.pollDue()
  }
}

const keep = ({ fixture: { db, clock } }: TestDaemon) =>
  createUpkeep({ db, clock, signal: new AbortController().signal })()

const rows = ({ fixture: { db } }: TestDaemon) =>
  db
    .query<{ day: number; until_at: number }, []>(
      'SELECT day, until_at FROM monitor_days WHERE gaps IS NOT NULL ORDER BY day',
    )
    .all()

/** Records that a poll was truncated. */
const cut = ({ fixture: { db } }: TestDaemon, from: number, until: number, feed = 'posts:cats') =>
  db.run(
    `INSERT INTO gaps (feed_id, reason, from_at, until_at, recorded_at)
     SELECT id, 'poll_overflow', ?, ?, ? FROM feeds WHERE key = ?`,
    [from, until, until, feed],
  )

/** Gaps of the first day but its start and its end, in minutes after the start of the monitor. */
const gapsOf = ({ gaps }: { gaps: Gap[] }) =>
  gaps
    .filter(({ reason }) => reason !== 'before_start')
    .map(({ from, until, reason }) => [
      Math.round((Date.parse(from) - START) / MIN),
      Math.round((Date.parse(until) - START) / MIN),
      reason,
    ])

test('what audits have verified is complete, and the newest minutes are not yet', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 20 * MIN)

  const { status, body } = await ask(it, id, `&from=${TODAY}`)
  const { coverage_24h } = await it.health(id)

  expect(status).toBe(200)
  expect(coverage_24h.status).toBe('complete')
  const verified_s = (Date.parse(coverage_24h.audited_until) - START) / 1000
  expect(body).toEqual({
    id,
    from: TODAY,
    to: TODAY,
    days: [
      {
        day: TODAY,
        complete_s: verified_s,
        not_verified_s: 1200 - verified_s,
        unwatched_s: (START % DAY_MS) / 1000,
        gaps: expect.any(Array),
      },
    ],
  })
  expect(body.days[0].gaps.at(-1)).toEqual({
    from: coverage_24h.audited_until,
    until: new Date(START + 20 * MIN).toISOString(),
    status: 'partial',
    reason: 'not_verified',
  })
})

test('of two feeds, the worse counts at each instant', async () => {
  const { daemon, id } = await start({ subforum: ['cats', 'dogs'] })
  await using it = daemon
  await pollFor(it, 30 * MIN)
  cut(it, START + 5 * MIN, START + 8 * MIN, 'posts:cats')
  cut(it, START + 12 * MIN, START + 14 * MIN, 'posts:dogs')

  const [day] = (await ask(it, id, `&from=${TODAY}`)).body.days

  expect(gapsOf(day).slice(0, 2)).toEqual([
    [5, 8, 'poll_overflow'],
    [12, 14, 'poll_overflow'],
  ])
})

test('a pause is not watched, and what was not verified when it began stays so', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 20 * MIN)
  const { audited_until } = (await it.health(id)).coverage_24h
  await it.update({ id, active: false })
  // Another monitor goes on with the feed.
  await it.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })
  await pollFor(it, 20 * MIN)
  await it.update({ id, active: true })
  await pollFor(it, 20 * MIN)

  const [day] = (await ask(it, id, `&from=${TODAY}`)).body.days

  const verified_min = Math.round((Date.parse(audited_until) - START) / MIN)
  expect(gapsOf(day).slice(0, 2)).toEqual([
    [verified_min, 20, 'not_verified'],
    [20, 40, 'monitor_paused'],
  ])
  expect(day.unwatched_s).toBe((START % DAY_MS) / 1000 + 20 * 60)
})

test('an edit of the places keeps the gaps of the former ones', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 20 * MIN)
  cut(it, START + 5 * MIN, START + 8 * MIN)
  await it.update({ id, filter_spec: { subforum: 'dogs' } })
  await pollFor(it, 20 * MIN)
  cut(it, START + 22 * MIN, START + 25 * MIN)

  const [day] = (await ask(it, id, `&from=${TODAY}`)).body.days

  expect(gapsOf(day)).toEqual([
    [5, 8, 'poll_overflow'],
    [expect.any(Number), 20, 'not_verified'],
    [expect.any(Number), 40, 'not_verified'],
  ])
})

test('an edit of the filter alone writes no row and leaves no gap', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 20 * MIN)
  await it.update({ id, filter_spec: { subforum: 'cats', include_any: ['food'] } })
  await pollFor(it, 20 * MIN)

  const [day] = (await ask(it, id, `&from=${TODAY}`)).body.days

  expect(rows(it)).toEqual([{ day: Math.floor(START / DAY_MS), until_at: START }])
  expect(gapsOf(day)).toEqual([[expect.any(Number), 40, 'not_verified']])
})

test('polls write no row; a day is written once it is over and verified', async () => {
  const { daemon } = await start()
  await using it = daemon
  const day = Math.floor(START / DAY_MS)
  const midnight = (day + 1) * DAY_MS
  it.fixture.pass(midnight - START - 10 * MIN)
  await pollFor(it, 9 * MIN)
  await keep(it)
  expect(rows(it)).toEqual([{ day, until_at: START }])

  it.fixture.pass(2 * MIN)
  await keep(it)
  expect(rows(it)).toEqual([{ day, until_at: START }])

  it.fixture.pass(2 * H)
  await pollFor(it, 5 * MIN)
  await keep(it)
  expect(rows(it)).toEqual([{ day, until_at: midnight }])
})

test('the deletion of old rows leaves the coverage of their days, for 400 days', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 30 * MIN)
  cut(it, START + 5 * MIN, START + 9 * MIN)
  const dayOf = async () => (await ask(it, id, `&from=${TODAY}&to=${TODAY}`)).body.days[0]
  const before = await dayOf()
  for (let n = 1; n <= 20; n++) {
    it.fixture.pass(DAY_MS)
    await keep(it)
  }
  const after = await dayOf()

  expect(it.fixture.one('SELECT count(*) AS n FROM gaps')).toEqual({ n: 0 })
  expect(gapsOf(before)[0]).toEqual([5, 9, 'poll_overflow'])
  expect(after).toMatchObject({ complete_s: before.complete_s, unwatched_s: before.unwatched_s })
  expect(gapsOf(after)[0]).toEqual([5, 9, 'poll_overflow'])
  for (let n = 0; n < 400; n += 50) it.fixture.pass(50 * DAY_MS)
  await keep(it)
  expect((await dayOf()).gaps).toMatchObject([{ status: 'unknown', reason: 'no_history' }])
})

test('a break between audits stays in the day, also after audits go on', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  const { feed, clock, db } = it.fixture
  // More items an hour than one page lists, so that an audit does not reach the end of the listing.
  const busyFor = async (minutes: number) => {
    for (let n = 0; n < minutes; n += 10) {
      const now = clock.now()
      for (let i = 0; i < 30; i++)
        feed.put('cats', post(Math.floor(now / 100) + i, 'a cat', now + i * 20_000))
      it.fixture.pass(9 * MIN)
      await pollFor(it, MIN)
    }
  }
  await busyFor(60)
  const { audited_until } = (await it.health(id)).coverage_24h
  // An audit reads an hour back.
  db.run('UPDATE feeds SET audit_due_at = ?', [clock.now() + 3 * H])
  await busyFor(200)

  const [day] = (await ask(it, id, `&from=${TODAY}`)).body.days
  const { coverage_24h } = await it.health(id)

  const from_min = Math.round((Date.parse(audited_until) - START) / MIN)
  expect(coverage_24h).toMatchObject({ status: 'partial', reason: 'not_audited' })
  const [[from, until] = [], ...others] = gapsOf(day)
  expect(from).toBe(from_min)
  // The last page that the audit reads goes on for up to a hundred items.
  expect(until).toBeGreaterThan(140)
  expect(until).toBeLessThanOrEqual(180)
  expect(others).toHaveLength(1)
})

test('the monitor of another customer is absent', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  const other = await ask(it, id, '', 'cus_2')
  const none = await ask(it, 'mon_none', '', 'cus_2')

  expect(other).toEqual(none)
  expect(other.status).toBe(404)
})

test.each([
  ['&from=yesterday', 'from must be a day of UTC such as 2026-01-31'],
  ['&from=2026-02-30', 'from must be a day of UTC such as 2026-01-31'],
  ['&to=2026-05-02', 'to must not be after today, 2026-05-01 UTC'],
  ['&from=2026-05-01&to=2026-04-30', 'from must not be after to'],
  [
    '&from=2026-01-21',
    'from and to may cover at most 100 days: ask for 2026-01-22 or later, and for the days before it in another call',
  ],
])('refused: %s', async (query, error) => {
  const { daemon, id } = await start()
  await using it = daemon
  expect(await ask(it, id, query)).toMatchObject({ status: 400, body: { error } })
  const widest = await ask(it, id, '&from=2026-01-22')
  expect(widest.status).toBe(200)
  expect(widest.body.days).toHaveLength(100)
  expect(widest.body.days[0].gaps).toMatchObject([{ reason: 'before_start' }])
})
