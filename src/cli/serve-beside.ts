import type { Running } from './command.ts'

/** What the command line writes takes effect within two seconds (contract 1). */
const LOOK_MS = 1000

/** Lets the daemon take up what was written beside it, until `signal` aborts. */
export async function keepLooking(
  daemon: Pick<Running, 'lookBeside'>,
  {
    sleep,
    signal,
  }: { sleep: (ms: number, signal: AbortSignal) => Promise<void>; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    try {
      daemon.lookBeside()
    } catch {
      // A database that cannot be asked is for the loops to tell of.
    }
    await sleep(LOOK_MS, signal)
  }
}
