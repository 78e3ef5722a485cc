import { afterAll } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'

import { type Folder, tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'

/**
 * The user `daemon` of every Linux, with a group of that name: the owner of a data folder, or
 * another user.
 */
export const DAEMON_ID = 1
export const AS_DAEMON = ['setpriv', '--reuid=1', '--regid=1', '--clear-groups']
export const can_be_others =
  process.getuid?.() === 0 &&
  Bun.which('setpriv') !== null &&
  Bun.spawnSync([...AS_DAEMON, ...PROGRAM, 'version']).exitCode === 0
if (!can_be_others) console.log('not run as another user here: it takes root and setpriv')

export const PLATFORM =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n'

const folders: Folder[] = []
afterAll(() => folders.forEach((it) => it[Symbol.dispose]()))

/** A folder that every user may enter, removed after the tests. */
export function createOpenFolder(): Folder {
  const it = tempFolder()
  folders.push(it)
  chmodSync(it.path, 0o755)
  return it
}

/** A place that every user may enter, with a data folder of `daemon` and files of root. */
export function createPlace({ dir = 'data', key_file = '', extra = '' } = {}) {
  const it = createOpenFolder()
  const data = it.file('data')
  const vault = it.file('vault')
  for (const path of [data, vault]) mkdirSync(path, { mode: 0o700 })
  chownSync(data, DAEMON_ID, DAEMON_ID)
  const config = it.file('forumd.toml')
  const key = key_file && `key_file = "${it.file(key_file)}"\n`
  writeFileSync(config, `[storage]\ndir = "${it.file(dir)}"\n${key}${PLATFORM}${extra}`)
  return { ...it, data, vault, config }
}

type Ended = { code: number; out: string; err: string }
type RunOptions = { cwd?: string; under?: readonly string[]; env?: Record<string, string> }

export async function forumd(
  args: readonly string[],
  { cwd = '/', under = [], env = {} }: RunOptions = {},
) {
  const child = Bun.spawn([...under, ...PROGRAM, ...args], {
    cwd,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err } satisfies Ended
}
