/** The tested executable as a child process, and a receiver for its deliveries. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Delivered = {
  readonly atMs: number
  readonly deliveryId: string
  readonly monitorId: string
  readonly names: readonly string[]
  readonly body: string
  readonly signed: boolean
  readonly accepted: boolean
  readonly items: readonly DeliveredItem[]
}

/** The content of an item as it was delivered. */
export type DeliveredItem = {
  readonly name: string
  readonly title: string
  readonly text: string
  readonly link: string
  readonly over18: boolean
  readonly place: string
  readonly author: string
}

export type Receiver = {
  readonly url: string
  readonly deliveries: readonly Delivered[]
  /** Events for the operator, by name, with the time of their arrival. */
  readonly events: readonly { atMs: number; event: string }[]
  secret: string
  readonly stop: () => Promise<void>
}

/** The fields of health that the judge reads, but for those that `auditField` looks for. */
export type Health = {
  readonly coverage_24h: {
    readonly status: string
    readonly reason: string | null
    readonly since: string
    readonly gaps: readonly {
      readonly stream: string
      readonly reason: string
      readonly at: string
      readonly from: string | null
      readonly until: string | null
      readonly missed_estimate: number | null
      readonly healed_at: string | null
    }[]
    readonly posts_in_window_at_least: number | null
    readonly posts_missed_estimate: number | null
    readonly unobserved_events: readonly {
      readonly kind: string
      readonly at: string
      readonly until: string | null
    }[]
  }
  readonly stream_liveness: { readonly status: string }
}

export type Created = { readonly id: string; readonly created_at: string }

export type Daemon = {
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
  readonly command: (args: readonly string[], input: string) => Promise<string>
  /** Any answer, whatever its status. */
  readonly ask: (path: string, body?: unknown) => Promise<{ status: number; text: string }>
  readonly call: (path: string, body?: unknown) => Promise<unknown>
  readonly health: (id: string) => Promise<Health>
  /** Makes a customer and a webhook to the receiver, and returns its secret. */
  readonly admit: (receiverUrl: string) => Promise<string>
}

const START_TIMEOUT_MS = 90_000
const CALL_TIMEOUT_MS = 30_000
const COMMAND_TIMEOUT_MS = 30_000
const TOLERANCE_S = 300
const TAKE_UP_MS = 2500

/** A receiver that checks signatures, and refuses every `refuseEvery`-th first attempt with 503. */
export const startReceiver = (startMs: number, refuseEvery: number): Receiver => {
  const deliveries: Delivered[] = []
  const events: { atMs: number; event: string }[] = []
  let count = 0
  const receiver = { secret: '' }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const body = await request.text()
      const atMs = Date.now() - startMs
      if (new URL(request.url).pathname === '/operator') {
        const event = /"event":"([^"]+)"/.exec(body)?.[1] ?? body.slice(0, 200)
        if (events.length < 10_000) events.push({ atMs, event })
        return new Response('ok')
      }
      count += 1
      const accepted = count % refuseEvery !== 0
      deliveries.push(readDelivery(request, body, atMs, receiver.secret, accepted))
      return new Response(null, { status: accepted ? 204 : 503 })
    },
  })
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${server.port}`,
    deliveries,
    events,
    stop: () => server.stop(true),
  })
}

const readDelivery = (
  request: Request,
  body: string,
  atMs: number,
  secret: string,
  accepted: boolean,
): Delivered => {
  const parsed: unknown = JSON.parse(body)
  const field = (name: string) => textField(parsed, name)
  const items =
    typeof parsed === 'object' && parsed !== null && 'items' in parsed ? parsed.items : null
  const rows: readonly unknown[] = Array.isArray(items) ? items : []
  const header = request.headers.get('x-service-signature') ?? ''
  const sameId = request.headers.get('x-service-delivery-id') === field('delivery_id')
  return {
    atMs,
    deliveryId: field('delivery_id'),
    monitorId: field('monitor_id'),
    names: rows.map((item) => nameOf(item)),
    body,
    signed: sameId && isSigned(secret, header, body),
    accepted,
    items: rows.map((item) => contentOf(item)),
  }
}

const contentOf = (item: unknown): DeliveredItem => ({
  name: nameOf(item),
  title: textField(item, 'title'),
  text: textField(item, 'text') || textField(item, 'body'),
  link: textField(item, 'link_url'),
  over18: typeof item === 'object' && item !== null && Reflect.get(item, 'over_18') === true,
  place: textField(item, 'subforum'),
  author: textField(item, 'author'),
})

const textField = (value: unknown, name: string): string => {
  if (typeof value !== 'object' || value === null) return ''
  const found: unknown = Reflect.get(value, name)
  return typeof found === 'string' ? found : ''
}

const nameOf = (item: unknown): string =>
  textField(item, 'name') ||
  `${textField(item, 'kind') === 'comment' ? 't1' : 't3'}_${textField(item, 'id')}`

const isSigned = (secret: string, header: string, body: string): boolean => {
  const pairs = header.split(',').map((part) => part.split('='))
  const time = pairs.find(([name]) => name === 't')?.[1] ?? ''
  if (secret === '' || Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_S) return false
  const wanted = Buffer.from(createHmac('sha256', secret).update(`${time}.${body}`).digest('hex'))
  return pairs.some(([name, value = '']) => {
    const given = Buffer.from(value)
    return name === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}

export type DaemonOptions = {
  readonly binary: string
  readonly dir: string
  readonly receiverUrl: string
  readonly auditIntervalS: number | null
  /** The `[[source]]` tables. */
  readonly sourcesToml: string
}

const configOf = (options: DaemonOptions): string => `
[server]
port = 0
[storage]
dir = "${join(options.dir, 'data')}"
[requests]
user_agent = "forumd/1.0 (judged by test/world)"
[billing]
enabled = false
default_plan = "world"
[plans.world]
slots = 1000
sitewide_slots = 1000
cadence_s = 1
daily_deliveries = 1000000
[guard]
allow_targets = ["127.0.0.1"]
allow_http = true
[delivery]
retry_delays_s = [0, 1, 2, 3, 5, 8]
[operator]
webhook = "${options.receiverUrl}/operator"
[limits]
management_per_minute = 0
health_per_minute = 0
health_cache_s = 0
[maintenance]
keep_hourly = 0
keep_daily = 0
${options.auditIntervalS === null ? '' : `[monitor]\naudit_interval_s = ${options.auditIntervalS}\n`}${options.sourcesToml}`

/** The executable in a fresh folder. Every wait on it is bounded. */
export const makeDaemon = (options: DaemonOptions): Daemon => {
  mkdirSync(options.dir, { recursive: true })
  const config = join(options.dir, 'forumd.toml')
  const addressFile = join(options.dir, 'data', 'forumd.address')
  writeFileSync(config, configOf(options))
  let child: Bun.Subprocess | null = null
  let address = ''
  let key = ''
  const log = Bun.file(join(options.dir, 'serve.log'))
  let runs = 0

  const start = async () => {
    rmSync(addressFile, { force: true })
    runs += 1
    const output = runs === 1 ? log : Bun.file(join(options.dir, `serve-${runs}.log`))
    child = Bun.spawn([options.binary, 'serve', '--config', config], {
      stdin: 'ignore',
      stdout: output,
      stderr: Bun.file(join(options.dir, `errors-${runs}.log`)),
    })
    const deadline = Date.now() + START_TIMEOUT_MS
    while (Date.now() < deadline) {
      if (child.exitCode !== null) {
        const said = readFileSync(join(options.dir, `errors-${runs}.log`), 'utf8').slice(-2000)
        throw new Error(`serve, start ${runs}, ended with ${child.exitCode}: ${said}`)
      }
      if (existsSync(addressFile)) {
        const text = readFileSync(addressFile, 'utf8').trim()
        address = text.startsWith('http') ? text : `http://${text}`
        const answer = await fetch(`${address}/health`).catch(() => null)
        if (answer?.ok === true) return
      }
      await Bun.sleep(20)
    }
    throw new Error(`serve did not answer within ${START_TIMEOUT_MS} ms`)
  }

  const kill = async () => {
    child?.kill('SIGKILL')
    await child?.exited
    child = null
  }

  const command = async (args: readonly string[], input: string) => {
    const run = Bun.spawn([options.binary, ...args, '--config', config], {
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: COMMAND_TIMEOUT_MS,
    })
    const [out, errors] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
    ])
    if ((await run.exited) !== 0) throw new Error(`forumd ${args.join(' ')}: ${errors}`)
    return out.trim()
  }

  const ask = async (path: string, body?: unknown) => {
    const answer = await fetch(`${address}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, text: await answer.text() }
  }

  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const { status, text } = await ask(path, body)
    if (status >= 400) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text)
  }

  return {
    start,
    kill,
    command,
    ask,
    call,
    health: async (id) => readHealth(await call(`/forum/monitor/health?id=${id}`)),
    admit: async (receiverUrl) => {
      const args = ['key', 'create', '--customer', 'judge', '--credits', 'unlimited']
      key = await command([...args, '--plan', 'world'], '')
      const url = `${receiverUrl}/hook`
      const hook = await call('/forum/monitor/webhook/create', { kind: 'webhook', url })
      // A running daemon applies changes of the command line within two seconds.
      await Bun.sleep(TAKE_UP_MS)
      return textField(hook, 'secret')
    },
  }
}

const isHealth = (value: unknown): value is Health =>
  typeof value === 'object' && value !== null && 'coverage_24h' in value

const readHealth = (value: unknown): Health => {
  if (!isHealth(value)) throw new Error('health has no coverage_24h')
  return value
}

/** A field that health may carry in coverage_24h or beside it; undefined where it has none. */
export const auditField = (health: Health, name: string): unknown => {
  const inside: unknown = Reflect.get(health.coverage_24h, name)
  return inside === undefined ? Reflect.get(health, name) : inside
}

/** The id and time of creation in an answer of add. */
export const readCreated = (value: unknown): Created => {
  const created = { id: textField(value, 'id'), created_at: textField(value, 'created_at') }
  if (created.id === '') throw new Error('the answer of add has no id')
  return created
}

/** One text field of an answer, "" where it has none. */
export const readText = textField
