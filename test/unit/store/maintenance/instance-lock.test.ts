import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { errorCode } from '../../../../src/core/base/errors.ts'
import { openInstance } from '../../../../src/store/maintenance/instance.ts'
import { mountMemory, unavailableReason } from '../../../chaos/mounts.ts'
import { tempFolder } from '../../../support/folder.ts'

const random = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}

const open = (dir: string, mode: 'serve' | 'beside' = 'serve') =>
  openInstance(
    { dir, key_file: '', clock: { now: () => 0 }, random, credentials_dir: undefined },
    { mode },
  )

/** The error with which opening this folder is refused: its code, name and message. */
function refusal(dir: string, mode: 'serve' | 'beside' = 'serve'): string {
  try {
    open(dir, mode).close()
    return 'it opens'
  } catch (error) {
    return `${errorCode(error)} ${String(error)}`
  }
}

test('a lock that cannot be written is not reported as held by another daemon', () => {
  using folder = tempFolder()
  const dir = folder.file('data')
  open(dir).close()
  // A folder blocks the path of SQLite's journal: locking fails as on a failing disk.
  mkdirSync(join(dir, 'lock.db-journal'))

  expect(refusal(dir)).not.toContain('another forumd')
  expect(refusal(dir)).toContain('unable to open')
})

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)('a full disk is reported as such, in both modes', async () => {
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
  'a read-only disk does not count as a damaged database',
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

const PATHS = join(import.meta.dir, '../../../../src/store/maintenance/paths.ts')
const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)('a lock of another user is refused with the name of the file', async () => {
  using folder = tempFolder()
  const path = folder.file('lock.db')
  writeFileSync(path, '', { mode: 0o644 })
  chmodSync(dirname(path), 0o755)
  const code = `const { takeLock } = await import('${PATHS}')
    process.setgid(65534); process.setuid(65534)
    try { takeLock('${path}') } catch (error) { console.log(error.code, error.path) }`
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe' })

  expect(await new Response(child.stdout).text()).toBe(`EACCES ${path}\n`)
})
