import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { createAllowed } from '../../../src/core/base/address.ts'
import { envelope } from '../../../src/core/delivery/envelope.ts'
import { createSend } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import { createGuard } from '../../../src/net/guard.ts'
import { createTransport } from '../../../src/net/transport.ts'
import { startLoop } from '../../../src/runtime/loop.ts'
import { createRuntime, type Runtime } from '../../../src/runtime/runtime.ts'
import { openDb } from '../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../src/store/delivery/deliveries.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const nothing = () => {}
const ports = z.object({
  good: z.number(),
  slow: z.number(),
  dead: z.number(),
  control: z.number(),
  ca: z.string(),
})

/** Starts the receivers in their own process. */
export async function startReceivers() {
  const script = join(import.meta.dir, 'receivers.ts')
  const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  const where = ports.parse(JSON.parse(new TextDecoder().decode(value)))
  const url = `http://127.0.0.1:${where.control}/`
  return {
    ...where,
    /** First arrival of each delivery that arrived since the previous call. */
    async came(): Promise<Map<string, number>> {
      const answer = await fetch(url)
      return new Map(Object.entries(z.record(z.string(), z.number()).parse(await answer.json())))
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}

/**
 * The production sender over a database file, sockets and the real clock, with a webhook for each of `targets`.
 */
export async function startSending(ca: string, targets: ReadonlyMap<string, string>) {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'forumd-fairness-'))
  stack.defer(() => rm(dir, { recursive: true }))
  const db = stack.adopt(openDb(join(dir, 'forumd.sqlite'), { create: true }), (it) => it.close())
  db.run(
    "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_1', 'ann', 'entry', 0, 0)",
  )
  db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
          VALUES ('mon_1', 'cus_1', '{}', 60, 0, 0, 0)`)
  const secret = new TextEncoder().encode(SECRET)
  db.transaction(() => {
    for (const [id, url] of targets)
      insertWebhook(db, { id, customer_id: 'cus_1', kind: 'webhook', url, secret, created_at: 0 })
  })()

  const runtime: Runtime = {
    ...createRuntime(nothing),
    resolve: () => Promise.resolve(['127.0.0.1']),
  }
  const { clock, random } = runtime
  const timeout_ms = 10_000
  const guard = createGuard({
    ...runtime,
    allowed: createAllowed({ allow_targets: ['127.0.0.0/8'], allow_http: false }),
    timeout_ms,
  })
  const send = createSend({
    transport: createTransport({ ...runtime, guard, timeout_ms, ca }),
    clock,
    clock_offset_ms: () => 0,
    openSecret: (_, sealed) => new TextDecoder().decode(sealed),
    openCredentials: () => ({ username: null, token: '' }),
    publish: () => Promise.reject(new Error('no broker here')),
    display: { community: 'subforum', media_hosts: [] },
    user_agent: 'forumd/bar',
  })
  let nudge = nothing
  const sender = createSender({
    db,
    run_id: 'boot_1',
    send,
    clock,
    random,
    log: runtime.log,
    retry_schedule: { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0.2 },
    concurrency: 64,
    per_target_concurrency: 4,
    pause_after_ms: 168 * 3_600_000,
    nudge: () => nudge(),
  })
  const stopping = new AbortController()
  const turns = { count: 0, ms: 0, longest_ms: 0 }
  const loop = startLoop(runtime, 'sender', stopping.signal, async () => {
    const began = clock.mono()
    const next_at = await sender.turn()
    const took_ms = clock.mono() - began
    turns.count += 1
    turns.ms += took_ms
    turns.longest_ms = Math.max(turns.longest_ms, took_ms)
    return next_at
  })
  nudge = loop.nudge
  stack.defer(async () => {
    stopping.abort()
    await loop.stopped
    await sender.idle()
  })

  const owned = stack.move()
  return {
    db,
    turns,
    /** Commits deliveries in one transaction, as a check does, and wakes the sender. */
    put(rows: readonly { id: string; webhook_id: string }[]): void {
      db.transaction(() => {
        for (const { id, webhook_id } of rows) {
          const content = { delivery_id: id, monitor_id: 'mon_1', items: [{ id }], grouped: false }
          const body = envelope(content)
          const row = { id, customer_id: 'cus_1', monitor_id: 'mon_1', webhook_id, body }
          insertDelivery(db, { ...row, status: 'pending', now: clock.now() })
        }
      })()
      loop.nudge()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
