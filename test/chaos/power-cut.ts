import { join } from 'node:path'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { findBreachesIn } from '../support/invariants.ts'
import { startProcess } from '../support/process.ts'
import { countLost, createKey, emptyRecord, useUntilExit } from './acknowledged.ts'
import { ATTEMPTS_MAX, startChaosFixture } from './fixture.ts'
import {
  type LedgerTotals,
  readLedger,
  waitForDeliveries,
  whichAreDelivered,
} from './ledger-check.ts'
import { mountPowered } from './mounts.ts'
import { judge, type Judged } from './recording-receiver.ts'

export type Cutting = {
  cuts: number
  seed: number
  items_per_s: number
  /** Time from listening to the power cut. */
  life_ms: readonly [number, number]
  report?: (line: string) => void
}

export type Cut = Judged & {
  cuts: number
  /** Acknowledged writes that were lost. */
  lost_writes: { webhooks: number; keys: number; delivered: number; reads: number }
  /** All acknowledged writes. */
  acknowledged: { webhooks: number; keys: number; delivered: number; reads: number }
  /** Starts with a damaged database or violated invariants. */
  refused_or_broken: number
  books: LedgerTotals
}

const WEBHOOKS_A_LIFE = 20
/** Every nth run creates a key with the command line, a slow separate process. */
const KEY_EVERY = 4

/**
 * Cuts the power of a working daemon repeatedly.
 *
 * @throws {MountRefused} the system does not permit mounts
 */
export async function cutPower(plan: Cutting): Promise<Cut> {
  const chance = createSeededRandom(plan.seed)
  await using disk = await mountPowered()
  await using fixture = await startChaosFixture({
    seed: plan.seed + 1,
    data: join(disk.path, 'data'),
    places: ['hay0', 'hay1'],
    items_per_s: plan.items_per_s,
  })
  const report = plan.report ?? (() => {})
  const book = emptyRecord()
  const lost_writes = { webhooks: 0, keys: 0, delivered: 0, reads: 0 }
  const acknowledged = { webhooks: 0, keys: 0, delivered: 0, reads: 0 }
  let refused_or_broken = 0
  let daemon = await startProcess(fixture.config)
  // Ends all processes that use the file system, so that it can be unmounted after a failure too.
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await fixture.setUp(daemon)
  const delivered = new Set<string>()
  for (let cut = 0; cut < plan.cuts; cut++) {
    const using = useUntilExit(fixture, daemon, book, { webhooks_max: WEBHOOKS_A_LIFE })
    if (cut % KEY_EVERY === 0) await createKey(fixture, book)
    await Bun.sleep(chance.whole(...plan.life_ms))
    await disk.cut()
    await daemon.end('SIGKILL')
    await using
    await disk.restore()
    daemon = await startProcess(fixture.config).catch(async (error: unknown) => {
      refused_or_broken++
      report(String(error))
      throw error
    })
    acknowledged.webhooks += book.webhooks.size
    acknowledged.keys += book.keys.size
    const lost = await countLost(fixture, daemon, book)
    lost_writes.webhooks += lost.webhooks
    lost_writes.keys += lost.keys
    const still = whichAreDelivered(fixture.data)
    lost_writes.delivered += [...book.delivered].filter((id) => !still.has(id)).length
    for (const id of book.delivered) delivered.add(id)
    book.delivered.clear()
    refused_or_broken += findBreachesIn(fixture.data, { attempts_max: ATTEMPTS_MAX }).length
    if (cut % 20 === 19)
      report(`${cut + 1} cuts, ${fixture.poster.matching.length} matches, ${book.reads} reads`)
  }
  await fixture.poster.stop()
  await waitForDeliveries(fixture.data, fixture.poster.matching.length * fixture.receivers.length)
  await daemon.end('SIGTERM')
  const books = readLedger(fixture.data)
  lost_writes.reads = Math.max(0, book.reads - books.reads_billed)
  return {
    cuts: plan.cuts,
    ...judge(fixture.receivers, fixture.poster.matching),
    lost_writes,
    acknowledged: { ...acknowledged, delivered: delivered.size, reads: book.reads },
    refused_or_broken,
    books,
  }
}
