import {
  type Mark,
  newestLag,
  type NodesReport,
  type PrimaryState,
} from '../../core/standby/nodes.ts'
import type { Clock, Fence } from '../../runtime/runtime.ts'
import type { Nodes } from '../../standby/nodes.ts'
import type { Replicator } from '../../standby/replicator.ts'
import { type Db, isStorageError } from '../../store/db/connection.ts'
import { writeMark, writesOf } from '../../store/startup/marks.ts'

/** Interval at which changes are marked: the figures of the lag are exact to it. */
const MARK_MS = 5000
/** Marks of an hour of changes: a copy that is older is judged by its own time. */
const MARKS_MAX = 720

type PrimaryDeps = {
  db: Db
  clock: Clock
  fence: Fence
  nodes: Nodes
  replicator: Pick<Replicator, 'state'>
}

/** The primary's part: it marks its changes, announces itself, and knows how far the replica is behind. */
export type PrimaryNode = {
  report(): NodesReport
  /** Marks and announces until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Creates the primary's part. */
export function createPrimaryNode({
  db,
  clock,
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

  async function keepMarking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (fence.mayCommit()) mark()
      } catch (error) {
        // The loops report it. Without a mark the lag reads longer, not shorter.
        if (!isStorageError(error)) throw error
      }
      await clock.sleep(MARK_MS, signal)
    }
  }

  const state = (): PrimaryState => ({
    epoch,
    lease_left_ms: Math.max(0, Math.round(fence.remainingMs())),
    replication: replicator.state(),
    lag: newestLag(nodes.seen(), { epoch, marks }),
  })

  return {
    report: () => ({ ...state(), nodes: nodes.seen() }),
    async run(signal) {
      const announced = nodes.keepAnnouncing(() => ({ primary: state(), standby: null }), signal)
      await Promise.all([keepMarking(signal), announced])
    },
  }
}
