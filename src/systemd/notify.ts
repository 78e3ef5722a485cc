import type { Libc } from './libc.ts'

/** Speaks to the service manager that started us; silent where there is none. */
export type Notifier = {
  /** Tells assignments such as `READY=1`, all at once. What cannot be taken now goes out before the next. */
  tell(...assignments: string[]): void
  /** The assignment that says since when we reload, on the clock of the service manager. */
  since(): string
  /** How often, in ms, a sign of life is expected; null when nobody waits for one. */
  readonly watchdog_ms: number | null
  /** Whether anybody listens. */
  readonly listens: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** A manager that takes nothing for long is told the newest of it. */
const WAITING_MAX = 16

const NOBODY: Notifier = {
  tell: () => {},
  since: () => '',
  watchdog_ms: null,
  listens: false,
}

/**
 * Finds the service manager by its variables (sd_notify(3), sd_watchdog_enabled(3)). `unreachable` is called with the
 * reason when one is named that cannot be spoken to; then nobody listens.
 */
export async function openNotifier(
  env: Env,
  { pid, unreachable }: { pid: number; unreachable: (why: string) => void },
): Promise<Notifier> {
  const path = env['NOTIFY_SOCKET'] ?? ''
  if (path === '') return NOBODY
  // Bun has no datagrams of this family, and a child that speaks for us would be another process to the manager.
  const { openLibc } = await import('./libc.ts')
  const libc = openLibc()
  if (libc === null) {
    unreachable('the C library cannot be loaded')
    return NOBODY
  }
  const socket = libc.openDatagram(path)
  if (socket === null) {
    unreachable('NOTIFY_SOCKET names no local socket')
    return NOBODY
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
    tell(...assignments) {
      waiting = [...waiting, assignments.join('\n')].slice(-WAITING_MAX)
      while (waiting[0] !== undefined && socket.send(waiting[0])) waiting.shift()
    },
    since: () => `MONOTONIC_USEC=${libc.monotonicMicros()}`,
    watchdog_ms,
    listens: true,
  }
}

/** How often a sign of life is wanted from this very process. */
function watchdogOf(env: Env, pid: number): number | null {
  const micros = Number(env['WATCHDOG_USEC'] ?? '')
  const whose = env['WATCHDOG_PID'] ?? ''
  if (!Number.isFinite(micros) || micros <= 0 || (whose !== '' && Number(whose) !== pid))
    return null
  return micros / 1000
}
