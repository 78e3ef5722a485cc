import { createOutages } from './outages.ts'
import { type Clock, createJumpWatch, type Log } from './runtime.ts'

const IDLE_MS = 60_000
const AFTER_FAILURE_MS = 5_000
/**
 * A loop is failing after this many failures in a row (20 s at one per five seconds). Work that is
 * due once a minute fails once a minute: there, two failures this far apart suffice.
 */
const FAILURES_MAX = 5
const FAILING_MAX_MS = 90_000

export const LOOPS = [
  'pool',
  'monitor',
  'sender',
  'relevance',
  'operator',
  'upkeep',
  'storage',
  'projections',
  'archive',
] as const

/** Does due work. Returns the epoch ms of the next work. */
export type Iteration = () => Promise<number>

export type LoopFailure = {
  loop: string
  /** The error's own code, such as SQLITE_ERROR, or its class. */
  code: string
  count: number
  /** Between the first failure and the last. */
  duration_ms: number
}

/** A running loop: `nudge` wakes it, and `stopped` resolves after its last iteration. */
export type Loop = {
  nudge(): void
  readonly stopped: Promise<void>
  /** Null while its iterations succeed, or after few failures. */
  failure(): LoopFailure | null
}

type LoopOptions = {
  /** Called with the error of each failed iteration. */
  failed?: (error: unknown) => void
  /**
   * False until work that an earlier iteration started has succeeded since the last failure. An
   * iteration that only starts work returns without an error even if all of that work fails.
   */
  progressing?: () => boolean
}

/**
 * Runs `iterate`, sleeps until it is due again or nudged, and never overlaps itself. An iteration
 * that throws is logged and repeated after five seconds.
 */
export function startLoop(
  { clock, log }: { clock: Clock; log: Log },
  name: string,
  signal: AbortSignal,
  iterate: Iteration,
  { failed = () => {}, progressing = () => true }: LoopOptions = {},
): Loop {
  const jumped = createJumpWatch(clock)
  const outages = createOutages(clock)
  let failing: {
    code: string
    count: number
    since: number
    last_at: number
    reported: boolean
  } | null = null
  let nap = new AbortController()
  const nudge = () => nap.abort()
  signal.addEventListener('abort', nudge)

  function onFailure(error: unknown): void {
    const described = describe(error)
    const { code } = described
    const now = clock.mono()
    failing ??= { code, count: 0, since: now, last_at: now, reported: false }
    Object.assign(failing, { code, count: failing.count + 1, last_at: now })
    const collapsed = outages.failed(name)
    if (collapsed !== null)
      log('error', `${name}.iteration_failed`, {
        ...described,
        ...(collapsed > 0 && { count: collapsed }),
      })
    const { count, since } = failing
    if (!failing.reported && (count >= FAILURES_MAX || now - since >= FAILING_MAX_MS)) {
      failing.reported = true
      log('error', 'loop.failing', { loop: name, code, count })
    }
    failed(error)
  }

  function onSuccess(): void {
    if (failing === null || !progressing()) return
    const { count, since, reported } = failing
    failing = null
    outages.recovered(name)
    if (reported)
      log('info', 'loop.recovered', {
        loop: name,
        count,
        duration_ms: Math.round(clock.mono() - since),
      })
  }

  async function run() {
    while (!signal.aborted) {
      // Created before the iteration, so that a nudge during it is not lost.
      nap = new AbortController()
      jumped()
      let due_at = clock.now() + IDLE_MS
      try {
        due_at = Math.min(due_at, await iterate())
        onSuccess()
      } catch (error) {
        onFailure(error)
        due_at = clock.now() + AFTER_FAILURE_MS
      }
      // If the clock was set during the iteration, `due_at` is meaningless and could mean a very
      // long sleep.
      const wait_ms = jumped() === 0 ? Math.max(0, due_at - clock.now()) : 0
      await clock.sleep(wait_ms, nap.signal)
    }
  }
  return {
    nudge,
    stopped: run(),
    failure() {
      if (!failing?.reported) return null
      const { code, count, since, last_at } = failing
      return { loop: name, code, count, duration_ms: Math.round(last_at - since) }
    },
  }
}

const QUOTED = /"[^"]*"|'[^']*'/g

/**
 * Code and message of an error for the log. SQLite's messages name tables and columns; stored or
 * given values are in quotes and masked. Only the code of a system error is logged, because its
 * message may contain an address. A programming error has no code and is identified by its message.
 */
function describe(error: unknown): { code: string; message?: string } {
  if (!(error instanceof Error)) return { code: 'unknown' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === '') return { code: `${error.name}: ${error.message}` }
  return code.startsWith('SQLITE_')
    ? { code, message: error.message.replace(QUOTED, '"…"') }
    : { code }
}
