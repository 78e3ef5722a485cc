import { createSeededRandom, type SeededRandom } from '../../../sandbox/world/random.ts'
import { pageOf, type Place, type PlaceSpec, type World } from '../../../test/simulation/world.ts'
import { type FakeClock, fakeClock, nextTurn } from '../../../test/support/clock.ts'
import { DOWN, PER_MINUTE, RUN_MS, START, trafficOf, type Watched } from './poll-world.ts'

type Row = { name: string }
/** One request: rows newest first, or the nearest rows newer than `before`. */
type FetchPage = (
  places: readonly Place[],
  paging: { limit: number; before: string | null },
) => Promise<Row[]>

/** One run of a watcher, from its start until it is stopped. It reports items by `report`. */
type Life = (around: {
  clock: FakeClock
  chance: SeededRandom
  places: readonly Place[]
  fetchPage: FetchPage
  report: (name: string) => void
  stopped: () => boolean
}) => readonly Promise<void>[]

const SPACING_MS = 60_000 / PER_MINUTE
const LATENCY_MS = 120

/** Runs a method twice, with a stop between: its memory is lost then. */
async function live(seed: number, specs: readonly PlaceSpec[], life: Life): Promise<Watched> {
  const clock = fakeClock(nextTurn, START)
  const chance = createSeededRandom(seed)
  const world = trafficOf(seed, specs)
  const reported_at = new Map<string, number>()
  const count = { again: 0, requests: 0 }
  let free_at = 0

  const fetchPage: FetchPage = async (places, paging) => {
    const at = Math.max(clock.mono(), free_at)
    free_at = at + SPACING_MS
    await clock.sleep(at - clock.mono())
    count.requests += 1
    await clock.sleep(LATENCY_MS * (0.5 + chance.fraction()))
    world.advance(clock.now() / 1000)
    return listed(places, paging)
  }
  const report = (name: string): void => {
    if (reported_at.has(name)) count.again += 1
    else reported_at.set(name, clock.now())
  }
  for (const until of [DOWN.from_ms, RUN_MS]) {
    const from_ms = until === RUN_MS ? DOWN.until_ms : 0
    await clock.advance(from_ms - clock.mono())
    const before = new Set(until === RUN_MS ? [] : historyOf(world))
    const stopped = () => clock.mono() >= until
    const places = [...world.places.values()]
    const lives = life({
      clock,
      chance,
      places,
      fetchPage,
      // Items from before the first start are not news.
      report: (name) => void (before.has(name) || stopped() || report(name)),
      stopped,
    })
    // Long enough for requests that still wait for the budget.
    await clock.advance(until + 600_000 - clock.mono())
    await Promise.all(lives)
  }
  return { reported_at, ...count, owned: () => false }
}

const historyOf = (world: World): string[] =>
  [...world.places.values()].flatMap(({ rows }) => rows.map(({ name }) => name))

function listed(
  places: readonly Place[],
  { limit, before }: { limit: number; before: string | null },
) {
  if (before === null) return pageOf(places, { limit, after: null }).rows
  // Usually it is near the top.
  for (const depth of [50, 1000]) {
    const { rows } = pageOf(places, { limit: depth, after: null })
    const at = rows.findIndex(({ name }) => name === before)
    if (at !== -1) return rows.slice(Math.max(0, at - limit), at)
  }
  return []
}

/** Polls each place by itself, one after another, with its hundred newest. */
export const watchInTurn = (seed: number, specs: readonly PlaceSpec[]): Promise<Watched> =>
  live(seed, specs, ({ places, fetchPage, report, stopped }) => {
    const seen = new Set<string>()
    const turn = async () => {
      while (!stopped())
        for (const place of places) {
          const rows = await fetchPage([place], { limit: 100, before: null })
          for (const { name } of rows.toReversed()) {
            if (seen.has(name)) continue
            seen.add(name)
            report(name)
          }
          if (stopped()) break
        }
    }
    return [turn()]
  })

const SEEN_MAX = 301
const COUNTER_MAX = 16

/**
 * PRAW's rule (praw/models/util.py, stream_generator): the hundred newest, or those newer than the newest
 * reported one; an item is reported unless it is among the last 301; after nothing new a wait of 1, 2, 4 … 16
 * seconds, with a jitter of 1/32. `together`: number of places per stream ("a+b+c").
 */
export const watchAsPraw = (
  seed: number,
  specs: readonly PlaceSpec[],
  concurrency: number,
): Promise<Watched> =>
  live(seed, specs, ({ clock, chance, places, fetchPage, report, stopped }) => {
    const groups = Array.from({ length: Math.ceil(places.length / concurrency) }, (_, at) =>
      places.slice(at * concurrency, (at + 1) * concurrency),
    )
    const stream = async (group: readonly Place[]) => {
      const seen = new Set<string>()
      let before: string | null = null
      let without_before = 0
      let base = 1
      while (!stopped()) {
        let limit = 100
        if (before === null) {
          limit -= without_before
          without_before = (without_before + 1) % 30
        }
        let newest: string | null = null
        const rows = await fetchPage(group, { limit, before })
        for (const { name } of rows.toReversed()) {
          if (seen.has(name)) continue
          seen.add(name)
          const [oldest] = seen
          if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest)
          newest = name
          report(name)
        }
        before = newest
        if (newest !== null) base = 1
        else {
          const jitter = base / 16
          await clock.sleep((base + chance.fraction() * jitter - jitter / 2) * 1000)
          base = Math.min(base * 2, COUNTER_MAX)
        }
      }
    }
    return groups.map(stream)
  })
