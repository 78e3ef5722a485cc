import { expect, test } from 'bun:test'

import {
  claimLease,
  judgeLease,
  type LeaseRecord,
  planReplica,
  readLease,
  usableMs,
} from '../../../../src/core/standby/lease.ts'

const TTL_MS = 30_000
const record: LeaseRecord = {
  holder: 'one',
  token: 'theirs',
  term: 7,
  beat: 3,
  ttl_ms: TTL_MS,
  released: false,
  replica: 5,
}

const judge = (found: Parameters<typeof judgeLease>[0], unchanged_ms: number) =>
  judgeLease(found, { unchanged_ms, ttl_ms: TTL_MS, token: 'mine' })

test.each<[string, Parameters<typeof judgeLease>[0], number, ReturnType<typeof judgeLease>]>([
  ['a lease that was just seen', record, 0, { wait_ms: TTL_MS, reason: 'held' }],
  ['a lease that does not change', record, TTL_MS - 1, { wait_ms: 1, reason: 'held' }],
  ['a lease unchanged for its term', record, TTL_MS, { wait_ms: 0, reason: 'held' }],
  ['a released lease', { ...record, released: true }, 0, { wait_ms: 0, reason: 'released' }],
  ['a lease of this process', { ...record, token: 'mine' }, 0, { wait_ms: 0, reason: 'own' }],
  ['an absent object', 'absent', 0, { wait_ms: TTL_MS, reason: 'absent' }],
  ['an object absent for a term', 'absent', TTL_MS, { wait_ms: 0, reason: 'absent' }],
  ['a foreign object', 'foreign', 1e12, { wait_ms: Infinity, reason: 'foreign' }],
  [
    'a shorter term of the holder',
    { ...record, ttl_ms: 1 },
    10_000,
    { wait_ms: TTL_MS - 10_000, reason: 'held' },
  ],
  [
    'a term of three times the own one',
    { ...record, ttl_ms: 3 * TTL_MS },
    TTL_MS,
    { wait_ms: 2 * TTL_MS, reason: 'held' },
  ],
  [
    'a longer term',
    { ...record, ttl_ms: 3 * TTL_MS + 1 },
    10_000,
    { wait_ms: TTL_MS - 10_000, reason: 'ttl_too_long' },
  ],
])('%s is judged by the time for which it was seen unchanged', (_, found, unchanged_ms, wait) => {
  expect(judge(found, unchanged_ms)).toEqual(wait)
})

test('a holder ends before a waiting node may begin', () => {
  expect(usableMs(TTL_MS)).toBeLessThan(judge(record, 0).wait_ms)
})

test.each([
  ['no JSON', 'hello'],
  ['another object', '{"holder":"one"}'],
  ['a negative term', JSON.stringify({ ...record, term: -1 })],
  ['a term that is no number', JSON.stringify({ ...record, ttl_ms: '30 s' })],
  ['a name that is too long', JSON.stringify({ ...record, holder: 'x'.repeat(256) })],
])('an object with %s is foreign', (_, text) => {
  expect(readLease(text)).toBe('foreign')
})

test('an object of forumd is read as it was written', () => {
  expect(readLease(JSON.stringify(record))).toEqual(record)
  expect(readLease(null)).toBe('absent')
})

const own = { holder: 'two', token: 'mine', ttl_ms: 10_000 }

test('a node takes a lease in the next term, with the data of the last one', () => {
  expect(claimLease(record, { ...own, newest: 0, now: 0 })).toEqual({
    ...own,
    term: 8,
    beat: 0,
    released: false,
    replica: 5,
  })
})

test('without an object the newest replica counts, and no number comes again', () => {
  const taken = claimLease('absent', { ...own, newest: 4, now: 1_800_000_000_000 })

  expect(taken).toMatchObject({ term: 1_800_000_001, replica: 4 })
})

test.each([
  ['goes on with its database and replica', 5, { restore: null, write: 5 }],
  ['restores the newest replica, and begins its own', 4, { restore: 5, write: 7 }],
  ['restores it also without a database of its own', null, { restore: 5, write: 7 }],
])('a node whose replica is 5, 4 or none %s', (_, local, plan) => {
  expect(planReplica(record, local)).toEqual(plan)
})

test('a first node restores nothing', () => {
  expect(planReplica({ term: 1, replica: 0 }, null)).toEqual({ restore: null, write: 1 })
})
