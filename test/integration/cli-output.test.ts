// Goal: the output of a command is complete, or an error says that it is not. Method: the program
// with standard output on a device that is always full, at a reader that closes the pipe, and on a
// disk that is full for a while.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { mountMemory, unavailableReason } from '../chaos/mounts.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'

// Each run starts a process, and the machine may be busy.
setDefaultTimeout(60_000)

let folder: Folder
beforeAll(() => {
  folder = tempFolder()
  writeFileSync(
    folder.file('forumd.toml'),
    `[server]\nport = 0\n[storage]\ndir = "${folder.file('data')}"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )
})
afterAll(() => folder[Symbol.dispose]())

/** A shell command in which $FORUMD is the program. */
const shell = (line: string) =>
  Bun.spawn(['sh', '-c', line], {
    cwd: folder.path,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', FORUMD: PROGRAM.join(' ') },
  })

test.skipIf(!existsSync('/dev/full')).each(['version', 'export', 'openapi'])(
  '%s with unwritable output exits with 1 and one line of error',
  async (command) => {
    const run = shell(`exec $FORUMD ${command} >/dev/full`)

    expect(await new Response(run.stderr).text()).toMatch(
      /^forumd: the output is incomplete: ENOSPC.*\(the disk has no room.*\)\n$/,
    )
    expect(await run.exited).toBe(1)
  },
)

test('a reader that closes the pipe early is not an error', async () => {
  const run = shell('{ $FORUMD openapi; echo "$?" >&2; } | head -c 1')

  expect(await new Response(run.stdout).text()).toBe('{')
  expect(await new Response(run.stderr).text()).toBe('0\n')
})

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)(
  'a daemon with an unwritable log continues, logs again when it can, and stops normally',
  async () => {
    await using disk = await mountMemory(1)
    const log = join(disk.path, 'forumd.log')
    const fill = join(disk.path, 'fill')
    expect(() => writeFileSync(fill, new Uint8Array(2 << 20))).toThrow('ENOSPC')
    const run = shell(`exec $FORUMD serve >${log}`)
    const address = folder.file('data/forumd.address')
    while (!existsSync(address)) await Bun.sleep(20)

    expect((await fetch(`${readFileSync(address, 'utf8').trim()}/health`)).ok).toBe(true)
    rmSync(fill)
    run.kill('SIGTERM')

    expect({
      code: await run.exited,
      err: await new Response(run.stderr).text(),
    }).toEqual({
      code: 0,
      err: '',
    })
    expect(readFileSync(log, 'utf8')).toContain('"event":"serve.stopping"')
  },
)
