import * as z from 'zod'

import { runForumd } from '../../../test/support/process.ts'
import type { Node } from '../../../test/world/failover/node.ts'
import type { Receiver } from './receivers.ts'
import type { Planned } from './world.ts'

const CREDIT_USD = 100_000
const AT_ONCE = 8
const CALL_MAX_MS = 10_000
const READ_EVERY_MS = 1000
const INBOX_EVERY_MS = 2000
const SEARCH_EVERY_MS = 10_000
const STATES = ['read', 'dismissed', 'unread'] as const

const minted = z.object({ key: z.string() })
const created = z.object({ id: z.string(), secret: z.string().default('') })

/** Creates the customer, a webhook for each receiver and the monitors; returns the headers of the customer's calls. */
export async function populate(
  { config, url }: Node,
  receivers: readonly Receiver[],
  { planned, ids }: { planned: readonly Planned[]; ids: Map<Planned, string> },
): Promise<Record<string, string>> {
  const args = `key create --config ${config} --customer ann --credits ${CREDIT_USD} --json`
  const { key } = minted.parse(JSON.parse(await runForumd(args.split(' '))))
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const send = async (path: string, body: object) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return created.parse(JSON.parse(text))
  }
  const webhook_ids: string[] = []
  for (const receiver of receivers) {
    const hook = { kind: 'webhook', url: receiver.url }
    const { id, secret } = await send('/forum/monitor/webhook/create', hook)
    webhook_ids.push(id)
    receiver.expect(secret)
  }
  for (let at = 0; at < planned.length; at += AT_ONCE)
    await Promise.all(
      planned.slice(at, at + AT_ONCE).map(async (it, n) => {
        const { id } = await send('/forum/monitor/add', {
          name: it.word,
          filter_spec: it.filter_spec,
          cadence_s: 5,
          webhook_ids: [webhook_ids[(at + n) % webhook_ids.length]],
          ...(it.is_judged && {
            relevance: { prompt: 'Items that are wanted.', min_score: 0.5, when_down: 'hold' },
          }),
        })
        ids.set(it, id)
      }),
    )
  return headers
}

/** Counts of the customer's calls. */
export type Called = {
  reads_asked: number
  reads_answered: number
  inbox_changes: number
  searches: number
  slowest_search_ms: number
  failed: number
}

/** A customer that reads, sorts its inbox and searches the archive, at whichever node is the primary. */
export function startCallers(
  headers: Record<string, string>,
  places: readonly string[],
  urlOf: () => string,
) {
  const counts: Called = {
    reads_asked: 0,
    reads_answered: 0,
    inbox_changes: 0,
    searches: 0,
    slowest_search_ms: 0,
    failed: 0,
  }
  const stopping = new AbortController()
  /** True if it was answered with 200. A call during a takeover fails. */
  async function call(path: string, body?: object): Promise<boolean> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const signal = AbortSignal.timeout(CALL_MAX_MS)
    const answer = await fetch(urlOf() + path, { headers, signal, ...init })
      .then(async (it) => (await it.arrayBuffer(), it.status))
      .catch(() => 0)
    if (answer !== 200) counts.failed++
    return answer === 200
  }
  async function every(pause_ms: number, act: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0; !stopping.signal.aborted; n++) {
      await act(n)
      await Bun.sleep(pause_ms)
    }
  }
  const running = [
    every(READ_EVERY_MS, async (n) => {
      counts.reads_asked++
      const place = places[n % places.length]
      if (await call(`/api/forum/posts?subforum=${place}&limit=5`)) counts.reads_answered++
    }),
    every(INBOX_EVERY_MS, async (n) => {
      const set = { state: STATES[n % STATES.length] }
      const filter = { state: [STATES[(n + 2) % STATES.length]] }
      if (await call('/forum/inbox/update', { filter, set })) counts.inbox_changes++
      await call('/forum/inbox?limit=20')
    }),
    every(SEARCH_EVERY_MS, async (n) => {
      const began = performance.now()
      if (!(await call(`/forum/archive/search?q=mainword${n % 200}+AND+report`))) return
      counts.searches++
      counts.slowest_search_ms = Math.max(counts.slowest_search_ms, performance.now() - began)
    }),
  ]
  return {
    counts,
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.all(running)
    },
  }
}
