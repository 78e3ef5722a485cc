import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { createSeededRandom } from '../../sandbox/world/random.ts'
import { startPoster } from '../chaos/content-generator.ts'
import { litestreamProgram } from './litestream.ts'
import { hasObjectStore, type ObjectStore, startObjectStore } from './object-store.ts'
import { PROGRAM } from './process.ts'

const PLACES = ['hay0', 'hay1']
const WAIT_MS = 40_000
const LOOK_MS = 20

/** True if a pair can be started: Litestream is there on Linux x64 alone. */
export const canPair = (): boolean => litestreamProgram() !== null && hasObjectStore()

/** A request as the other side saw it. `life`: the process that sent it, or of a write to the store the node. */
export type Arrival = {
  at: number
  life: string
  where: 'platform' | 'receiver' | 'store'
  items: readonly string[]
  path: string
}

/** Waits for a condition; false once `within_ms` is over. */
export async function until(
  is_met: () => boolean | Promise<boolean>,
  within_ms = WAIT_MS,
): Promise<boolean> {
  for (const over = performance.now() + within_ms; performance.now() < over;) {
    if (await is_met()) return true
    await Bun.sleep(LOOK_MS)
  }
  return false
}

/** The process that sent a request, by its user agent. */
const lifeOf = (request: Request): string =>
  request.headers.get('user-agent')?.split('-').at(-1) ?? ''

const delivery = z.looseObject({ items: z.array(z.looseObject({ name: z.string() })) })

/** One node: a folder, a configuration, and its process. */
export class StandbyNode {
  readonly name: string
  readonly dir: string
  readonly config: string
  readonly lines: string[] = []
  readonly #text: (life: string) => string
  #lives = 0
  #child: Bun.Subprocess<'ignore', 'pipe', 'ignore'> | null = null

  constructor(name: string, { dir, text }: { dir: string; text: (life: string) => string }) {
    this.name = name
    this.dir = join(dir, name)
    this.config = join(dir, `${name}.toml`)
    this.#text = text
    mkdirSync(this.dir, { recursive: true })
  }

  /** Name of its present process, as the user agent says it. */
  get life(): string {
    return `${this.name}.${this.#lives}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Where it listens; empty before that. */
  get url(): string {
    const line = this.lines.findLast((it) => it.includes('"serve.listening"'))
    return line === undefined ? '' : z.object({ url: z.string() }).parse(JSON.parse(line)).url
  }

  start(key_of?: StandbyNode): void {
    const key = join(this.dir, 'secrets.key')
    if (key_of !== undefined && !existsSync(key)) copyFileSync(join(key_of.dir, 'secrets.key'), key)
    this.#lives += 1
    this.lines.length = 0
    writeFileSync(this.config, this.#text(this.life))
    // A group of its own: a fault can strike the daemon alone, or its Litestream too.
    const child = Bun.spawn([...PROGRAM, 'serve', '--config', this.config], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'ignore',
      detached: true,
    })
    this.#child = child
    void this.#read(child.stdout)
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      this.lines.push(...lines)
    }
  }

  saw = (event: string): boolean => this.lines.some((it) => it.includes(`"event":"${event}"`))

  /** Sends a signal to the daemon, or to its group. */
  signal(signal: NodeJS.Signals, to: 'daemon' | 'group' = 'daemon'): void {
    process.kill(to === 'group' ? -this.pid : this.pid, signal)
  }

  /** Exit code of its process; null: a signal ended it. */
  async exited(): Promise<number | null> {
    await this.#child?.exited
    return this.#child?.exitCode ?? null
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) this.signal(signal)
    return this.exited()
  }

  /** Ends everything that it has started. */
  async destroy(): Promise<void> {
    try {
      this.signal('SIGKILL', 'group')
    } catch {
      // It has ended.
    }
    await this.exited()
  }
}

/** Two nodes, the platform they read, the receiver they deliver to, and the store, each of which records what arrives. */
export async function startPair({
  dir,
  ttl_s,
  items_per_s = 5,
  store: shared,
}: {
  dir: string
  ttl_s: number
  items_per_s?: number
  store?: ObjectStore
}) {
  await using stack = new AsyncDisposableStack()
  const store = shared ?? stack.use(await startObjectStore())
  const arrivals: Arrival[] = []
  const note = (it: Omit<Arrival, 'at'>) => void arrivals.push({ at: performance.now(), ...it })

  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: Date.now,
      allowance: 100_000_000,
    }),
  )
  /** Records requests, and passes them on. */
  function front(to: string, record: (request: Request, path: string) => void) {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      maxRequestBodySize: 1 << 30,
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        record(request, pathname)
        const body = /^(GET|HEAD)$/.test(request.method) ? null : await request.arrayBuffer()
        try {
          const answer = await fetch(to + pathname + search, {
            method: request.method,
            headers: request.headers,
            body,
            redirect: 'manual',
            decompress: false,
          })
          // Whole: Litestream needs the length.
          return new Response(await answer.arrayBuffer(), answer)
        } catch {
          return new Response(null, { status: 502 })
        }
      },
    })
    stack.defer(() => server.stop(true))
    return `http://127.0.0.1:${server.port}`
  }
  const platform = front(sandbox.url, (request, path) =>
    note({ life: lifeOf(request), where: 'platform', items: [], path }),
  )
  const receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const life = lifeOf(request)
      const { items } = delivery.parse(await request.json())
      note({ life, where: 'receiver', items: items.map(({ name }) => name), path: '/' })
      return new Response(null, { status: 204 })
    },
  })
  stack.defer(() => receiver.stop(true))

  const folder = `pair-${crypto.randomUUID()}`
  const nodes = ['a', 'b'].map((name) => {
    // Each node has a way of its own to the store, so that its writes can be told apart.
    const way = front(store.endpoint, ({ method }, path) => {
      if (/^(PUT|POST)$/.test(method) && path.includes('/replica-'))
        note({ life: name, where: 'store', items: [], path })
    })
    const node = new StandbyNode(name, {
      dir,
      text: (life) =>
        configText({
          life,
          dir: join(dir, name),
          platform,
          replica: store.addressAt(folder, way),
          ttl_s,
        }),
    })
    stack.defer(() => node.destroy())
    return node
  })
  const [a, b] = nodes
  if (a === undefined || b === undefined) throw new Error('two nodes are needed')

  for (const subforum of PLACES)
    sandbox.post({ subforum, title: 'from before', created_at: Date.now() - 60_000 })
  const chance = createSeededRandom(1)
  const poster = startPoster({ sandbox, chance, places: PLACES, items_per_s })
  stack.defer(() => poster.stop())

  /** Creates a customer, a webhook and monitors at the node that acts, then begins to post. */
  async function populate(node: StandbyNode): Promise<void> {
    const create = ['key', 'create', '--config', node.config, '--customer', 'ann', '--json']
    const made = Bun.spawnSync([...PROGRAM, ...create, '--credits', '1000000']).stdout.toString()
    const { key } = z.object({ key: z.string() }).parse(JSON.parse(made))
    const send = async (path: string, body: object) => {
      const response = await fetch(node.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return z.looseObject({ id: z.string() }).parse(await response.json()).id
    }
    const url = `http://127.0.0.1:${receiver.port}/hook`
    const webhook_ids = [await send('/forum/monitor/webhook/create', { kind: 'webhook', url })]
    for (const subforum of PLACES)
      await send('/forum/monitor/add', {
        filter_spec: { subforum, include_any: ['needle'] },
        cadence_s: 1,
        webhook_ids,
      })
    await until(() => arrivals.some(({ where }) => where === 'platform'))
    poster.go()
  }

  const owned = stack.move()
  return {
    a,
    b,
    arrivals,
    poster,
    store,
    folder,
    populate,
    /** True once a process has delivered. */
    delivers: (life: string) => arrivals.some((it) => it.where === 'receiver' && it.life === life),
    /** Matching items that have not arrived at the receiver. */
    missing(): string[] {
      const arrived = new Set(arrivals.flatMap(({ items }) => items))
      return poster.matching.map(({ name }) => name).filter((it) => !arrived.has(it))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/**
 * Requests of a process that arrived after the first one of another process that began later, and writes to the replica of a
 * node after the first ones of the other.
 */
export function overlapsOf(arrivals: readonly Arrival[]): Arrival[] {
  const in_order = arrivals.toSorted((x, y) => x.at - y.at)
  const overlaps: Arrival[] = []
  for (const at_store of [false, true]) {
    const over = new Set<string>()
    let acting = ''
    for (const it of in_order) {
      if ((it.where === 'store') !== at_store) continue
      const name = at_store ? (/replica-\d+/.exec(it.path)?.[0] ?? '') : it.life
      if (over.has(name)) overlaps.push(it)
      else if (name !== acting) {
        if (acting !== '') over.add(acting)
        acting = name
      }
    }
  }
  return overlaps
}

const configText = (it: {
  life: string
  dir: string
  platform: string
  replica: string
  ttl_s: number
}) => `
[server]
port = 0
[storage]
dir = "${it.dir}"
[requests]
user_agent = "forumd-${it.life}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "${it.platform}"
session_cookie = "session"
[source.accounts]
session_requests_per_minute = 60000
[plans.entry]
slots = 100
cadence_s = 1
daily_deliveries = 10000000
[guard]
allow_targets = ["127.0.0.0/8"]
allow_http = true
[delivery]
retry_delays_s = [0, 1, 1, 1${', 5'.repeat(16)}]
[limits]
management_per_minute = 0
key_rate = 0
read_cache_s = 0
[log]
json = true
[standby]
replica = "${it.replica}"
ttl_s = ${it.ttl_s}
litestream = "${litestreamProgram() ?? ''}"
`
