/**
 * Checks the retry schedule and every signature: deliveries to receivers that fail, on a paused clock. Stripe's
 * verifier and that of Standard Webhooks check the first request of each, copies with one changed bit, and both
 * secrets while a rotation overlaps. Prints the figures; exit code 0 only if all are as expected.
 *
 *     bun scripts/bars/retry/retry.ts [--deliveries 10000] [--seed N]
 */
import { parseArgs } from 'node:util'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { type Signed, standardTakes, stripeTakes } from '../../../test/support/verifiers.ts'
import { SEED } from '../seed.ts'
import { climb, idOf, isRefused, isRotated, RETRY_DELAYS_S, SECRET } from './run.ts'

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '10000' },
    seed: SEED,
  },
})
const COUNT = Number(values.deliveries)
const TOTAL_S = RETRY_DELAYS_S.reduce((sum, it) => sum + it, 0)
const chance = createSeededRandom(Number(values.seed))
const { requests, statuses } = await climb(COUNT, chance)

const wrong = {
  attempts: 0,
  delays: 0,
  total: 0,
  bodies_unstable: 0,
  ids_unstable: 0,
  times_repeated: 0,
  endings: 0,
  refused_by_stripe: 0,
  refused_by_standard: 0,
  bent_taken_by_stripe: 0,
  bent_taken_by_standard: 0,
  overlap: 0,
}
/** Number of verifications, so that a check of nothing cannot pass. */
const request_counts = { straight: 0, bent: 0, in_overlap: 0, after_overlap: 0 }

const distinct = (values_of: readonly string[]) => new Set(values_of).size

/** A request with one changed bit, in its body or in a signature. */
function bent(request: Signed): Signed {
  const { headers, body } = request
  const in_body = chance.odds(0.7)
  if (in_body) return { ...request, body: flipped(body) }
  const flippedText = (name: string) => {
    // After the scheme's name, and before a second value.
    const [, head = '', mac = '', rest = ''] =
      /^((?:t=\d+,)?v1[=,])([^ ,]+)(.*)$/.exec(headers[name] ?? '') ?? []
    return head + Buffer.from(flipped(Buffer.from(mac, 'latin1'))).toString('latin1') + rest
  }
  return {
    ...request,
    headers: {
      ...headers,
      'x-service-signature': flippedText('x-service-signature'),
      'webhook-signature': flippedText('webhook-signature'),
    },
  }
}

function flipped(bytes: Uint8Array): Uint8Array {
  const bit = chance.whole(0, bytes.length * 8 - 1)
  return bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
}

const waits_of = RETRY_DELAYS_S.map((): number[] => [])
const totals_s: number[] = []

function judgeRetries(n: number, seen: readonly Signed[]): void {
  if (seen.length !== (isRefused(n) ? 1 : RETRY_DELAYS_S.length + 1)) wrong.attempts++
  for (const [retry_index, retry_delay_s] of RETRY_DELAYS_S.entries()) {
    const [a, b] = [seen[retry_index], seen[retry_index + 1]]
    if (!a || !b) continue
    const wait_s = (b.at - a.at) / 1000
    waits_of[retry_index]?.push(wait_s)
    // The clock of this run advances in whole milliseconds, by at least one per iteration.
    if (wait_s < retry_delay_s * 0.8 - 0.001 || wait_s > retry_delay_s * 1.2 + 0.1) wrong.delays++
  }
  const [first, last] = [seen[0], seen.at(-1)]
  if (first && last && !isRefused(n)) totals_s.push((last.at - first.at) / 1000)
  if (distinct(seen.map(({ body }) => Buffer.from(body).toString('base64'))) !== 1)
    wrong.bodies_unstable++
  if (distinct(seen.map(({ headers }) => headers['webhook-id'] ?? '')) !== 1) wrong.ids_unstable++
  const times = seen.map(({ headers }) => headers['x-service-timestamp'] ?? '')
  if (distinct(times) !== seen.length) wrong.times_repeated++
}

async function judgeSignature(request: Signed): Promise<void> {
  request_counts.straight++
  if (!(await stripeTakes(request, SECRET.now))) wrong.refused_by_stripe++
  if (!standardTakes(request, SECRET.now)) wrong.refused_by_standard++
  request_counts.bent++
  const other = bent(request)
  if (await stripeTakes(other, SECRET.now)) wrong.bent_taken_by_stripe++
  if (standardTakes(other, SECRET.now)) wrong.bent_taken_by_standard++
}

/** During the overlap both secrets verify every request; afterwards only the new one does. */
async function judgeOverlap(seen: readonly Signed[]): Promise<void> {
  for (const request of seen) {
    const overlaps = request.at < SECRET.overlap_until
    if (overlaps) request_counts.in_overlap++
    else request_counts.after_overlap++
    const by_old = [await stripeTakes(request, SECRET.old), standardTakes(request, SECRET.old)]
    const by_new = [await stripeTakes(request, SECRET.now), standardTakes(request, SECRET.now)]
    if (by_old.some((it) => it !== overlaps) || by_new.includes(false)) wrong.overlap++
  }
}

for (let n = 0; n < COUNT; n++) {
  const seen = requests.get(idOf(n)) ?? []
  judgeRetries(n, seen)
  if (seen[0]) await judgeSignature(seen[0])
  if (isRotated(n)) await judgeOverlap(seen)
}
const refused = Math.ceil(COUNT / 20)
wrong.endings =
  Math.abs((statuses.get('failed') ?? 0) - refused) +
  Math.abs((statuses.get('dead') ?? 0) - (COUNT - refused))

const meanOf = (it: readonly number[]) => it.reduce((sum, value) => sum + value, 0) / it.length

/** Coefficient of variation: 0 if the waits have no jitter. */
function spread(waits: readonly number[]): number {
  const mean = meanOf(waits)
  return Math.sqrt(meanOf(waits.map((it) => (it - mean) ** 2))) / mean
}
const spreads = waits_of.map(spread)
const total_s = meanOf(totals_s)
wrong.total = totals_s.filter((it) => Math.abs(it - TOTAL_S) > TOTAL_S * 0.2).length
if (!(Math.abs(total_s - TOTAL_S) <= TOTAL_S * 0.15)) wrong.total++

console.log(`${COUNT} deliveries, seed ${values.seed}`)
console.table({ ...request_counts })
console.table({ ...wrong })
console.log(`from first to last attempt: ${total_s.toFixed(0)} s on average`)
console.log(`spread of the waits: ${spreads.map((it) => `${(100 * it).toFixed(1)} %`).join(', ')}`)
const good =
  Object.values(wrong).every((it) => it === 0) &&
  spreads.every((it) => it >= 0.02) &&
  request_counts.straight === COUNT &&
  Object.values(request_counts).every((it) => it > 0)
process.exit(good ? 0 : 1)
