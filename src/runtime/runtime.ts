import { lookup } from 'node:dns/promises'

/** External dependencies of the daemon. A test replaces those it needs to. */
export type Runtime = {
  clock: Clock
  random: Random
  resolve: Resolve
  fetch: Fetch
  log: Log
  /** Measures the event loop's lateness; absent: not measured. */
  lateness?: Lateness
  /** Absent without a standby. */
  fence?: Fence
}

/** The lease of this process: it may act while it lasts. */
export type Fence = {
  /** Ends the process if its lease is over. Called before each request, attempt and transaction. */
  check(): void
  /** Time until then, ms. */
  remainingMs(): number
}

/** Reports repeatedly how late the event loop reached a timer, in ms, until `signal` aborts. */
export type Lateness = (report: (lateness_ms: number) => void, signal: AbortSignal) => void

/** Instants are epoch ms. */
export type Clock = {
  now(): number
  /** Monotonic ms, independent of changes to the wall clock. */
  mono(): number
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export type Random = {
  /** A UUIDv7: sortable by its creation time. */
  uuid(): string
  /** In [0, 1). */
  fraction(): number
  bytes(count: number): Uint8Array
}

/** All addresses of a host name. Rejects if there are none. */
export type Resolve = (host: string) => Promise<string[]>
export type Fetch = (url: string, init: BunFetchRequestInit) => Promise<Response>

/** From the least to the most urgent. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
/** `event` is a stable name such as `check.failed`; `fields` hold codes and ids, never secrets or error objects. */
export type Log = (level: LogLevel, event: string, fields?: Record<string, unknown>) => void

// setTimeout fires at once for anything longer than a 32-bit delay.
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const realClock: Clock = {
  now: Date.now,
  mono: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(ms, LONGEST_TIMER_MS))
      signal?.addEventListener('abort', done)
    }),
}

/** Longer stalls are always detected: at least one timer is due during them. */
const LATENESS_EVERY_MS = 20

export const latenessOf =
  ({ mono, sleep }: Pick<Clock, 'mono' | 'sleep'>): Lateness =>
  (report, signal) => {
    async function watch() {
      while (!signal.aborted) {
        const due_at = mono() + LATENESS_EVERY_MS
        await sleep(LATENESS_EVERY_MS, signal)
        // A sleep that was ended early is not late.
        if (!signal.aborted) report(Math.max(0, mono() - due_at))
      }
    }
    void watch()
  }

/** A larger step means that the clock was set or the machine slept. Smaller ones are slewing. */
export const JUMP_MIN_MS = 2000

/**
 * Creates a function that returns the jump of the wall clock since its last call, in ms; 0: none.
 * After sleep, the wall clock jumps forward: the monotonic clock stood still meanwhile.
 */
export function createJumpWatch(clock: Pick<Clock, 'now' | 'mono'>): () => number {
  let wall = clock.now()
  let mono = clock.mono()
  return () => {
    const jump_ms = Math.round(clock.now() - wall - (clock.mono() - mono))
    wall = clock.now()
    mono = clock.mono()
    return Math.abs(jump_ms) > JUMP_MIN_MS ? jump_ms : 0
  }
}

const realRandom: Random = {
  uuid: () => Bun.randomUUIDv7(),
  fraction: Math.random,
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}

export function createRuntime(log: Log): Runtime {
  return {
    clock: realClock,
    random: realRandom,
    resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    fetch: (url, init) => fetch(url, init),
    log,
    lateness: latenessOf(realClock),
  }
}
