import { expect, setDefaultTimeout, test } from 'bun:test'

import { addAccounts } from '../support/accounts.ts'
import { beside, operatorKey, startOperated } from './operator-fixture.ts'

// Each test starts a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const SECOND = 1000
const MINUTE = 60 * SECOND

/** A daemon with a webhook "crm" and monitors of the place coffee for these words. */
async function start(words: readonly string[], retention_days = 30) {
  const daemon = await startOperated((config) => {
    config.retention.days = retention_days
  })
  const { body: hook } = await daemon.send('/forum/monitor/webhook/create', {
    url: daemon.receiver.url,
  })
  await daemon.send('/forum/monitor/webhook/update', { id: hook.id, name: 'crm' })
  for (const name of words)
    await daemon.send('/forum/monitor/add', { name, filter_spec: { subforum: 'coffee', q: name } })
  await daemon.clock.advance(2 * MINUTE)
  const report = async (key = daemon.key) => (await daemon.call('/account/problems', {}, key)).body
  return { daemon, report }
}

test('a failing receiver is reported within a minute, and its recovery', async () => {
  const { daemon, report } = await start(['needle'])
  await using _ = daemon
  expect(await report()).toEqual({ status: 'ok', problems: [], truncated: false })
  daemon.receiver.answers.push({ status: 500, headers: { 'retry-after': '600' } })
  daemon.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: daemon.clock.now() })
  await daemon.clock.advance(MINUTE)

  expect(await report()).toMatchObject({
    status: 'warning',
    problems: [
      {
        kind: 'webhook_retrying',
        subject: { id: expect.stringMatching(/^wh_/), name: 'crm' },
        message: 'Webhook crm is failing: 1 delivery is tried again (http_500)',
      },
    ],
  })
  expect((await report(daemon.mint('bob'))).problems).toEqual([])
  await daemon.clock.advance(11 * MINUTE)
  expect((await report()).problems).toEqual([])
})

test('an outage of the platform is reported within two polls, and its end', async () => {
  const { daemon, report } = await start(['needle'])
  await using _ = daemon
  daemon.sandbox.addFault({ path: '/', fault: '5xx', status: 503 })
  await daemon.clock.advance(2 * MINUTE + SECOND)

  expect((await report()).problems).toMatchObject([
    { kind: 'source_unreachable', subject: { id: 'forum', name: 'forum' } },
  ])
  await daemon.clock.advance(3 * MINUTE)
  expect((await report()).status).toBe('error')
  daemon.sandbox.clearFaults()
  await daemon.clock.advance(10 * MINUTE)
  // The outage stays a note for the day of the monitor's coverage.
  expect(await report()).toMatchObject({
    status: 'ok',
    problems: [{ kind: 'monitor_incomplete', severity: 'info' }],
  })
})

test('the activity lists an item once that matched two monitors, and counts both matches', async () => {
  const { daemon } = await start(['needle', 'hay'])
  await using _ = daemon
  daemon.sandbox.post({
    subforum: 'coffee',
    title: 'a needle in the hay',
    created_at: daemon.clock.now(),
  })
  await daemon.clock.advance(2 * MINUTE)
  const { body } = await daemon.call('/account/activity')

  expect(body.buckets).toHaveLength(24)
  expect(body.buckets.at(-1)).toEqual({
    start: '2026-01-01T00:00:00.000Z',
    matches: 2,
    delivered: 2,
    failed: 0,
  })
  expect(body.newest).toMatchObject([{ item: { title: 'a needle in the hay' } }])
  expect(body.newest[0].monitors.map(({ name }: { name: string }) => name).toSorted()).toEqual([
    'hay',
    'needle',
  ])
  const of = async (period: string) =>
    (await daemon.call(`/account/activity?period=${period}`)).body
  const week = await of('7d')
  expect([week.bucket, week.buckets.length, week.buckets.at(-1)]).toEqual([
    'hour',
    168,
    body.buckets.at(-1),
  ])
  const month = await of('30d')
  expect([month.bucket, month.buckets.length]).toEqual(['day', 30])
  expect([month.buckets[0].start, month.buckets.at(-1)]).toEqual([
    '2025-12-03T00:00:00.000Z',
    body.buckets.at(-1),
  ])
  expect((await of('1y')).field).toBe('period')
  const { body: other } = await daemon.call('/account/activity', {}, daemon.mint('bob'))
  expect(other.newest).toEqual([])
  // The hour is over: a past hour stays as it was counted.
  await daemon.restart(60 * MINUTE)
  const { body: later } = await daemon.call('/account/activity')
  expect(later.buckets.slice(-2).map(({ matches }: { matches: number }) => matches)).toEqual([2, 0])
})

test('days add up their hours, and matches past their retention are null, not 0', async () => {
  const { daemon } = await start(['needle'], 1)
  await using _ = daemon
  daemon.sandbox.post({ subforum: 'coffee', title: 'a needle', created_at: daemon.clock.now() })
  await daemon.clock.advance(2 * MINUTE)
  await daemon.restart(59 * MINUTE)
  daemon.sandbox.post({
    subforum: 'coffee',
    title: 'a needle again',
    created_at: daemon.clock.now(),
  })
  await daemon.clock.advance(2 * MINUTE)
  const { buckets } = (await daemon.call('/account/activity?period=30d')).body
  const matches = buckets.map((it: { matches: number | null }) => it.matches)

  expect(matches.slice(-3)).toEqual([null, null, 2])
  expect(buckets.map((it: { delivered: number }) => it.delivered).slice(-3)).toEqual([0, 0, 2])
})

test('used-up credits are an error of the customer, and a warning of the operator', async () => {
  const { daemon, report } = await start([])
  await using _ = daemon
  const key = operatorKey(daemon)
  beside(daemon, ({ db }) => db.run('UPDATE customers SET balance_micros = 1999'))
  addAccounts(daemon, [{ name: 'house' }])
  await daemon.send('/feedback', { type: 'bug', title: 'it broke', details: 'it did' })
  await daemon.clock.advance(SECOND)
  const { body } = await daemon.call('/operator/problems', {}, key)

  expect((await report()).problems).toMatchObject([{ kind: 'credits_used_up', severity: 'error' }])
  expect(
    body.problems.map(({ kind, subject }: { kind: string; subject: { name: string } | null }) => [
      kind,
      subject?.name,
    ]),
  ).toEqual(
    expect.arrayContaining([
      ['credits_used_up', 'ann'],
      ['account_unusable', 'house'],
      ['feedback_new', 'it broke'],
    ]),
  )
  expect((await daemon.call('/operator/activity', {}, key)).body.buckets).toHaveLength(24)
})

test('an operator reads a customer with what is its own, and without secrets', async () => {
  const { daemon } = await start(['needle'])
  await using _ = daemon
  const key = operatorKey(daemon)
  const { id } = (await daemon.call('/account/me')).body
  const { body } = await daemon.call(`/operator/customers/${id}`, {}, key)
  const absent = await daemon.call('/operator/customers/cus_none', {}, key)

  expect(body).toMatchObject({
    id,
    name: 'ann',
    deliveries: { waiting: 0, retrying: 0 },
    report: { status: 'ok' },
    keys: [{ prefix: daemon.key.slice(0, 8) }],
    monitors: [{ name: 'needle', active: true, pause_reason: null }],
    webhooks: [{ name: 'crm', kind: 'webhook', host: new URL(daemon.receiver.url).host }],
  })
  expect(JSON.stringify(body)).not.toContain(daemon.receiver.url)
  expect(JSON.stringify(body)).not.toContain(daemon.key)
  expect(absent.status).toBe(404)
})
