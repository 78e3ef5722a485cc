import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { type Sandbox, startSandbox } from '../../sandbox/server/sandbox.ts'
import { createSeededRandom } from '../../sandbox/world/random.ts'
import { certificate } from '../support/certificate.ts'
import { type DaemonProcess, runForumd } from '../support/process.ts'
import { type Poster, startPoster } from './content-generator.ts'
import { type RecordingReceiver, startRecordingReceiver } from './recording-receiver.ts'

/** Price of one read. */
export const READ_MICROS = 2000
const CREDIT_USD = 10_000
const RETRY_DELAYS_S = [0, ...Array<number>(15).fill(1)]
/** Most attempts of a delivery. */
export const ATTEMPTS_MAX = RETRY_DELAYS_S.length

const created = z.object({ id: z.string(), secret: z.string().default('') })

export type ChaosFixtureOptions = {
  seed: number
  /** Folder of the instance; default: a new one. */
  data?: string
  /** Watched subforums, one monitor each. */
  places: readonly string[]
  items_per_s: number
  /** Poll interval in seconds. */
  cadence_s?: number
}

/** The environment of a tested daemon: platform, three receivers, a customer. */
export type ChaosFixture = {
  /** Temporary folder of the fixture; removed with it. */
  dir: string
  /** The instance's folder. */
  data: string
  /** The configuration file. */
  config: string
  sandbox: Sandbox
  /** Receivers that accept all, fail 25 %, and never answer 5 % of requests. */
  receivers: readonly [RecordingReceiver, RecordingReceiver, RecordingReceiver]
  /** Headers of the customer's calls. */
  headers: Record<string, string>
  poster: Poster
  monitors: readonly string[]
  /** Creates the customer, webhooks and monitors through a running daemon, then starts posting. */
  setUp(daemon: DaemonProcess): Promise<void>
  /** A call that must succeed. */
  send(daemon: DaemonProcess, path: string, body?: object): Promise<unknown>
  [Symbol.asyncDispose](): Promise<void>
}

/** Creates a fixture. {@link ChaosFixture.setUp} creates the instance and starts posting. */
export async function startChaosFixture({
  seed,
  places,
  ...options
}: ChaosFixtureOptions): Promise<ChaosFixture> {
  const chance = createSeededRandom(seed)
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'forumd-stage-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      seed: 1,
      speed: 0,
      world: 'empty',
      now: Date.now,
      allowance: 10_000_000,
    }),
  )
  const [good, moody, sleepy] = [
    stack.use(await startRecordingReceiver(() => 'accepts')),
    stack.use(
      await startRecordingReceiver(() => (chance.fraction() < 0.25 ? 'refuses' : 'accepts')),
    ),
    stack.use(await startRecordingReceiver(() => (chance.fraction() < 0.05 ? 'hangs' : 'accepts'))),
  ]
  const data = options.data ?? join(dir, 'data')
  const config = join(dir, 'forumd.toml')
  await Bun.write(join(dir, 'ca.pem'), (await certificate()).cert)
  await Bun.write(config, configText(dir, data, sandbox.url))
  // An empty subforum cannot be watched.
  for (const place of places)
    sandbox.post({
      subforum: place,
      title: 'a needle from before',
      created_at: Date.now() - 60_000,
    })
  const poster = startPoster({ sandbox, chance, places, items_per_s: options.items_per_s })
  stack.defer(() => poster.stop())
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const monitors: string[] = []
  const receivers = [good, moody, sleepy] as const

  async function send({ url }: DaemonProcess, path: string, body?: object): Promise<unknown> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(url + path, { headers, ...init })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  async function setUp(daemon: DaemonProcess): Promise<void> {
    const args = `key create --config ${config} --customer ann --credits ${CREDIT_USD} --json`
    headers['authorization'] = `Bearer ${JSON.parse(await runForumd(args.split(' '))).key}`
    const webhook_ids: string[] = []
    for (const { url, expect } of receivers) {
      const response = await send(daemon, '/forum/monitor/webhook/create', { kind: 'webhook', url })
      const { id, secret } = created.parse(response)
      webhook_ids.push(id)
      expect(secret)
    }
    for (const subforum of places)
      monitors.push(
        created.parse(
          await send(daemon, '/forum/monitor/add', {
            filter_spec: { subforum, include_any: ['needle'] },
            cadence_s: options.cadence_s ?? 1,
            webhook_ids,
          }),
        ).id,
      )
    // Posts of the second in which the monitors were created would match too; starts with the next second.
    await Bun.sleep(1100)
    poster.go()
  }
  await mkdir(data, { recursive: true })
  const owned = stack.move()
  return {
    dir,
    data,
    config,
    sandbox,
    receivers,
    headers,
    poster,
    monitors,
    setUp,
    send,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

// A retry schedule with many short delays, because the tests check losses and not delays.
const configText = (dir: string, data: string, platform: string) => `
[server]
port = 0
[storage]
dir = "${data}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "${platform}"
session_cookie = "session"
[source.accounts]
session_requests_per_minute = 60000
[plans.entry]
slots = 100
cadence_s = 1
daily_deliveries = 10000000
[billing]
starting_credit = 0
[guard]
allow_targets = ["127.0.0.1"]
[delivery]
retry_delays_s = [${RETRY_DELAYS_S.join(', ')}]
timeout_s = 1
per_target_concurrency = 8
ca_file = "${join(dir, 'ca.pem')}"
[limits]
key_rate = 0
management_per_minute = 0
writes_per_minute = 0
open_per_minute = 0
health_per_minute = 0
read_cache_s = 0
[log]
json = true
`
