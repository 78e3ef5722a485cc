import { openLibc } from '../runtime/libc.ts'
import { realClock } from '../runtime/runtime.ts'
import { threadPath } from '../runtime/thread-path.ts'

/** The service manager starts the process again. */
const EXIT_RESTART = 75
/** Longest sleep of the thread: its timer stands still while the machine is suspended. */
const TICK_MS = 100

/** Cells of the shared memory: the end in ms of the boot clock, and the process that replicates; 0: none. */
const [END, CHILD] = [0, 1]
const [NEVER, CLOSED] = [2n ** 62n, -1n]

/** Ms since the boot of the machine, suspension included; the wall clock where there is none. */
export function openBootClock(): () => number {
  const libc = openLibc()
  return libc === null ? realClock.now : () => Number(libc.bootMicros()) / 1000
}

/** Ends the process from any thread, without a handler or a flush, once its lease is over. */
function endIfOver(cells: BigInt64Array, boot: () => number): void {
  const end = Atomics.load(cells, END)
  if (end === CLOSED || boot() < Number(end)) return
  const child = Number(Atomics.load(cells, CHILD))
  try {
    if (child > 0) process.kill(child, 'SIGKILL')
  } catch {
    // It has ended before.
  }
  openLibc()?.exit(EXIT_RESTART)
  process.kill(process.pid, 'SIGKILL')
}

export type Deadline = Awaited<ReturnType<typeof startDeadline>>

/** Starts the thread that ends the process when its lease is over, also while the event loop is busy. */
export async function startDeadline(boot: () => number) {
  const cells = new BigInt64Array(new SharedArrayBuffer(16))
  Atomics.store(cells, END, NEVER)
  const worker = new Worker(threadPath('standby/deadline-worker'), { smol: true })
  const started = Promise.withResolvers<void>()
  worker.addEventListener('message', () => started.resolve())
  worker.addEventListener('error', ({ message }) => started.reject(new Error(message)))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
  worker.postMessage(cells.buffer)
  await started.promise
  worker.unref()
  return {
    /** Sets the end, in ms of the boot clock. */
    set: (end_ms: number) => void Atomics.store(cells, END, BigInt(Math.floor(end_ms))),
    /** Sets the process that is killed first; 0: none. */
    setChild: (pid: number) => void Atomics.store(cells, CHILD, BigInt(pid)),
    /** Ends the process if its lease is over: the thread may wake later than the caller. */
    check: () => endIfOver(cells, boot),
    remainingMs: () => Number(Atomics.load(cells, END)) - boot(),
    [Symbol.dispose]: () => void Atomics.store(cells, END, CLOSED),
  }
}

/** The work of the thread, until the deadline is disposed of. */
export function watchDeadline(cells: BigInt64Array, boot: () => number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    const end = Atomics.load(cells, END)
    if (end === CLOSED) return
    endIfOver(cells, boot)
    Atomics.wait(sleeper, 0, 0, Math.min(TICK_MS, Math.max(1, Number(end) - boot())))
  }
}
