import { idAt, numberAt } from '../values.ts'
import { isDelayed, livenessOf, type NativeItem } from './readers.ts'

/**
 * Ids that are requested again. Epoch ms. An entry has the id, when it was first requested so, and the requests since.
 */
export type QueueState = {
  /** Ids without an item so far, or with one that cannot be read; the last field is a time before the creation of their item. */
  pending: [id: number, since: number, requests: number, after: number][]
  /** Dead items, which may come back. */
  dead: [id: number, since: number, requests: number][]
  /** Ids that the list of changes has named since their last read. Explained: they were read lately, or had a reply. */
  changed: [id: number, due_at: number, explained: 0 | 1, listed_at: number][]
  /** Changes that were dropped unread in the last day, by the hour since the epoch. */
  dropped: [hour: number, changes: number][]
}

/** Queues without an id. */
export const NO_QUEUES: QueueState = { pending: [], dead: [], changed: [], dropped: [] }

/** A pending id is requested after so long, ms; after the last it is reported as missing, or as skipped if unreadable. */
const PENDING_MS = [8000, 25_000, 60_000]
const PATIENCE_MS = 60_000
/** A dead item is requested after so long, then each time after three times as long, for a day. */
const DEAD_FIRST_MS = 30_000
const DEAD_MS = 24 * 3_600_000
const DEAD_MAX = 1000
const CHANGED_MAX = 500
/** The list names an item for so long for one change: a read within it serves all its entries. */
const LISTED_MS = 75_000
/** An explained change that could not be read for so long is dropped, so that newer ones are read in time. */
const EXPLAINED_MAX_MS = 10 * 60_000
const HOUR_MS = 3_600_000

/** Reads of items, and replies to them, in this process. */
export type Touches = ReturnType<typeof createTouches>

const TOUCHES_MAX = 5000

/** Remembers when items were read last, for which the list of changes may name them. */
export function createTouches() {
  const touched = new Map<number, number>()
  return {
    add(id: number, at: number): void {
      touched.delete(id)
      touched.set(id, at)
      const oldest = touched.keys().next().value
      if (touched.size > TOUCHES_MAX && oldest !== undefined) touched.delete(oldest)
    },
    /** The instant from which on a change that is listed now cannot be one that was read. */
    settledAt: (id: number): number => (touched.get(id) ?? -LISTED_MS) + LISTED_MS,
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

export type Queues = ReturnType<typeof createQueues>

/** The facts of a step that decide where its answers belong. */
type Facts = {
  /** Ids whose answer could not be read. */
  unread: ReadonlySet<number>
  isNew: (id: number) => boolean
  first: number
  timeBelow: (id: number) => number
}

function countDropped(
  before: QueueState['dropped'],
  count: number,
  now: number,
): QueueState['dropped'] {
  const hour = Math.floor(now / HOUR_MS)
  const recent = before.filter(([at]) => at > hour - 24)
  if (count === 0) return recent
  const current = recent.find(([at]) => at === hour)?.[1] ?? 0
  return [...recent.filter(([at]) => at !== hour), [hour, current + count]]
}

const retryAt = (since: number, requests: number): number =>
  since + (PENDING_MS[requests - 1] ?? PATIENCE_MS)
const reviveAt = (since: number, requests: number): number =>
  since + DEAD_FIRST_MS * 3 ** (requests - 1)

export function createQueues(state: QueueState, now: number, touches: Touches) {
  const pending = new Map(state.pending.map((it) => [it[0], it]))
  const dead = new Map(state.dead.map((it) => [it[0], it]))
  const changed = new Map(state.changed.map((it) => [it[0], it]))

  function change(id: number, due_at: number, explained: 0 | 1): void {
    if (!changed.has(id)) changed.set(id, [id, due_at, explained, now])
  }

  const listedIds = (is_explained: 0 | 1): number[] =>
    [...changed.values()]
      .filter(([, due_at, explained]) => due_at <= now && explained === is_explained)
      .toSorted((a, b) => a[3] - b[3])
      .map(([id]) => id)

  return {
    listed(ids: readonly number[]): void {
      for (const id of ids) {
        const settled_at = touches.settledAt(id)
        change(id, Math.max(now, settled_at), settled_at > now ? 1 : 0)
      }
    },
    /** Changed items that are due, those that were named first at the start. */
    changes: () => listedIds(0),
    /** Explained changes, ids without an item, and dead ones that are due, one of each in turn. */
    rest(): number[] {
      type Entry = readonly [number, number, number, ...number[]]
      const due = (list: Iterable<Entry>, at: (since: number, requests: number) => number) =>
        [...list]
          .map(([id, since, requests]) => [id, at(since, requests)] as const)
          .filter(([, due_at]) => due_at <= now)
          .toSorted((a, b) => a[1] - b[1])
          .map(([id]) => id)
      const lists = [listedIds(1), due(pending.values(), retryAt), due(dead.values(), reviveAt)]
      const turns = Math.max(...lists.map((it) => it.length))
      return Array.from({ length: turns }, (_, n) => lists.flatMap((it) => it[n] ?? [])).flat()
    },
    /** The queues after a step; `unanswered` and `skipped` ids have left them. */
    settle(answers: ReadonlyMap<number, NativeItem | null>, facts: Facts) {
      const unanswered: number[] = []
      for (const [id, item] of answers) {
        if (id < facts.first) continue
        settleOne(id, item, facts, unanswered)
        changed.delete(id)
        touches.add(id, now)
        const parent = idAt(item?.row ?? {}, 'parent')
        if (facts.isNew(id) && parent !== null) touches.add(parent, now)
      }
      const unreadable = [...facts.unread].filter(
        (id) => id >= facts.first && leaveUnread(id, facts),
      )
      // Missing ids have their own share of requests, beyond this queue.
      const revivable = [...dead.values()].filter(([, since]) => now - since < DEAD_MS)
      const excess = revivable.slice(0, Math.max(0, revivable.length - DEAD_MAX))
      const listed = [...changed.values()]
        .filter(([, , explained, at]) => explained === 0 || now - at < EXPLAINED_MAX_MS)
        .toSorted((a, b) => a[2] - b[2] || a[3] - b[3])
      const kept = listed.slice(0, CHANGED_MAX)
      const drops = countDropped(state.dropped, changed.size - kept.length, now)
      return {
        pending: [...pending.values()],
        dead: revivable.slice(excess.length),
        changed: kept,
        dropped: drops,
        changes: {
          waiting: kept.length,
          oldest_at: kept.length === 0 ? null : Math.min(...kept.map(([, , , at]) => at)),
          dropped_24h: drops.reduce((sum, [, n]) => sum + n, 0),
        },
        unanswered: [...unanswered, ...excess.map(([id]) => id)],
        // An explained one is most often no change.
        skipped: [
          ...listed.slice(CHANGED_MAX).flatMap(([id, , it]) => (it === 0 ? [id] : [])),
          ...unreadable,
        ],
      }
    },
  }

  /** Waits for a readable answer. True: it has waited long enough, and is to be reported. */
  function leaveUnread(id: number, { isNew, timeBelow }: Facts): boolean {
    const [, since, requests, after] = pending.get(id) ?? [id, now, 0, timeBelow(id)]
    const revived = dead.get(id)
    const listed = changed.get(id)
    if (revived !== undefined) dead.set(id, [id, revived[1], revived[2] + 1])
    if (listed !== undefined) changed.set(id, [id, now + LISTED_MS, listed[2], listed[3]])
    const is_over = pending.has(id) && now - since >= PATIENCE_MS
    if (is_over) pending.delete(id)
    else if (pending.has(id) || (isNew(id) && revived === undefined))
      pending.set(id, [id, since, requests + 1, after])
    return is_over
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
