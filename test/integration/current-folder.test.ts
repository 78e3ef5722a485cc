// Goal: a configuration that was not named is used only where no other user can have written it.
// Method: real users and real files, the program in its own process.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { PROGRAM } from '../support/process.ts'
import {
  AS_DAEMON,
  can_be_others,
  createOpenFolder,
  createPlace,
  DAEMON_ID,
  forumd,
  PLATFORM,
} from './owner-fixture.ts'

setDefaultTimeout(60_000)

/**
 * A folder of the caller's with a configuration changed by `spoil`, and the output of check-config.
 */
async function check(spoil: (dir: string, file: string) => void, named: string[] = []) {
  const it = createOpenFolder()
  const dir = it.file('own')
  const file = join(dir, 'forumd.toml')
  mkdirSync(dir)
  writeFileSync(file, PLATFORM)
  for (const path of [dir, file]) chownSync(path, DAEMON_ID, DAEMON_ID)
  spoil(dir, file)
  return { file, ...(await forumd(['check-config', ...named], { cwd: dir, under: AS_DAEMON })) }
}

describe.skipIf(!can_be_others)('a configuration in the current folder', () => {
  test('is used if it is the caller’s, without a word on standard error', async () => {
    const { code, out, err } = await check(() => {})

    expect({ code, out, err }).toEqual({
      code: 0,
      out: 'forumd.toml is valid\n',
      err: '',
    })
  })

  test.each<[string, (dir: string, file: string) => void, RegExp]>([
    ['is another user’s', (_, file) => chownSync(file, 2, 2), /toml belongs to bin/],
    ['is root’s', (_, file) => chownSync(file, 0, 0), /it belongs to root/],
    [
      'may be written by its group',
      (_, file) => {
        chownSync(file, 1, 65_534)
        chmodSync(file, 0o664)
      },
      /may be written by its group/,
    ],
    [
      'may be written by others',
      (_, file) => chmodSync(file, 0o646),
      /may be written by every user/,
    ],
    [
      'lies where others make files',
      (dir) => chmodSync(dir, 0o1777),
      /own may be written by every user/,
    ],
    [
      'is a link to another user’s',
      (dir, file) => {
        writeFileSync(join(dir, '../theirs'), PLATFORM)
        chownSync(join(dir, '../theirs'), 2, 2)
        renameSync(file, `${file}.before`)
        symlinkSync('../theirs', file)
      },
      /theirs belongs to bin/,
    ],
  ])('is not used if it %s, unless --config names it', async (_, spoil, why) => {
    const { code, err } = await check(spoil)

    expect(code).toBe(2)
    expect(err).toMatch(why)
    expect(err).toContain('is not used')
    expect((await check(spoil, ['--config', 'forumd.toml'])).code).toBe(0)
  })

  test('is used if only the caller’s own group may write it, as on many systems', async () => {
    const it = createOpenFolder()
    const file = it.file('forumd.toml')
    writeFileSync(file, PLATFORM)
    for (const path of [it.path, file]) {
      chownSync(path, DAEMON_ID, DAEMON_ID)
      chmodSync(path, 0o775)
    }

    expect((await forumd(['check-config'], { cwd: it.path, under: AS_DAEMON })).code).toBe(0)
  })

  test('is not used by root in a world-writable folder, even if it is root’s', async () => {
    const it = createPlace()
    chmodSync(it.path, 0o1777)

    const { code, err } = await forumd(['check-config'], { cwd: it.path })

    expect(code).toBe(2)
    expect(err).toContain(`${it.path} may be written by every user`)
  })
})

test('a configuration can be read from a pipe', async () => {
  const { stdout } = Bun.spawnSync(
    [
      'bash',
      '-c',
      `exec "$@" check-config --config <(printf '${PLATFORM.replaceAll('\n', '\\n')}')`,
      '-',
      ...PROGRAM,
    ],
    { env: { PATH: process.env['PATH'] ?? '' } },
  )

  expect(stdout.toString()).toContain('is valid')
})
