import type { Sandbox } from '../../sandbox/server/sandbox.ts'
import type { SeededRandom } from '../../sandbox/world/random.ts'

/** A post that a monitor should match. */
export type MatchingPost = { name: string; place: string; posted_at: number }

export type Poster = {
  /** Starts posting. */
  go(): void
  /** Sets the rate in posts per second. */
  pace(items_per_s: number): void
  /** Stops posting. */
  stop(): Promise<void>
  /** All posts that a monitor should match. */
  matching: readonly MatchingPost[]
  /** Creation times of the posts of each subforum, oldest first; a listing shows the newest thousand. */
  written: ReadonlyMap<string, readonly number[]>
  /** Average posts per second. */
  rate(): number
}

const TICK_MS = 5
/** Share of posts that a monitor should match. */
const MATCHING_SHARE = 1 / 5

type World = {
  sandbox: Sandbox
  chance: SeededRandom
  places: readonly string[]
  items_per_s: number
}

/** Creates posts in all subforums in turn, at a constant average rate despite timer delays. */
export function startPoster({ sandbox, chance, places, items_per_s }: World): Poster {
  const matching: MatchingPost[] = []
  const written = new Map<string, number[]>(places.map((place) => [place, []]))
  const enough = new AbortController()
  const begun = Promise.withResolvers<void>()
  let per_s = items_per_s
  let count = 0
  let began_at = 0
  let ended_at: number | null = null
  let from = { at: 0, count: 0 }

  function post(): void {
    const place = places[count % places.length] ?? ''
    const is_match = chance.fraction() < MATCHING_SHARE
    const title = is_match ? `a needle, number ${count}` : `hay, number ${count}`
    const posted_at = Date.now()
    const { name } = sandbox.post({ subforum: place, title })
    written.get(place)?.push(posted_at)
    if (is_match) matching.push({ name, place, posted_at })
    count++
  }
  async function run(): Promise<void> {
    await begun.promise
    while (!enough.signal.aborted) {
      const due = from.count + ((Date.now() - from.at) / 1000) * per_s
      while (count < due) post()
      await Bun.sleep(TICK_MS)
    }
  }
  const running = run()
  return {
    matching,
    written,
    go() {
      began_at = Date.now()
      from = { at: began_at, count }
      begun.resolve()
    },
    pace(items) {
      from = { at: Date.now(), count }
      per_s = items
    },
    async stop() {
      ended_at ??= Date.now()
      enough.abort()
      begun.resolve()
      await running
    },
    rate: () => (count * 1000) / Math.max(1, (ended_at ?? Date.now()) - began_at),
  }
}
