import { expect, test } from 'bun:test'

import {
  judgeReplica,
  lagOf,
  mergeNodes,
  newestLag,
  type NodeState,
  readNodes,
} from '../../../../src/core/standby/nodes.ts'

const marks = [
  { mark: 11, at: 1000 },
  { mark: 12, at: 6000 },
  { mark: 13, at: 60_000 },
]
const copy = (mark: number, began_at: number, epoch = 2) => ({
  epoch,
  mark,
  marked_at: 500,
  began_at,
})

test.each([
  ['with the newest mark lacks nothing, however old the mark is', copy(13, 999_000), 0],
  ['made before the next change lacks nothing', copy(12, 59_000), 0],
  ['lacks a change for as long as its mark had been written', copy(12, 75_000), 15_000],
  ['made before this start is judged by its first mark', copy(10, 5000), 4000],
  ['from before that is judged by its own time', copy(9, 5000), 4500],
  ['of an earlier epoch lacks everything since the start', copy(40, 9000, 1), 8000],
])('a copy %s', (_, it, lag_ms) => {
  expect(lagOf(it, { epoch: 2, marks })).toBe(lag_ms)
})

const node = (name: string, state: Partial<NodeState> = {}): NodeState => ({
  node: name,
  token: 't',
  beat: 1,
  every_ms: 10_000,
  at: 100_000,
  primary: null,
  standby: null,
  ...state,
})
const standby = (name: string, it: ReturnType<typeof copy> | null, error = '') =>
  node(name, { standby: { copy: it, error, copy_every_ms: 60_000 } })
const primary = (lag: { ms: number; measured_at: number; by: string } | null) =>
  node('a', {
    primary: { epoch: 2, lease_left_ms: 9000, unsettled_until: null, replication: 'running', lag },
  })

test('the newest one of several copies shows the lag', () => {
  const nodes = [standby('b', copy(12, 75_000)), standby('c', copy(13, 80_000)), standby('d', null)]

  expect(newestLag(nodes, { epoch: 2, marks })).toEqual({ ms: 0, measured_at: 80_000, by: 'c' })
  expect(newestLag([standby('d', null)], { epoch: 2, marks })).toBeNull()
})

const lag = { ms: 4000, measured_at: 90_000, by: 'b' }

test.each([
  ['within the bound', [primary(lag), standby('b', null)], 100_000, null],
  ['beyond the bound', [primary({ ...lag, ms: 31_000 })], 100_000, '31 s behind, more than 30 s'],
  ['a lag that no standby has measured', [primary(null)], 100_000, 'not known'],
  ['a primary that says nothing', [standby('b', null)], 100_000, 'has not announced itself'],
  ['a primary that has fallen silent', [primary(lag)], 140_000, 'silent for 40 s'],
  ['a standby that cannot restore', [primary(lag), standby('b', null, 'no')], 100_000, 'no'],
  [
    'a restore that is overdue',
    [{ ...primary(lag), at: 300_000 }, standby('b', null)],
    300_000,
    'last restored 210 s ago',
  ],
  [
    'a replication that has ended',
    [
      node('a', {
        primary: {
          epoch: 2,
          lease_left_ms: 9000,
          unsettled_until: null,
          replication: 'ended',
          lag,
        },
      }),
    ],
    100_000,
    'has ended',
  ],
])('%s is judged as such', (_, nodes, now, problem) => {
  const found = judgeReplica(nodes, { primary: 'a', max_lag_ms: 30_000, now })

  if (problem === null) expect(found).toBeNull()
  else expect(found).toContain(problem)
})

test('an announcement takes the place of the former one, and leaves out nodes that are gone', () => {
  const before = [node('a', { beat: 6 }), node('b'), node('c')]

  const text = mergeNodes(before, node('a', { beat: 7 }), ({ node: name }) => name === 'c')

  expect(readNodes(text)?.map((it) => [it.node, it.beat])).toEqual([
    ['a', 7],
    ['b', 1],
  ])
})

test('the list of nodes has a bound', () => {
  const many = Array.from({ length: 16 }, (_, n) => node(`n${n}`))

  const nodes = readNodes(mergeNodes(many, node('own'), () => false))

  expect(nodes).toHaveLength(16)
  expect(nodes?.[0]?.node).toBe('own')
})

test('a text of something else is not read', () => {
  expect(readNodes('{"nodes":[{"node":1}]}')).toBeNull()
  expect(readNodes('')).toBeNull()
})
