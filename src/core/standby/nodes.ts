import * as z from 'zod'

import { once } from '../base/lazy.ts'

// Beside the lease, the same system holds one text with what each node last said of itself. Nothing that must be right
// depends on it: the lease decides who is the primary, the copy itself says what it holds.

/** Most nodes of one lease; further ones are not listed. */
const NODES_MAX = 16

/** A copy of the primary's database, as a standby made it. Times are epoch ms. */
const copy_shape = once(() =>
  z.object({
    epoch: z.int(),
    /** The newest mark in it. */
    mark: z.int(),
    /** The time of that mark by the clock of the primary; null: it has none. */
    marked_at: z.int().nullable(),
    /** Start of the command that made it, by the clock of the standby. */
    began_at: z.int(),
  }),
)

const standby_shape = once(() =>
  z.object({
    /** The newest copy that was checked in every page; null: there is none. */
    copy: copy_shape().nullable(),
    /** Failure since that copy; empty: none. */
    error: z.string().max(300),
    /** Interval of the copies, ms; null: it makes none. */
    copy_every_ms: z.number().nullable(),
  }),
)

const primary_shape = once(() =>
  z.object({
    epoch: z.int(),
    /** Time that remained of the lease. */
    lease_left_ms: z.number(),
    /** The process that replicates; `none`: no command is configured. */
    replication: z.enum(['running', 'ended', 'none']),
    /** End of the time in which records may be missing, epoch ms; null: none are. */
    unsettled_until: z.int().nullable().default(null),
    /** Delay of the replica when it was last restored; null: no copy of this epoch has been reported. */
    lag: z.object({ ms: z.number(), measured_at: z.int(), by: z.string() }).nullable(),
  }),
)

const node_shape = once(() =>
  z.object({
    node: z.string().min(1).max(100),
    /** Random id of the process. */
    token: z.string().max(100),
    /** Grows with every announcement of the process. */
    beat: z.int().min(0),
    every_ms: z.number().min(1),
    /** By the clock of the node, epoch ms. */
    at: z.int(),
    /** One of both is null. */
    primary: primary_shape().nullable(),
    standby: standby_shape().nullable(),
  }),
)

const board_shape = once(() => z.object({ nodes: z.array(node_shape()).max(NODES_MAX) }))

/** State of a standby, as it announces it. */
export type StandbyState = z.infer<ReturnType<typeof standby_shape>>
/** State of a primary, as it announces it. */
export type PrimaryState = z.infer<ReturnType<typeof primary_shape>>
/** The last announcement of a node. */
export type NodeState = z.infer<ReturnType<typeof node_shape>>

/** State of this primary, with what all nodes last said of themselves. */
export type NodesReport = PrimaryState & { nodes: readonly NodeState[] }

/** Reads the stored text; null: it is not one of forumd. */
export function readNodes(text: string): NodeState[] | null {
  try {
    return board_shape().parse(JSON.parse(text)).nodes
  } catch {
    return null
  }
}

/** The text to store: the own state in place of the former one, without the nodes that `isGone` names. */
export function mergeNodes(
  nodes: readonly NodeState[],
  own: NodeState,
  isGone: (it: NodeState) => boolean,
): string {
  const others = nodes.filter((it) => it.node !== own.node && !isGone(it))
  return JSON.stringify({ nodes: [own, ...others.slice(0, NODES_MAX - 1)] })
}

/** Equal for two reads between which the node announced nothing. */
export const announcementOf = ({ token, beat }: Pick<NodeState, 'token' | 'beat'>): string =>
  `${token}.${beat}`

/** A mark that the primary wrote into its database, and the time of it, epoch ms. Marks grow. */
export type Mark = { mark: number; at: number }

/**
 * Milliseconds by which the replica was behind when a copy was made of it: the age that the oldest missing mark had. A
 * mark follows each change within seconds, so this is exact to the interval of the marks. `marks` are those that this
 * primary has written since its start, oldest first; copies from before it are judged by their own time, which is longer.
 */
export function lagOf(
  copy: z.infer<ReturnType<typeof copy_shape>>,
  { epoch, marks }: { epoch: number; marks: readonly Mark[] },
): number {
  const [first] = marks
  if (first === undefined) return 0
  const missing = copy.epoch < epoch ? first : marks.find(({ mark }) => mark > copy.mark)
  if (missing === undefined) return 0
  const is_known = missing !== first || copy.epoch < epoch || copy.mark === first.mark - 1
  const since = is_known ? missing.at : (copy.marked_at ?? missing.at)
  return Math.max(0, copy.began_at - since)
}

/** The lag by the newest copy of any standby; null: no standby has one. */
export function newestLag(
  nodes: readonly NodeState[],
  known: { epoch: number; marks: readonly Mark[] },
): PrimaryState['lag'] {
  const copies = nodes.flatMap(({ node, standby }) =>
    standby?.copy ? [{ node, copy: standby.copy }] : [],
  )
  const [newest] = copies.toSorted((a, b) => b.copy.began_at - a.copy.began_at)
  if (newest === undefined) return null
  const { node, copy } = newest
  return { ms: lagOf(copy, known), measured_at: copy.began_at, by: node }
}

/** Announcements that may be late before a node counts as silent. */
const LATE_BEATS = 3
const LATE_MS = 5000
/** Copies that may be late before their figures are out of date. */
const LATE_COPIES = 2
const LATE_COPY_MS = 60_000

/** True if a node has not announced itself for three of its intervals, by clocks that agree. */
export const isSilent = ({ at, every_ms }: NodeState, now: number): boolean =>
  now - at > LATE_BEATS * every_ms + LATE_MS

/** Result of {@link judgeReplica}: null: the replica is within the bound; otherwise a sentence that says why not. */
export type ReplicaProblem = string | null

/**
 * Judges the replica of the node `primary` for an alert. Every lack of knowledge is a problem: without a figure nothing
 * shows that a failover would work.
 */
export function judgeReplica(
  nodes: readonly NodeState[],
  { primary, max_lag_ms, now }: { primary: string; max_lag_ms: number; now: number },
): ReplicaProblem {
  const found = nodes.find((it) => it.node === primary)
  const state = found?.primary
  if (found === undefined || state === null || state === undefined)
    return `the primary ${primary} has not announced itself`
  if (isSilent(found, now))
    return `the primary ${primary} has been silent for ${secondsOf(now - found.at)} s`
  if (state.replication === 'ended') return 'the process that replicates has ended'
  const { lag } = state
  if (lag === null)
    return 'the lag is not known: no standby has reported a copy, which needs [standby].restore there'
  const by = nodes.find((it) => it.node === lag.by)
  const error = by?.standby?.error ?? ''
  if (error !== '') return `${lag.by} cannot restore the replica: ${error}`
  const overdue_ms = (by?.standby?.copy_every_ms ?? 0) * LATE_COPIES + LATE_COPY_MS
  if (now - lag.measured_at > overdue_ms)
    return `the replica was last restored ${secondsOf(now - lag.measured_at)} s ago`
  return lag.ms > max_lag_ms
    ? `the replica was ${secondsOf(lag.ms)} s behind, more than ${secondsOf(max_lag_ms)} s`
    : null
}

/**
 * Judges a standby for a planned move from the primary of `epoch`. Null: it can take over; otherwise the reason why not.
 * That it lives is for the caller to see.
 */
export function judgeTarget(
  { node, standby }: NodeState,
  { epoch, now }: { epoch: number; now: number },
): string | null {
  if (standby === null) return `${node} is not a standby`
  const { copy, error, copy_every_ms } = standby
  if (error !== '') return `${node} cannot restore the replica: ${error}`
  if (copy === null)
    return copy_every_ms === null
      ? `${node} makes no copies: set [standby].restore there`
      : `${node} has no copy of the database yet`
  if (copy.epoch !== epoch) return `the copy of ${node} is of epoch ${copy.epoch}, not of ${epoch}`
  const overdue_ms = (copy_every_ms ?? 0) * LATE_COPIES + LATE_COPY_MS
  return now - copy.began_at > overdue_ms
    ? `${node} last restored the replica ${secondsOf(now - copy.began_at)} s ago`
    : null
}

const secondsOf = (ms: number): number => Math.round(ms / 100) / 10
