import { type Clock, realClock } from '../runtime/runtime.ts'
import { threadPath } from '../runtime/thread-path.ts'
import type { ArchiveMessage, ArchiveReply, ArchiveWork, WordsInput, WorkName } from './protocol.ts'

/**
 * A thread without an answer for this many waits of this length hangs: work yields every few milliseconds. After a freeze of
 * the process one wait has passed, however long the freeze was, and the thread can still answer.
 */
const HANG_WAITS = 12
const HANG_WAIT_MS = 10_000
/** A thread with nothing to do is ended, and its memory is given back. */
const IDLE_MS = 90_000
const WAITING_MAX = 64

/** The thread failed, hangs, or has too much to do. `code`: of the storage, where it has one. */
export class ArchiveUnavailable extends Error {
  override name = 'ArchiveUnavailable'
  readonly code: string | null
  constructor(message: string, code: string | null = null) {
    super(message)
    this.code = code
  }
}

/** The thread of the archive: it starts with the first work and ends when idle. */
export type ArchiveThread = {
  /** @throws {ArchiveUnavailable} */
  run<N extends WorkName>(work: N, input: ArchiveWork[N]['takes']): Promise<ArchiveWork[N]['gives']>
  /** Ends the thread once its file is closed. */
  stop(): Promise<void>
}

type Waiting = { resolve: (value: unknown) => void; reject: (error: Error) => void }
type Running = { worker: Worker; closed: Promise<void> }

/** A thread that is not started yet. */
export function createArchiveThread(
  { path, words }: { path: string; words: WordsInput },
  {
    worker_path = threadPath('archive/worker'),
    clock = realClock,
  }: { worker_path?: string; clock?: Clock } = {},
): ArchiveThread {
  const waiting = new Map<number, Waiting>()
  let running: Running | null = null
  let last_id = 0
  let idle: AbortController | null = null

  function failAll(error: Error): void {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  function start(): Running {
    const worker = new Worker(worker_path, { smol: true })
    const closed = Promise.withResolvers<void>()
    const lose = (message: string, code: string | null = null): void => {
      closed.resolve()
      if (running?.worker !== worker) return
      running = null
      worker.terminate()
      failAll(new ArchiveUnavailable(message, code))
    }
    worker.addEventListener('message', ({ data }: MessageEvent<ArchiveReply>) => {
      if ('ready' in data) return
      if ('closed' in data) {
        closed.resolve()
        worker.terminate()
        return
      }
      // An archive that does not open has no other work.
      if (data.id === 0 && 'failed' in data) return lose(data.failed, data.code)
      const it = waiting.get(data.id)
      waiting.delete(data.id)
      if ('failed' in data) it?.reject(new ArchiveUnavailable(data.failed, data.code))
      else it?.resolve(data.gives)
    })
    worker.addEventListener('error', (event) => lose(event.message))
    worker.addEventListener('close', () => lose('the thread ended'))
    post(worker, { open: path, words })
    return { worker, closed: closed.promise }
  }

  async function stop(): Promise<void> {
    idle?.abort()
    const it = running
    if (it === null) return
    running = null
    failAll(new ArchiveUnavailable('the archive is closed'))
    post(it.worker, { close: true })
    await it.closed
  }

  async function stopWhenIdle(): Promise<void> {
    const nap = new AbortController()
    idle = nap
    await clock.sleep(IDLE_MS, nap.signal)
    if (!nap.signal.aborted && waiting.size === 0) await stop()
  }

  async function endIfHanging(work: Promise<unknown>): Promise<void> {
    const timer = new AbortController()
    work.then(timer.abort.bind(timer), timer.abort.bind(timer))
    for (let waits = 0; waits < HANG_WAITS && !timer.signal.aborted; waits += 1)
      await clock.sleep(HANG_WAIT_MS, timer.signal)
    if (timer.signal.aborted || running === null) return
    const { worker } = running
    running = null
    worker.terminate()
    failAll(new ArchiveUnavailable('the thread does not answer'))
  }

  return {
    async run(work, input) {
      if (waiting.size >= WAITING_MAX) throw new ArchiveUnavailable('too much work waits')
      idle?.abort()
      const { worker } = (running ??= start())
      const id = (last_id += 1)
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      waiting.set(id, { resolve, reject })
      void endIfHanging(promise)
      post(worker, { id, work, input })
      try {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the thread answers by `ArchiveWork`
        return (await promise) as ArchiveWork[typeof work]['gives']
      } finally {
        if (waiting.size === 0 && running !== null) void stopWhenIdle()
      }
    },
    stop,
  }
}

function post(worker: Worker, message: ArchiveMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  worker.postMessage(message)
}
