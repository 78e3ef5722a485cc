import type { Log } from '../outside.ts'
import type { Notifier } from '../systemd/notify.ts'
import type { Running } from './command.ts'

/** How often the line of how things stand is told anew, where no watchdog wants it oftener. */
const STANDING_MS = 10_000
/** Three signs within the time of one: a busy machine may be late with one of them. */
const SIGNS = 3

/**
 * Tells the service manager how things stand, and that they advance, until `signal` aborts. While a loop is stuck no
 * sign of life is given, so that the watchdog bites: a daemon that answers calls but delivers nothing is not alive.
 */
export async function keepTelling(
  { tell, watchdog_ms, listens }: Notifier,
  daemon: Pick<Running, 'stuck' | 'standing'>,
  { sleep, log, signal }: { sleep: Sleep; log: Log; signal: AbortSignal },
): Promise<void> {
  if (!listens) return
  let told = ''
  let is_stuck = false
  const every_ms = Math.min(STANDING_MS, (watchdog_ms ?? Infinity) / SIGNS)
  while (!signal.aborted) {
    const stuck = watchdog_ms === null ? null : daemon.stuck(watchdog_ms)
    if (stuck !== null && !is_stuck) log('error', 'serve.stuck', { ...stuck })
    if (stuck === null && watchdog_ms !== null) tell('WATCHDOG=1')
    is_stuck = stuck !== null
    const status = `STATUS=${stuck === null ? standingOf(daemon) : `the ${stuck.loop} loop is stuck`}`
    if (status !== told) tell(status)
    told = status
    await sleep(every_ms, signal)
  }
}

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** A database that cannot be asked is for those to tell of who work with it. */
function standingOf({ standing }: Pick<Running, 'standing'>): string {
  try {
    return standing()
  } catch {
    return 'the database does not answer'
  }
}
