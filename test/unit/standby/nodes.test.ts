import { expect, test } from 'bun:test'

import { createNodes } from '../../../src/standby/nodes.ts'
import { addressOfNodes } from '../../../src/standby/open.ts'
import { fakeClock } from '../../support/clock.ts'
import { memoryRegister } from '../../support/memory-register.ts'

const STATE = { primary: null, standby: { copy: null, error: '', copy_every_ms: null } }

test.each([
  ['postgres://u:p@h:1/db', 'postgres://u:p@h:1/db?lease=forumd%2Fnodes'],
  ['postgres://u:p@h:1/db?lease=two', 'postgres://u:p@h:1/db?lease=two%2Fnodes'],
  ['etcd://h:2379/key', 'etcd://h:2379/key/nodes'],
  ['etcds://h:2379', 'etcds://h:2379/forumd/lease/nodes'],
  [
    's3://i:s@bucket/forumd/lease.json?endpoint=https://h',
    's3://i:s@bucket/forumd/lease.json.nodes?endpoint=https://h',
  ],
  ['s3://bucket', 's3://bucket/forumd-lease.json.nodes'],
])('the nodes of the lease %s are beside it', (lease, address) => {
  expect(addressOfNodes(lease)).toBe(address)
})

test('two nodes that announce themselves at the same time are both listed', async () => {
  const { register } = memoryRegister()
  const clock = fakeClock(() => Promise.resolve())
  const make = (node: string) => createNodes({ register, clock, node, token: node, ttl_ms: 30_000 })
  const [a, b] = [make('a'), make('b')]

  expect(await Promise.all([a.announce(STATE), b.announce(STATE)])).toEqual([true, true])

  await a.announce(STATE)
  expect(a.seen().map(({ node }) => node)).toEqual(['a', 'b'])
})

test('a node that has been silent for an hour is no longer listed', async () => {
  const { register } = memoryRegister()
  const clock = fakeClock(() => Promise.resolve())
  const make = (node: string) => createNodes({ register, clock, node, token: node, ttl_ms: 30_000 })
  const [a, b] = [make('a'), make('b')]
  await b.announce(STATE)
  await a.announce(STATE)
  expect(a.seen()).toHaveLength(2)

  await clock.advance(3_600_001)
  await a.announce(STATE)

  expect(a.seen().map(({ node }) => node)).toEqual(['a'])
})
