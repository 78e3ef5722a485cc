import { expect, test } from 'bun:test'

import {
  claimed,
  claimWait,
  elapsedAtMost,
  ForeignRecord,
  isComplete,
  judgeEpoch,
  mayAct,
  readRecord,
  releaseOf,
  remainingMs,
} from '../../../../src/core/standby/lease.ts'

const at = (mono: number, boot = mono, wall = mono) => ({ mono, boot, wall })
const LIMITS = { longest_ms: 11_000, skew_ms: 2000 }
const term = (ttl_ms = 30_000) => ({ epoch: 1, asked: at(0), ttl_ms })

test.each([
  ['the monotonic clock', at(16_999, 0, 0), true],
  ['the monotonic clock', at(17_000, 0, 0), false],
  ['the clock that counts suspension', at(0, 17_000, 0), false],
  ['the wall clock, set forward', at(0, 0, 17_000), false],
  ['a wall clock that was set back', at(16_999, 16_999, -3_600_000), true],
])('%s decides whether an act ends in time', (_, now, may) => {
  expect(mayAct(term(), now, LIMITS)).toBe(may)
})

test('an act that needs longer than the lease is never permitted', () => {
  expect(mayAct(term(13_000), at(0), LIMITS)).toBe(false)
})

test('a term without an end never ends', () => {
  const endless = { epoch: 1, asked: null, ttl_ms: 0 }

  expect(remainingMs(endless, at(1e12), 2000)).toBe(Infinity)
  expect(mayAct(endless, at(1e12), LIMITS)).toBe(true)
})

test('elapsed time never runs backward with one clock', () => {
  expect(elapsedAtMost(at(10, 10, 10), at(20, 10, 5))).toBe(10)
})

const record = { ...claimed(null, { holder: 'a', token: 't', ttl_ms: 30_000 }) }

test('a waiting process counts from its first sight of a version, whole term and skew', () => {
  const sighting = { version: '7', since: 1000 }

  expect(claimWait(record, sighting, { node: 'b', mono: 1000, skew_ms: 2000 })).toBe(32_000)
  expect(claimWait(record, sighting, { node: 'b', mono: 32_999, skew_ms: 2000 })).toBe(1)
  expect(claimWait(record, sighting, { node: 'b', mono: 33_000, skew_ms: 2000 })).toBe(0)
  expect(
    claimWait({ ...record, released: true }, sighting, { node: 'b', mono: 1000, skew_ms: 2000 }),
  ).toBe(0)
})

test('each claim has the next epoch and keeps the one in which a database acted', () => {
  const next = claimed({ ...record, data_epoch: 1 }, { holder: 'b', token: 'u', ttl_ms: 1 })

  expect(next).toMatchObject({ epoch: 2, data_epoch: 1, beat: 0, holder: 'b' })
})

test.each([
  [0, { epoch: 1, data_epoch: 0 }, 'current'],
  [3, { epoch: 4, data_epoch: 3 }, 'current'],
  // It entered epoch 4, and died before it could say so: no other process has acted since.
  [4, { epoch: 6, data_epoch: 3 }, 'current'],
  [3, { epoch: 5, data_epoch: 4 }, 'outdated'],
  [0, { epoch: 2, data_epoch: 1 }, 'outdated'],
  [5, { epoch: 5, data_epoch: 4 }, 'foreign'],
  [9, { epoch: 2, data_epoch: 1 }, 'foreign'],
] as const)('a database of epoch %i under the lease %j is %s', (epoch, lease, verdict) => {
  expect(judgeEpoch(epoch, lease)).toBe(verdict)
})

test('a record survives its text, and anything else is refused', () => {
  expect(readRecord(JSON.stringify(record))).toEqual(record)
  for (const text of ['', '{}', 'null', JSON.stringify({ ...record, epoch: 0 })])
    expect(() => readRecord(text)).toThrow(ForeignRecord)
})

test('a lease that is kept for a node is free for it at once, and for others after a term', () => {
  const kept = { ...record, released: true, to: 'b' }
  const sighting = { version: '7', since: 1000 }
  const now = { mono: 1000, skew_ms: 2000 }

  expect(claimWait(kept, sighting, { node: 'b', ...now })).toBe(0)
  expect(claimWait(kept, sighting, { node: 'c', ...now })).toBe(32_000)
  expect(claimWait(kept, sighting, { node: 'c', ...now, mono: 33_000 })).toBe(0)
})

test.each([
  ['a stop without a move', '', 7, true, ''],
  ['a stop without a move and a replica that lacks something', '', null, false, ''],
  ['a move', 'b', 7, true, 'b'],
  ['a move whose replication failed', 'b', 7, false, 'a'],
  ['a move without a last mark', 'b', null, true, 'a'],
])('%s: the lease is kept for the right node', (_, move_to, data_mark, is_replicated, to) => {
  expect(releaseOf({ own: 'a', move_to, data_mark, is_replicated })).toEqual({ to, data_mark })
})

test.each([
  [{ epoch: 2, mark: 7 }, 7, true],
  [{ epoch: 2, mark: 6 }, 7, false],
  [{ epoch: 1, mark: 9 }, 7, false],
  [{ epoch: 2, mark: 7 }, null, false],
])('the copy %j of a node with the last mark %j is complete: %j', (copy, data_mark, complete) => {
  expect(isComplete(copy, { data_epoch: 2, data_mark })).toBe(complete)
})
