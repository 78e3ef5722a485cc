import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseConfig } from '../config.ts'
import { apiKey } from '../core/ids.ts'
import type { Log, Outside } from '../outside.ts'
import { openInstance } from '../store/instance.ts'
import { insertKey, SCOPES } from '../store/keys.ts'
import { type Call, EXIT } from './command.ts'
import { makeCustomer } from './customers.ts'
import { createCaller, readNowAndThen, visit } from './demo-callers.ts'
import { startInbox } from './demo-inbox.ts'
import { createStage } from './stage.ts'

// The platform, the daemon and a receiver in one process, each over a real socket. What is shown here was seen at
// one of those sockets; nothing is read out of the daemon's memory, and nothing is made up.

export type DemoOptions = Pick<Call<object>, 'stdout' | 'stopped' | 'parts'> & {
  /** 0: any free port. */
  port: number
  /** Ends by itself after so long; null: runs until it is told to stop. */
  seconds: number | null
}

const SEED = 7
const CADENCE_S = 2

/** The daemon keeps to what the platform allows; this platform allows checks every two seconds. */
const ALLOWANCE = 6000
const SPEED = 3
const CREDIT_USD = 25

/** What the demo's monitors look for. */
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
    name: 'people who ask for advice',
    filter_spec: {
      subforum: ['gardening', 'MechKeys'],
      include_any: ['recommend', 'looking for', 'what is the best', 'how do you'],
    },
  },
]

/** Shows all of forumd at work. Answers the exit code: with `seconds`, 0 only if a read, a match and a verified delivery were seen. */
export async function demo({
  port,
  seconds,
  stdout,
  stopped,
  parts,
}: DemoOptions): Promise<number> {
  const stop = stopped()
  const stage = createStage(stdout)
  const real = await parts.createOutside({ level: 'error', json: 'auto' }, stdout)
  const { clock } = real
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'forumd-demo-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))

  const sandbox = stack.use(
    await parts.startSandbox({
      port: 0,
      seed: SEED,
      speed: SPEED,
      allowance: ALLOWANCE,
      outside: real,
    }),
  )
  const inbox = stack.use(startInbox(real, stage))
  const config = parseConfig(configText({ port, dir, sandbox }))
  const key = mintKey(config, real)
  const trouble: Log = (level, event, fields) => {
    if (level === 'warn' || level === 'error') stage.trouble(event, fields)
  }
  const daemon = stack.use(await parts.startDaemon(config, { ...real, log: trouble }))

  const caller = createCaller(daemon.url, key, real)
  stage.opening({ daemon: daemon.url, platform: sandbox.url, receiver: inbox.url, key, dir })

  const { secret } = await caller.post('/forum/monitor/webhook/create', {
    kind: 'webhook',
    url: inbox.url,
  })
  inbox.expect(String(secret))
  for (const monitor of WATCHED) {
    const { id } = await caller.post('/forum/monitor/add', { ...monitor, cadence_s: CADENCE_S })
    inbox.name(String(id), monitor.name)
    stage.watching(monitor.name, monitor.filter_spec)
  }
  stage.begin()

  const over = new AbortController()
  const { signal } = over
  const ends = [stop, ...(seconds === null ? [] : [clock.sleep(seconds * 1000, signal)])]
  const busy = [
    readNowAndThen(caller, stage, real, signal),
    visit(sandbox.url, stage, real, signal),
  ]
  await Promise.race(ends)
  over.abort()
  await Promise.all(busy)

  const { credits_used, total_requests } = await caller.get('/account/me')
  const seen = { ...inbox.seen(), reads: caller.reads() }
  stage.closing({
    ...seen,
    credits_used: Number(credits_used),
    total_requests: Number(total_requests),
  })
  const all = seen.reads > 0 && seen.matches > 0 && seen.verified > 0 && seen.refused === 0
  if (seconds === null) return EXIT.done
  return all ? EXIT.done : EXIT.failed
}

function configText({
  port,
  dir,
  sandbox,
}: {
  port: number
  dir: string
  sandbox: { url: string; session_cookie: string }
}): string {
  return `
[server]
port = ${port}
[storage]
dir = ${JSON.stringify(join(dir, 'data'))}
[platform]
base_url = "${sandbox.url}"
session_cookie = "${sandbox.session_cookie}"
[billing]
starting_credit = ${CREDIT_USD}
[plans.entry]
cadence_s = ${CADENCE_S}
[guard]
# The receiver of the demo is on this machine. A real one is public and speaks https.
allow_targets = ["127.0.0.1"]
allow_http = true
`
}

/** A key of a customer made for the demo, minted as `forumd key create` does. */
function mintKey(config: ReturnType<typeof parseConfig>, { clock, random }: Outside): string {
  const instance = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  try {
    const { db } = instance
    const now = clock.now()
    const customer = makeCustomer({ db, config, now, random }, { name: 'demo', plan: undefined })
    const token = apiKey('customer', random.bytes(32))
    insertKey(db, {
      id: `key_${random.uuid()}`,
      customer_id: customer.id,
      token,
      name: 'demo',
      scopes: [...SCOPES],
      created_at: now,
      expires_at: null,
    })
    return token
  } finally {
    instance.close()
  }
}
