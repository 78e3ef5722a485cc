import { isObject } from '../core/base/object.ts'
import type { Clock } from '../runtime/runtime.ts'

/** Where a source's last requests are kept over a restart. */
export type PaceStore = { load(): string | null; save(text: string): void }

/** Rate of requests to one source, over all its hosts. */
export type Pace = {
  /** Milliseconds until a request may be sent; `share`: the part of a minute's requests that its kind may use. */
  wait_ms(share?: number): number
  /** Counts a request, which is sent now. */
  take(share?: number): void
  /** Requests that may be sent now, one after the other. */
  left(share: number): number
  /** No request is sent for so long. */
  pause(ms: number): void
  /** Lowers the rate; the configured one stays the highest. */
  limit(per_minute: number): void
}

export type PaceOptions = {
  clock: Clock
  requests_per_minute: number
  /** Requests that may be sent at once after a quiet time. */
  burst: number
  store?: PaceStore | undefined
}

/** A minute, and a second for differences in the time that requests take to arrive. */
const WINDOW_MS = 61_000
/** Writes a minute: requests are stored this many at a time, before they are sent. */
const SAVES = 20

/** A request: when, monotonic ms, and whether its kind has a share only. */
type Sent = { at: number; is_shared: boolean }

/**
 * At most `requests_per_minute` in any 60 s, also over a restart if there is a store. Requests with a share leave the
 * rest of it to the others.
 */
export function createPace({ clock, requests_per_minute, burst, store }: PaceOptions): Pace {
  const most = Math.max(1, Math.floor(requests_per_minute))
  const block = Math.max(1, Math.ceil(most / SAVES))
  let every_ms = 60_000 / requests_per_minute
  /** Token bucket as the instant at which the next request is due, monotonic ms. */
  let next_at = -Infinity
  let paused_until = -Infinity
  let reserved = 0
  const sent: Sent[] = []

  const bound = (share: number): number => Math.max(1, Math.floor(most * share))

  function prune(now: number): void {
    const kept = sent.findIndex(({ at }) => at > now - WINDOW_MS)
    sent.splice(0, kept === -1 ? sent.length : kept)
  }

  /** Milliseconds until fewer than `count` of these requests are in the window. */
  const untilBelow = (count: number, among: readonly Sent[], now: number): number => {
    const oldest = among.at(-count)
    return oldest === undefined ? 0 : Math.max(0, oldest.at + WINDOW_MS - now)
  }

  const shared = (): Sent[] => sent.filter(({ is_shared }) => is_shared)

  function save(now: number): void {
    if (store === undefined) return
    const age = clock.now() - now
    const times = sent.map(({ at }) => Math.round(at + age))
    const pause = Number.isFinite(paused_until) ? Math.round(paused_until + age) : null
    store.save(JSON.stringify({ times, reserved, paused_until: pause }))
  }

  /** Requests of an earlier process. Those that it had reserved may have been sent until now. */
  function restore(): void {
    const text = store?.load() ?? null
    const value: unknown = text === null ? null : JSON.parse(text)
    if (!isObject(value)) return
    const now = clock.mono()
    const age = clock.now() - now
    const times = Array.isArray(value['times']) ? value['times'] : []
    for (const it of times) if (typeof it === 'number') add(Math.min(now, it - age))
    const count = typeof value['reserved'] === 'number' ? value['reserved'] : 0
    for (let n = 0; n < Math.min(count, block); n++) add(now)
    const pause = value['paused_until']
    if (typeof pause === 'number') paused_until = Math.min(pause - age, now + PAUSE_MAX_MS)
    prune(now)
  }

  const add = (at: number): void => void sent.push({ at, is_shared: true })

  restore()

  return {
    wait_ms(share = 1) {
      const now = clock.mono()
      prune(now)
      return Math.ceil(
        Math.max(
          0,
          paused_until - now,
          next_at - now - (burst - 1) * every_ms,
          untilBelow(most, sent, now),
          share < 1 ? untilBelow(bound(share), shared(), now) : 0,
        ),
      )
    },
    take(share = 1) {
      const now = clock.mono()
      next_at = Math.max(next_at, now) + every_ms
      sent.push({ at: now, is_shared: share < 1 })
      if (reserved > 0) reserved -= 1
      else {
        reserved = block - 1
        save(now)
      }
    },
    left(share) {
      const now = clock.mono()
      prune(now)
      if (paused_until > now) return 0
      const burst_left = Math.floor((now - next_at) / every_ms + burst)
      return Math.max(
        0,
        Math.min(most - sent.length, bound(share) - shared().length, burst_left, burst),
      )
    },
    pause(ms) {
      const now = clock.mono()
      paused_until = Math.max(paused_until, now + ms)
      save(now)
    },
    limit(per_minute) {
      every_ms = 60_000 / Math.min(requests_per_minute, per_minute)
    },
  }
}

const PAUSE_MAX_MS = 3_600_000
