import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'

import { insertKey } from '../../../../src/store/customers/keys.ts'
import {
  findWebSession,
  insertSignInLink,
  insertWebSession,
  useSignInLink,
} from '../../../../src/store/customers/web-sessions.ts'
import { openInstance } from '../../../../src/store/maintenance/instance.ts'
import { pathsOf } from '../../../../src/store/maintenance/paths.ts'
import { openBackup, restoreInstance } from '../../../../src/store/maintenance/restore.ts'
import { tempFolder } from '../../../support/folder.ts'

const clock = { now: () => 1_000_000 }
const random = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
}

const ORIGIN = { browser: 'Firefox 128 on Linux', address: '203.0.113.7' }

test('restoring a backup ends all sessions and links, and keeps the keys', () => {
  using folder = tempFolder()
  const place = { dir: folder.file('data'), key_file: '', clock, random }
  const backup = folder.file('backup.sqlite')
  const before = openInstance(place, { mode: 'serve' })
  const token = `fo_${'a'.repeat(43)}`
  const key = { id: 'key_1', customer_id: null, token, name: null, scopes: [], created_at: 1 }
  insertKey(before.db, { ...key, expires_at: null })
  insertWebSession(before.db, { token: 'cookie', key_id: 'key_1', ...ORIGIN }, clock.now())
  insertSignInLink(before.db, { token: 'link', key_id: 'key_1' }, clock.now())
  expect(findWebSession(before.db, 'cookie', clock.now())?.key.id).toBe('key_1')
  before.db.query('VACUUM INTO ?').run(backup)
  before.close()

  restoreInstance(openBackup(backup), pathsOf(place), { clock, random, without_secrets: false })
  const after = openInstance(place, { mode: 'serve' })
  expect(findWebSession(after.db, 'cookie', clock.now())).toBeNull()
  expect(useSignInLink(after.db, 'link', clock.now())).toBeNull()
  expect(after.db.query('SELECT id FROM api_keys').all()).toEqual([{ id: 'key_1' }])
  after.close()
  rmSync(backup)
})
