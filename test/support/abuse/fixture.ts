import { join } from 'node:path'

import * as z from 'zod'

import { startSandbox } from '../../../sandbox/server/sandbox.ts'
import { certificate } from '../certificate.ts'
import { tempFolder } from '../folder.ts'
import { runForumd, startProcess } from '../process.ts'
import { startFront } from './front.ts'
import type { Target } from './target.ts'

/**
 * The daemon as a process of its own, its platform a sandbox behind a front that sees every byte. `under` is what it is
 * run under.
 */
export async function startAbused({ under = [] }: { under?: readonly string[] } = {}) {
  await using stack = new AsyncDisposableStack()
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: Date.now,
      allowance: 1_000_000,
      session_allowance: 1_000_000,
    }),
  )
  sandbox.user({ name: 'ann', password: 'open-sesame' })
  const front = stack.use(startFront(sandbox.url))
  const tls = await certificate(['127.0.0.1'])
  const folder = stack.use(tempFolder())
  const path = folder.file('forumd.toml')
  await Bun.write(folder.file('ca.pem'), tls.cert)
  await Bun.write(
    path,
    `[server]
port = 0
[storage]
dir = "${join(folder.path, 'data')}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "${front.url}"
session_cookie = "${sandbox.session_cookie}"
retries = 0
[source.accounts]
session_requests_per_minute = 60000
[plans.entry]
slots = 1000
cadence_s = 1
[guard]
allow_targets = ["127.0.0.1"]
allow_http = true
[browser]
executable = "/nowhere/chromium"
[delivery]
ca_file = "${folder.file('ca.pem')}"
[limits]
key_rate = 0
management_per_minute = 0
webhook_test_per_minute = 0
account_per_minute = 0
unknown_routes_per_minute = 0
writes_per_minute = 0
uploads_per_minute = 0
open_per_minute = 0
health_per_minute = 0
failed_auth_per_minute = 0
degraded_reads_per_key = 0
degraded_waiting_per_key = 0
read_cache_s = 0
[log]
json = true
`,
  )
  const minted = await runForumd(
    `key create --config ${path} --customer ann --credits unlimited --json`.split(' '),
  )
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(minted))
  const daemon = await startProcess(path, under)
  stack.defer(async () => void (await daemon.end('SIGTERM')))
  const target: Target = { url: daemon.url, key, front, sandbox }
  const owned = stack.move()
  return {
    target,
    tls,
    config: path,
    database: join(folder.path, 'data/forumd.sqlite'),
    pid: daemon.pid,
    lines: daemon.lines,
    ended: daemon.ended,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
