import type { Clock } from '../outside.ts'
import type { MatchBody } from '../store/match-bodies.ts'

// The rows are what waits: nothing is kept in memory for a reader who is slow, and nobody has to be told of a match.
// Looking once a second is one step in an index for each reader.

const LOOK_AGAIN_MS = 1000
const HEARTBEAT_MS = 15_000
const RECONNECT_MS = 3000
const AT_ONCE = 50
/** A key may have been revoked since: who reads on comes again and shows it. */
const LONGEST_MS = 3_600_000

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A match as an event; its id is what Last-Event-ID gives back. */
const toEvent = ({ seq, body }: MatchBody): string =>
  `id: ${seq}\nevent: match\ndata: ${decoder.decode(body)}\n\n`

/**
 * A monitor's matches as server-sent events, from `seq` on. It is read at the pace of its reader, says something every
 * 15 seconds, and ends with `ended`, when `next` says null, or after an hour; its reader comes again where it stopped.
 */
export function openEvents({
  clock,
  ended,
  left,
  seq,
  next,
  on_close,
}: {
  clock: Clock
  ended: AbortSignal
  /** Aborts when the reader is gone, even one who never began to read. */
  left: AbortSignal
  seq: number
  /** The matches after this seq, at most so many; null when there will be no more. */
  next: (seq: number, limit: number) => MatchBody[] | null
  /** Called once, however it ends. */
  on_close: () => void
}): ReadableStream<Uint8Array> {
  const gone = new AbortController()
  const over = AbortSignal.any([ended, gone.signal])
  const opened_at = clock.mono()
  let spoke_at = opened_at
  let last = seq
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

  /** What there is to say now; null when there is nothing, and the end of it all as ''. */
  function say(): string | null {
    if (over.aborted || clock.mono() - opened_at >= LONGEST_MS) return ''
    const found = next(last, AT_ONCE)
    if (found === null) return ''
    last = found.at(-1)?.seq ?? last
    if (found.length > 0) return found.map(toEvent).join('')
    return clock.mono() - spoke_at >= HEARTBEAT_MS ? ': nothing new\n\n' : null
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Something at once, so that the reader learns that it has been let in.
        controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\n\n`))
      },
      async pull(controller) {
        let said = say()
        while (said === null) {
          await clock.sleep(LOOK_AGAIN_MS, over)
          said = say()
        }
        if (said === '') {
          close()
          // A reader that has left has closed it already.
          if (!gone.signal.aborted) controller.close()
          return
        }
        spoke_at = clock.mono()
        controller.enqueue(encoder.encode(said))
      },
      cancel: leave,
    },
    { highWaterMark: 1 },
  )
}
