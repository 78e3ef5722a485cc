import { expect, test } from 'bun:test'

import { createRing } from '../../src/core/base/secrets.ts'
import { checkCertificate, readTrustedKeys } from '../../src/core/certificate/signed.ts'
import { createUpkeep } from '../../src/monitor/maintenance.ts'
import { VERSIONS_MAX } from '../../src/store/certificate/history.ts'
import { rotateKey } from '../../src/store/certificate/keys.ts'
import { startMonitors } from '../support/monitors-fixture.ts'
import { post, START } from '../unit/monitor/fixture.ts'

const MIN = 60_000
const H = 60 * MIN
const DAY = 24 * H
const RING = createRing(new Uint8Array(32), (count) => new Uint8Array(count))

type TestDaemon = ReturnType<typeof startMonitors>

async function start(spec: object = { subforum: 'cats' }) {
  const daemon = startMonitors()
  daemon.fixture.webhook('wh_1')
  const { id } = (await daemon.add({ filter_spec: spec, cadence_s: 60 })).body
  return { daemon, id: String(id) }
}

const ask = (daemon: TestDaemon, id: string, query = '', customer?: string) =>
  daemon.call(`/forum/monitor/certificate?id=${id}${query}`, undefined, customer)

/** Polls and audits for this long, a minute at a time. */
async function pollFor(daemon: TestDaemon, ms: number) {
  for (let done = 0; done < ms; done += MIN) {
    daemon.fixture.pass(MIN)
    await daemon.fixture.pollDue()
  }
}

const keep = ({ fixture: { db, clock } }: TestDaemon) =>
  createUpkeep({ db, clock, signal: new AbortController().signal })()

test('a certificate has what was promised and found, and its published key verifies it', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  it.fixture.feed.put('cats', post(1, 'a cat', START + 30_000))
  await pollFor(it, 20 * MIN)

  const { status, text, body } = await ask(it, id)
  const { statement } = body

  expect(status).toBe(200)
  expect(statement).toMatchObject({
    type: 'coverage',
    version: 1,
    instance_id: 'instance-1',
    monitor: { id, feeds: ['posts:cats'], active: true },
    promise: { cadence_s: 60, poll_interval_s: 60 },
    period: { from: new Date(START).toISOString(), known_from: new Date(START).toISOString() },
    coverage: { status: 'complete', degraded_s: 0, unknown_s: 0 },
    gaps: { reported: 0, open: 0, missed_estimate: 0, listed: [] },
    matched: 1,
    deliveries: { delivered: 0, pending: 1, delay_p50_ms: null },
  })
  expect(statement.polls.made).toBeGreaterThan(15)
  expect(statement.audits).toBeGreaterThan(0)
  expect(Date.parse(statement.coverage.verified_until)).toBeLessThan(it.fixture.clock.now())
  const { text: published } = await it.call('/.well-known/forumd-keys.json')
  const keys = readTrustedKeys(published)
  expect(checkCertificate(text, keys, it.fixture.clock.now()).kind).toBe('valid')
  expect(
    checkCertificate(text.replace('"complete"', '"degraded"'), keys, it.fixture.clock.now()).kind,
  ).toBe('invalid')
})

test('an edit shows with the digest of each filter and its start', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 5 * MIN)
  await it.update({ id, filter_spec: { subforum: 'cats', include_any: ['food'] } })
  const edited_at = it.fixture.clock.now()
  await pollFor(it, 5 * MIN)
  await it.update({ id, active: false })

  const { settings, monitor, coverage } = (await ask(it, id)).body.statement

  expect(settings).toHaveLength(3)
  expect(settings[0].filter_digest).not.toBe(settings[1].filter_digest)
  expect(Date.parse(settings[1].from)).toBe(edited_at)
  expect(settings.map(({ active }: { active: boolean }) => active)).toEqual([true, true, false])
  expect(monitor).toMatchObject({ active: false, filter_digest: settings[2].filter_digest })
  expect(coverage.status).not.toBe('complete')
})

test('a monitor that is edited in a loop says from when its history is known', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  const { db } = it.fixture
  for (let n = 0; n < VERSIONS_MAX + 20; n++) {
    it.fixture.pass(1000)
    await it.update({ id, cadence_s: 60 + (n % 2) })
  }

  const { statement } = (await ask(it, id)).body

  expect(db.query('SELECT count(*) AS n FROM monitor_versions').get()).toEqual({ n: VERSIONS_MAX })
  expect(Date.parse(statement.period.known_from)).toBeGreaterThan(START)
  expect(statement.days.at(-1).intervals[1]).toMatchObject({ reason: 'no_history' })
  expect(statement.coverage.status).not.toBe('complete')
})

const judged = (of_day: { intervals: { from: string; status: string }[] }) =>
  of_day.intervals.filter(({ status }) => status !== 'partial')

test('deletion of old rows leaves what certificates said of their days', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  const { db, clock } = it.fixture
  it.fixture.feed.put('cats', post(1, 'a cat', START + 30_000))
  await pollFor(it, 30 * MIN)
  db.run(
    `INSERT INTO gaps (feed_id, check_id, reason, from_at, until_at, missed_estimate, recorded_at)
     SELECT feed_id, id, 'poll_overflow', ?, ?, 7, ended_at FROM checks ORDER BY id DESC LIMIT 1`,
    [START + 5 * MIN, START + 9 * MIN],
  )
  const day = '2026-05-01'
  const of = async () => {
    const { statement } = (await ask(it, id, `&from=${day}&to=${day}`)).body
    const { days, gaps, matched, polls, period } = statement
    return { days, gaps, matched, polls, from: period.from }
  }
  const before = await of()
  for (let n = 1; n <= 20; n++) {
    it.fixture.pass(DAY)
    await keep(it)
  }
  const after = await of()

  expect(db.query('SELECT count(*) AS n FROM gaps').get()).toEqual({ n: 0 })
  expect(before.days[0].intervals.map(({ status }: { status: string }) => status)).toContain(
    'degraded',
  )
  expect(after.gaps.reported).toBe(1)
  expect(after.gaps.missed_estimate).toBe(7)
  expect(after).toMatchObject({ matched: before.matched, polls: before.polls, from: before.from })
  // The rest of the day was still to come.
  expect(judged(after.days[0])).toEqual(judged(before.days[0]))
  expect(after.days[0].is_final).toBe(true)
  for (let n = 0; n < 400; n += 50) it.fixture.pass(50 * DAY)
  await keep(it)
  expect(
    db.query('SELECT count(*) AS n FROM coverage_days WHERE day = ?').get(Math.floor(START / DAY)),
  ).toEqual({ n: 0 })
  expect(clock.now()).toBeGreaterThan(START + 400 * DAY)
})

test('days after a feed was no longer read are not complete', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  await pollFor(it, 30 * MIN)
  it.fixture.pass(3 * DAY)

  const { coverage, days } = (await ask(it, id)).body.statement

  expect(coverage.status).toBe('partial')
  expect(days.at(-1).intervals).toMatchObject([{ status: 'partial', reason: 'not_audited' }])
})

test('a rotated key stays published as retired, and a revoked one verifies nothing', async () => {
  const { daemon, id } = await start()
  await using it = daemon
  const { db, clock } = it.fixture
  const first = await ask(it, id)
  let n = 1
  const random = { bytes: (count: number) => new Uint8Array(count).fill(n++) }
  const keys = async () => (await it.call('/.well-known/forumd-keys.json')).text
  it.fixture.pass(H)
  rotateKey({ db, ring: RING, random, now: clock.now() }, { revoke: false })
  const second = await ask(it, id)

  expect(second.body.key_id).not.toBe(first.body.key_id)
  for (const { text } of [first, second])
    expect(checkCertificate(text, readTrustedKeys(await keys()), clock.now()).kind).toBe('valid')
  expect(JSON.parse(await keys()).keys).toMatchObject([
    { kid: second.body.key_id },
    { kid: first.body.key_id, retired_at: Math.floor(clock.now() / 1000) },
  ])
  expect(
    db.query('SELECT count(*) AS n FROM signing_keys WHERE private_key IS NOT NULL').get(),
  ).toEqual({ n: 1 })

  rotateKey({ db, ring: RING, random, now: clock.now() }, { revoke: true })
  expect(checkCertificate(second.text, readTrustedKeys(await keys()), clock.now())).toMatchObject({
    kind: 'invalid',
    reason: expect.stringContaining('revoked'),
  })
  expect(checkCertificate(first.text, readTrustedKeys(await keys()), clock.now()).kind).toBe(
    'valid',
  )
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
  ['&from=2025-03-27', 'from and to may be at most 400 days apart'],
])('refused: %s', async (query, error) => {
  const { daemon, id } = await start()
  await using it = daemon
  expect(await ask(it, id, query)).toMatchObject({ status: 400, body: { error } })
  expect((await ask(it, id, '&from=2025-03-28')).status).toBe(200)
})
