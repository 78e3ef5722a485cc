import { expect, test } from 'bun:test'

import { parseConfig } from '../../../../src/config/load.ts'
import { createRing } from '../../../../src/core/base/secrets.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { recordConfig } from '../../../../src/store/maintenance/audit.ts'
import { memoryDb } from '../../../support/memory-db.ts'

const KEYS = [1, 2].map((fill) => new Uint8Array(32).fill(fill))
const ringOf = (...keys: Uint8Array[]) =>
  createRing(Buffer.concat(keys), (count) => new Uint8Array(count))
const [OLD = new Uint8Array(), NEW = new Uint8Array()] = KEYS
const ring = ringOf(OLD)

const usual = () =>
  parseConfig(`source = [{ name = "forum", kind = "reddit", base_url = "https://www.forum.example", session_cookie = "sess" }]
[guard]
allow_targets = ["10.1.0.0/16"]
[smtp]
url = "smtp://mailer:correct-horse@mail.example:587"
from = "a@b.example"
[operator]
webhook = "https://ops:battery-staple@ops.example/hook"
secret = "whsec_c2VjcmV0"
[metrics]
token = "scrape-me-12345"
`)

const note = (db: Db, config: object, with_ring = ring) =>
  recordConfig(db, { config, ring: with_ring, now: 7 })
const last = (db: Db) =>
  JSON.parse(
    db.query<{ detail: string }, []>('SELECT detail FROM audit ORDER BY seq DESC LIMIT 1').get()
      ?.detail ?? '{}',
  )

test('the configuration is recorded once, and again when it changes', () => {
  using db = memoryDb()
  const config = usual()
  expect([note(db, config), note(db, usual())]).toEqual([true, false])

  config.limits.key_rate = 11
  config.guard.allow_targets = ['10.1.0.0/16', '10.2.0.0/16']
  config.operator.secret = 'whsec_b3RoZXI'
  expect(note(db, config)).toBe(true)
  expect(last(db).changed).toEqual(['guard.allow_targets', 'operator.secret', 'limits.key_rate'])
  expect(last(db).settings).toMatchObject({
    'limits.key_rate': '11',
    'guard.allow_targets': '["10.1.0.0/16","10.2.0.0/16"]',
    'guard.allow_http': 'false',
  })
})

test('a removed plan is a change', () => {
  using db = memoryDb()
  const config = usual()
  note(db, { ...config, plans: { ...config.plans, pro: { slots: 5 } } })
  note(db, config)
  expect(last(db).changed).toEqual(['plans.pro.slots'])
})

test('no text is stored, only digests that require the key file', () => {
  using db = memoryDb()
  note(db, usual())
  const last_entry = JSON.stringify(last(db))
  for (const secret of ['correct-horse', 'battery-staple', 'whsec_', 'scrape-me', 'mailer'])
    expect(last_entry).not.toContain(secret)
  const first = last(db).settings['metrics.token']
  expect(first).toMatch(/^proof:[\w-]{22}$/)

  using other = memoryDb()
  note(other, usual(), ringOf(NEW))
  expect(last(other).settings['metrics.token']).not.toBe(first)
})

test('equal texts in two places have different digests', () => {
  using db = memoryDb()
  note(db, { a: 'swordfish', b: 'swordfish' })
  const { a, b } = last(db).settings
  expect(a).not.toBe(b)
})

test('a new encryption key is not recorded as a configuration change', () => {
  using db = memoryDb()
  note(db, usual())
  expect(note(db, usual(), ringOf(OLD, NEW))).toBe(false)
})
