import * as z from 'zod'

import { type DaemonProcess, runForumd } from '../support/process.ts'
import type { Stage } from './stage.ts'

/** What a daemon or the command line has said yes to. */
export type Acknowledged = {
  webhooks: Set<string>
  /** Keys, as they are shown once. */
  keys: Set<string>
  /** Deliveries that were told to be delivered. */
  delivered: Set<string>
  /** Reads that were answered, each of which was paid for. */
  reads: number
}

export const nothingYet = (): Acknowledged => ({
  webhooks: new Set(),
  keys: new Set(),
  delivered: new Set(),
  reads: 0,
})

const created = z.object({ id: z.string() })
const minted = z.object({ key: z.string() })
const webhooks = z.object({ webhooks: z.array(created) })
const deliveries = z.object({
  deliveries: z.array(z.object({ delivery_id: z.string() })),
})
const PAUSE_MS = 5
const GONE = Symbol('nobody answers')
const PER_PAGE = 100

/**
 * Uses a daemon until it does not answer any more: registers targets and removes none, reads, asks what was delivered.
 * What it says yes to goes into the book.
 */
export async function useUntilGone(
  stage: Stage,
  { url }: DaemonProcess,
  book: Acknowledged,
  { webhooks_max }: { webhooks_max: number },
): Promise<void> {
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(url + path, {
      headers: stage.headers,
      signal: AbortSignal.timeout(5000),
      ...init,
    }).catch(() => null)
    if (response === null) return GONE
    const text = await response.text().catch(() => '')
    return response.status === 200 && text !== '' ? JSON.parse(text) : null
  }
  const [good] = stage.witnesses
  await Promise.all([
    repeat(async () => {
      if (book.webhooks.size >= webhooks_max) return false
      const told = await ask('/forum/monitor/webhook/create', { url: `${good.url}/unused` })
      if (told === GONE) return false
      if (told !== null) book.webhooks.add(created.parse(told).id)
      return true
    }),
    repeat(async () => {
      const told = await ask('/api/forum/posts?subforum=hay0&limit=1')
      if (told === GONE) return false
      if (told !== null) book.reads++
      return true
    }),
    repeat(async () => {
      const told = await ask(`/forum/monitor/deliveries?status=delivered&limit=${PER_PAGE}`)
      if (told === GONE) return false
      if (told !== null)
        for (const { delivery_id } of deliveries.parse(told).deliveries)
          book.delivered.add(delivery_id)
      return true
    }),
  ])
}

async function repeat(step: () => Promise<boolean>): Promise<void> {
  while (await step()) await Bun.sleep(PAUSE_MS)
}

/** Makes a key beside the daemon; nothing is noted when the command line says that it could not. */
export async function mintKey(stage: Stage, book: Acknowledged): Promise<void> {
  const args = `key create --config ${stage.config} --customer ann --json`.split(' ')
  const said = await runForumd(args).catch(() => null)
  if (said !== null) book.keys.add(minted.parse(JSON.parse(said)).key)
}

/** How much of what was said yes to a daemon does not know of. Targets are removed, so that there is room for more. */
export async function countLost(
  stage: Stage,
  daemon: DaemonProcess,
  book: Acknowledged,
): Promise<{ webhooks: number; keys: number }> {
  // Who is not known any more has lost all there was.
  const told = await stage.send(daemon, '/forum/monitor/webhook/list').catch(() => null)
  if (told === null) return { webhooks: Math.max(1, book.webhooks.size), keys: book.keys.size + 1 }
  const there = new Set(webhooks.parse(told).webhooks.map(({ id }) => id))
  const lost = [...book.webhooks].filter((id) => !there.has(id)).length
  for (const id of book.webhooks)
    if (there.has(id)) await stage.send(daemon, '/forum/monitor/webhook/delete', { id })
  book.webhooks.clear()
  let keys = 0
  for (const key of book.keys) {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${daemon.url}/forum/monitor/list`, { headers })
    if (answer.status !== 200) keys++
  }
  book.keys.clear()
  return { webhooks: lost, keys }
}
