import bench from '../../docs/benchmarks.json'
import { median } from '../bench/figures/results.ts'
import points from './points.json'

/** A measured figure: its value, and the text that the page has it in. */
export type Figure = {
  value: number
  /** Command and row. */
  measurement: string
  page: 'docs/benchmarks.md' | 'docs/capacity.md' | 'docs/reliability.md'
  /** A part of a row of the page, without its padding. */
  row: string
}

const BENCH = 'docs/benchmarks.md'
const CAPACITY = 'docs/capacity.md'

const figure = (
  value: number,
  measurement: string,
  row: string,
  page: Figure['page'] = BENCH,
): Figure => ({ value, measurement, page, row })

/** Median of a saved bench, in its unit. */
function benched(name: string, variant: string, key: string): number {
  const rounds = bench
    .find((it) => it.name === name)
    ?.variants.find((it) => it.name.startsWith(variant))?.rounds
  const values: number[] | undefined = Object(rounds)[key]
  if (values === undefined)
    throw new Error(`docs/benchmarks.json has no ${name}, ${variant}, ${key}`)
  return median(values)
}

/**
 * Basis of the model. `test/docs/capacity.test.ts` checks that each page still has the row, so that a new measurement is
 * taken over here.
 */
export const FIGURES = {
  request_us: figure(
    benched('gateway', 'forumd', 'cpu_us'),
    '`bench --only gateway`: processor time of a read that fetches and maps 25 posts',
    '| forumd | 1,723',
  ),
  item_us: figure(
    1700 / 25,
    '`bench:archive`, polls beside the copying: transaction of a poll with 25 new items, per item',
    '| alone | 1.70',
  ),
  queue_us: figure(
    2100 / 200,
    '`bench:archive`: time of the polling thread for 200 copied items, per item',
    'needs 2.1 ms (p99 12) of processor time for 200 copied items',
  ),
  match_us: figure(
    50,
    '`bench:inbox`: a match with its item of the inbox',
    '46 to 55 µs for match and inbox',
  ),
  deliveries_per_s: figure(
    benched('deliveries', 'forumd', 'per_s'),
    '`bench --only deliveries`: committed, sent and recorded',
    '| forumd, synchronous FULL | 4,611',
  ),
  match_bytes: figure(
    4765,
    '`bar:soak --everything`: database of a match with its delivery, attempts and item of the inbox, before it is packed',
    'A match takes 4,765 bytes of the database',
    'docs/reliability.md',
  ),
  places_per_account: figure(
    (100 / 34.5) * 400,
    '`bench:poll --audits`: 400 places at a cadence of 60 s take 34.5 of 100 requests a minute',
    '| 400 | 60 s | 16.4 | 34.5',
  ),
  items_per_place_s: figure(
    21_633 / (9 * 3600) / 400,
    '`bench:poll`: posts of 400 places in nine hours',
    '20 November 2026, seed 1, 21,633 posts',
  ),
  items_per_forum_s: figure(
    0.2,
    '`bar:sources`: the forums of the scenario with 20 of them',
    '| 20 Discourse forums, 0.2 posts a second each | 200 | 3.1',
    CAPACITY,
  ),
  monitor_bytes: figure(
    2600,
    '`bench:match`: memory per monitor, at 100,000 of one feed',
    '| 100,000 | 2,407 | 83.45 | 90.44 | 24.5 µs | 2.5 (961) | 5,219 (0.5) | 2.6 kB',
  ),
  copied_per_s: figure(
    10_437,
    '`bench:archive` at ten million items, processor time of its thread',
    '| 10,000,000 | 10,437',
  ),
  copied_wall_per_s: figure(
    1300,
    '`bench:archive`: copying on the wall, each commit on the disk, at least',
    'and 1,300 at the highest',
  ),
  archived_bytes: figure(
    1663,
    '`bench:archive` at ten million items',
    '| 10,000,000 | 10,437 | 23,339 | 1,663',
  ),
  trial_items_per_s: figure(
    120_769 / 2,
    '`bench:archive`: items that a pattern is tried on in two seconds',
    '| 10,000,000 | pattern | 2,002 | 2,003 | 120,769',
  ),
} as const satisfies Record<string, Figure>

/** Microseconds of one core to find the monitors of a feed that match an item, by how many the feed has (`bench:match`). */
export const MATCHING: readonly (readonly [monitors: number, us: number, row: string])[] = [
  [100, 1e6 / 103_933, '| 100 | 103,933'],
  [1000, 1e6 / 69_656, '| 1,000 | 69,656'],
  [10_000, 1e6 / 17_758, '| 10,000 | 17,758'],
  [100_000, 1e6 / 2407, '| 100,000 | 2,407'],
]

/** p50 and p99 of a search of two words, ms, by the items of the archive (`bench:archive`). */
export const SEARCH: readonly (readonly [items: number, p50: number, p99: number, row: string])[] =
  [
    [10_000, 0.99, 6, '| 10,000 | 0.99 | 6.00'],
    [100_000, 1.72, 3.97, '| 100,000 | 1.72 | 3.97'],
    [1_000_000, 3.35, 8.92, '| 1,000,000 | 3.35 | 8.92'],
    [10_000_000, 3.62, 75, '| 10,000,000 | 3.62 | 75'],
  ]

/** Bytes of an archived item with its index, by the items of the archive (`bench:archive`). */
export const ARCHIVED: readonly (readonly [items: number, bytes: number])[] = [
  [10_000, 1766],
  [100_000, 1699],
  [1_000_000, 1662],
  [10_000_000, 1663],
]

/** Points that `bun run capacity --measure` has measured for the model alone. */
export const POINTS: {
  at: string
  machine: string
  revision: string
  load: number
  /** Resident memory, MB, by monitors of twenty terms over 400 places. */
  memory: { monitors: number; rss_mb: number; own_mb: number }[]
  /** Processor time, of one core, and memory by Discourse forums with ten monitors each. */
  forums: { forums: number; core: number; rss_mib: number }[]
} = points
