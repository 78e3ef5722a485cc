import { expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { errorCode } from '../../../src/core/error-code.ts'
import { openInstance } from '../../../src/store/instance.ts'
import { mountMemory, whyNot } from '../../chaos/mounting.ts'
import { tempFolder } from '../../support/folder.ts'

const random = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}

const open = (dir: string, mode: 'serve' | 'beside' = 'serve') =>
  openInstance(
    { dir, key_file: '', clock: { now: () => 0 }, random, credentials_dir: undefined },
    { mode },
  )

/** What opening this folder is refused with: the code of the error, its name and what it says. */
function refusal(dir: string, mode: 'serve' | 'beside' = 'serve'): string {
  try {
    open(dir, mode).close()
    return 'it opens'
  } catch (error) {
    return `${errorCode(error)} ${String(error)}`
  }
}

test('a lock that cannot be written is not told as a folder that another daemon holds', () => {
  using folder = tempFolder()
  const dir = folder.file('data')
  open(dir).close()
  // Where SQLite wants to write its journal there is a folder: it can take the lock as little as on a disk that refuses.
  mkdirSync(join(dir, 'lock.db-journal'))

  expect(refusal(dir)).not.toContain('another forumd')
  expect(refusal(dir)).toContain('unable to open')
})

const no_memory = await whyNot(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)('a full disk is told as such, by both', async () => {
  await using disk = await mountMemory(4)
  const dir = join(disk.path, 'data')
  open(dir).close()
  rmSync(join(dir, 'lock.db'))
  const fill = join(disk.path, 'fill')
  expect(() => writeFileSync(fill, new Uint8Array(8 << 20))).toThrow('ENOSPC')

  for (const mode of ['serve', 'beside'] as const)
    expect(refusal(dir, mode)).toContain('SQLITE_FULL')
  rmSync(fill)
  expect(refusal(dir)).toBe('it opens')
})

test.skipIf(no_memory !== null)(
  'a disk that can only be read does not make the database a damaged one',
  async () => {
    await using disk = await mountMemory(4)
    const dir = join(disk.path, 'data')
    open(dir).close()
    const remount = (how: string) =>
      Bun.spawnSync(['mount', '-o', `remount,${how}`, disk.path]).exitCode
    expect(remount('ro')).toBe(0)

    for (const mode of ['serve', 'beside'] as const) expect(refusal(dir, mode)).toContain('EROFS')
    expect(remount('rw')).toBe(0)
    expect(refusal(dir)).toBe('it opens')
  },
)
