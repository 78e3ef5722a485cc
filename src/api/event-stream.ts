import type { Clock } from '../outside.ts'

const LOOK_AGAIN_MS = 1000
const HEARTBEAT_MS = 15_000
const RECONNECT_MS = 3000
/** Who reads on comes again, and is let in anew. */
const LONGEST_MS = 3_600_000

/** The head of an answer of server-sent events. */
export const EVENT_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // A proxy that collects an answer before passing it on would keep events for itself.
  'x-accel-buffering': 'no',
}

/** What there is to say now: events as text, nothing yet, or nothing any more. */
export type Said = { events: string } | 'nothing' | 'end'

const encoder = new TextEncoder()

/**
 * Server-sent events. `say` is asked once a second, and only while the reader takes what was said before: nothing is
 * kept in memory for a reader who is slow. A comment goes out when nothing was said for 15 seconds; it ends with
 * `ended`, when `say` says so, or after an hour.
 */
export function openEventStream({
  clock,
  ended,
  left,
  say,
  on_close,
  from,
}: {
  clock: Clock
  ended: AbortSignal
  /** Aborts when the reader is gone, even one who never began to read. */
  left: AbortSignal
  say: () => Said
  /** Called once, however it ends. */
  on_close: () => void
  /**
   * The id after which it begins, where its events have ids: who is cut off before the first of them comes again with
   * this one, and misses nothing.
   */
  from?: number
}): ReadableStream<Uint8Array> {
  const gone = new AbortController()
  const over = AbortSignal.any([ended, gone.signal])
  const opened_at = clock.mono()
  let spoke_at = opened_at
  let closed = false

  function close() {
    if (closed) return
    closed = true
    on_close()
  }

  function leave() {
    gone.abort()
    close()
  }
  left.addEventListener('abort', leave, { once: true })

  function asked(): Said {
    try {
      return say()
    } catch (error) {
      // What broke a stream off is thrown into it: nobody cancels it then, and its place must not stay taken.
      close()
      throw error
    }
  }

  function look(): Said {
    if (over.aborted || clock.mono() - opened_at >= LONGEST_MS) return 'end'
    const said = asked()
    if (said !== 'nothing' || clock.mono() - spoke_at < HEARTBEAT_MS) return said
    return { events: ': nothing new\n\n' }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Something at once, so that the reader learns that it has been let in.
        const begins = from === undefined ? '' : `id: ${from}\n`
        controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\n${begins}\n`))
      },
      async pull(controller) {
        let said = look()
        while (said === 'nothing') {
          await clock.sleep(LOOK_AGAIN_MS, over)
          said = look()
        }
        if (said === 'end') {
          close()
          // A reader that has left has closed it already.
          if (!gone.signal.aborted) controller.close()
          return
        }
        spoke_at = clock.mono()
        controller.enqueue(encoder.encode(said.events))
      },
      cancel: leave,
    },
    { highWaterMark: 1 },
  )
}
