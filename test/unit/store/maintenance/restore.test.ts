import { expect, test } from 'bun:test'
import { chownSync, symlinkSync, writeFileSync } from 'node:fs'

import { openDb } from '../../../../src/store/db/connection.ts'
import { openBackup } from '../../../../src/store/maintenance/restore.ts'
import { tempFolder } from '../../../support/folder.ts'

function backup() {
  const folder = tempFolder()
  const path = folder.file('backup.sqlite')
  openDb(path, { create: true }).close()
  return { path, log: `${path}-wal`, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test('a log beside a backup is opened with it', () => {
  using it = backup()
  writeFileSync(it.log, 'log')
  using opened = openBackup(it.path)
  expect(opened.log).not.toBeNull()
})

// Only root can give a file away.
test.if(process.getuid?.() === 0)('a log of another user than the backup is refused', () => {
  using it = backup()
  writeFileSync(it.log, 'log')
  chownSync(it.log, 65_534, 65_534)
  expect(() => openBackup(it.path)).toThrow('is not a file of the user that')
})

test('a log that is a link is refused', () => {
  using it = backup()
  symlinkSync('/etc/hostname', it.log)
  expect(() => openBackup(it.path)).toThrow('ELOOP')
})
