import { iso } from '../../core/base/time.ts'
import { Fenced } from '../../core/standby/fence.ts'
import {
  type Mark,
  newestLag,
  type NodesReport,
  type PrimaryState,
} from '../../core/standby/nodes.ts'
import type { Clock, Fence, Log } from '../../runtime/runtime.ts'
import type { Nodes } from '../../standby/nodes.ts'
import type { Replicator } from '../../standby/replicator.ts'
import { type Db, isStorageError } from '../../store/db/connection.ts'
import { writeMark, writesOf } from '../../store/startup/marks.ts'
import { takeMove } from '../../store/startup/moves.ts'
import { readUnsettled } from '../../store/startup/unsettled.ts'

/** Interval at which requests to hand over are looked for. */
const LOOK_MS = 1000
/** Such intervals from one mark to the next: the figures of the lag are exact to it. */
const MARK_EVERY = 5
/** Marks of an hour of changes: a copy that is older is judged by its own time. */
const MARKS_MAX = 720

type PrimaryDeps = {
  db: Db
  clock: Clock
  log: Log
  fence: Fence
  nodes: Nodes
  replicator: Pick<Replicator, 'state'>
}

/** The primary's part: it marks its changes, announces itself, and knows how far the replica is behind. */
export type PrimaryNode = {
  report(): NodesReport
  /** Settles with the target of a planned move that a command requests. */
  readonly move: Promise<string>
  /** Writes the last mark, after every other write; null: it cannot be written. */
  lastMark(): number | null
  /** Marks and announces until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

export function createPrimaryNode({
  db,
  clock,
  log,
  fence,
  nodes,
  replicator,
}: PrimaryDeps): PrimaryNode {
  const { epoch } = fence
  const marks: Mark[] = []
  let marked = ''

  function mark(): void {
    if (writesOf(db) === marked) return
    marks.push(writeMark(db, clock.now()))
    if (marks.length > MARKS_MAX) marks.shift()
    // The mark itself is a change.
    marked = writesOf(db)
  }

  let unsettled_until: number | null = null
  /** Logs the begin and the end of the time in which records may be missing. */
  function noteSettled(): void {
    const until = readUnsettled(db, clock.now())?.until ?? null
    if (until !== null && until !== unsettled_until)
      log('warn', 'standby.unsettled', { until: iso(until) })
    if (until === null && unsettled_until !== null) log('info', 'standby.settled')
    unsettled_until = until
  }

  const move = Promise.withResolvers<string>()

  async function keepMarking(signal: AbortSignal): Promise<void> {
    for (let looks = 0; !signal.aborted; looks++) {
      try {
        if (fence.mayCommit()) {
          noteSettled()
          if (looks % MARK_EVERY === 0) mark()
          const to = takeMove(db, epoch)
          if (to !== null) move.resolve(to)
        }
      } catch (error) {
        // The loops report it. Without a mark the lag reads longer, not shorter.
        if (!isStorageError(error)) throw error
      }
      await clock.sleep(LOOK_MS, signal)
    }
  }

  const state = (): PrimaryState => ({
    epoch,
    lease_left_ms: Math.max(0, Math.round(fence.remainingMs())),
    replication: replicator.state(),
    unsettled_until: readUnsettled(db, clock.now())?.until ?? null,
    lag: newestLag(nodes.seen(), { epoch, marks }),
  })

  return {
    move: move.promise,
    lastMark() {
      try {
        return writeMark(db, clock.now()).mark
      } catch (error) {
        if (isStorageError(error) || error instanceof Fenced) return null
        throw error
      }
    },
    report: () => ({ ...state(), nodes: nodes.seen() }),
    async run(signal) {
      const announced = nodes.keepAnnouncing(() => ({ primary: state(), standby: null }), signal)
      await Promise.all([keepMarking(signal), announced])
    },
  }
}
