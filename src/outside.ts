import { lookup } from 'node:dns/promises'

/** Everything the daemon cannot decide for itself. A test replaces what it needs to. */
export type Outside = {
  clock: Clock
  random: Random
  resolve: Resolve
  fetch: Fetch
  log: Log
  /** Watches the event loop; left out, nobody does. */
  lateness?: Lateness
  /** Frees at once what nobody holds any more, and holds up everybody meanwhile; left out, the engine does so in its own time. */
  collect?: () => void
  /** The process itself; left out, what it has grown to it keeps. */
  own?: Own
}

/** What a process knows of itself, and can do about it. */
export type Own = {
  /** Memory that is resident. */
  resident_bytes(): number
  /** Processor time of all its threads since the start, in ms. */
  cpu_ms(): number
  /**
   * Drops compiled code, collects garbage and gives what is free back to the system, as soon as nothing runs; holds up everybody
   * for some 20 to 80 ms.
   */
  shrink(): void
}

/** Tells again and again how late the event loop came to a timer, in ms, until `signal` aborts. */
export type Lateness = (told: (late_ms: number) => void, signal: AbortSignal) => void

/** Instants are milliseconds since the epoch. */
export type Clock = {
  now(): number
  /** Milliseconds that only ever grow, whatever is done to the wall clock. */
  mono(): number
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Chance, and what is made of it. */
export type Random = {
  /** A UUIDv7: sortable by the time it was made. */
  uuid(): string
  /** In [0, 1). */
  fraction(): number
  bytes(count: number): Uint8Array
}

/** All addresses of a host name. Rejects when there are none. */
export type Resolve = (host: string) => Promise<string[]>
/** HTTP out. */
export type Fetch = (url: string, init: BunFetchRequestInit) => Promise<Response>

/** From the least to the most that somebody should look at. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
/** `event` is a stable name such as `check.failed`; `fields` hold codes and ids, never secrets or error objects. */
export type Log = (level: LogLevel, event: string, fields?: Record<string, unknown>) => void

// setTimeout fires at once for anything longer than a 32-bit delay.
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The clock of the machine. */
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

/** A stall of more than this is always seen: a timer was due while it went on. */
const LATENESS_EVERY_MS = 20

/** The lateness of a clock's own sleeps. */
export const latenessOf =
  ({ mono, sleep }: Pick<Clock, 'mono' | 'sleep'>): Lateness =>
  (told, signal) => {
    async function watch() {
      while (!signal.aborted) {
        const due_at = mono() + LATENESS_EVERY_MS
        await sleep(LATENESS_EVERY_MS, signal)
        // What is ended early is not late.
        if (!signal.aborted) told(Math.max(0, mono() - due_at))
      }
    }
    void watch()
  }

/** The clock has been set, or the machine has slept. Smaller steps are slewing. */
export const JUMP_MIN_MS = 2000

/**
 * Asks whether the wall clock has jumped since the last time it was asked; by how much, in ms, 0 for not. A
 * machine that slept jumps forward: the other clock stood still meanwhile.
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

/** The real world, with `log` as its voice. */
export function createOutside(log: Log): Outside {
  return {
    clock: realClock,
    random: realRandom,
    resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    fetch: (url, init) => fetch(url, init),
    log,
    lateness: latenessOf(realClock),
    collect: () => Bun.gc(true),
    own: {
      resident_bytes: () => process.memoryUsage.rss(),
      cpu_ms() {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1000
      },
      // The one way to have compiled code dropped.
      shrink: () => Bun.shrink(),
    },
  }
}
