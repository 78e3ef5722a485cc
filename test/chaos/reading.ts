import type { DaemonProcess } from '../support/process.ts'

export type Reading = {
  /** Reads of this daemon until it is gone. */
  of(daemon: DaemonProcess): void
  /** Resolves when the daemon that was read of last is gone. */
  stopped(): Promise<void>
  asked(): number
  answered(): number
}

const PAUSE_MS = 5

/**
 * A customer who reads without end, `pause_ms` between two reads, and counts: what was answered has to be billed, and
 * nothing that was not asked.
 */
export function startReading(
  headers: Record<string, string>,
  query: string,
  pause_ms = PAUSE_MS,
): Reading {
  let asked = 0
  let answered = 0
  let running = Promise.resolve()
  async function read({ url }: DaemonProcess): Promise<void> {
    for (;;) {
      asked++
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
    asked: () => asked,
    answered: () => answered,
  }
}
