import type { Chance } from '../../src/sandbox/chance.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'

/** A post that a monitor wants, as the platform had it. */
export type Wanted = { name: string; place: string; posted_at: number }

export type Poster = {
  /** Begins to post. */
  go(): void
  /** Posts so many a second from now on. */
  pace(items_per_s: number): void
  /** Posts no more. */
  stop(): Promise<void>
  /** Every post that a monitor wants. */
  wanted: readonly Wanted[]
  /** When each post of a place was written, oldest first: its newest thousand are what a listing shows. */
  written: ReadonlyMap<string, readonly number[]>
  /** Posts a second so far. */
  rate(): number
}

const TICK_MS = 5
/** Posts that a monitor wants, of all. */
const WANTED_SHARE = 1 / 5

type World = {
  sandbox: Sandbox
  chance: Chance
  places: readonly string[]
  items_per_s: number
}

/** Lets posts appear in all places by turns, at a steady pace however late its own timer is. */
export function startPoster({ sandbox, chance, places, items_per_s }: World): Poster {
  const wanted: Wanted[] = []
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
    const matching = chance.fraction() < WANTED_SHARE
    const title = matching ? `a needle, number ${count}` : `hay, number ${count}`
    const posted_at = Date.now()
    const { name } = sandbox.post({ subforum: place, title })
    written.get(place)?.push(posted_at)
    if (matching) wanted.push({ name, place, posted_at })
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
    wanted,
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
