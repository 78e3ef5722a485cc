import type { DaemonProcess } from '../support/process.ts'

export type Reading = {
  /** Reads from a daemon until it stops. */
  of(daemon: DaemonProcess): void
  /** Resolves when that daemon has stopped. */
  stopped(): Promise<void>
  requests(): number
  answered(): number
}

const PAUSE_MS = 5

/**
 * A client that reads continuously with `pause_ms` between reads. Its counts bound the bill: every answered read is
 * billed, and no more than the requested ones.
 */
export function startReading(
  headers: Record<string, string>,
  query: string,
  pause_ms = PAUSE_MS,
): Reading {
  let requests = 0
  let answered = 0
  let running = Promise.resolve()
  async function read({ url }: DaemonProcess): Promise<void> {
    for (;;) {
      requests++
      const response = await fetch(`${url}/api/forum/posts?${query}`, { headers }).catch(() => null)
      if (response === null) return
      await response.arrayBuffer().catch(() => null)
      if (response.status === 200) answered++
      await Bun.sleep(pause_ms)
    }
  }
  return {
    of(daemon) {
      running = Promise.all([running, read(daemon)]).then(() => {})
    },
    stopped: () => running,
    requests: () => requests,
    answered: () => answered,
  }
}
