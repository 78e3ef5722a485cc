import { writeSync } from 'node:fs'

import { openLibc } from './libc.ts'
import type { Clock } from './runtime.ts'
import { threadPath } from './thread-path.ts'

/** A manager that restarts after failures starts the process again. */
const EXIT_RESTART = 75
const BEAT_MS = 500
const CLOSED = -1

/**
 * Starts a thread that ends the process when its event loop has stood still for `after_s` seconds, for managers that restart what
 * ended but not what answers no more, such as Docker. Seconds in which the whole process does not run do not count.
 */
export async function startWatchdog(
  after_s: number,
  { sleep }: Pick<Clock, 'sleep'>,
): Promise<Disposable> {
  const cells = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(threadPath('runtime/watchdog-worker'), { smol: true })
  const started = Promise.withResolvers<void>()
  worker.addEventListener('message', () => started.resolve())
  worker.addEventListener('error', ({ message }) => started.reject(new Error(message)))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
  worker.postMessage({ cells: cells.buffer, after_s })
  await started.promise
  worker.unref()
  const ending = new AbortController()
  void (async () => {
    for (; !ending.signal.aborted; await sleep(BEAT_MS, ending.signal)) Atomics.add(cells, 0, 1)
    Atomics.store(cells, 0, CLOSED)
  })()
  return {
    [Symbol.dispose]() {
      ending.abort()
      Atomics.store(cells, 0, CLOSED)
    },
  }
}

/** The work of the thread, until the watchdog is disposed of. */
export function watchBeats(cells: Int32Array, after_s: number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  let last = 0
  for (let missed_s = 0; missed_s < after_s;) {
    Atomics.wait(sleeper, 0, 0, 1000)
    const beats = Atomics.load(cells, 0)
    if (beats === CLOSED) return
    missed_s = beats === last ? missed_s + 1 : 0
    last = beats
  }
  writeSync(2, `forumd: the event loop stood still for ${after_s} s, and the process ends\n`)
  openLibc()?.exit(EXIT_RESTART)
  process.kill(process.pid, 'SIGKILL')
}
