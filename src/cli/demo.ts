import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseConfig } from '../config.ts'
import { apiKey } from '../core/ids.ts'
import type { Log, Outside } from '../outside.ts'
import { openInstance } from '../store/instance.ts'
import { insertKey } from '../store/keys.ts'
import { type Call, EXIT } from './command.ts'
import { makeCustomer } from './customers.ts'
import { createStage, type Stage } from './stage.ts'

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
const READ_EVERY_MS = 4000
const TOLERANCE_S = 300

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

/** What somebody posts meanwhile, so that there is something to find even in a quiet minute. */
const POSTED = [
  {
    subforum: 'selfhosting',
    title: 'Can anyone recommend a backup job that tells me when it fails?',
  },
  { subforum: 'selfhosting', title: 'My wiki turned five today' },
  { subforum: 'coffee', title: 'A quiet grinder for under 100 €?' },
  { subforum: 'coffee', title: 'An espresso machine from a flea market' },
  { subforum: 'gardening', title: 'Looking for tomatoes that forgive a forgetful owner' },
]
const POST_FIRST_MS = 3000
const POST_EVERY_MS = 9000

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
  const busy = [read(caller, stage, real, signal), visit(sandbox.url, stage, real, signal)]
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
      scopes: ['read', 'write', 'monitor'],
      created_at: now,
      expires_at: null,
    })
    return token
  } finally {
    instance.close()
  }
}

type Answer = Record<string, unknown>

/** A client of the daemon, as anybody would write one. */
function createCaller(base: string, key: string, { fetch, clock }: Outside) {
  let reads = 0
  async function ask(path: string, init: RequestInit) {
    const began = clock.mono()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(base + path, { ...init, headers, proxy: false })
    const body: Answer = Object(await response.json())
    if (!response.ok)
      throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`)
    return { body, headers: response.headers, took_ms: clock.mono() - began }
  }
  return {
    get: async (path: string) => (await ask(path, {})).body,
    post: async (path: string, body: object) =>
      (await ask(path, { method: 'POST', body: JSON.stringify(body) })).body,
    async read(path: string) {
      const answer = await ask(path, {})
      reads += 1
      return answer
    },
    reads: () => reads,
  }
}
type Caller = ReturnType<typeof createCaller>

const READS = [
  { path: '/api/forum/posts?subforum=selfhosting&limit=25', rows: 'posts' },
  { path: '/api/forum/search?q=backup&sort=new&limit=25', rows: 'posts' },
  { path: '/api/forum/sub/coffee/comments?limit=100', rows: 'comments' },
  { path: '/api/forum/search/comments/deep?q=grinder&limit=3', rows: 'comments' },
  { path: '/api/forum/sub/gardening/top?t=month&limit=10', rows: 'posts' },
]

/** Reads now and then, until it is told to stop or the credit is used up. */
async function read(caller: Caller, stage: Stage, { clock }: Outside, signal: AbortSignal) {
  for (let turn = 0; !signal.aborted; turn++) {
    const { path, rows } = READS[turn % READS.length] ?? { path: '/health', rows: '' }
    try {
      const { body, headers, took_ms } = await caller.read(path)
      const found = body[rows]
      stage.read({
        path,
        rows: Array.isArray(found) ? found.length : 0,
        what: rows,
        took_ms,
        remaining: headers.get('x-credits-remaining'),
      })
    } catch (error) {
      stage.trouble('read.failed', { reason: error instanceof Error ? error.message : 'unknown' })
    }
    await clock.sleep(READ_EVERY_MS, signal)
  }
}

/** Posts something now and then, as a visitor of the platform would. */
async function visit(
  platform: string,
  stage: Stage,
  { fetch, clock }: Outside,
  signal: AbortSignal,
) {
  await clock.sleep(POST_FIRST_MS, signal)
  for (let turn = 0; !signal.aborted; turn++) {
    const post = POSTED[turn % POSTED.length]
    const response = await fetch(`${platform}/__sandbox/post`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(post),
      proxy: false,
    })
    if (post && response.ok) stage.posted(post)
    else stage.trouble('post.failed', { status: response.status })
    await clock.sleep(POST_EVERY_MS, signal)
  }
}

/** The receiver: checks each signature by the published recipe, with code of its own. */
function startInbox({ clock }: Outside, stage: Stage) {
  const names = new Map<string, string>()
  const ids = new Set<string>()
  let secret = ''
  let verified = 0
  let refused = 0

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text()
      const { timestamp, mac } = /^t=(?<timestamp>\d+),v1=(?<mac>[0-9a-f]{64})$/.exec(
        request.headers.get('x-service-signature') ?? '',
      )?.groups ?? { timestamp: '0', mac: '' }
      const expected = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest()
      const given = Buffer.from(mac ?? '', 'hex')
      const age_s = Math.abs(clock.now() / 1000 - Number(timestamp))
      if (
        given.length !== expected.length ||
        !timingSafeEqual(given, expected) ||
        age_s > TOLERANCE_S
      ) {
        refused += 1
        stage.trouble('receiver.refused', { reason: 'the signature does not fit' })
        return new Response('', { status: 400 })
      }
      verified += 1
      const { delivery_id, monitor_id, items } = JSON.parse(text)
      ids.add(delivery_id)
      const [item] = items
      stage.delivered({
        monitor: names.get(monitor_id) ?? monitor_id,
        delivery_id,
        item,
        after_ms: clock.now() - Date.parse(item.created),
      })
      return new Response('', { status: 204 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/hook`,
    expect(text: string) {
      secret = text
    },
    name: (id: string, text: string) => void names.set(id, text),
    seen: () => ({ matches: ids.size, verified, refused }),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
