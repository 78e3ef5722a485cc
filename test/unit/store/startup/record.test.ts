// Goal: an empty folder where a volume should be mounted is distinguished from the folder of a first start, by a record outside of it.
import { expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'

import { openInstance } from '../../../../src/store/maintenance/instance.ts'
import { pathsOf } from '../../../../src/store/maintenance/paths.ts'
import { forgetInstance, writeRecord } from '../../../../src/store/startup/record.ts'
import { type Folder, tempFolder } from '../../../support/folder.ts'

const world = {
  clock: { now: () => Date.parse('2026-01-01T00:00:00Z') },
  random: {
    uuid: () => Bun.randomUUIDv7(),
    bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
  },
  credentials_dir: undefined,
}
const place = (folder: Folder) => ({
  dir: folder.file('data'),
  key_file: '',
  instance_file: folder.file('forumd.instance'),
})

/** Opens the instance of a folder and closes it; answers its id. */
function start(folder: Folder, mode: 'serve' | 'beside' = 'serve'): string {
  const instance = openInstance({ ...place(folder), ...world }, { mode })
  instance.close()
  return instance.instance_id
}

test('the first start writes a world-readable instance record, and later starts do not change it', () => {
  using folder = tempFolder()
  const id = start(folder)
  const { instance_file } = place(folder)
  const first = statSync(instance_file)

  start(folder)
  start(folder, 'beside')

  expect(readFileSync(instance_file, 'utf8').split('\n')[0]).toBe(id)
  expect(first.mode & 0o777).toBe(0o644)
  expect(statSync(instance_file).ino).toBe(first.ino)
})

test.each(['serve', 'beside'] as const)(
  'an empty folder with a recorded instance is refused by %s and stays empty',
  (mode) => {
    using folder = tempFolder()
    const id = start(folder)
    renameSync(folder.file('data'), folder.file('unmounted'))

    expect(() => start(folder, mode)).toThrow(
      expect.objectContaining({
        name: 'DatabaseMissing',
        message: expect.stringMatching(
          new RegExp(`${id}: mount the volume that belongs at .*--new`),
        ),
      }),
    )
    expect(existsSync(folder.file('data'))).toBe(false)
    mkdirSync(folder.file('data'))
    expect(() => start(folder, mode)).toThrow('mount the volume')
    expect([...new Bun.Glob('**').scanSync({ cwd: folder.file('data'), dot: true })]).toEqual([])

    rmSync(folder.file('data'), { recursive: true })
    renameSync(folder.file('unmounted'), folder.file('data'))
    expect(start(folder, mode)).toBe(id)
  },
)

test('another instance in the folder is refused and not changed until the record is removed', () => {
  using folder = tempFolder()
  using other = tempFolder()
  start(folder)
  const id = start(other)
  rmSync(folder.file('data'), { recursive: true })
  renameSync(other.file('data'), folder.file('data'))
  const before = readFileSync(folder.file('data/forumd.sqlite'))

  expect(() => start(folder)).toThrow(
    expect.objectContaining({ name: 'WrongInstance', message: expect.stringContaining('volume') }),
  )
  expect(readFileSync(folder.file('data/forumd.sqlite'))).toEqual(before)

  rmSync(place(folder).instance_file)
  expect(start(folder)).toBe(id)
})

test('a folder from another machine is accepted and recorded', () => {
  using folder = tempFolder()
  const id = start(folder)
  const { instance_file } = place(folder)
  rmSync(instance_file)

  expect(start(folder)).toBe(id)
  expect(readFileSync(instance_file, 'utf8')).toStartWith(`${id}\n`)
})

test('removing the record allows the next start to create an instance; beside a database it is refused', () => {
  using folder = tempFolder()
  const id = start(folder)
  const paths = pathsOf({ ...place(folder), credentials_dir: undefined })

  expect(() => forgetInstance(paths)).toThrow('leave --new out')
  expect(start(folder)).toBe(id)

  rmSync(paths.db)
  forgetInstance(paths)
  expect(start(folder)).not.toBe(id)
  expect(readFileSync(paths.record, 'utf8')).not.toStartWith(id)
})

test('a record without an instance id is refused with a message, and records are written atomically', () => {
  using folder = tempFolder()
  start(folder)
  writeFileSync(place(folder).instance_file, '')

  expect(() => start(folder)).toThrow('names no instance')
})

test('a record that cannot be written is reported, and does not keep a daemon from starting', () => {
  using folder = tempFolder()
  const instance_file = folder.file('nowhere/forumd.instance')

  const instance = openInstance({ ...place(folder), instance_file, ...world }, { mode: 'serve' })
  instance.close()

  expect(instance.unrecorded).toContain('ENOENT')
})

test('a record is replaced atomically', () => {
  using folder = tempFolder()
  const paths = pathsOf({ ...place(folder), credentials_dir: undefined })
  mkdirSync(paths.dir)
  writeFileSync(paths.record, 'before\n')
  chmodSync(paths.record, 0o600)

  expect(writeRecord(paths, '0199a000-0000-7000-8000-000000000001')).toBeNull()
  expect(readFileSync(paths.record, 'utf8')).toStartWith('0199a000-0000-7000-8000-000000000001\n')
  expect(existsSync(`${paths.record}.new`)).toBe(false)
})
