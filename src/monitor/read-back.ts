import type { Item } from '../core/items.ts'
import type { Fault } from '../core/outcome.ts'
import { type CutReason, type Look, PAGES_MAX, sight, TRIES_MAX } from '../core/sight.ts'
import { type Row, settleRows } from '../core/stream-rows.ts'
import type { StreamKind } from '../core/stream.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Clock } from '../outside.ts'

export type LookDeps = { watch: Watch; clock: Clock; signal: AbortSignal }

/** How reading back ended. */
export type Read = {
  look: Look
  /** Every row of every page, by fullname, as first read. */
  items: ReadonlyMap<string, Item>
  ending:
    | { kind: 'reached' | 'empty' | 'stale' | 'stopping' }
    | { kind: 'cut'; reason: CutReason }
    | { kind: 'fault'; fault: Fault }
}

// The client below has its own retries; these are for what survives them.
const PAUSES_MS = [1000, 3000]
/** All pages and tries of one look together. */
const LOOK_MS = 120_000
const WORTH_TRYING: readonly Fault['kind'][] = ['timeout', 'unavailable', 'unreadable']

/** Reads a listing page after page until what the look is for is met, or it has to be cut. */
export async function readBack(
  { watch, clock, signal }: LookDeps,
  feed: { kind: StreamKind; place: string },
  start: Look,
): Promise<Read> {
  const began = clock.mono()
  const items = new Map<string, Item>()
  let look = start
  let faults = 0
  const end = (ending: Read['ending']): Read => ({ look, items, ending })

  for (let request = 0; request < PAGES_MAX * TRIES_MAX; request++) {
    const page = await watch.page(feed, { limit: look.limit, after: look.after }, signal)
    if (signal.aborted) return end({ kind: 'stopping' })
    if (!page.ok) {
      // What it read on for was only what an earlier look has lost.
      if (look.enough) return end({ kind: 'reached' })
      const pause_ms = PAUSES_MS[faults++]
      const late = clock.mono() - began > LOOK_MS
      if (!WORTH_TRYING.includes(page.fault.kind) || pause_ms === undefined || late)
        return end({ kind: 'fault', fault: page.fault })
      await clock.sleep(pause_ms, signal)
      continue
    }
    for (const item of page.value.rows) if (!items.has(item.name)) items.set(item.name, item)
    const sighting = sight(look, { rows: toRows(page.value.rows), after: page.value.after })
    if (sighting.look.pages > look.pages) faults = 0
    look = sighting.look
    // What is kept back may be newer than anything that was read.
    if (page.value.partial === true && sighting.kind === 'reached')
      return end({ kind: 'cut', reason: 'poll_overflow' })
    if (sighting.kind === 'cut') return end({ kind: 'cut', reason: sighting.reason })
    if (sighting.kind !== 'again' && sighting.kind !== 'onward') return end({ kind: sighting.kind })
  }
  return end(look.enough ? { kind: 'reached' } : { kind: 'cut', reason: 'poll_overflow' })
}

/** Items, as far as their places in a listing go. */
export const toRows = (items: readonly Item[]): Row[] =>
  settleRows(
    items.map((item) => ({
      id: item.name,
      created_at: item.created_utc * 1000,
      sticky: item.kind === 'post' && item.stickied,
    })),
  )
