import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { apiKey, base62 } from '../../../../src/core/base/ids.ts'
import {
  findCustomer,
  findCustomerByName,
  listCustomers,
  removeCustomer,
} from '../../../../src/store/customers/customers.ts'
import {
  findKey,
  insertKey,
  listKeys,
  revokeKey,
  touchKey,
} from '../../../../src/store/customers/keys.ts'
import { type Db, openDb } from '../../../../src/store/db/connection.ts'
import { addCustomer, addKey } from '../../../support/customers.ts'
import { tempFolder } from '../../../support/folder.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const TOKEN = apiKey('customer', new Uint8Array(32).fill(7))

function withKey(path = ':memory:'): Db {
  const db = openDb(path, { create: true })
  addCustomer(db, 'cus_1', { name: 'acme', at: NOW })
  addKey(db, 'cus_1', {
    token: TOKEN,
    scopes: ['read', 'write', 'monitor'],
    id: 'key_1',
    name: 'laptop',
    at: NOW,
  })
  return db
}

test('a key is fk_ or fo_ and 43 letters and digits, for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expect(apiKey('customer', bytes)).toMatch(/^fk_[0-9A-Za-z]{43}$/)
      expect(apiKey('operator', bytes)).toMatch(/^fo_[0-9A-Za-z]{43}$/)
    }),
  )
  expect(() => apiKey('customer', new Uint8Array(31))).toThrow(RangeError)
})

test('base62 preserves the order of numbers', () => {
  expect(base62(Uint8Array.of(0), 1)).toBe('0')
  expect(base62(Uint8Array.of(61), 1)).toBe('z')
  expect(base62(Uint8Array.of(62), 2)).toBe('10')
  expect(base62(Uint8Array.of(1, 0), 3)).toBe('048')
})

test('the key itself is not stored in the file', async () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  withKey(path).close()

  expect(await Bun.file(path).text()).toContain('laptop')
  expect(await Bun.file(path).text()).not.toContain(TOKEN.slice(8))
})

test('a key revoked through another connection is rejected at the next call', () => {
  using folder = tempFolder()
  const path = folder.file('a.sqlite')
  using db = withKey(path)
  expect(findKey(db, TOKEN, NOW)).not.toBeNull()
  using other = openDb(path)

  expect(revokeKey(other, 'key_1', NOW)).toBe(true)
  expect(findKey(db, TOKEN, NOW)).toBeNull()
  expect(revokeKey(other, 'key_1', NOW)).toBe(false)
})

test('the time of the last use never moves back', () => {
  using db = withKey()
  touchKey(db, 'key_1', NOW + 5)
  touchKey(db, 'key_1', NOW + 3)

  expect(listKeys(db)[0]?.last_used_at).toBe(NOW + 5)
})

test('the same key cannot be stored twice', () => {
  using db = withKey()
  const again = { id: 'key_2', customer_id: 'cus_1', token: TOKEN, name: null, scopes: [] }
  expect(() => insertKey(db, { ...again, created_at: NOW, expires_at: null })).toThrow(/UNIQUE/)
})

test('a removed customer loses its keys and name, and its ledger stays', () => {
  using db = withKey()
  expect(removeCustomer(db, 'cus_1', NOW)).toBe(true)

  expect(findKey(db, TOKEN, NOW)).toBeNull()
  expect([findCustomer(db, 'cus_1'), findCustomerByName(db, 'acme'), listCustomers(db)]).toEqual([
    null,
    null,
    [],
  ])
  expect(removeCustomer(db, 'cus_1', NOW)).toBe(false)
  expect(db.query('SELECT count(*) AS n FROM customers').get()).toEqual({ n: 1 })
  addCustomer(db, 'cus_2', { name: 'acme', at: NOW })
})

test('a key created while its customer is removed is not valid', () => {
  using db = withKey()
  removeCustomer(db, 'cus_1', NOW)
  const second_key = {
    id: 'key_2',
    customer_id: 'cus_1',
    token: `${TOKEN}2`,
    name: null,
    scopes: [],
  }
  insertKey(db, { ...second_key, created_at: NOW, expires_at: null })

  expect(findKey(db, second_key.token, NOW)).toBeNull()
})
