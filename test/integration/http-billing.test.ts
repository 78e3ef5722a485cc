import { expect, test } from 'bun:test'

import type { Fault } from '../../src/core/base/result.ts'
import { findCustomer, updateCustomer } from '../../src/store/customers/customers.ts'
import { sumUsage } from '../../src/store/customers/ledger.ts'
import { NO_LIMITS, PRICES } from '../support/app-options.ts'
import { listUnbalanced } from '../support/invariants.ts'
import { faulty, json, startTestApi } from '../support/test-api.ts'

test('a read costs its price, and reports the remaining balance', async () => {
  await using daemon = startTestApi()
  const first = await daemon.call('/api/forum/search?q=cats')
  const second = await daemon.call('/api/forum/search?q=cats')

  expect([first.status, first.headers.get('x-credits-remaining')]).toEqual([200, '0.498'])
  expect(second.headers.get('x-credits-remaining')).toBe('0.496')
  expect((await daemon.call('/account/me')).body).toMatchObject({
    credits_remaining: 0.496,
    credits_used: 0.004,
    total_requests: 2,
  })
})

type Row = [fault: Fault, status: number, code: string, billed: boolean, more?: object]
const READ_FAULTS: Row[] = [
  [{ kind: 'throttled', retry_after_s: 6.2 }, 429, 'HTTP_429', false, { retry_after: 7 }],
  [{ kind: 'blocked' }, 503, 'upstream_unavailable', false, { retry_after: 5 }],
  [{ kind: 'login_required' }, 403, 'PERMISSION_DENIED', true],
  [{ kind: 'forbidden', reason: 'private' }, 403, 'PERMISSION_DENIED', true, { reason: 'private' }],
  [{ kind: 'forbidden', reason: null }, 403, 'PERMISSION_DENIED', true, { reason: null }],
  [{ kind: 'not_found', reason: 'banned' }, 404, 'NOT_FOUND', true, { reason: 'banned' }],
  [{ kind: 'timeout' }, 408, 'upstream_timeout', false, { retry_after: 2 }],
  [
    { kind: 'unavailable', status: 502, retry_after_s: 9 },
    503,
    'upstream_unavailable',
    false,
    { retry_after: 9 },
  ],
  [{ kind: 'unreadable', path: 'data.children' }, 503, 'upstream_unavailable', false],
  [{ kind: 'rejected', status: 414 }, 502, 'UPSTREAM_ERROR', false],
  [{ kind: 'proxy' }, 502, 'PROXY_ERROR', true],
]

test.each(READ_FAULTS)('a read that ends in %j is answered %i %s, billed: %j', async (...row) => {
  const [fault, status, code, billed, more = {}] = row
  await using daemon = startTestApi()
  daemon.script.push(faulty(fault))
  const answer = await daemon.call('/api/forum/search?q=cats')

  expect(answer.status).toBe(status)
  expect(answer.body).toMatchObject({ error: code, code, ...more })
  expect(answer.headers.get('x-credits-remaining')).toBe(billed ? '0.498' : null)
  expect(answer.headers.get('retry-after') ?? undefined).toBe(
    answer.body['retry_after']?.toString(),
  )
  expect(findCustomer(daemon.db, 'cus_1')?.balance_micros).toBe(billed ? 498_000 : 500_000)
})

test.each([
  { kind: 'timeout' },
  { kind: 'blocked' },
  { kind: 'unavailable', status: null, retry_after_s: null },
] as const)(
  'verify answers 502, not billed, where a read would answer otherwise: %j',
  async (fault) => {
    await using daemon = startTestApi({
      routes: ({ keyed, meter }) => [
        keyed.get('/api/forum/verify', ({ holder, set }) =>
          meter('read', holder, set.headers, faulty(fault), { flavour: 'verify' }),
        ),
      ],
    })
    const { status, body } = await daemon.call('/api/forum/verify')

    expect([status, body['code']]).toEqual([502, 'UPSTREAM_ERROR'])
    expect(findCustomer(daemon.db, 'cus_1')?.balance_micros).toBe(500_000)
  },
)

test('a call that the balance does not cover is refused before a platform request', async () => {
  await using daemon = startTestApi({ credits_micros: PRICES.read - 1 })
  let was_requested = false
  daemon.script.push(() => {
    was_requested = true
    return Promise.resolve({ ok: true, value: {} })
  })
  const { status, body } = await daemon.call('/api/forum/search?q=cats')

  expect(status).toBe(402)
  expect(body).toMatchObject({ error: 'Insufficient credits', code: 'insufficient_credits' })
  expect(was_requested).toBe(false)
})

test('a wrong field is free and reported before an empty balance', async () => {
  await using daemon = startTestApi({ credits_micros: 0 })
  expect((await daemon.call('/api/forum/search')).body).toMatchObject({ error: 'q is required' })
})

test('a bug is a 500 without details, logged, and releases the hold', async () => {
  await using daemon = startTestApi()
  daemon.script.push(() => Promise.reject(new Error('secret-of-the-house')))
  const answer = await daemon.call('/api/forum/search?q=cats')

  expect([answer.status, answer.body]).toEqual([
    500,
    { error: 'internal_error', code: 'internal_error' },
  ])
  expect(daemon.log).toMatchObject([
    ['error', 'http.failed', { route: '/api/forum/search', method: 'GET', error: 'Error' }],
  ])
  expect(JSON.stringify(daemon.log)).not.toContain('secret-of-the-house')
  expect(findCustomer(daemon.db, 'cus_1')?.balance_micros).toBe(500_000)
})

test('concurrent calls never spend more than the balance', async () => {
  await using daemon = startTestApi({
    credits_micros: PRICES.read * 5,
    limits: NO_LIMITS,
  })
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => daemon.call('/api/forum/search?q=cats')),
  )

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 402)).toHaveLength(35)
  expect(findCustomer(daemon.db, 'cus_1')?.balance_micros).toBe(0)
  expect(listUnbalanced(daemon.db)).toEqual([])
})

test('with billing off nothing is held or refused, and calls are counted', async () => {
  await using daemon = startTestApi({
    credits_micros: 0,
    billing: { enabled: false, prices: PRICES },
  })
  const answer = await daemon.call('/api/forum/search?q=cats')

  expect([answer.status, answer.headers.get('x-credits-remaining')]).toEqual([200, null])
  expect(sumUsage(daemon.db, 'cus_1')).toEqual({ calls: 1, cost_micros: 0 })
})

test('an unlimited customer reads with an empty balance', async () => {
  await using daemon = startTestApi({ credits_micros: 0 })
  updateCustomer(daemon.db, 'cus_1', { unlimited: true })

  expect((await daemon.call('/api/forum/search?q=cats')).status).toBe(200)
})

test('while storage fails, a metered call is 503 without a platform request; free calls are answered', async () => {
  await using daemon = startTestApi()
  let was_requested = false
  daemon.script.push(() => {
    was_requested = true
    return Promise.resolve({ ok: true, value: {} })
  })
  daemon.db.run('PRAGMA query_only = ON')
  const answer = await daemon.call('/api/forum/search?q=cats')
  const free = await daemon.call('/account/me')
  daemon.db.run('PRAGMA query_only = OFF')

  expect(answer.status).toBe(503)
  expect(answer.body).toMatchObject({ code: 'storage_unavailable', retry_after: 5 })
  expect(was_requested).toBe(false)
  expect(free.status).toBe(200)
})

test('payments and usage are shown as recorded', async () => {
  await using daemon = startTestApi()
  await daemon.call('/api/forum/search?q=cats')
  daemon.script.push(faulty({ kind: 'timeout' }))
  await daemon.call('/api/forum/search?q=cats')
  const payments = await daemon.call('/account/payments')
  const usage = await daemon.call('/account/usage?bucket=hour&from=2025-12-31&to=2026-01-02')

  expect(payments.body).toEqual({
    payments: [
      {
        id: 'pay_cus_1',
        kind: 'signup_credit',
        amount_usd: 0.5,
        note: null,
        created_at: '2026-01-01T00:00:00.000Z',
      },
    ],
  })
  const counts = { calls: 2, billed_calls: 1, cost_usd: 0.002, errors: 1 }
  expect(usage.body).toEqual({
    usage: [{ start: '2026-01-01T00:00:00.000Z', ...counts, by_tier: { read: counts } }],
    total: counts,
  })
})

test.each([
  ['from=yesterday', 'from', /ISO 8601/],
  ['bucket=week', 'bucket', /hour, day/],
  ['from=2026-02-01&to=2026-01-01', 'from', /before to/],
  ['from=2020-01-01', 'from', /at most 366 days/],
])('usage?%s is refused by field', async (wrong, field, sentence) => {
  await using daemon = startTestApi()
  const { status, body } = await daemon.call(`/account/usage?${wrong}`)

  expect([status, body['field']]).toEqual([400, field])
  expect(body['error']).toMatch(sentence)
})

test('verify by POST is billed as a read', async () => {
  await using daemon = startTestApi()
  const answer = await daemon.call('/api/forum/comments/verify', json({ ids: ['a'] }))

  expect([answer.status, answer.headers.get('x-credits-remaining')]).toEqual([200, '0.498'])
})
