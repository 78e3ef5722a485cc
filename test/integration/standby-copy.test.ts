import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { parseConfig } from '../../src/config/load.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { createFollower } from '../../src/wiring/replica.ts'

const dir = mkdtempSync(join(tmpdir(), 'forumd-copy-'))
const sandbox = await startSandbox({ port: 0, seed: 1, speed: 0, world: 'empty', now: Date.now })
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

const configOf = (name: string, more = '') =>
  parseConfig(`
[server]
port = 0
[storage]
dir = "${join(dir, name)}"
[platform]
base_url = "${sandbox.url}"
session_cookie = "${sandbox.session_cookie}"
[standby]
lease = "manual"
name = "${name}"
${more}`)

/** Seconds pass in centiseconds. */
function fastRuntime() {
  const runtime = createRuntime(() => {})
  const { clock } = runtime
  return {
    ...runtime,
    clock: { ...clock, sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 100, signal) },
  }
}

test('a takeover does not wait for a restore that hangs: it has the warm copy', async () => {
  const primary = await startDaemon(
    configOf('primary'),
    createRuntime(() => {}),
  )
  await primary[Symbol.asyncDispose]()
  const replica = join(dir, 'replica.sqlite')
  using db = new Database(join(dir, 'primary/forumd.sqlite'))
  db.query('VACUUM INTO ?').run(replica)
  const hangs = join(dir, 'hangs')
  const script = `test -e ${hangs} && exec sleep 60; cp ${replica} "$1"`
  const restore = JSON.stringify(['sh', '-c', script, 'sh', '{target}'])
  mkdirSync(join(dir, 'standby'))
  copyFileSync(join(dir, 'primary/secrets.key'), join(dir, 'standby/secrets.key'))
  const config = configOf('standby', `restore = ${restore}`)
  const follower = createFollower(config, fastRuntime(), () => {})
  if (follower === null) throw new Error('no command is configured')
  const enough = new AbortController()
  const following = follower.follow(() => 'primary', enough.signal)
  while (!(await Bun.file(join(dir, 'standby/standby/warm.sqlite')).exists())) await Bun.sleep(5)
  await Bun.sleep(50)
  enough.abort()
  await following
  writeFileSync(hangs, '')

  const term = {
    epoch: 2,
    data_epoch: 1,
    data_holder: 'primary',
    data_mark: null,
    is_move: false,
  }
  const began = performance.now()
  expect(await follower.takeOver(term)).toMatchObject({ epoch: 2, holder: 'primary' })
  expect(performance.now() - began).toBeLessThan(5000)
}, 20_000)
