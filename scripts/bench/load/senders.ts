import { join } from 'node:path'

import * as z from 'zod'

import { quantile, type Variant } from '../figures/results.ts'
import { start, temporaryFolder } from './children.ts'
import { FLOORS, HERE, installPeers, startPeer } from './fixture.ts'
import { ifHere } from './load-in-turns.ts'
import { startPostgres, startRedis } from './stores.ts'

export const [OURS, FLOOR, EVERYSEC, ALWAYS, PG_BOSS] = [
  'forumd, synchronous FULL',
  'smallest Bun sender, synchronous FULL',
  'BullMQ, Redis AOF everysec',
  'BullMQ, Redis AOF always',
  'pg-boss, PostgreSQL',
] as const

type Plan = { count: number; per_second: number }

const ended = z.object({
  took_ms: z.number(),
  recorded: z.number(),
  thread_ms: z.number().optional(),
})
const came = z.object({ late_ms: z.array(z.number()), count: z.number() })

/** Runs the plan with one sender on a new store; its lines are `ready` and the result. */
type Sender = (plan: string, stack: AsyncDisposableStack) => Promise<{ line(): Promise<string> }>

const bullmq =
  (sync: 'everysec' | 'always'): Sender =>
  async (plan, stack) => {
    const folder = stack.use(temporaryFolder()).path
    const redis = stack.use(await startRedis(folder, sync))
    return stack.use(await startPeer('bullmq', [plan, String(redis.port)]))
  }

const inBun =
  (script: string): Sender =>
  async (plan, stack) => {
    const folder = stack.use(temporaryFolder()).path
    const child = stack.use(start([process.execPath, script, plan, folder]))
    await child.line()
    return child
  }

const SENDERS: Record<string, Sender> = {
  [OURS]: inBun(join(HERE, 'sender-process.ts')),
  [FLOOR]: inBun(join(FLOORS, 'sender.ts')),
  [EVERYSEC]: bullmq('everysec'),
  [ALWAYS]: bullmq('always'),
  [PG_BOSS]: async (plan, stack) => {
    const postgres = stack.use(await startPostgres())
    return stack.use(await startPeer('pg-boss', [plan, postgres.url]))
  },
}

/** Runs the plan with every available sender alternately, round after round. */
export async function sendInTurns(
  plan: Plan,
  rounds: number,
): Promise<{ variants: Variant[]; notes: string[] }> {
  installPeers()
  const variants = new Map<string, Variant>()
  const notes: string[] = []
  for (let round = 0; round < rounds; round++)
    for (const name of Object.keys(SENDERS)) {
      const found = await sendAll(name, plan, notes)
      if (found === null) continue
      const variant = variants.get(name) ?? { name, rounds: {} }
      variants.set(name, variant)
      for (const [key, value] of Object.entries(found.figures))
        (variant.rounds[key] ??= []).push(value)
    }
  return { variants: [...variants.values()], notes: [...new Set(notes)] }
}

/** One round of one sender: deliveries per second, the time from each commit to its arrival, and the processor time of forumd's thread. */
export async function sendAll(name: string, plan: Plan, notes: string[]) {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(start([process.execPath, join(HERE, 'receiver.ts')]))
  const url = await receiver.line()
  const sender = SENDERS[name]
  if (sender === undefined) throw new Error(`unknown sender ${name}`)
  const running = await ifHere(notes, () =>
    sender(JSON.stringify({ ...plan, receiver: url }), stack),
  )
  if (running === null) return null
  const { took_ms, recorded, thread_ms = NaN } = ended.parse(JSON.parse(await running.line()))
  const { late_ms, count } = came.parse(await (await fetch(url)).json())
  if (recorded !== plan.count || count !== plan.count)
    throw new Error(`${name}: ${count} arrived and ${recorded} were recorded, of ${plan.count}`)
  const figures = {
    per_s: (plan.count * 1000) / took_ms,
    p50_ms: quantile(late_ms, 0.5),
    p99_ms: quantile(late_ms, 0.99),
    longest_ms: Math.max(...late_ms),
  }
  return { figures, thread_ms }
}
