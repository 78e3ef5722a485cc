/**
 * Checks that misbehaving receivers do not delay others. One accepts the connection and never answers, one
 * refuses it, one takes nine seconds, each with thousands of pending deliveries, beside good receivers that get
 * theirs all at once and then one by one. Real sockets, the production sender, synchronous commits. The same
 * good receivers are measured alone first. Exit code 0 only if the p99 of their first attempts grows by at most
 * a second.
 *
 *     bun scripts/bars/fairness/fairness.ts [--waiting 5000] [--good 999] [--paced-s 30]
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import { startReceivers, startSending } from './fixture.ts'

const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '5000' },
    good: { type: 'string', default: '999' },
    'paced-s': { type: 'string', default: '30' },
  },
})
const WAITING = Number(values.waiting)
const GOOD = Number(values.good)
const PACED_S = Number(values['paced-s'])
const LATENESS_MAX_MS = 1000
const ARRIVE_MAX_S = 60
/** No server listens on this port. */
const CLOSED_PORT = 1

type Lateness = { p50: number; p99: number; most: number; missing: number }

function latenessOf(put_at: ReadonlyMap<string, number>, came: ReadonlyMap<string, number>) {
  const lateness_ms: number[] = []
  for (const [id, at] of put_at) {
    const came_at = came.get(id)
    if (came_at !== undefined) lateness_ms.push(came_at - at)
  }
  lateness_ms.sort((a, b) => a - b)
  const at = (share: number) =>
    lateness_ms[Math.min(lateness_ms.length - 1, Math.floor(share * lateness_ms.length))] ?? 0
  const found: Lateness = {
    p50: at(0.5),
    p99: at(0.99),
    most: at(1),
    missing: put_at.size - lateness_ms.length,
  }
  return found
}

const host = (name: string, port: number) => `https://${name}.receiver.test:${port}/hook`

/** Sends each good receiver a delivery at once, then one by one, beside these bad ones. */
async function run(bad: readonly ('dead' | 'refusing' | 'slow')[]) {
  await using receivers = await startReceivers()
  const bad_urls = {
    dead: host('dead', receivers.dead),
    refusing: host('refusing', CLOSED_PORT),
    slow: host('slow', receivers.slow),
  }
  const good = Array.from({ length: GOOD }, (_, n) => `wh_good_${String(n).padStart(4, '0')}`)
  const targets = new Map<string, string>([
    ...bad.map((it): [string, string] => [`wh_${it}`, bad_urls[it]]),
    ...good.map((it, n): [string, string] => [it, host(`good-${n}`, receivers.good)]),
  ])
  await using sending = await startSending(receivers.ca, targets)
  for (const it of bad)
    sending.put(
      Array.from({ length: WAITING }, (_, n) => ({ id: `dlv_${it}_${n}`, webhook_id: `wh_${it}` })),
    )
  // Wait until each of the bad receivers is at its concurrency limit.
  if (bad.length > 0) await Bun.sleep(3000)

  async function arrivals(put_at: ReadonlyMap<string, number>) {
    const came = new Map<string, number>()
    for (let s = 0; s < ARRIVE_MAX_S && came.size < put_at.size; s++) {
      await Bun.sleep(1000)
      for (const [id, at] of await receivers.came())
        if (put_at.has(id) && !came.has(id)) came.set(id, at)
    }
    return latenessOf(put_at, came)
  }

  const rows = good.map((webhook_id) => ({ id: `dlv_burst_${webhook_id}`, webhook_id }))
  sending.put(rows)
  const committed_at = Date.now()
  const at_once = await arrivals(new Map(rows.map(({ id }) => [id, committed_at])))

  const put_at = new Map<string, number>()
  for (const [n, webhook_id] of good.entries()) {
    const id = `dlv_paced_${webhook_id}`
    sending.put([{ id, webhook_id }])
    put_at.set(id, Date.now())
    if (n < good.length - 1) await Bun.sleep((PACED_S * 1000) / good.length)
  }
  const paced = await arrivals(put_at)
  const attempts = sending.db
    .query<{ webhook_id: string; n: number }, []>(
      `SELECT d.webhook_id, count(*) AS n FROM attempts a JOIN deliveries d ON d.row = a.delivery_row
        WHERE d.webhook_id NOT LIKE 'wh_good%' GROUP BY d.webhook_id`,
    )
    .all()
  return { at_once, paced, turns: sending.turns, attempts }
}

console.log(`${GOOD} good receivers; load ${loadavg()[0]?.toFixed(1)}`)
const alone = await run([])
const beside = await run(['dead', 'refusing', 'slow'])
const ms = ({ p50, p99, most, missing }: Lateness) => ({ p50, p99, most, missing })
console.log('first attempt after commit, in ms')
console.table({
  'at once, alone': ms(alone.at_once),
  'at once, beside the bad': ms(beside.at_once),
  'one by one, alone': ms(alone.paced),
  'one by one, beside the bad': ms(beside.paced),
})
for (const { webhook_id, n } of beside.attempts) console.log(`${webhook_id}: ${n} attempts ended`)
const { count, ms: spent_ms, longest_ms } = beside.turns
console.log(
  `${count} iterations, ${(spent_ms / count).toFixed(1)} ms each, longest ${longest_ms.toFixed(0)} ms; load ${loadavg()[0]?.toFixed(1)}`,
)
const missing = [alone.at_once, alone.paced, beside.at_once, beside.paced].some(
  (it) => it.missing > 0,
)
const latencies_ms = [beside.at_once.p99 - alone.at_once.p99, beside.paced.p99]
console.log(
  `added delay ${latencies_ms.map((it) => `${it} ms`).join(' and ')}; at most ${LATENESS_MAX_MS} ms`,
)
process.exit(!missing && latencies_ms.every((it) => it <= LATENESS_MAX_MS) ? 0 : 1)
