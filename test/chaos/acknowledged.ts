import * as z from 'zod'

import { type DaemonProcess, runForumd } from '../support/process.ts'
import type { ChaosFixture } from './fixture.ts'

/** Writes that a daemon or the command line has acknowledged. */
export type Acknowledged = {
  webhooks: Set<string>
  /** Keys in plain text, as shown at creation. */
  keys: Set<string>
  /** Ids of deliveries reported as delivered. */
  delivered: Set<string>
  /** Successful reads, each of which is billed. */
  reads: number
}

export const emptyRecord = (): Acknowledged => ({
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
const GONE = Symbol('no response')
const PER_PAGE = 100

/**
 * Calls a daemon until it stops answering: creates webhooks, reads, lists deliveries. Records what it acknowledges.
 */
export async function useUntilExit(
  fixture: ChaosFixture,
  { url }: DaemonProcess,
  book: Acknowledged,
  { webhooks_max }: { webhooks_max: number },
): Promise<void> {
  const send = async (path: string, body?: object): Promise<unknown> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(url + path, {
      headers: fixture.headers,
      signal: AbortSignal.timeout(5000),
      ...init,
    }).catch(() => null)
    if (response === null) return GONE
    const text = await response.text().catch(() => '')
    return response.status === 200 && text !== '' ? JSON.parse(text) : null
  }
  const [good] = fixture.receivers
  await Promise.all([
    repeat(async () => {
      if (book.webhooks.size >= webhooks_max) return false
      const response = await send('/forum/monitor/webhook/create', { url: `${good.url}/unused` })
      if (response === GONE) return false
      if (response !== null) book.webhooks.add(created.parse(response).id)
      return true
    }),
    repeat(async () => {
      const response = await send('/api/forum/posts?subforum=hay0&limit=1')
      if (response === GONE) return false
      if (response !== null) book.reads++
      return true
    }),
    repeat(async () => {
      const response = await send(`/forum/monitor/deliveries?status=delivered&limit=${PER_PAGE}`)
      if (response === GONE) return false
      if (response !== null)
        for (const { delivery_id } of deliveries.parse(response).deliveries)
          book.delivered.add(delivery_id)
      return true
    }),
  ])
}

async function repeat(step: () => Promise<boolean>): Promise<void> {
  while (await step()) await Bun.sleep(PAUSE_MS)
}

/** Creates a key with the command line; records nothing if that fails. */
export async function createKey(fixture: ChaosFixture, book: Acknowledged): Promise<void> {
  const args = `key create --config ${fixture.config} --customer ann --json`.split(' ')
  const output = await runForumd(args).catch(() => null)
  if (output !== null) book.keys.add(minted.parse(JSON.parse(output)).key)
}

/** Number of acknowledged writes that a daemon has lost. Removes the webhooks to free their slots. */
export async function countLost(
  fixture: ChaosFixture,
  daemon: DaemonProcess,
  book: Acknowledged,
): Promise<{ webhooks: number; keys: number }> {
  // An unknown customer has lost everything.
  const response = await fixture.send(daemon, '/forum/monitor/webhook/list').catch(() => null)
  if (response === null)
    return { webhooks: Math.max(1, book.webhooks.size), keys: book.keys.size + 1 }
  const there = new Set(webhooks.parse(response).webhooks.map(({ id }) => id))
  const lost = [...book.webhooks].filter((id) => !there.has(id)).length
  for (const id of book.webhooks)
    if (there.has(id)) await fixture.send(daemon, '/forum/monitor/webhook/delete', { id })
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
