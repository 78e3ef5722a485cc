import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAllowed } from '../../src/core/base/address.ts'
import type { Credentials } from '../../src/core/delivery/credentials.ts'
import { envelope } from '../../src/core/delivery/envelope.ts'
import type { AttemptEvent } from '../../src/core/delivery/retry.ts'
import type { WebhookKind } from '../../src/core/delivery/target.ts'
import { createSend } from '../../src/delivery/send.ts'
import { createSender } from '../../src/delivery/sender.ts'
import { createGuard } from '../../src/net/guard.ts'
import { createMqttPublisher } from '../../src/net/mqtt.ts'
import { createTransport } from '../../src/net/transport.ts'
import { startLoop } from '../../src/runtime/loop.ts'
import type { Fetch, Resolve } from '../../src/runtime/runtime.ts'
import { openDb } from '../../src/store/db/connection.ts'
import {
  type DeliveryRow,
  insertDelivery,
  listDeliveries,
} from '../../src/store/delivery/deliveries.ts'
import { insertWebhook } from '../../src/store/delivery/webhooks.ts'
import { fakeClock } from './clock.ts'
import { addCustomer } from './customers.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { addMonitor } from './target-row.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const CUSTOMER = 'cus_1'
const MONITOR = 'mon_1'

type Options = {
  resolve?: Resolve
  fetch?: Fetch
  allow_targets?: string[]
  allow_http?: boolean
  clock_offset_ms?: number
  concurrency?: number
  per_target_concurrency?: number
  retry_delays_s?: number[]
  fraction?: () => number
  /** Messages that a broker keeps waiting for an answer right now. */
  held?: () => number
}

export type Delivering = Awaited<ReturnType<typeof startDelivering>>

/** A sender over a database file and a real receiver, on a clock that is held; it can be stopped dead and started again. */
export async function startDelivering(options: Options = {}) {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await startReceiver())
  const receivers: Receiver[] = [receiver]
  const dir = await mkdtemp(join(tmpdir(), 'delivering-'))
  stack.defer(() => rm(dir, { recursive: true }))
  const path = join(dir, 'forumd.sqlite')

  // Time may move when nothing is under way but what a receiver keeps waiting.
  let out = 0
  const holding = () => receivers.reduce((sum, it) => sum + it.holding(), options.held?.() ?? 0)
  const clock = fakeClock(async () => {
    for (let quiet = 0; quiet < 5; quiet = out > holding() ? 0 : quiet + 1)
      await (out > holding() ? Bun.sleep(1) : new Promise((resolve) => setImmediate(resolve)))
  })
  const fetched: string[] = []
  const counted: Fetch = (url, init) => {
    out += 1
    fetched.push(url)
    return (options.fetch ?? fetch)(url, init).finally(() => (out -= 1))
  }
  const events: { level: string; event: string; fields: Record<string, unknown> }[] = []
  const log = (level: string, event: string, fields: Record<string, unknown> = {}) =>
    void events.push({ level, event, fields })
  const attempted: AttemptEvent[] = []

  const guard = createGuard({
    resolve: options.resolve ?? (async () => ['127.0.0.1']),
    clock,
    allowed: createAllowed({
      allow_targets: options.allow_targets ?? ['127.0.0.0/8'],
      allow_http: options.allow_http ?? false,
    }),
    timeout_ms: 10_000,
  })
  const publish = createMqttPublisher({
    clock,
    guard,
    timeout_ms: 10_000,
    ca: receiver.ca,
  })
  const send = createSend({
    transport: createTransport({
      fetch: counted,
      clock,
      guard,
      timeout_ms: 10_000,
      ca: receiver.ca,
    }),
    clock,
    clock_offset_ms: () => options.clock_offset_ms ?? 0,
    openSecret: (_, sealed) => new TextDecoder().decode(sealed),
    openCredentials: (_, sealed) => JSON.parse(new TextDecoder().decode(sealed)),
    publish: (message) => {
      out += 1
      return publish(message).finally(() => (out -= 1))
    },
    display: { community: 'subforum', media_hosts: [] },
    user_agent: 'forumd/test',
  })

  let run_count = 0
  function start() {
    const db = openDb(path, { create: true })
    const run_id = `boot_${++run_count}`
    const stopping = new AbortController()
    const sender = createSender({
      db,
      run_id,
      send,
      clock,
      random: {
        uuid: () => run_id,
        fraction: options.fraction ?? (() => 0.5),
        bytes: (n) => new Uint8Array(n),
      },
      log,
      retry_schedule: {
        retry_delays_s: options.retry_delays_s ?? [0, 5, 30, 120, 300, 780],
        jitter: 0.2,
      },
      concurrency: options.concurrency ?? 64,
      per_target_concurrency: options.per_target_concurrency ?? 4,
      pause_after_ms: 168 * 3_600_000,
      nudge: () => loop.nudge(),
      on_attempt: (event) => void attempted.push(event),
    })
    const loop = startLoop({ clock, log }, 'sender', stopping.signal, sender.turn)
    return { db, boot: run_id, sender, loop, stop: () => stopping.abort() }
  }
  let run = start()
  addCustomer(run.db, CUSTOMER)
  addMonitor(run.db, MONITOR, CUSTOMER)
  stack.defer(async () => {
    run.stop()
    await run.sender.idle()
    await run.loop.stopped
    run.db.close()
  })

  function addWebhook(
    id = 'wh_1',
    url = receiver.url,
    kind: WebhookKind = 'webhook',
    credentials: Credentials | null = null,
  ) {
    insertWebhook(run.db, {
      id,
      customer_id: CUSTOMER,
      kind,
      url,
      secret: new TextEncoder().encode(SECRET),
      credentials: credentials && new TextEncoder().encode(JSON.stringify(credentials)),
      created_at: clock.now(),
    })
    return id
  }
  addWebhook()

  const owned = stack.move()
  return {
    receiver,
    clock,
    events,
    attempted,
    fetched,
    path,
    get db() {
      return run.db
    },
    get sender() {
      return run.sender
    },
    addWebhook,
    nudge: () => run.loop.nudge(),
    /** Another receiver, with its webhook. */
    async addReceiver(id: string) {
      const other = owned.use(await startReceiver())
      receivers.push(other)
      addWebhook(id, other.url)
      return other
    },
    /** Commits a delivery as a check would, without waking the sender. */
    put(id: string, webhook_id = 'wh_1', items: object[] = [{ id: 'a', kind: 'post' }]) {
      const body = envelope({ delivery_id: id, monitor_id: MONITOR, items, grouped: false })
      const row = { id, customer_id: CUSTOMER, monitor_id: MONITOR, webhook_id, body }
      insertDelivery(run.db, { ...row, status: 'pending', now: clock.now() })
    },
    /** Commits a delivery, wakes the sender and lets it do what is due. */
    async deliver(id: string, webhook_id = 'wh_1') {
      this.put(id, webhook_id)
      run.loop.nudge()
      await clock.advance(0)
    },
    rows: (): DeliveryRow[] =>
      listDeliveries(run.db, {
        customer_id: CUSTOMER,
        monitor_id: null,
        status: null,
        before: null,
        limit: 10_000,
      }),
    row(id: string) {
      const found = this.rows().find((row) => row.id === id)
      if (!found) throw new Error(`there is no delivery ${id}`)
      const { status, attempts, last_error } = found
      return { status, attempts, last_error }
    },
    webhook: (id = 'wh_1') =>
      run.db
        .query<{ paused_at: number | null; pause_reason: string | null }, [string]>(
          'SELECT paused_at, pause_reason FROM webhooks WHERE id = ?',
        )
        .get(id),
    /** Ends the loop; what is in flight goes on. */
    stop: () => run.stop(),
    /** Dies without a word, as by kill -9: nothing more is written by this run. */
    die() {
      run.stop()
      run.db.close()
    },
    /** Starts again on the same file. */
    async reboot() {
      run = start()
      await clock.advance(0)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
