import type { Libc } from './libc.ts'
import type { Iteration } from './loop.ts'
import type { Clock } from './runtime.ts'

/** Notifies the service manager that started this process; does nothing without one. */
export type Notifier = {
  /**
   * Sends assignments such as `READY=1` in one message. A message that cannot be sent now is sent
   * before the next.
   */
  notify(...assignments: string[]): void
  /** The assignment with the start time of a reload, on the service manager's clock. */
  since(): string
  /** Interval of the expected keep-alive messages in ms; null: none expected. */
  readonly watchdog_ms: number | null
  /** True if a service manager listens. */
  readonly listens: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** A manager that reads nothing for long gets only the newest messages. */
const WAITING_MAX = 16

const NO_NOTIFIER: Notifier = {
  notify: () => {},
  since: () => '',
  watchdog_ms: null,
  listens: false,
}

/**
 * Connects to the service manager that the environment names (sd_notify(3),
 * sd_watchdog_enabled(3)). `unreachable` is called with the reason if a named one cannot be
 * reached; the notifier then does nothing.
 */
export async function openNotifier(
  env: Env,
  { pid, unreachable }: { pid: number; unreachable: (why: string) => void },
): Promise<Notifier> {
  const path = env['NOTIFY_SOCKET'] ?? ''
  if (path === '') return NO_NOTIFIER
  // Bun has no Unix datagram sockets, and the manager would treat a child as another process.
  const { openLibc } = await import('./libc.ts')
  const libc = openLibc()
  if (libc === null) {
    unreachable('the C library cannot be loaded')
    return NO_NOTIFIER
  }
  const socket = libc.openDatagram(path)
  if (socket === null) {
    unreachable('NOTIFY_SOCKET is not the path of a local socket')
    return NO_NOTIFIER
  }
  return createNotifier(libc, socket, watchdogOf(env, pid))
}

function createNotifier(
  libc: Libc,
  socket: { send(text: string): boolean },
  watchdog_ms: number | null,
): Notifier {
  let waiting: string[] = []
  return {
    notify(...assignments) {
      waiting = [...waiting, assignments.join('\n')].slice(-WAITING_MAX)
      while (waiting[0] !== undefined && socket.send(waiting[0])) waiting.shift()
    },
    since: () => `MONOTONIC_USEC=${libc.monotonicMicros()}`,
    watchdog_ms,
    listens: true,
  }
}

/** Watchdog interval of this process in ms; null: none. */
function watchdogOf(env: Env, pid: number): number | null {
  const micros = Number(env['WATCHDOG_USEC'] ?? '')
  const watchdog_pid = env['WATCHDOG_PID'] ?? ''
  if (
    !Number.isFinite(micros) ||
    micros <= 0 ||
    (watchdog_pid !== '' && Number(watchdog_pid) !== pid)
  )
    return null
  return micros / 1000
}

export type Stuck = {
  loop: string
  /**
   * Late is the iteration, the wait for the next one, or work that it started; or all iterations
   * fail.
   */
  what: 'turn' | 'wait' | 'work' | 'failures'
  /** Milliseconds past its time, or since its first failure. */
  late_ms: number
}

export type Progress = {
  /** The same iteration, with its start and end recorded. */
  watch(loop: string, iterate: Iteration): Iteration
  /** The same work of a loop, which ends within `limit_ms` unless something is broken. */
  expect<T>(loop: string, limit_ms: number, work: Promise<T>): Promise<T>
  /** The work overdue by more than `slack_ms`, the latest first; null if there is none. */
  stuck(slack_ms: number): Stuck | null
}

/** Longest sleep of a loop without a nudge (loop.ts). */
const IDLE_MS = 60_000

type Expected = Omit<Stuck, 'late_ms'> & { due_at: number }

export function createProgress({ now, mono }: Pick<Clock, 'now' | 'mono'>): Progress {
  const expected = new Map<object, Expected>()

  return {
    watch(loop, iterate) {
      const it = {}
      return async () => {
        expected.set(it, { loop, what: 'turn', due_at: mono() })
        let wait_ms = IDLE_MS
        try {
          const due_at = await iterate()
          wait_ms = Math.min(IDLE_MS, Math.max(0, due_at - now()))
          return due_at
        } finally {
          expected.set(it, { loop, what: 'wait', due_at: mono() + wait_ms })
        }
      }
    },

    async expect(loop, limit_ms, work) {
      const it = {}
      expected.set(it, { loop, what: 'work', due_at: mono() + limit_ms })
      try {
        return await work
      } finally {
        expected.delete(it)
      }
    },

    stuck(slack_ms) {
      const at = mono() - slack_ms
      let worst: Expected | null = null
      for (const it of expected.values())
        if (it.due_at < at && it.due_at < (worst?.due_at ?? Infinity)) worst = it
      return worst && { loop: worst.loop, what: worst.what, late_ms: mono() - worst.due_at }
    },
  }
}
