import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { startSandbox } from '../../../sandbox/server/sandbox.ts'
import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { startPoster } from '../../chaos/content-generator.ts'
import { certificate } from '../../support/certificate.ts'
import { type LeaseServer, startEtcd, startPostgres } from '../../support/lease-servers.ts'
import { litestreamCommands } from '../../support/litestream.ts'
import { runForumd } from '../../support/process.ts'
import type { Arrival } from './judge.ts'
import { type Link, openLink } from './links.ts'
import { Node } from './node.ts'

/** Times of a run, in seconds where the name says so. */
export type Times = { ttl_s: number; skew_s: number; timeout_s: number }

export type StageOptions = Times & {
  system: 'postgres' | 'etcd'
  seed: number
  items_per_s: number
  library: string | null
  /** Path of a Litestream that replicates; null: the standby gets a copy before each fault. */
  litestream: string | null
}

const NAMES = ['a', 'b'] as const
const PLACES = ['hay0', 'hay1', 'hay2', 'hay3']
/** Each way between a node and a receiver. */
const LATENCY_MS = 25

/** The last letter of a node's user agent is its name. */
const nodeOf = (request: Request) => request.headers.get('user-agent')?.slice(-1) ?? ''

/** Everything around two nodes: the platform, two receivers far away, the system of the lease, and a link to it from each node. */
export async function setStage(options: StageOptions) {
  await using stack = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'forumd-failover-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const arrivals: Arrival[] = []

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
  // Before the platform, so that each request is recorded when it arrives.
  const front = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const at = performance.now()
      const node = nodeOf(request)
      arrivals.push({ at, node, where: 'platform', epoch: null, delivery_id: null, items: [] })
      const { pathname, search } = new URL(request.url)
      const headers = new Headers(request.headers)
      headers.delete('host')
      const body = request.method === 'GET' ? null : await request.arrayBuffer()
      return fetch(sandbox.url + pathname + search, {
        method: request.method,
        headers,
        body,
        redirect: 'manual',
        decompress: false,
      })
    },
  })
  stack.defer(() => front.stop(true))

  const { key, cert } = await certificate()
  const links: Link[] = []
  const hooks: string[] = []
  for (let n = 0; n < 2; n++) {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: { key, cert },
      async fetch(request) {
        const at = performance.now()
        const node = nodeOf(request)
        const epoch = Number(request.headers.get('x-service-epoch') ?? NaN)
        const body = delivery.parse(await request.json())
        const items = body.items.map(({ name }) => name)
        arrivals.push({
          at,
          node,
          where: n === 0 ? 'first receiver' : 'second receiver',
          epoch,
          delivery_id: body.delivery_id,
          items,
        })
        // Each attempt makes a connection of its own: handshakes are in progress at any moment.
        return new Response(null, { status: 204, headers: { connection: 'close' } })
      },
    })
    stack.defer(() => server.stop(true))
    const link = stack.use(openLink(server.port ?? 0, LATENCY_MS))
    links.push(link)
    hooks.push(`https://127.0.0.1:${link.port}/hook`)
  }

  const lease: LeaseServer = stack.use(
    await (options.system === 'postgres' ? startPostgres() : startEtcd()),
  )
  writeFileSync(join(dir, 'ca.pem'), cert)
  const nodes = NAMES.map((name) => {
    const link = stack.use(openLink(lease.port))
    const url = lease.url.replace(`:${lease.port}`, `:${link.port}`)
    const platform = `http://127.0.0.1:${front.port}`
    const config = configText({ ...options, name, platform, lease: url, ca: join(dir, 'ca.pem') })
    const commands = replication(options.litestream, { dir, name })
    const node = new Node(name, { dir, config: config + commands, library: options.library })
    stack.defer(() => node.end())
    return { node, link }
  })

  for (const subforum of PLACES)
    sandbox.post({ subforum, title: 'from before', created_at: Date.now() - 60_000 })
  const chance = createSeededRandom(options.seed)
  const poster = startPoster({ sandbox, chance, places: PLACES, items_per_s: options.items_per_s })
  stack.defer(() => poster.stop())

  /** Creates the customer, webhooks and monitors through the running primary, then starts posting. */
  async function populate({ url, data }: Node): Promise<void> {
    const config = join(data, '..', 'forumd.toml')
    const made = await runForumd([
      'key',
      'create',
      '--config',
      config,
      '--customer',
      'ann',
      '--credits',
      '100',
      '--json',
    ])
    const { key: token } = z.object({ key: z.string() }).parse(JSON.parse(made))
    const send = async (path: string, body: object) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return z.looseObject({ id: z.string() }).parse(await response.json()).id
    }
    const webhook_ids: string[] = []
    for (const hook of hooks)
      webhook_ids.push(await send('/forum/monitor/webhook/create', { kind: 'webhook', url: hook }))
    for (const subforum of PLACES)
      await send('/forum/monitor/add', {
        filter_spec: { subforum, include_any: ['needle'] },
        cadence_s: 1,
        webhook_ids,
      })
    await Bun.sleep(1100)
    poster.go()
  }

  const owned = stack.move()
  return {
    arrivals,
    nodes,
    poster,
    populate,
    hooks: hooks.length,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The keys of a node's replication. */
function replication(program: string | null, { dir, name }: { dir: string; name: string }): string {
  if (program === null) return ''
  const replicas = join(dir, 'replicas')
  const database = join(dir, name, 'data/forumd.sqlite')
  const { replicate, restore } = litestreamCommands(program, { dir, database, name, replicas })
  return `replicate = ${JSON.stringify(replicate)}
restore = ${JSON.stringify(restore)}
restore_every_s = 3
`
}

const delivery = z.looseObject({
  delivery_id: z.string(),
  items: z.array(z.looseObject({ name: z.string() })),
})

const configText = (it: Times & { name: string; platform: string; lease: string; ca: string }) => `
[server]
port = 0
[storage]
dir = "{data}"
[platform]
base_url = "${it.platform}"
session_cookie = "session"
user_agent = "forumd-${it.name}"
timeout_s = ${it.timeout_s}
[pool]
session_requests_per_minute = 60000
[plans.entry]
slots = 100
cadence_s = 1
daily_deliveries = 10000000
[monitor]
# A clock that is set by an hour makes items look stale, which is another test.
freshness_s = 604800
[guard]
allow_targets = ["127.0.0.1"]
[delivery]
retry_delays_s = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
timeout_s = ${it.timeout_s}
per_target_concurrency = 16
ca_file = "${it.ca}"
[limits]
management_per_minute = 0
[maintenance]
keep_hourly = 0
keep_daily = 0
[log]
json = true
[standby]
lease = "${it.lease}"
name = "${it.name}"
ttl_s = ${it.ttl_s}
skew_s = ${it.skew_s}
`
