import { join } from 'node:path'

import { createChance } from '../../src/sandbox/chance.ts'
import { startProcess } from '../support/process.ts'
import { type Books, readBooks, settled, whichAreDelivered } from './books.ts'
import { countLost, mintKey, nothingYet, useUntilGone } from './ledgers.ts'
import { mountPowered } from './mounting.ts'
import { startStage } from './stage.ts'
import { judge } from './witness.ts'

export type Cutting = {
  cuts: number
  seed: number
  items_per_s: number
  /** From listening to the cut. */
  life_ms: readonly [number, number]
  told?: (line: string) => void
}

export type Cut = {
  cuts: number
  matches: number
  /** What was said yes to and is not there after the cut. */
  lost_writes: { webhooks: number; keys: number; delivered: number; reads: number }
  /** What was said yes to in all. */
  acknowledged: { webhooks: number; keys: number; delivered: number; reads: number }
  /** Matches that did not arrive, over all receivers. */
  lost: number
  under_two_ids: number
  unstable_bodies: number
  /** Starts that found the database damaged, or its invariants broken. */
  refused_or_broken: number
  books: Books
}

const WEBHOOKS_A_LIFE = 20
/** A key is made beside the daemon in every so many lives: it is a process of its own. */
const KEY_EVERY = 4

/** Cuts the power under a working daemon again and again. Throws MountRefused where no such disk can be mounted. */
export async function cutThePower(plan: Cutting): Promise<Cut> {
  const chance = createChance(plan.seed)
  await using disk = await mountPowered()
  await using stage = await startStage({
    seed: plan.seed + 1,
    data: join(disk.path, 'data'),
    places: ['hay0', 'hay1'],
    items_per_s: plan.items_per_s,
  })
  const tell = plan.told ?? (() => {})
  const book = nothingYet()
  const lost_writes = { webhooks: 0, keys: 0, delivered: 0, reads: 0 }
  const acknowledged = { webhooks: 0, keys: 0, delivered: 0, reads: 0 }
  let refused_or_broken = 0
  let daemon = await startProcess(stage.config)
  // Whatever becomes of the test, nobody is left who would keep the disk.
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await stage.begin(daemon)
  const delivered = new Set<string>()
  for (let cut = 0; cut < plan.cuts; cut++) {
    const using = useUntilGone(stage, daemon, book, { webhooks_max: WEBHOOKS_A_LIFE })
    if (cut % KEY_EVERY === 0) await mintKey(stage, book)
    await Bun.sleep(chance.whole(...plan.life_ms))
    await disk.cut()
    await daemon.end('SIGKILL')
    await using
    await disk.restore()
    daemon = await startProcess(stage.config).catch(async (error: unknown) => {
      refused_or_broken++
      tell(String(error))
      throw error
    })
    acknowledged.webhooks += book.webhooks.size
    acknowledged.keys += book.keys.size
    const lost = await countLost(stage, daemon, book)
    lost_writes.webhooks += lost.webhooks
    lost_writes.keys += lost.keys
    const still = whichAreDelivered(stage.data)
    lost_writes.delivered += [...book.delivered].filter((id) => !still.has(id)).length
    for (const id of book.delivered) delivered.add(id)
    book.delivered.clear()
    refused_or_broken += daemon.lines.filter((it) => it.includes('storage.invariant_broken')).length
    if (cut % 20 === 19)
      tell(`${cut + 1} cuts, ${stage.poster.wanted.length} matches, ${book.reads} reads`)
  }
  await stage.poster.stop()
  const truth = stage.poster.wanted.map(({ name }) => name)
  await settled(stage.data, truth.length * stage.witnesses.length)
  await daemon.end('SIGTERM')
  const books = readBooks(stage.data)
  lost_writes.reads = Math.max(0, book.reads - books.reads_billed)
  const verdicts = stage.witnesses.map((it) => judge(it, truth))
  const sum = (key: keyof (typeof verdicts)[number]) =>
    verdicts.reduce((total, it) => total + it[key], 0)
  return {
    cuts: plan.cuts,
    matches: truth.length,
    lost_writes,
    acknowledged: { ...acknowledged, delivered: delivered.size, reads: book.reads },
    lost: sum('lost'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    refused_or_broken,
    books,
  }
}
