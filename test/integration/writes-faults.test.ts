import { describe, expect, test } from 'bun:test'

import { createRing } from '../../src/core/base/secrets.ts'
import type { AccountWrites, ActOutcome } from '../../src/gateway/writes.ts'
import { findCustomer } from '../../src/store/customers/customers.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { writes } from '../../src/wiring/routes.ts'
import { PRICES } from '../support/app-options.ts'
import { listUnbalanced } from '../support/invariants.ts'
import { json, startTestApi } from '../support/test-api.ts'

const never = () => Promise.reject(new Error('nothing else is done here'))

const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))

/** The HTTP application alone, with a given outcome of voting. */
function startVoting(vote: (db: Db) => Promise<ActOutcome<string>>) {
  let voted = 0
  const ring = createRing(random(32), random)
  const daemon = startTestApi({
    routes: (context, db) => {
      const acting: AccountWrites = {
        link: () => null,
        isItem: () => true,
        recipient: () => null,
        page_method: 'browser',
        comment: never,
        commentInBrowser: never,
        send: never,
        threads: never,
        messages: never,
        profile: never,
        picture: never,
        vote: () => {
          voted += 1
          return vote(db)
        },
      }
      const actions = { acting, signIn: never, loadPicture: never }
      return writes(context, actions, {
        db,
        ring,
        session_cookie: 'session',
        guardProxy: (proxy) => Promise.resolve(proxy),
        browser_schemes: ['http'],
        source: null,
      })
    },
  })
  const call = (name: string) =>
    daemon.call(
      '/api/forum/vote',
      json(
        { forum_session: 's', loid: 'l', id: 't3_abc', direction: 'up' },
        name === '' ? {} : { 'idempotency-key': name },
      ),
    )
  return {
    daemon,
    call,
    voted: () => voted,
    balance: () => findCustomer(daemon.db, 'cus_1')?.balance_micros,
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

const DONE = { ok: true, value: 't3_abc' } as const
const SPENT = 500_000 - PRICES.vote

test('a write whose result cannot be recorded is not reported as failed', async () => {
  await using it = startVoting(async (db) => {
    db.run('PRAGMA query_only = 1')
    return DONE
  })

  const { status, body } = await it.call('')

  expect([status, body['code']]).toEqual([502, 'OUTCOME_UNKNOWN'])
})

test('a write whose answer cannot be stored is not repeated', async () => {
  await using it = startVoting(async (db) => {
    db.run('PRAGMA query_only = 1')
    return DONE
  })

  const first = await it.call('mine')
  it.daemon.db.run('PRAGMA query_only = 0')
  const second = await it.call('mine')

  expect([first.body['code'], second.body['code']]).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'])
  expect(it.voted()).toBe(1)
  expect(it.daemon.log.map(([, event]) => event)).toContain('writes.result_not_stored')
})

test('a disk that is full before the platform request prevents it', async () => {
  await using it = startVoting(async () => DONE)
  it.daemon.db.run('PRAGMA query_only = 1')

  const [plain, named] = [await it.call(''), await it.call('mine')]
  it.daemon.db.run('PRAGMA query_only = 0')
  const again = await it.call('mine')

  expect([plain.status, named.status, again.status]).toEqual([503, 503, 200])
  expect(it.voted()).toBe(1)
})

describe('an internal error during a write', () => {
  test('is free, and reported as such', async () => {
    await using it = startVoting(async () => {
      throw new TypeError('undefined is not a vote')
    })

    const { status, body } = await it.call('')

    expect([status, body['code']]).toEqual([500, 'internal_error'])
    expect(it.balance()).toBe(500_000)
  })

  test('keeps its key claimed, because its progress is unknown', async () => {
    await using it = startVoting(async () => {
      throw new TypeError('undefined is not a vote')
    })

    const [first, second] = [await it.call('mine'), await it.call('mine')]

    expect([first.status, second.status]).toEqual([500, 500])
    expect(second.body).toEqual(first.body)
    expect(it.voted()).toBe(1)
  })
})

test('a clock set a day ahead permits no repeat of a running write', async () => {
  const done = Promise.withResolvers<typeof DONE>()
  await using it = startVoting(() => done.promise)
  const first = it.call('mine')
  while (it.voted() === 0) await Bun.sleep(1)
  it.daemon.clock.jump(25 * 3_600_000)

  const second = it.call('mine')
  const early = await Promise.race([second, Bun.sleep(1000).then(() => null)])
  done.resolve(DONE)

  expect([early?.status, early?.body['code']]).toEqual([409, 'IN_PROGRESS'])
  expect((await first).status).toBe(200)
  expect(it.voted()).toBe(1)
})

test('a write that the balance does not cover is not sent and claims no key', async () => {
  await using it = startVoting(async () => DONE)
  it.daemon.db.run('UPDATE customers SET balance_micros = 1')

  const poor = await it.call('mine')
  it.daemon.db.run('UPDATE customers SET balance_micros = 500000')
  const rich = await it.call('mine')

  expect([poor.status, poor.body['code']]).toEqual([402, 'insufficient_credits'])
  expect([rich.status, it.voted()]).toEqual([200, 1])
})

test('concurrent writes are each sent and billed once', async () => {
  await using it = startVoting(async () => DONE)
  const names = Array.from({ length: 20 }, (_, at) => `n${at % 10}`)

  const answers = await Promise.all(names.map(it.call))
  const again = await Promise.all(names.map(it.call))

  const codes = [...answers, ...again].map(({ status, body }) => body['code'] ?? status)
  expect(new Set(codes)).toEqual(new Set([200, 'IN_PROGRESS']))
  expect(again.every(({ status }) => status === 200)).toBe(true)
  expect(it.voted()).toBe(10)
  expect(it.balance()).toBe(500_000 - 10 * PRICES.vote)
  expect(listUnbalanced(it.daemon.db)).toEqual([])
})

type Fault = Extract<ActOutcome<string>, { ok: false }>['fault']

test.each<[Fault, number, string, boolean]>([
  [{ kind: 'throttled', retry_after_s: 7 }, 502, 'FORUM_RATELIMIT', true],
  [{ kind: 'throttled', retry_after_s: 7, not_requested: true }, 502, 'FORUM_RATELIMIT', false],
  [{ kind: 'blocked' }, 502, 'UPSTREAM_BLOCKED', false],
  [{ kind: 'login_required' }, 401, 'REAUTH_REQUIRED', true],
  [{ kind: 'forbidden', reason: 'private' }, 403, 'PERMISSION_DENIED', true],
  [{ kind: 'not_found', reason: 'legal' }, 404, 'NOT_FOUND', true],
  [{ kind: 'timeout' }, 408, 'upstream_timeout', false],
  [{ kind: 'unavailable', status: 503, retry_after_s: 9 }, 503, 'upstream_unavailable', false],
  [{ kind: 'unreadable', path: 'data' }, 503, 'upstream_unavailable', false],
  [{ kind: 'rejected', status: 400 }, 502, 'FORUM_REJECTED', true],
  [{ kind: 'proxy' }, 502, 'PROXY_ERROR', true],
  [{ kind: 'proxy', trouble: 'denied' }, 502, 'PROXY_ERROR', true],
  [{ kind: 'proxy', trouble: 'refused' }, 400, 'INVALID_PROXY', false],
  [{ kind: 'unknown' }, 502, 'OUTCOME_UNKNOWN', true],
  [{ kind: 'no_browser', why: 'there is none' }, 503, 'browser_unavailable', false],
])('a write that ends in %j is answered %i %s, billed: %j', async (...row) => {
  const [fault, status, code, billed] = row
  await using it = startVoting(async () => ({ ok: false, fault }))

  const { status: got, body, headers } = await it.call('')

  expect([got, body['code']]).toEqual([status, code])
  expect(it.balance()).toBe(billed ? SPENT : 500_000)
  expect(headers.get('x-credits-remaining') !== null).toBe(billed)
  expect(headers.get('retry-after') ?? undefined).toBe(body['retry_after']?.toString())
})
