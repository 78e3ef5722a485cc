import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { newCustomer } from '../../api/operator/actions/customers.ts'
import { createSignInLink, newKey } from '../../api/operator/actions/keys.ts'
import { parseConfig } from '../../config/load.ts'
import type { Log, Runtime } from '../../runtime/runtime.ts'
import { openInstance } from '../../store/maintenance/instance.ts'
import { EXIT, type Invocation } from '../command.ts'
import type { OpenInstance } from '../configuration.ts'
import { createDemoClient, postPeriodically, readPeriodically, startInbox } from './clients.ts'
import { FIRST, SANDBOX_KINDS, SECOND } from './kinds.ts'
import { createDemoOutput } from './output.ts'

// Two platforms, the daemon and a receiver in one process, each over a real socket. Every printed event was observed at
// one of these sockets; nothing is read from the daemon's memory.

export type DemoOptions = Pick<Invocation<object>, 'stdout' | 'stopped' | 'factories'> & {
  /** 0: any free port. */
  port: number
  /** Seconds to run; null: until stopped. */
  seconds: number | null
}

const SEED = 7
const CADENCE_S = 2

/** Cadence of the monitors: the simulated platform allows a poll every two seconds. */
const ALLOWANCE = 6000
const SPEED = 3
const CREDIT_USD = 25
/** Requests a minute that the second platform allows an address. */
const SECOND_REQUESTS = 180

const WATCHED = [
  {
    name: 'backups and passwords',
    filter_spec: {
      subforum: ['selfhosting', 'homelab'],
      kind: 'both',
      include_any: ['backup', 'backups', 'password manager', 'restore'],
    },
  },
  {
    name: 'coffee gear, no machines',
    filter_spec: { subforum: 'coffee', q: '(grinder OR espresso OR roast*) AND -machine' },
  },
  {
    name: 'the same words on the second forum',
    filter_spec: {
      source: SECOND,
      kind: 'both',
      include_any: ['backup', 'backups', 'restore', 'grinder', 'espresso'],
    },
  },
]

/** Runs the demo. Returns the exit code: with `seconds`, 0 only after a read and a verified delivery of each platform. */
export async function demo({
  port,
  seconds,
  stdout,
  stopped,
  factories,
}: DemoOptions): Promise<number> {
  const stop = stopped()
  const output = createDemoOutput(stdout)
  const real = await factories.createRuntime({ level: 'error', json: 'auto' }, stdout)
  const { clock } = real
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'forumd-demo-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))

  const sandbox = stack.use(
    await factories.startSandbox({
      port: 0,
      seed: SEED,
      speed: SPEED,
      allowance: ALLOWANCE,
      runtime: real,
    }),
  )
  const second = stack.use(
    await factories.startSource(SECOND, { port: 0, seed: SEED, speed: SPEED, runtime: real }),
  )
  const inbox = stack.use(startInbox(real, output))
  const config = parseConfig(configText({ port, dir, sandbox, second }))
  const key = useInstance(config, real, createDemoKey)
  const trouble: Log = (level, event, fields) => {
    if (level === 'warn' || level === 'error') output.trouble(event, fields)
  }
  const daemon = stack.use(await factories.startDaemon(config, { ...real, log: trouble }))

  const client = createDemoClient(daemon.url, key, real)
  const { url: link } = useInstance(config, real, (opened) =>
    createSignInLink(opened, { as: null, url: daemon.url }),
  )
  output.opening({
    daemon: daemon.url,
    platform: sandbox.url,
    second: second.url,
    receiver: inbox.url,
    key,
    dir,
    link,
  })

  const { secret } = await client.post('/forum/monitor/webhook/create', {
    kind: 'webhook',
    url: inbox.url,
  })
  inbox.expect(String(secret))
  for (const monitor of WATCHED) {
    const { id } = await client.post('/forum/monitor/add', { ...monitor, cadence_s: CADENCE_S })
    inbox.name(String(id), monitor.name)
    output.watching(monitor.name, monitor.filter_spec)
  }
  output.begin()

  const over = new AbortController()
  const { signal } = over
  const ends = [stop, ...(seconds === null ? [] : [clock.sleep(seconds * 1000, signal)])]
  const busy = [
    readPeriodically(client, output, real, signal),
    postPeriodically({ first: sandbox.url, second: second.url }, output, real, signal),
  ]
  await Promise.race(ends)
  over.abort()
  await Promise.all(busy)

  const { credits_used, total_requests } = await client.get('/account/me')
  const seen = { ...inbox.seen(), reads: client.reads() }
  output.closing({
    ...seen,
    credits_used: Number(credits_used),
    total_requests: Number(total_requests),
  })
  const both = seen.sources.includes(FIRST) && seen.sources.includes(SECOND)
  const all = seen.reads > 0 && both && seen.verified > 0 && seen.refused === 0
  if (seconds === null) return EXIT.done
  return all ? EXIT.done : EXIT.failed
}

function configText({
  port,
  dir,
  sandbox,
  second,
}: {
  port: number
  dir: string
  sandbox: { url: string; session_cookie: string }
  second: { url: string }
}): string {
  return `
[server]
port = ${port}
[storage]
dir = ${JSON.stringify(join(dir, 'data'))}
[[source]]
name = "${FIRST}"
kind = "${SANDBOX_KINDS[0]}"
base_url = "${sandbox.url}"
session_cookie = "${sandbox.session_cookie}"
[[source]]
name = "${SECOND}"
kind = "${SECOND}"
base_url = "${second.url}"
requests_per_minute = ${SECOND_REQUESTS}
[billing]
starting_credit = ${CREDIT_USD}
[plans.entry]
cadence_s = ${CADENCE_S}
[guard]
# The receiver of the demo runs on this machine. A real receiver is public and uses https.
allow_targets = ["127.0.0.1"]
allow_http = true
`
}

function useInstance<T>(
  config: ReturnType<typeof parseConfig>,
  { clock, random }: Runtime,
  work: (opened: OpenInstance) => T,
): T {
  const instance = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  try {
    return work({ ...instance, config, now: clock.now(), random })
  } finally {
    instance.close()
  }
}

function createDemoKey(opened: OpenInstance): string {
  const { starting_credit_micros, default_plan: plan } = opened.config.billing
  const row = { name: 'demo', plan, unlimited: false }
  const { id } = newCustomer({ ...opened, starting_credit_micros }, row)
  return newKey(opened, { customer_id: id, name: 'demo' }).token
}
