import { expect, test } from 'bun:test'

import { parseConfig } from '../../../src/config/load.ts'

const read = (standby: string) =>
  parseConfig(
    `platform = { base_url = "https://forum.example", session_cookie = "s" }\n[standby]\n${standby}`,
  )
const refusal = (standby: string): string => {
  try {
    read(standby)
    return ''
  } catch (error) {
    return String(error)
  }
}

test('without [standby] there is no lease', () => {
  expect(read('').standby).toEqual({
    lease: '',
    name: '',
    ttl_s: 30,
    skew_s: 2,
    replicate: [],
    restore: [],
    restore_every_s: 300,
    unsettled_s: 86_400,
  })
})

test.each([
  'postgres://forumd:secret@host:5432/database?lease=two',
  'etcd://host:2379/forumd/lease',
  'etcds://host:2379',
  's3://bucket/lease.json?endpoint=https://s3.example.org',
  'manual',
])('%s is a lease', (lease) => {
  expect(read(`lease = "${lease}"\nname = "a"`).standby.lease).toBe(lease)
})

test.each(['mysql://host/db', 'postgres://host', 's3://bucket', 'etcd:', 'here', 'a b'])(
  '%s is no lease, and the error names what is, without the text',
  (lease) => {
    const error = refusal(`lease = "${lease}"\nname = "a"`)

    expect(error).toContain('standby.lease: found this text; allowed: postgres://')
    expect(error).not.toContain(`"${lease}"`)
  },
)

test('a lease needs the name of its node', () => {
  expect(refusal('lease = "etcd://host:2379"')).toContain('standby.name: missing; a name')
})

test.each([
  ['ttl_s = 18', 'standby.ttl_s: found 18; at least 18.75'],
  ['ttl_s = 30\nskew_s = 10', 'standby.ttl_s: found 30; at least 30.75'],
  ['ttl_s = 18.75', ''],
])('a lease that is shorter than its longest act is refused: %j', (lines, sentence) => {
  const error = refusal(`lease = "etcd://host:2379"\nname = "a"\n${lines}`)

  expect(error === '' ? '' : error.split('\n').find((it) => it.includes('ttl_s'))).toContain(
    sentence,
  )
})

test('a command to restore needs the place of its file', () => {
  expect(refusal('restore = ["litestream", "restore"]')).toContain('{target}')
  expect(read('restore = ["cp", "/mnt/replica", "{target}"]').standby.restore).toHaveLength(3)
})
