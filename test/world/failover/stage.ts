import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { startSandbox } from '../../../sandbox/server/sandbox.ts'
import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { startPoster } from '../../chaos/content-generator.ts'
import { certificate } from '../../support/certificate.ts'
import { type LeaseServer, startEtcd, startPostgres } from '../../support/lease-servers.ts'
import { PROGRAM } from '../../support/process.ts'
import { startCaller } from './caller.ts'
import type { Arrival } from './judge.ts'
import { type Link, openLink } from './links.ts'
import { type NodeNetwork, openNetwork, OUTSIDE } from './network.ts'
import { Node, PORT } from './node.ts'
import { BUCKET, startReplicaStore } from './object-store.ts'

/** Times of a run, in seconds where the name says so. */
export type Times = { ttl_s: number; skew_s: number; timeout_s: number }

export type StageOptions = Times & {
  system: 'postgres' | 'etcd'
  seed: number
  items_per_s: number
  fake_time: string | null
  /** Path of a Litestream that replicates; null: the standby gets a copy before each fault. */
  litestream: string | null
  /** Calls a second to each node, each of which makes the primary ask the platform. */
  calls_per_s: number
  /** Webhooks of each receiver. */
  webhooks?: number
  /** Receivers without a delay, which keep their connections. */
  is_near?: boolean
}

/** A node, its network, and the ports of what it can be cut off from. */
export type Station = {
  node: Node
  network: NodeNetwork
  ports: { lease: number; replica: number; all: readonly number[] }
}

const NAMES = ['a', 'b'] as const
const PLACES = ['hay0', 'hay1', 'hay2', 'hay3']
/** Each way between a node and a receiver. */
const LATENCY_MS = 25

/** The user agent of a node ends in the number of its process and its name. */
function senderOf(request: Request): { node: string; life: string } {
  const [life = '', node = ''] = (request.headers.get('user-agent') ?? '').split('-').slice(-2)
  return { node, life: `${node}${life}` }
}

/** Everything around two nodes: the platform, two receivers far away, the systems of the lease and of the replica. Needs `enterNetwork`. */
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
    hostname: OUTSIDE,
    port: 0,
    async fetch(request) {
      const at = performance.now()
      const sender = senderOf(request)
      arrivals.push({ at, ...sender, where: 'platform', epoch: null, delivery_id: null, items: [] })
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

  const { key, cert } = await certificate([OUTSIDE])
  const links: Link[] = []
  const hooks: string[] = []
  for (let n = 0; n < 2; n++) {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: { key, cert },
      async fetch(request) {
        const at = performance.now()
        const sender = senderOf(request)
        const epoch = Number(request.headers.get('x-service-epoch') ?? NaN)
        const body = delivery.parse(await request.json())
        const items = body.items.map(({ name }) => name)
        arrivals.push({
          at,
          ...sender,
          where: n === 0 ? 'first receiver' : 'second receiver',
          epoch,
          delivery_id: body.delivery_id,
          items,
        })
        // Each attempt makes a connection of its own: handshakes are in progress at any moment.
        const headers: Record<string, string> = options.is_near ? {} : { connection: 'close' }
        return new Response(null, { status: 204, headers })
      },
    })
    stack.defer(() => server.stop(true))
    const link = stack.use(openLink(server.port ?? 0, options.is_near ? 0 : LATENCY_MS, OUTSIDE))
    links.push(link)
    hooks.push(`https://${OUTSIDE}:${link.port}/hook`)
  }

  const lease: LeaseServer = stack.use(
    await (options.system === 'postgres' ? startPostgres(OUTSIDE) : startEtcd(OUTSIDE)),
  )
  const store = stack.use(startReplicaStore(dir, OUTSIDE))
  writeFileSync(join(dir, 'ca.pem'), cert)
  const receivers = links.map(({ port }) => port)
  const ports = {
    lease: lease.port,
    replica: store.port,
    all: [lease.port, store.port, front.port ?? 0, ...receivers],
  }
  const stations: Station[] = []
  for (const [n, name] of NAMES.entries()) {
    const network = stack.use(await openNetwork(n + 1))
    const config = configText({
      ...options,
      name,
      host: network.address,
      platform: `http://${OUTSIDE}:${front.port}`,
      lease: lease.url,
      ca: join(dir, 'ca.pem'),
    })
    const commands = replication(options.litestream, { dir, name, port: store.port })
    const node = new Node(name, {
      dir,
      config: config + commands,
      fake_time: options.fake_time,
      network,
    })
    stack.defer(() => node.end())
    stations.push({ node, network, ports })
  }

  for (const subforum of PLACES)
    sandbox.post({ subforum, title: 'from before', created_at: Date.now() - 60_000 })
  const chance = createSeededRandom(options.seed)
  const poster = startPoster({ sandbox, chance, places: PLACES, items_per_s: options.items_per_s })
  stack.defer(() => poster.stop())
  const caller = startCaller({
    nodes: stations.map(({ node }) => node),
    places: PLACES,
    per_s: options.calls_per_s,
  })
  stack.defer(() => caller.stop())

  /** Creates the customer, webhooks and monitors through the running primary, then starts posting. */
  async function populate(station: Station): Promise<void> {
    const { url, data } = station.node
    const config = join(data, '..', 'forumd.toml')
    const create = [
      'key',
      'create',
      '--config',
      config,
      '--customer',
      'ann',
      '--credits',
      '10000000',
    ]
    const command = station.network.inside([...PROGRAM, ...create, '--json'])
    const made = Bun.spawnSync(command).stdout.toString()
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
      for (let n = 0; n < (options.webhooks ?? 1); n++) {
        const target = { kind: 'webhook', url: n === 0 ? hook : `${hook}/${n}` }
        webhook_ids.push(await send('/forum/monitor/webhook/create', target))
      }
    for (const subforum of PLACES)
      await send('/forum/monitor/add', {
        filter_spec: { subforum, include_any: ['needle'] },
        cadence_s: 1,
        webhook_ids,
      })
    await Bun.sleep(1100)
    poster.go()
    caller.go(token)
  }

  const owned = stack.move()
  return {
    arrivals,
    stations,
    /** The ways to the receivers. */
    links,
    poster,
    caller,
    populate,
    dir,
    /** Bytes that were written to replicas. */
    replicaBytes: store.bytes,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The keys of a node's replication. The commands are those of docs/high-availability.md. */
function replication(
  program: string | null,
  { dir, name, port }: { dir: string; name: string; port: number },
): string {
  if (program === null) return ''
  const fileOf = (node: string) => join(dir, `litestream-${node}.yml`)
  writeFileSync(
    fileOf(name),
    `logging:
  level: warn
  stderr: true
dbs:
  - path: ${join(dir, name, 'data/forumd.sqlite')}
    replicas:
      - type: s3
        bucket: ${BUCKET}
        path: ${name}
        endpoint: http://${OUTSIDE}:${port}
        access-key-id: id
        secret-access-key: secret
        sync-interval: 250ms
        retention: 10m
`,
  )
  const database = join(dir, '{primary}', 'data/forumd.sqlite')
  const restore = [program, 'restore', '-config', fileOf('{primary}'), '-o', '{target}', database]
  return `replicate = ${JSON.stringify([program, 'replicate', '-config', fileOf(name)])}
restore = ${JSON.stringify(restore)}
restore_every_s = 3
`
}

const delivery = z.looseObject({
  delivery_id: z.string(),
  items: z.array(z.looseObject({ name: z.string() })),
})

const configText = (it: Times & Record<'name' | 'host' | 'platform' | 'lease' | 'ca', string>) => `
[server]
host = "${it.host}"
port = ${PORT}
[storage]
dir = "{data}"
[platform]
base_url = "${it.platform}"
session_cookie = "session"
user_agent = "forumd-{life}-${it.name}"
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
allow_targets = ["${OUTSIDE}"]
[delivery]
retry_delays_s = [0, 1, 1, 1${', 5'.repeat(16)}]
timeout_s = ${it.timeout_s}
per_target_concurrency = 16
ca_file = "${it.ca}"
[limits]
management_per_minute = 0
key_rate = 0
read_cache_s = 0
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
