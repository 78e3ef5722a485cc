import { isObject } from '../core/base/object.ts'
import { WAIT_MAX_S } from '../core/base/wait.ts'
import type { Clock } from '../runtime/runtime.ts'

/** Where the last requests to a host are kept over a restart. */
export type PaceStore = { load(): string | null; save(text: string): void }

export type ClientPace = {
  /** Milliseconds until a request may be sent; `share`: the part of a minute's requests that its kind may use. */
  wait_ms(share?: number): number
  /** Counts a request, which is sent now. */
  take(share?: number): void
  /** Requests that may be sent within so many ms, one after the other; absent: now. */
  left(share: number, within_ms?: number): number
  /** Holds every request to the host. */
  pause(seconds: number): void
  /** Requests a minute by configuration; null while the source itself asks for fewer, or for a pause. */
  configured(): number | null
  /** Lowers the pace to `per_minute` requests; the configured pace stays the highest. */
  limit(per_minute: number): void
}

export type HostPace = {
  /**
   * Adds a client with a pace of its own, which may send `burst` requests at once after a quiet time. All clients of a host
   * together send no more in a minute than the fastest of them may.
   */
  join(requests_per_minute: number, burst?: number): ClientPace
}

/** Requests that may be sent at once after a quiet time, by default. */
const BURST = 10

/** A minute, and a second for differences in the time that requests take to arrive. */
const WINDOW_MS = 61_000
/** Writes a minute: requests are stored this many at a time, before they are sent. */
const SAVES = 20
const RESERVED_MAX = 100
/** A share of a number is a whole one but for rounding. */
const EPSILON = 1e-6

/** A request: when, monotonic ms, by which client, and whether its kind has a share only. -1: of an earlier process. */
type Sent = { at: number; client: number; is_shared: boolean }

/**
 * At most as many requests of a client in any 60 s as are configured, also over a restart if there is a store. Requests with a
 * share leave the rest of it to the others.
 */
export function createPace(clock: Clock, store?: PaceStore): HostPace {
  const configured: number[] = []
  let paused_until = -Infinity
  /** Requests that were stored before they are sent. */
  let reserved = 0
  const sent: Sent[] = []

  function prune(now: number): void {
    const kept = sent.findIndex(({ at }) => at > now - WINDOW_MS)
    sent.splice(0, kept === -1 ? sent.length : kept)
  }

  /** Milliseconds until fewer than `count` of these requests are in the window. */
  const untilBelow = (count: number, among: readonly Sent[], now: number): number => {
    const oldest = among.at(-count)
    return oldest === undefined ? 0 : Math.max(0, oldest.at + WINDOW_MS - now)
  }

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
    for (let n = 0; n < Math.min(count, RESERVED_MAX); n++) add(now)
    const pause = value['paused_until']
    if (typeof pause === 'number') paused_until = Math.min(pause - age, now + WAIT_MAX_S * 1000)
    prune(now)
  }

  const add = (at: number): void => void sent.push({ at, client: -1, is_shared: true })

  restore()

  return {
    join(requests_per_minute, burst = BURST) {
      const client = configured.push(requests_per_minute) - 1
      let every_ms = 60_000 / requests_per_minute
      /** Token bucket as the instant at which the next request is due, monotonic ms. */
      let next_at = -Infinity

      /** Requests in a minute: a lower pace that a site asks for spreads them, and does not count what was sent before. */
      const bound = (share: number): number =>
        Math.max(1, Math.floor(share * requests_per_minute + EPSILON))
      const isOwn = (it: Sent): boolean => it.client === client || it.client === -1
      const isShared = (it: Sent): boolean => it.is_shared && isOwn(it)
      /** The requests that are bounded, each with its bound. */
      const bounds = (share: number): [number, (it: Sent) => boolean][] => [
        [Math.max(...configured, 1), () => true],
        [bound(1), isOwn],
        ...(share < 1 ? [[bound(share), isShared] satisfies [number, unknown]] : []),
      ]

      return {
        wait_ms(share = 1) {
          const now = clock.mono()
          prune(now)
          return Math.ceil(
            Math.max(
              0,
              paused_until - now,
              next_at - now - (burst - 1) * every_ms,
              ...bounds(share).map(([most, among]) => untilBelow(most, sent.filter(among), now)),
            ),
          )
        },
        take(share = 1) {
          const now = clock.mono()
          next_at = Math.max(next_at, now) + every_ms
          sent.push({ at: now, client, is_shared: share < 1 })
          reserved -= 1
          if (reserved >= 0) return
          reserved = Math.min(RESERVED_MAX, Math.ceil(bound(1) / SAVES)) - 1
          save(now)
        },
        left(share, within_ms = 0) {
          prune(clock.mono())
          const then = clock.mono() + within_ms
          if (paused_until > then) return 0
          const counted = sent.filter(({ at }) => at > then - WINDOW_MS)
          const at_once = Math.min(burst, Math.floor((then - next_at) / every_ms + burst))
          const free = bounds(share).map(([most, among]) => most - counted.filter(among).length)
          return Math.max(0, Math.min(at_once, ...free))
        },
        pause(seconds) {
          const now = clock.mono()
          paused_until = Math.max(paused_until, now + Math.min(seconds, WAIT_MAX_S) * 1000)
          save(now)
        },
        configured() {
          const per_minute = bound(1)
          const is_slower = every_ms > 60_000 / per_minute || paused_until > clock.mono()
          return is_slower ? null : per_minute
        },
        limit(per_minute) {
          every_ms = 60_000 / Math.min(requests_per_minute, per_minute)
        },
      }
    },
  }
}
