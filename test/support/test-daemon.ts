import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { parseConfig } from '../../src/config/load.ts'
import { homeOf } from '../../src/config/schema.ts'
import type { Config } from '../../src/config/schema.ts'
import { apiKey } from '../../src/core/base/ids.ts'
import { once } from '../../src/core/base/lazy.ts'
import { startDaemon } from '../../src/daemon.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { insertCustomer } from '../../src/store/customers/customers.ts'
import { DEFAULT_SCOPES, type Scope } from '../../src/store/customers/keys.ts'
import { connect, transact } from '../../src/store/db/connection.ts'
import { RESERVE_FILE_NAME } from '../../src/store/maintenance/disk.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import { createTraffic, fakeClock } from './clock.ts'
import { addKey } from './customers.ts'
import { tempFolder } from './folder.ts'
import { startReceiver } from './receiver.ts'

type Choice = {
  change?: (config: Config) => void
  /** Replaces the sandbox: an address that answers like the platform. */
  platform_url?: string
  world?: 'seeded' | 'empty'
  /** With its chat, on a port of its own. */
  chat?: boolean
  /** With its host for applications, on a port of its own. */
  bearer?: boolean
  /** Start time of the clock; a real browser needs the real time. */
  start_at?: number
  /** True while every outgoing connection fails for want of a file descriptor. */
  out_of_files?: () => boolean
  /** Takes 32 MiB of the real disk as it does in life, in the disk's time; otherwise they seem to be taken already. */
  hold_back?: boolean
}

/** The whole daemon against the sandbox and a receiver over TLS, on a clock we hold. */
export async function startTestDaemon({
  change,
  platform_url,
  world = 'empty',
  chat = false,
  bearer = false,
  start_at,
  hold_back = false,
  out_of_files = () => false,
}: Choice = {}) {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await startReceiver())
  const traffic = createTraffic(receiver.holding)
  const clock = fakeClock(traffic.settled, start_at)
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      ...(chat && { chat_port: 0 }),
      ...(bearer && { bearer_port: 0, bearer_allowance: 1_000_000 }),
      seed: 1,
      speed: 0,
      world,
      now: clock.now,
      allowance: 1_000_000,
      session_allowance: 1_000_000,
    }),
  )
  const { path: dir } = stack.use(tempFolder())
  if (!hold_back) await writeFile(join(dir, RESERVE_FILE_NAME), '')

  const config = parseConfig(
    `source = [{ name = "forum", kind = "reddit", base_url = "${platform_url ?? sandbox.url}", session_cookie = "${sandbox.session_cookie}" }]`,
  )
  homeOf(config)!.chat_url = sandbox.chat_url ?? ''
  if (bearer) {
    homeOf(config)!.api_url = sandbox.bearer_url ?? ''
    homeOf(config)!.token_url = `${sandbox.url}/api/v1/access_token`
  }
  config.server.port = 0
  config.storage.dir = dir
  config.guard.allow_targets = ['receiver.test']
  homeOf(config)!.accounts.session_requests_per_minute = 60_000
  change?.(config)

  const events: { level: string; event: string; fields: Record<string, unknown> }[] = []
  const runtime: Runtime = {
    clock,
    random: countedRandom(),
    resolve: (host) =>
      host.endsWith('.test')
        ? Promise.resolve(['127.0.0.1'])
        : Promise.reject(new Error('no such name')),
    fetch: (url, init) => {
      if (out_of_files())
        return Promise.reject(Object.assign(new TypeError('EMFILE'), { code: 'EMFILE' }))
      const tls = url.startsWith('https:') ? { tls: { ...init.tls, ca: receiver.ca } } : {}
      return traffic.fetch(url, { ...init, ...tls })
    },
    log: (level, event, fields = {}) => events.push({ level, event, fields }),
  }

  for (const [name, content] of newFolder())
    await writeFile(join(dir, name), content, { mode: 0o600 })
  const mint = (name: string, scopes: readonly Scope[] = DEFAULT_SCOPES) =>
    mintKey(config, runtime, { name, scopes })
  const key = mint('ann')
  let daemon = await startDaemon(config, runtime)
  stack.defer(() => daemon[Symbol.asyncDispose]())

  async function call(path: string, { headers, ...init }: RequestInit = {}, as = key) {
    const all = new Headers({
      authorization: `Bearer ${as}`,
      'content-type': 'application/json',
    })
    for (const [name, value] of new Headers(headers)) all.set(name, value)
    const response = await traffic.fetch(daemon.url + path, { headers: all, ...init })
    return {
      status: response.status,
      headers: response.headers,
      body: JSON.parse(await response.text()),
    }
  }

  const owned = stack.move()
  return {
    sandbox,
    receiver,
    clock,
    config,
    events,
    key,
    /** A key of a further customer. */
    mint,
    dir,
    call,
    url: () => daemon.url,
    /** The loop that does not advance, as the service manager's watchdog judges it. */
    stuck: (slack_ms: number) => daemon.stuck(slack_ms),
    send: (path: string, body: object) =>
      call(path, { method: 'POST', body: JSON.stringify(body) }),
    /** Starts the daemon again after it was stopped for this long. */
    async restart(stopped_ms = 0) {
      await daemon[Symbol.asyncDispose]()
      if (stopped_ms > 0) await clock.advance(stopped_ms)
      daemon = await startDaemon(config, runtime)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Identifiers and bytes that repeat with every run; `count` are taken already. */
function countedRandom(count = 0): Runtime['random'] {
  return {
    uuid: () => `0199a000-0000-7000-8000-${String(++count).padStart(12, '0')}`,
    fraction: () => 0.5,
    bytes: (size) => bytesOf(++count, size),
  }
}

/** Bytes that tell one number from all others: as many as a token has, and never the same twice. */
function bytesOf(n: number, size: number): Uint8Array {
  const bytes = Buffer.alloc(size, n % 256)
  if (size >= 8) bytes.writeUInt32BE(n, size - 4)
  return new Uint8Array(bytes)
}

/** Files of a new data folder. The schema takes a third of a start, so it is made once. */
const newFolder = once(() => {
  using folder = tempFolder()
  const files = { dir: folder.path, key_file: '', clock: { now: () => 0 } }
  openInstance({ ...files, random: countedRandom(1_000_000) }, { mode: 'beside' }).close()
  return ['forumd.sqlite', 'instance.id', 'secrets.key'].map(
    (name) => [name, readFileSync(folder.file(name))] as const,
  )
})

/** A key of a customer with 100 dollars, written as the command line would. */
function mintKey(
  { storage, billing }: Config,
  { clock, random }: Runtime,
  { name, scopes }: { name: string; scopes: readonly Scope[] },
): string {
  using db = connect(join(storage.dir, 'forumd.sqlite'))
  const token = apiKey('customer', createHash('sha256').update(name).digest())
  const created_at = clock.now()
  transact(db, () => {
    const { id: customer_id } = insertCustomer(db, {
      id: `cus_${random.uuid()}`,
      name,
      plan: billing.default_plan,
      created_at,
      starting_credit_micros: 100_000_000,
      payment_id: `pay_${random.uuid()}`,
    })
    addKey(db, customer_id, { token, scopes, id: `key_${random.uuid()}`, at: created_at })
  })
  return token
}
