import { createOutages } from './outages.ts'
import type { Clock, Log } from './runtime.ts'

/** Time after the last failed attempt for which the process counts as without file descriptors. */
const COUNTS_MS = 60_000
const OWN_PROCESS = 'process'

/** Record of attempts to open connections, of all parts of this process. */
export type FileShortage = {
  /** An attempt failed because no file descriptor was left. */
  lacking(): void
  /** An attempt made its connection. */
  enough(): void
  /** True from a failed attempt to the next successful one, for at most a minute. */
  isLacking(): boolean
}

/** Creates the record; the first failed attempt and the recovery are logged, the rest is counted. */
export function createFileShortage({ clock, log }: { clock: Clock; log: Log }): FileShortage {
  const outages = createOutages(clock)
  let failed_at = -Infinity

  return {
    lacking() {
      failed_at = clock.mono()
      const count = outages.failed(OWN_PROCESS)
      if (count !== null) log('error', 'process.out_of_files', count > 0 ? { count } : {})
    },
    enough() {
      failed_at = -Infinity
      const ended = outages.recovered(OWN_PROCESS)
      if (ended !== null) log('info', 'process.files_recovered', ended)
    },
    isLacking: () => clock.mono() - failed_at < COUNTS_MS,
  }
}
