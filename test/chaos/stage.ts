import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { createChance } from '../../src/sandbox/chance.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { certificate } from '../support/certificate.ts'
import { type DaemonProcess, runForumd } from '../support/process.ts'
import { type Poster, startPoster } from './poster.ts'
import { startWitness, type Witness } from './witness.ts'

/** What one read costs. */
export const READ_MICROS = 2000
const CREDIT_USD = 10_000

const created = z.object({ id: z.string(), secret: z.string().default('') })

export type StageOptions = {
  seed: number
  /** Where the instance lies; a folder of its own unless said otherwise. */
  data?: string
  /** The places that are watched, each by a monitor of its own. */
  places: readonly string[]
  items_per_s: number
  /** Seconds between two looks at a place. */
  cadence_s?: number
}

/** Everything that surrounds a daemon that will have bad days: the platform, three receivers, a customer. */
export type Stage = {
  /** Of this stage; goes with it. */
  dir: string
  /** The instance's folder. */
  data: string
  /** The configuration file. */
  config: string
  sandbox: Sandbox
  /** One that accepts all, one that fails a quarter, one that never answers a twentieth. */
  witnesses: readonly [Witness, Witness, Witness]
  /** What a customer's calls carry. */
  headers: Record<string, string>
  poster: Poster
  monitors: readonly string[]
  /** Makes the customer, its targets and its monitors through a running daemon, and then begins to post. */
  begin(daemon: DaemonProcess): Promise<void>
  /** A call that has to succeed. */
  send(daemon: DaemonProcess, path: string, body?: object): Promise<unknown>
  [Symbol.asyncDispose](): Promise<void>
}

/** Sets a stage. Nothing is posted, and there is no instance, before {@link Stage.begin}. */
export async function startStage({ seed, places, ...options }: StageOptions): Promise<Stage> {
  const chance = createChance(seed)
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
    stack.use(await startWitness(() => 'accepts')),
    stack.use(await startWitness(() => (chance.fraction() < 0.25 ? 'refuses' : 'accepts'))),
    stack.use(await startWitness(() => (chance.fraction() < 0.05 ? 'hangs' : 'accepts'))),
  ]
  const data = options.data ?? join(dir, 'data')
  const config = join(dir, 'forumd.toml')
  await Bun.write(join(dir, 'ca.pem'), (await certificate()).cert)
  await Bun.write(config, configText(dir, data, sandbox.url))
  // A place that nobody ever wrote in could not be watched.
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
  const witnesses = [good, moody, sleepy] as const

  async function send({ url }: DaemonProcess, path: string, body?: object): Promise<unknown> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(url + path, { headers, ...init })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  async function begin(daemon: DaemonProcess): Promise<void> {
    const args = `key create --config ${config} --customer ann --credits ${CREDIT_USD} --json`
    headers['authorization'] = `Bearer ${JSON.parse(await runForumd(args.split(' '))).key}`
    const webhook_ids: string[] = []
    for (const { url, expect } of witnesses) {
      const made = await send(daemon, '/forum/monitor/webhook/create', { kind: 'webhook', url })
      const { id, secret } = created.parse(made)
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
    // Posts of the monitors' own first second would be matched too; begin with the next.
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
    witnesses,
    headers,
    poster,
    monitors,
    begin,
    send,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

// Short waits and many of them: what is tested is that nothing is lost, not how long a ladder is.
const configText = (dir: string, data: string, platform: string) => `
[server]
port = 0
[storage]
dir = "${data}"
[platform]
base_url = "${platform}"
session_cookie = "session"
[pool]
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
retry_delays_s = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
timeout_s = 1
per_target_concurrency = 8
ca_file = "${join(dir, 'ca.pem')}"
[limits]
key_rate = 0
management_per_minute = 0
read_cache_s = 0
[log]
json = true
`
