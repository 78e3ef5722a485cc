import { describe, expect, test } from 'bun:test'

import { writes } from '../../src/api/writes/writes.ts'
import { createRing } from '../../src/core/seal.ts'
import type { ActOutcome } from '../../src/gateway/act-browser.ts'
import type { Acting } from '../../src/gateway/act.ts'
import { findCustomer } from '../../src/store/customers.ts'
import type { Db } from '../../src/store/db.ts'
import { listUnbalanced } from '../../src/store/ledger.ts'
import { json, startHouse } from '../support/http.ts'
import { PRICES } from '../support/quiet-app.ts'

const never = () => Promise.reject(new Error('nothing else is done here'))

const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))

/** The HTTP side alone, where voting ends as it is told. */
function startVoting(vote: (db: Db) => Promise<ActOutcome<string>>) {
  let voted = 0
  const ring = createRing(random(32), random)
  const house = startHouse({
    routes: (infra, db) => {
      const acting: Acting = {
        link: () => null,
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
      const deeds = { acting, signIn: never, loadPicture: never }
      return writes(infra, deeds, {
        db,
        ring,
        session_cookie: 'session',
        guardProxy: (proxy) => Promise.resolve(proxy),
        browser_schemes: ['http'],
      })
    },
  })
  const call = (name: string) =>
    house.call(
      '/api/forum/vote',
      json(
        { forum_session: 's', loid: 'l', id: 't3_abc', direction: 'up' },
        name === '' ? {} : { 'idempotency-key': name },
      ),
    )
  return {
    house,
    call,
    voted: () => voted,
    balance: () => findCustomer(house.db, 'cus_1')?.balance_micros,
    [Symbol.asyncDispose]: () => house[Symbol.asyncDispose](),
  }
}

const DONE = { ok: true, value: 't3_abc' } as const
const SPENT = 500_000 - PRICES.vote

test('an end that cannot be booked is not called undone', async () => {
  await using it = startVoting(async (db) => {
    db.run('PRAGMA query_only = 1')
    return DONE
  })

  const { status, body } = await it.call('')

  expect([status, body['code']]).toEqual([502, 'OUTCOME_UNKNOWN'])
})

test('an answer that cannot be kept is not asked for twice', async () => {
  await using it = startVoting(async (db) => {
    db.run('PRAGMA query_only = 1')
    return DONE
  })

  const first = await it.call('mine')
  it.house.db.run('PRAGMA query_only = 0')
  const second = await it.call('mine')

  expect([first.body['code'], second.body['code']]).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'])
  expect(it.voted()).toBe(1)
  expect(it.house.log.map(([, event]) => event)).toContain('writes.answer_not_kept')
})

test('a disk that is full before the platform is asked keeps it from being asked', async () => {
  await using it = startVoting(async () => DONE)
  it.house.db.run('PRAGMA query_only = 1')

  const [plain, named] = [await it.call(''), await it.call('mine')]
  it.house.db.run('PRAGMA query_only = 0')
  const again = await it.call('mine')

  expect([plain.status, named.status, again.status]).toEqual([503, 503, 200])
  expect(it.voted()).toBe(1)
})

describe('a fault of our own in the middle of a write', () => {
  test('is free, and told as what it is', async () => {
    await using it = startVoting(async () => {
      throw new TypeError('undefined is not a vote')
    })

    const { status, body } = await it.call('')

    expect([status, body['code']]).toEqual([500, 'internal_error'])
    expect(it.balance()).toBe(500_000)
  })

  test('leaves its name taken: nobody knows how far it went', async () => {
    await using it = startVoting(async () => {
      throw new TypeError('undefined is not a vote')
    })

    const [first, second] = [await it.call('mine'), await it.call('mine')]

    expect([first.status, second.status]).toEqual([500, 500])
    expect(second.body).toEqual(first.body)
    expect(it.voted()).toBe(1)
  })
})

test('a clock that is set a day on lets nobody do again what is being done', async () => {
  const done = Promise.withResolvers<typeof DONE>()
  await using it = startVoting(() => done.promise)
  const first = it.call('mine')
  while (it.voted() === 0) await Bun.sleep(1)
  it.house.clock.jump(25 * 3_600_000)

  const second = it.call('mine')
  const early = await Promise.race([second, Bun.sleep(1000).then(() => null)])
  done.resolve(DONE)

  expect([early?.status, early?.body['code']]).toEqual([409, 'IN_PROGRESS'])
  expect((await first).status).toBe(200)
  expect(it.voted()).toBe(1)
})

test('a write that the balance does not cover is not done, and takes no name', async () => {
  await using it = startVoting(async () => DONE)
  it.house.db.run('UPDATE customers SET balance_micros = 1')

  const poor = await it.call('mine')
  it.house.db.run('UPDATE customers SET balance_micros = 500000')
  const rich = await it.call('mine')

  expect([poor.status, poor.body['code']]).toEqual([402, 'insufficient_credits'])
  expect([rich.status, it.voted()]).toEqual([200, 1])
})

test('many at once are each done and paid for once', async () => {
  await using it = startVoting(async () => DONE)
  const names = Array.from({ length: 20 }, (_, at) => `n${at % 10}`)

  const answers = await Promise.all(names.map(it.call))
  const again = await Promise.all(names.map(it.call))

  const told = [...answers, ...again].map(({ status, body }) => body['code'] ?? status)
  expect(new Set(told)).toEqual(new Set([200, 'IN_PROGRESS']))
  expect(again.every(({ status }) => status === 200)).toBe(true)
  expect(it.voted()).toBe(10)
  expect(it.balance()).toBe(500_000 - 10 * PRICES.vote)
  expect(listUnbalanced(it.house.db)).toEqual([])
})

type Fault = Extract<ActOutcome<string>, { ok: false }>['fault']

test.each<[Fault, number, string, boolean]>([
  [{ kind: 'throttled', retry_after_s: 7 }, 502, 'FORUM_RATELIMIT', true],
  [{ kind: 'throttled', retry_after_s: 7, unasked: true }, 502, 'FORUM_RATELIMIT', false],
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
