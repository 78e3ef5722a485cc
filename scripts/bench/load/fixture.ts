import { createHash } from 'node:crypto'
import { join } from 'node:path'

import * as z from 'zod'

import { apiKey } from '../../../src/core/base/ids.ts'
import { createRuntime } from '../../../src/runtime/runtime.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { insertKey } from '../../../src/store/customers/keys.ts'
import { type Instance, openInstance } from '../../../src/store/maintenance/instance.ts'
import { freePort } from '../../../test/support/port.ts'
import { startProcess } from '../../../test/support/process.ts'
import { answering, type Child, start } from './children.ts'

export const HERE = import.meta.dir
const PEERS = join(HERE, '../peers')
export const FLOORS = join(HERE, '../floors')
export const CUSTOMER = 'cus_bench'
const BALANCE_MICROS = 1_000_000_000_000
const runtime = createRuntime(() => {})

const upstreamReady = z.object({ url: z.string(), bytes: z.number() })

/** Starts the platform of the benches. */
export async function startUpstream() {
  const child = start([process.execPath, join(HERE, 'upstream.ts')])
  const { url, bytes } = upstreamReady.parse(JSON.parse(await child.line()))
  return Object.assign(child, { url, bytes })
}

/** Creates an instance in a new folder with one customer, a key and credits. `fill` may insert more. */
export function makeInstance(
  dir: string,
  fill: (instance: Instance, now: number) => void = () => {},
): string {
  const { clock, random } = runtime
  const instance = openInstance({ dir, key_file: '', clock, random }, { mode: 'serve' })
  const token = apiKey('customer', createHash('sha256').update('bench').digest())
  const created_at = clock.now()
  insertCustomer(instance.db, {
    id: CUSTOMER,
    name: 'bench',
    plan: 'entry',
    created_at,
    starting_credit_micros: BALANCE_MICROS,
    payment_id: 'pay_bench',
  })
  insertKey(instance.db, {
    id: 'key_bench',
    customer_id: CUSTOMER,
    token,
    name: null,
    scopes: ['read', 'write', 'monitor'],
    created_at,
    expires_at: null,
  })
  fill(instance, created_at)
  instance.close()
  return token
}

const NO_LIMITS = [
  'key_burst',
  'key_rate',
  'management_per_minute',
  'writes_per_minute',
  'open_per_minute',
  'feeds_per_minute',
  'health_per_minute',
  'account_per_minute',
  'dashboard_per_minute',
]

/** Starts the executable on the instance of a folder, without limits, with reads cached for `cache_s`. */
export async function startForumd(
  dir: string,
  { platform_url, cache_s = 0 }: { platform_url: string; cache_s?: number },
): Promise<Child & { url: string }> {
  const path = join(dir, 'forumd.toml')
  await Bun.write(
    path,
    [
      `server = { port = ${freePort()} }`,
      `storage = { dir = "${dir}" }`,
      `source = [{ name = "forum", kind = "reddit", base_url = "${platform_url}", session_cookie = "session", accounts = { session_requests_per_minute = 60000 } }]`,
      'log = { level = "info" }',
      'plans = { entry = { slots = 1000000, daily_deliveries = 1000000000 } }',
      `limits = { read_cache_s = ${cache_s}, ${NO_LIMITS.map((it) => `${it} = 0`).join(', ')} }`,
      '',
    ].join('\n'),
  )
  const { url, pid, end } = await startProcess(path)
  await answering(`${url}/health`)
  return {
    url,
    pid,
    line: () => Promise.reject(new Error('its output is its log')),
    [Symbol.asyncDispose]: async () => void (await end('SIGTERM')),
  }
}

/** Installs the peers' packages from their lockfile if they are missing. */
export function installPeers(): void {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'ci', '--ignore-scripts'], {
    cwd: PEERS,
    stdout: 'ignore',
    stderr: 'pipe',
  })
  if (exitCode !== 0) throw new Error(`the peers could not be installed:\n${stderr.toString()}`)
}

/** Starts a peer under Node; `ready_line` is the first line of its output. */
export async function startPeer(name: string, args: readonly string[]) {
  const child = start(['node', join(PEERS, `${name}.mjs`), ...args])
  return Object.assign(child, { ready_line: await child.line() })
}

/** Starts the smallest Bun server of these reads; `ready_line` is its address. */
export async function startFloor(reads: 'cached' | 'fetched', args: readonly string[]) {
  const child = start([process.execPath, join(FLOORS, 'server.ts'), reads, ...args])
  return Object.assign(child, { ready_line: await child.line() })
}
