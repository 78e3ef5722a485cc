import type { Item } from '../core/items.ts'
import type { Fault, Outcome } from '../core/outcome.ts'
import {
  type CutReason,
  type Look,
  PAGES_MAX,
  type Row,
  sight,
  startLook,
  TRIES_MAX,
} from '../core/stream.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Clock } from '../outside.ts'
import type { Stream } from '../store/streams.ts'

/** How a check ended. `void`: it was no check at all, and nothing of it is written down. */
export type Ending =
  | { kind: 'reached' }
  | { kind: 'cut'; reason: CutReason; fault: string | null; retry_after_s: number }
  | { kind: 'void'; why: 'stale_listing' | 'stopping' }

/** What a check has seen. Instants `*_at` are by our clock, `seen_at` is by the platform's. */
export type Finding = {
  stream: Stream
  look: Look
  /** Every row of every page, by fullname, as first read. */
  items: ReadonlyMap<string, Item>
  ending: Ending
  started_at: number
  ended_at: number
  seen_at: number
}

export type LookDeps = { watch: Watch; clock: Clock; signal: AbortSignal }

// The client below has its own retries; these are for what survives them.
const PAUSES_MS = [1000, 3000]
/** All pages and tries of one check together. */
const CHECK_MS = 120_000
const WORTH_TRYING: readonly Fault['kind'][] = ['timeout', 'unavailable', 'unreadable']
// An old copy that is served for more than this many intervals is believed: nothing is lost by it, because the
// head only moves to what was read and old anchors stay.
const BELIEVE_INTERVALS = 2.5

/**
 * Looks at one stream once: page after page until the head is met, or the check has to be cut. Reads only; what
 * it learned is for {@link record}. `floor_at`: how far back monitors that begin here want it to read.
 */
export async function lookAt(
  { watch, clock, signal }: LookDeps,
  stream: Stream,
  floor_at: number | null,
): Promise<Finding> {
  const started_at = clock.now()
  const began = clock.mono()
  const items = new Map<string, Item>()
  const silent_ms = stream.last_check_at === null ? 0 : started_at - stream.last_check_at
  const believing = silent_ms > BELIEVE_INTERVALS * stream.interval_s * 1000
  let look = startLook({ head: stream.head, floor_at, believing })
  let faults = 0

  const end = (ending: Ending): Finding => {
    const ended_at = clock.now()
    const seen_at = ended_at + watch.clock_offset_ms()
    return { stream, look, items, ending, started_at, ended_at, seen_at }
  }

  for (let request = 0; request < PAGES_MAX * TRIES_MAX; request++) {
    const page = await watch.page(stream, { limit: look.limit, after: look.after }, signal)
    if (signal.aborted) return end({ kind: 'void', why: 'stopping' })
    if (!page.ok) {
      const pause_ms = PAUSES_MS[faults++]
      const late = clock.mono() - began > CHECK_MS
      if (!WORTH_TRYING.includes(page.fault.kind) || pause_ms === undefined || late)
        return end(cutBy(page.fault))
      await clock.sleep(pause_ms, signal)
      continue
    }
    for (const item of page.value.rows) if (!items.has(item.name)) items.set(item.name, item)
    const sighting = sight(look, { rows: page.value.rows.map(toRow), after: page.value.after })
    if (sighting.look.pages > look.pages) faults = 0
    look = sighting.look
    switch (sighting.kind) {
      case 'reached':
        return end({ kind: 'reached' })
      case 'cut':
        return end(cut(sighting.reason))
      case 'stale':
        return end({ kind: 'void', why: 'stale_listing' })
      case 'empty':
        return end(await explainEmpty(watch, stream))
      case 'again':
      case 'onward':
        break
    }
  }
  return end(cut('poll_overflow'))
}

const toRow = (item: Item): Row => ({
  id: item.name,
  created_at: item.created_utc * 1000,
  sticky: item.kind === 'post' && item.stickied,
})

const cut = (reason: CutReason): Ending => ({ kind: 'cut', reason, fault: null, retry_after_s: 0 })

const cutBy = (fault: Fault): Ending => ({
  kind: 'cut',
  reason: 'error',
  fault: faultText(fault),
  retry_after_s: 'retry_after_s' in fault ? (fault.retry_after_s ?? 0) : 0,
})

/** A place that shows nothing any more may have been closed; its own page tells. */
async function explainEmpty(watch: Watch, { kind, place }: Stream): Promise<Ending> {
  if (kind === 'search') return cut('empty_listing')
  const verdict = await watch.subforum(place)
  if (verdict.kind !== 'refused') return cut('empty_listing')
  return { ...cutBy({ kind: 'forbidden', reason: null }), ...named(verdict.why) }
}

const named = (why: string | null) => (why === null ? {} : { fault: `refused:${why}` })

/** A fault in a word, such as `throttled` or `forbidden:private`: for the row and the log. */
function faultText(fault: Extract<Outcome<never>, { ok: false }>['fault']): string {
  if ('reason' in fault && fault.reason !== null) return `${fault.kind}:${fault.reason}`
  if ('status' in fault && fault.status !== null) return `${fault.kind}:${fault.status}`
  return fault.kind
}
