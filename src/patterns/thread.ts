import type { Clock } from '../runtime/runtime.ts'
import { threadPath } from '../runtime/thread-path.ts'
import type { ThreadReply, ThreadRequest } from './protocol.ts'

/** A slice is answered after some 20 ms of work; a thread that takes this long has hung. */
const HANG_MS = 2000
/** Reading the engine from the executable takes 50 ms; a machine with a full disk queue takes longer. */
const START_MS = 20_000
/** A thread with nothing to do is ended, and its memory is given back. */
const IDLE_MS = 30_000

/** A thread that answers one request at a time. It starts with the first request. */
export type PatternThread = {
  /** The answer; null when there was none in time: the thread was ended, and the next request starts another. */
  run(request: ThreadRequest): Promise<ThreadReply | null>
  stop(): void
}

type Running = { worker: Worker; ready: Promise<void> }

/** A thread that is not started yet. */
export function createPatternThread(
  clock: Clock,
  { hang_ms = HANG_MS, idle_ms = IDLE_MS, path = threadPath('patterns/worker') } = {},
): PatternThread {
  let running: Running | null = null
  let answer: ((reply: ThreadReply | null) => void) | null = null
  let idle: AbortController | null = null

  function start(): Running {
    const worker = new Worker(path, { smol: true })
    const { promise: ready, resolve } = Promise.withResolvers<void>()
    worker.addEventListener('message', ({ data }: MessageEvent<ThreadReply>) => {
      if ('ready' in data) resolve()
      else if (running?.worker === worker) answer?.(data)
    })
    const failed = (): void => {
      resolve()
      if (running?.worker !== worker) return
      running = null
      answer?.(null)
    }
    worker.addEventListener('error', failed)
    worker.addEventListener('close', failed)
    return { worker, ready }
  }

  function stop(): void {
    idle?.abort()
    running?.worker.terminate()
    running = null
    answer?.(null)
  }

  async function stopWhenIdle(): Promise<void> {
    const waiting = new AbortController()
    idle = waiting
    await clock.sleep(idle_ms, waiting.signal)
    if (!waiting.signal.aborted) stop()
  }

  async function within<T>(ms: number, work: Promise<T>): Promise<T | null> {
    const timer = new AbortController()
    const late = clock.sleep(ms, timer.signal).then(() => null)
    try {
      return await Promise.race([work, late])
    } finally {
      timer.abort()
    }
  }

  return {
    async run(request) {
      idle?.abort()
      const { worker, ready } = (running ??= start())
      const { promise, resolve } = Promise.withResolvers<ThreadReply | null>()
      answer = resolve
      try {
        await within(START_MS, ready)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
        worker.postMessage(request)
        const reply = await within(hang_ms, promise)
        if (reply === null && running?.worker === worker) {
          worker.terminate()
          running = null
        }
        return reply
      } finally {
        answer = null
        if (running !== null) void stopWhenIdle()
      }
    },
    stop,
  }
}
