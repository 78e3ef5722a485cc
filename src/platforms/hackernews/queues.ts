import { numberAt } from '../items.ts'
import { isDelayed, livenessOf, type NativeItem } from './readers.ts'

/**
 * Ids that are requested again. Epoch ms. An entry has the id, when it was first requested so, and the requests since.
 */
export type QueueState = {
  /** Ids without an item so far; the last field is a time before the creation of their item. */
  pending: [id: number, since: number, requests: number, after: number][]
  /** Dead items, which may come back. */
  dead: [id: number, since: number, requests: number][]
  /** Ids that the list of changes has named. Explained: they were read lately, or had a reply. */
  changed: [id: number, due_at: number, explained: 0 | 1][]
}

/** Queues without an id. */
export const NO_QUEUES: QueueState = { pending: [], dead: [], changed: [] }

/** An id without an item is requested after so long, ms; after the last it is reported as missing. */
const PENDING_MS = [4000, 10_000, 20_000, 40_000, 60_000]
const PATIENCE_MS = 60_000
/** A dead item is requested after so long, then each time after twice as long, for a day. */
const DEAD_FIRST_MS = 20_000
const DEAD_MS = 24 * 3_600_000
const DEAD_MAX = 1000
const CHANGED_MAX = 500
/** The list names an item for so long for one change: a read within it serves all its entries. */
const LISTED_MS = 40_000
/** An explained change gives way to others for so long. */
const LATER_MS = 30_000
/** An item that was read more often waits longer, each time twice as long. */
const QUICK_READS = 3
const LISTED_MAX_MS = 20 * 60_000

/** Reads of items, and replies to them, in this process. */
export type Touches = ReturnType<typeof createTouches>

const TOUCHES_MAX = 5000

/** Remembers when items were read last, for which the list of changes may name them. */
export function createTouches() {
  const touched = new Map<number, { at: number; reads: number }>()
  return {
    add(id: number, at: number, reads: 0 | 1): void {
      const before = touched.get(id)?.reads ?? 0
      touched.delete(id)
      touched.set(id, { at, reads: before + reads })
      const oldest = touched.keys().next().value
      if (touched.size > TOUCHES_MAX && oldest !== undefined) touched.delete(oldest)
    },
    /** The instant from which on a change that is listed now cannot be one that was read. */
    settledAt(id: number): number {
      const known = touched.get(id)
      if (known === undefined) return 0
      const more = Math.max(0, known.reads - QUICK_READS)
      return known.at + Math.min(LISTED_MAX_MS, LISTED_MS * 2 ** more)
    },
  }
}

/** True for an id without an item so far, or with one whose text is to come. */
export const isMissing = (item: NativeItem | null): boolean => item === null || isDelayed(item)

/** An item that is not live may have been until then, if its first read is this late. */
const LATE_MS = 10_000

const isWithdrawn = (item: NativeItem | null, now: number): boolean =>
  item !== null &&
  livenessOf(item) !== 'live' &&
  now - (numberAt(item.row, 'time') ?? 0) * 1000 > LATE_MS

/** A step's use of the queues. */
export type Queues = ReturnType<typeof createQueues>

/** The facts of a step that decide where its answers belong. */
type Facts = {
  isNew: (id: number) => boolean
  first: number
  timeBelow: (id: number) => number
  /** Comments whose story could not be read. */
  orphans: readonly number[]
}

const retryAt = (since: number, requests: number): number =>
  since + (PENDING_MS[requests - 1] ?? PATIENCE_MS)
const reviveAt = (since: number, requests: number): number =>
  since + DEAD_FIRST_MS * 2 ** (requests - 1)

/** The queues during one step. */
export function createQueues(state: QueueState, now: number, touches: Touches) {
  const pending = new Map(state.pending.map((it) => [it[0], it]))
  const dead = new Map(state.dead.map((it) => [it[0], it]))
  const changed = new Map(state.changed.map((it) => [it[0], it]))

  function change(id: number, due_at: number, explained: 0 | 1): void {
    if (!changed.has(id)) changed.set(id, [id, due_at, explained])
  }

  return {
    /** Takes ids of the list of changes. */
    listed(ids: readonly number[]): void {
      for (const id of ids) {
        const settled_at = touches.settledAt(id)
        if (pending.has(id) || dead.has(id)) changed.set(id, [id, now, 0])
        else change(id, Math.max(now, settled_at), settled_at > now ? 1 : 0)
      }
    },
    /** Ids without an item that are due, or that the list of changes has named. */
    pending: (): number[] =>
      [...pending.values()]
        .filter(([id, since, requests]) => retryAt(since, requests) <= now || changed.has(id))
        .map(([id]) => id),
    /** Dead and changed items that are due, those that have waited longest first. */
    others(): number[] {
      const due = [
        ...[...dead.values()].map(([id, since, n]) => [id, reviveAt(since, n), 0] as const),
        ...changed.values(),
      ]
      const rank = ([, at, explained]: (typeof due)[number]): number => at + explained * LATER_MS
      const ready = due.filter(([, at]) => at <= now).toSorted((a, b) => rank(a) - rank(b))
      return [...new Set(ready.map(([id]) => id))]
    },
    /** The queues after a step; `unanswered` and `dropped` ids have left them. */
    settle(answers: ReadonlyMap<number, NativeItem | null>, facts: Facts) {
      const unanswered: number[] = []
      for (const [id, item] of answers) {
        if (id < facts.first) continue
        settleOne(id, item, facts, unanswered)
        changed.delete(id)
        if (isMissing(item)) continue
        touches.add(id, now, 1)
        const parent = item?.row['parent']
        if (facts.isNew(id) && typeof parent === 'number') touches.add(parent, now, 0)
      }
      for (const id of facts.orphans) change(id, now + LISTED_MS, 0)
      // Missing ids have their own share of requests, beyond this queue.
      const revivable = [...dead.values()].filter(([, since]) => now - since < DEAD_MS)
      const excess = revivable.slice(0, Math.max(0, revivable.length - DEAD_MAX))
      const listed = [...changed.values()].toSorted((a, b) => a[2] - b[2] || a[1] - b[1])
      const lost = listed.slice(CHANGED_MAX).filter(([, , explained]) => explained === 0)
      return {
        pending: [...pending.values()],
        dead: revivable.slice(excess.length),
        changed: listed.slice(0, CHANGED_MAX),
        unanswered: [...unanswered, ...excess.map(([id]) => id)],
        dropped: lost.map(([id]) => id),
      }
    },
  }

  function settleOne(
    id: number,
    item: NativeItem | null,
    { isNew, timeBelow }: Facts,
    unanswered: number[],
  ): void {
    const waiting = pending.get(id)
    const [, since = now, requests = 0] = dead.get(id) ?? []
    if (isMissing(item) && waiting !== undefined) {
      const [, asked_at, n, after] = waiting
      if (now - asked_at < PATIENCE_MS) pending.set(id, [id, asked_at, n + 1, after])
      else {
        pending.delete(id)
        unanswered.push(id)
      }
    } else if (isMissing(item) && isNew(id) && requests === 0)
      pending.set(id, [id, now, 1, timeBelow(id)])
    else if (isWithdrawn(item, now) && (waiting !== undefined || (isNew(id) && requests === 0))) {
      pending.delete(id)
      unanswered.push(id)
      if (livenessOf(item) === 'removed') dead.set(id, [id, since, 1])
    }
    // An item that is gone from the answers may come back as a dead one does.
    else if (isMissing(item) || livenessOf(item) === 'removed') {
      pending.delete(id)
      dead.set(id, [id, since, requests + 1])
    } else {
      pending.delete(id)
      dead.delete(id)
    }
  }
}
