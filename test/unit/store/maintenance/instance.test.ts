import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'

import { NewerDatabase } from '../../../../src/store/db/connection.ts'
import { recordStorageError } from '../../../../src/store/maintenance/disk.ts'
import { type Instance, openInstance } from '../../../../src/store/maintenance/instance.ts'
import {
  DatabaseDamaged,
  InstanceLocked,
  KeyMissing,
} from '../../../../src/store/maintenance/paths.ts'
import { DatabaseMissing } from '../../../../src/store/startup/record.ts'
import { type Folder, tempFolder } from '../../../support/folder.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const random = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}

function open(folder: Folder, mode: 'serve' | 'beside' = 'serve', key_file = ''): Instance {
  const place = { dir: folder.file('data'), key_file, clock: { now: () => NOW }, random }
  return openInstance({ ...place, credentials_dir: undefined }, { mode })
}

/** A folder that has held an instance, closed cleanly. */
function initializedFolder(): Folder {
  const folder = tempFolder()
  open(folder).close()
  return folder
}

test('a new folder becomes an instance that only its owner can read', () => {
  using folder = tempFolder()
  const instance = open(folder)
  const mode = (path: string) => (statSync(folder.file(path)).mode & 0o777).toString(8)

  expect([mode('data'), mode('data/secrets.key'), mode('data/forumd.sqlite')]).toEqual([
    '700',
    '600',
    '600',
  ])
  expect(readFileSync(folder.file('data/instance.id'), 'utf8')).toStartWith(instance.instance_id)
  instance.close()
})

test('an instance keeps its id and its key, and every run has an id of its own', () => {
  using folder = tempFolder()
  const first = open(folder)
  const sealed = first.ring.seal('webhooks.secret:wh_1', 'hush')
  first.close()
  const second = open(folder)

  expect(second.instance_id).toBe(first.instance_id)
  expect(second.run_id).not.toBe(first.run_id)
  expect(second.ring.unseal('webhooks.secret:wh_1', sealed)).toBe('hush')
  second.close()
})

test('a second daemon on the same folder is refused, and may start once the first has stopped', () => {
  using folder = tempFolder()
  const first = open(folder)

  expect(() => open(folder)).toThrow(InstanceLocked)
  first.close()
  open(folder).close()
})

test('the command line works while the daemon runs', () => {
  using folder = tempFolder()
  const daemon = open(folder)
  const version = () => daemon.db.query('PRAGMA data_version').get()
  const before = version()
  const beside = open(folder, 'beside')

  expect(beside.instance_id).toBe(daemon.instance_id)
  // It has written nothing.
  expect(version()).toEqual(before)
  beside.close()
  daemon.close()
})

test('the command line may be the first to use a folder', () => {
  using folder = tempFolder()
  const beside = open(folder, 'beside')
  const daemon = open(folder)

  expect(daemon.instance_id).toBe(beside.instance_id)
  beside.close()
  daemon.close()
})

test('a lost database is never replaced by an empty one', () => {
  using folder = initializedFolder()
  rmSync(folder.file('data/forumd.sqlite'))

  expect(() => open(folder)).toThrow(DatabaseMissing)
  expect(() => open(folder, 'beside')).toThrow(/newest backup/)
  expect(existsSync(folder.file('data/forumd.sqlite'))).toBe(false)
})

test.each([
  ['empty', (path: string) => truncateSync(path, 0)],
  ['cut off', (path: string) => truncateSync(path, 5000)],
  ['overwritten with text', (path: string) => writeFileSync(path, 'nothing of ours\n'.repeat(500))],
  [
    'of another program',
    (path: string) => {
      const bytes = readFileSync(path)
      bytes.writeUInt32BE(7, 68)
      writeFileSync(path, bytes)
    },
  ],
  [
    'damaged in a page',
    (path: string) => {
      const bytes = readFileSync(path)
      bytes.fill(0xff, 4096, 4096 + 512)
      writeFileSync(path, bytes)
    },
  ],
])('a database that is %s is refused with a remedy', (_, harm) => {
  using folder = initializedFolder()
  const path = folder.file('data/forumd.sqlite')
  harm(path)
  const before = readFileSync(path)

  expect(() => open(folder)).toThrow(DatabaseDamaged)
  expect(() => open(folder)).toThrow(/newest backup/)
  expect(readFileSync(path)).toEqual(before)
})

test('a large database is checked after a storage failure, and opened at once otherwise', () => {
  using folder = initializedFolder()
  const path = folder.file('data/forumd.sqlite')
  const db = new Database(path)
  db.run(
    "INSERT INTO audit (at, kind, subject, detail) VALUES (0, 'k', 's', json_array(hex(zeroblob(35000000))))",
  )
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const bytes = readFileSync(path)
  bytes.fill(0xff, 4096 * 9000, 4096 * 9000 + 4)
  writeFileSync(path, bytes)

  open(folder, 'beside').close()
  open(folder).close()
  recordStorageError(folder.file('data'), NOW - 1000)
  expect(() => open(folder)).toThrow(DatabaseDamaged)
  expect(() => open(folder, 'beside')).toThrow(/newest backup/)
})

test('a log damaged in the middle is refused while it may still be saved', () => {
  using folder = tempFolder()
  const instance = open(folder)
  for (let n = 0; n < 20; n++) instance.db.run(`UPDATE instance SET packed_to = ${n}`)
  using killed = tempFolder()
  cpSync(folder.file('data'), killed.file('data'), { recursive: true })
  instance.close()
  const log = killed.file('data/forumd.sqlite-wal')
  const bytes = readFileSync(log)
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  writeFileSync(log, bytes)

  expect(() => open(killed)).toThrow(/damaged in the middle/)
  expect(() => open(killed, 'beside')).toThrow(DatabaseDamaged)
  expect(readFileSync(log)).toEqual(bytes)
})

test('temporary files of a killed first start are removed by the next, and nothing else', () => {
  using folder = initializedFolder()
  const id = random.uuid()
  const ours = [
    ...['', '-wal', '-shm', '-journal'].map((end) => `forumd.sqlite.${id}${end}`),
    `secrets.key.${id}`,
    `instance.id.${id}`,
    'snapshots/forumd-20260101T000000Z.sqlite.part',
    'snapshots/forumd-20260101T000000Z.sqlite.part-journal',
  ]
  const theirs = [
    'forumd.sqlite.old',
    `forumd.sqlite.${id}.bak`,
    `other.sqlite.${id}`,
    'forumd.sqlite.20260101T000000Z',
    'snapshots/forumd-20260101T000000Z.sqlite',
    'snapshots/mine.part',
  ]
  mkdirSync(folder.file('data/snapshots'))
  for (const name of [...ours, ...theirs]) writeFileSync(folder.file(`data/${name}`), 'x')
  open(folder, 'beside').close()
  const there = (name: string) => existsSync(folder.file(`data/${name}`))
  expect(ours.filter(there)).toEqual(ours)
  open(folder).close()

  expect(ours.filter(there)).toEqual([])
  expect(theirs.filter(there)).toEqual(theirs)
})

test('the temporary file of a killed restore is kept while it is the only database', () => {
  using folder = initializedFolder()
  const only = folder.file(`data/forumd.sqlite.${random.uuid()}`)
  renameSync(folder.file('data/forumd.sqlite'), only)

  expect(() => open(folder)).toThrow(DatabaseMissing)
  expect(existsSync(only)).toBe(true)
})

test('a database that has lost its identity is refused', () => {
  using folder = tempFolder()
  const instance = open(folder)
  instance.db.run('DELETE FROM instance')
  instance.close()

  expect(() => open(folder)).toThrow(DatabaseDamaged)
})

test('the database of another instance in the same folder is refused', () => {
  using folder = initializedFolder()
  using other = initializedFolder()
  writeFileSync(folder.file('data/instance.id'), readFileSync(other.file('data/instance.id')))

  expect(() => open(folder)).toThrow(DatabaseDamaged)
})

test('a database newer than the binary is refused', () => {
  using folder = tempFolder()
  const instance = open(folder)
  instance.db.run('PRAGMA user_version = 9999')
  instance.close()

  expect(() => open(folder)).toThrow(NewerDatabase)
  expect(() => open(folder, 'beside')).toThrow(NewerDatabase)
})

test('an instance without its key file is refused and no new key is created', () => {
  using folder = initializedFolder()
  rmSync(folder.file('data/secrets.key'))

  expect(() => open(folder)).toThrow(KeyMissing)
  expect(existsSync(folder.file('data/secrets.key'))).toBe(false)
})

test('an instance with the key of another is refused', () => {
  using folder = initializedFolder()
  writeFileSync(folder.file('data/secrets.key'), random.bytes(32))

  expect(() => open(folder)).toThrow(/does not belong to this instance/)
})

test('a truncated key file is refused', () => {
  using folder = initializedFolder()
  truncateSync(folder.file('data/secrets.key'), 31)

  expect(() => open(folder)).toThrow(/holds 31 bytes/)
})

test('a key file may be elsewhere, and is then not in the data folder', () => {
  using folder = tempFolder()
  const key_file = folder.file('elsewhere.key')
  open(folder, 'serve', key_file).close()

  expect(existsSync(folder.file('data/secrets.key'))).toBe(false)
  expect(statSync(key_file).size).toBe(32)
  open(folder, 'serve', key_file).close()
})

test('a key file that is a folder or in a missing folder is named with its configuration key', () => {
  using folder = tempFolder()
  for (const key_file of ['nowhere/secrets.key', '.']) {
    expect(() => open(folder, 'serve', folder.file(key_file))).toThrow(KeyMissing)
    expect(() => open(folder, 'serve', folder.file(key_file))).toThrow('[storage].key_file')
  }
  open(folder).close()
})

test('a credential of systemd is the key', () => {
  using folder = tempFolder()
  writeFileSync(folder.file('secrets.key'), random.bytes(32))
  const place = { dir: folder.file('data'), key_file: '', clock: { now: () => NOW }, random }
  openInstance({ ...place, credentials_dir: folder.path }, { mode: 'serve' }).close()

  expect(existsSync(folder.file('data/secrets.key'))).toBe(false)
})

test('a marker that a crash prevented is written at the next start', () => {
  using folder = initializedFolder()
  rmSync(folder.file('data/instance.id'))
  const instance = open(folder)

  expect(readFileSync(folder.file('data/instance.id'), 'utf8')).toStartWith(instance.instance_id)
  instance.close()
})

test('a refused start releases the folder', () => {
  using folder = initializedFolder()
  const key = readFileSync(folder.file('data/secrets.key'))
  rmSync(folder.file('data/secrets.key'))
  expect(() => open(folder)).toThrow(KeyMissing)

  writeFileSync(folder.file('data/secrets.key'), key)
  open(folder).close()
})

const restores = (db: Database) =>
  db
    .query<{ n: number }, []>(
      "SELECT count(*) AS n FROM observation_events WHERE kind = 'restore_detected'",
    )
    .get()?.n

test.each(['cp -a', 'cp -r --reflink=auto'])(
  'a folder copied by %s is noticed at its first start, once',
  (tool) => {
    using folder = initializedFolder()
    open(folder).close()
    Bun.spawnSync([...tool.split(' '), `${folder.file('data')}/`, folder.file('copy')])
    rmSync(folder.file('data'), { recursive: true })
    // In the place of the original, as after a restore of files.
    renameSync(folder.file('copy'), folder.file('data'))

    const first = open(folder)
    expect([first.is_copy, restores(first.db)]).toEqual([true, 1])
    first.close()
    const second = open(folder)
    expect([second.is_copy, restores(second.db)]).toEqual([false, 1])
    second.close()
  },
)

test('a restart, a renamed folder and a command beside are no copy', () => {
  using folder = initializedFolder()
  const found: unknown[] = []
  const start = (mode: 'serve' | 'beside') => {
    const instance = open(folder, mode)
    instance.db.run('VACUUM')
    found.push(instance.is_copy, restores(instance.db))
    instance.close()
  }
  start('serve')
  start('beside')
  renameSync(folder.file('data'), folder.file('elsewhere'))
  renameSync(folder.file('elsewhere'), folder.file('data'))
  start('serve')

  expect(found).toEqual([false, 0, false, 0, false, 0])
})
