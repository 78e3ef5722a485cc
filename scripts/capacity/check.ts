import { FIGURES } from './figures.ts'
import {
  measureArchive,
  measureDeliveries,
  measureForums,
  measureMatching,
  measureMemory,
} from './measure.ts'
import { archivedBytes, forumsCore, matchingUs, memoryMb } from './model.ts'

/** A prediction of the model beside a measurement. `within`: how many times the smaller one the larger one may be. */
export type Compared = { name: string; predicted: number; measured: number; within: number }

/** Times depend on the machine and on what else it does; sizes hardly do. */
const [TIME, MEMORY, BYTES] = [2.5, 1.4, 1.1]

export const isWithin = ({ predicted, measured, within }: Compared): boolean =>
  measured <= predicted * within && measured >= predicted / within

const MATCHING = [1000, 20_000]
const DELIVERIES = 5000
const ARCHIVED = 50_000
const MEMORIES = [5000]
const FORUMS = 40

/** Measures points that the model is not made of, or made of by another run, and yields each with its prediction. */
export async function* check(): AsyncGenerator<Compared> {
  for (const monitors of MATCHING)
    yield {
      name: `matching against ${monitors} monitors, µs an item`,
      predicted: matchingUs(monitors),
      measured: measureMatching(monitors),
      within: TIME,
    }
  yield {
    name: 'deliveries a second of a core',
    predicted: FIGURES.deliveries_per_s.value,
    measured: (await measureDeliveries(DELIVERIES)).per_core_s,
    within: TIME,
  }
  const archive = measureArchive(ARCHIVED)
  yield {
    name: `archive of ${ARCHIVED} items, bytes an item`,
    predicted: archivedBytes(ARCHIVED),
    measured: archive.bytes,
    within: BYTES,
  }
  yield {
    name: `archive of ${ARCHIVED} items, items a second of a core`,
    predicted: FIGURES.copied_per_s.value,
    measured: archive.per_s,
    within: TIME,
  }
  for (const monitors of MEMORIES)
    yield {
      name: `memory with ${monitors} monitors, MB`,
      predicted: memoryMb(monitors),
      measured: (await measureMemory(monitors)).rss_mb,
      within: MEMORY,
    }
  yield {
    name: `${FORUMS} forums, share of a core`,
    predicted: forumsCore(FORUMS),
    measured: (await measureForums(FORUMS, 1)).core,
    within: TIME,
  }
}
