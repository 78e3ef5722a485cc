import type { Clock } from '../outside.ts'
import type { MatchBody } from '../store/match-bodies.ts'
import { openEventStream, type Said } from './event-stream.ts'

// The rows are what waits: nothing is kept in memory for a reader who is slow, and nobody has to be told of a match.
// Looking once a second is one step in an index for each reader.

const AT_ONCE = 50

const decoder = new TextDecoder()

/** A match as an event; its id is what Last-Event-ID gives back. */
const toEvent = ({ seq, body }: MatchBody): string =>
  `id: ${seq}\nevent: match\ndata: ${decoder.decode(body)}\n\n`

/**
 * A monitor's matches as server-sent events, from `seq` on, at the pace of their reader. They end when `next` says
 * null; a reader who comes again goes on where it stopped.
 */
export function openEvents({
  seq,
  next,
  ...around
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
  let last = seq

  function say(): Said {
    const found = next(last, AT_ONCE)
    if (found === null) return 'end'
    last = found.at(-1)?.seq ?? last
    return found.length === 0 ? 'nothing' : { events: found.map(toEvent).join('') }
  }

  return openEventStream({ ...around, say, from: seq })
}
