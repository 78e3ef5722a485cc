import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { Stripe } from 'stripe'

import { createOperatorNotifier, createTrustedGuard } from '../../../src/delivery/operator.ts'
import { createStallWatch } from '../../../src/monitor/maintenance.ts'
import { createTransport } from '../../../src/net/transport.ts'
import type { Log } from '../../../src/runtime/runtime.ts'
import type { Db } from '../../../src/store/db/connection.ts'
import { fakeClock } from '../../support/clock.ts'
import { memoryDb } from '../../support/memory-db.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'

const HOUR = 3_600_000
const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(() => receiver[Symbol.asyncDispose]())

/** An operator notifier over an in-memory database. A second one on the same database is the next start. */
function createFixture(
  change: { db?: Db; webhook?: string; secret?: string; public_url?: string } = {},
) {
  const { db = memoryDb(), secret = SECRET } = change
  receiver.received.length = 0
  const clock = fakeClock(async () => {})
  const logged: Parameters<Log>[] = []
  let count = 0
  const operator = createOperatorNotifier({
    db,
    clock,
    random: {
      uuid: () => `u${++count}`,
      fraction: () => 0.5,
      bytes: (size) => new Uint8Array(size),
    },
    log: (...line) => void logged.push(line),
    transport: createTransport({
      fetch: (url, init) => fetch(url, init),
      clock,
      guard: createTrustedGuard({
        resolve: () => Promise.resolve(['127.0.0.1']),
        clock,
        timeout_ms: 5000,
      }),
      timeout_ms: 5000,
      ca: receiver.ca,
    }),
    webhook: change.webhook ?? receiver.url,
    secret,
    user_agent: 'forumd/1.0',
    public_url: change.public_url ?? '',
    nudge: () => {},
  })
  return { db, clock, logged, operator }
}

const bodies = () => receiver.received.map(({ text }) => JSON.parse(text))

describe('an operator', () => {
  test('is notified of a monitor that was paused for its patterns', async () => {
    const { operator } = createFixture()

    operator.log('warn', 'filter.too_slow', { monitor: 'mon_1', duration_ms: 312 })
    await operator.turn()

    expect(bodies()).toMatchObject([
      { event: 'filter.too_slow', kind: 'filter_too_slow', subject: 'mon_1' },
    ])
  })

  test.each([
    ['', 'docs/operations.md#a-loop-fails'],
    ['https://api.example', 'https://api.example/docs/operations#a-loop-fails'],
  ])('is shown what to do: with the public address "%s" at %s', async (public_url, runbook_url) => {
    const { operator } = createFixture({ public_url })

    operator.log('error', 'loop.failing', { loop: 'sender', code: 'SQLITE_BUSY' })
    await operator.turn()

    expect(bodies()).toMatchObject([{ kind: 'loop_failing', runbook_url }])
  })

  test('is notified of each platform outage and of its end, once each', async () => {
    const { operator, clock } = createFixture()
    for (let outage = 0; outage < 2; outage++) {
      operator.log('warn', 'platform.unreachable', { host: 'forum.test', count: 3 })
      operator.log('info', 'platform.recovered', { host: 'forum.test', duration_ms: 391_000 })
      await operator.turn()
      await clock.advance(HOUR)
    }

    expect(bodies().map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
      'platform_unreachable forum.test',
      'platform_recovered forum.test',
      'platform_unreachable forum.test',
      'platform_recovered forum.test',
    ])
    expect(bodies()[1]).toMatchObject({ event: 'platform.recovered' })
    expect(bodies()[1].message).toContain('after 391 s')
  })

  test('is notified of an account that needs a login, signed like a webhook', async () => {
    const { operator, clock, logged } = createFixture()
    operator.log('warn', 'account.needs_login', { account: 'main', reason: 'human_check' })
    await operator.turn()

    expect(bodies()).toMatchObject([
      {
        event_id: 'evt_u1',
        kind: 'account_needs_login',
        subject: 'main',
        created_at: '2026-01-01T00:00:00.000Z',
      },
    ])
    expect(bodies()[0].message).toContain('forumd account login main')
    expect(logged[0]).toMatchObject(['warn', 'account.needs_login', { account: 'main' }])
    const [{ headers, text } = { headers: new Headers(), text: '' }] = receiver.received
    const event: unknown = await Stripe.webhooks.constructEventAsync(
      text,
      headers.get('x-service-signature') ?? '',
      SECRET,
      300,
      undefined,
      clock.now(),
    )
    expect(event).toMatchObject({ event_id: headers.get('x-service-delivery-id') })
    expect(headers.get('webhook-signature')).toStartWith('v1,')
  })

  test('is notified of the same subject once in six hours, of another one at once', async () => {
    const { operator, clock } = createFixture()
    for (const account of ['a', 'a', 'b', 'a'])
      operator.log('warn', 'account.needs_login', { account })
    await operator.turn()
    expect(bodies().map(({ subject }) => subject)).toEqual(['a', 'b'])

    await clock.advance(6 * HOUR)
    operator.log('warn', 'account.needs_login', { account: 'a' })
    await operator.turn()
    expect(bodies().map(({ subject }) => subject)).toEqual(['a', 'b', 'a'])
  })

  test('is not notified of events that are only for the log', async () => {
    const { operator } = createFixture()
    operator.log('warn', 'check.cut', { stream: 'posts:cats' })
    await operator.turn()

    expect(receiver.received).toEqual([])
  })

  test('gets a failed event again later, with the same bytes, also after a restart', async () => {
    const first = createFixture()
    receiver.answers.push(503, { status: 500 })
    first.operator.log('warn', 'pool.empty')
    const again_at = await first.operator.turn()
    expect(again_at).toBe(first.clock.now() + 30_000)
    await first.clock.advance(30_000)
    await first.operator.turn()

    const before = bodies()
    const next = createFixture({ db: first.db })
    await next.clock.advance(HOUR)
    await next.operator.turn()
    await next.operator.turn()
    expect(bodies()).toEqual([before[0]])
    expect(new Set(before.map(({ event_id }) => event_id)).size).toBe(1)
  })

  test('gets no retry after a final refusal', async () => {
    const { operator, clock, logged } = createFixture()
    receiver.answers.push(404)
    operator.log('warn', 'webhook.paused', { webhook_id: 'wh_1', reason: 'gone' })
    await operator.turn()
    await clock.advance(24 * HOUR)
    await operator.turn()

    expect(bodies().map(({ kind }) => kind)).toEqual(['webhook_paused'])
    expect(logged.at(-1)).toMatchObject(['warn', 'operator.notified', { status: 'failed' }])
  })

  test('may sign with a secret of any form, and use credentials in the URL', async () => {
    const { operator } = createFixture({
      secret: 'plain',
      webhook: receiver.url.replace('://', '://me:p%40ss@'),
    })
    operator.log('warn', 'pool.empty')
    await operator.turn()

    const [{ headers } = { headers: new Headers() }] = receiver.received
    expect(headers.get('authorization')).toBe(`Basic ${btoa('me:p@ss')}`)
    expect(headers.get('x-service-signature')).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/)
    expect(headers.get('webhook-signature')).toBeNull()
  })

  test('without a URL has a log and no rows', async () => {
    const { operator, db, logged } = createFixture({ webhook: '' })
    operator.log('warn', 'pool.empty')

    expect(await operator.turn()).toBe(Infinity)
    expect(db.query('SELECT * FROM operator_events').all()).toEqual([])
    expect(logged).toEqual([['warn', 'pool.empty', {}]])
  })
})

/** A feed polled every minute, and the stall watch over it with the fields that it has logged. */
function createStallFixture() {
  const db = memoryDb()
  const clock = fakeClock(async () => {})
  const stalled: unknown[] = []
  db.query(
    `INSERT INTO feeds (key, kind, place, requested_interval_s, interval_s, next_check_at, created_at) VALUES ('posts:cats', 'posts', 'cats', 60, 60, 1, 1)`,
  ).run()
  const log: Log = (_, __, fields) => stalled.push(fields)
  return { db, clock, stalled, checkStalls: createStallWatch({ db, clock, log }) }
}

test('is not notified of a stall after the clock was set forward', async () => {
  const { clock, stalled, checkStalls } = createStallFixture()

  clock.jump(3_600_000)
  checkStalls()
  await clock.advance(60_000)
  checkStalls()

  expect(stalled).toEqual([])
})

test('is notified once of a feed not polled for three intervals, and again after it was polled', async () => {
  const { db, clock, stalled, checkStalls } = createStallFixture()

  checkStalls()
  await clock.advance(180_000)
  checkStalls()
  expect(stalled).toEqual([])

  await clock.advance(1)
  checkStalls()
  checkStalls()
  expect(stalled).toEqual([{ feed: 'posts:cats' }])

  db.query('UPDATE feeds SET last_check_at = ?').run(clock.now())
  checkStalls()
  await clock.advance(180_001)
  checkStalls()
  expect(stalled.length).toBe(2)
})
