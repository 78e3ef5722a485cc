import type { ErasureReason } from '../../core/delivery/envelope.ts'
import { deliveryId, editedBody } from '../../core/delivery/envelope.ts'
import { rowOf } from '../../core/enrichment/enrich.ts'
import { type Item, type ItemState, ofItemKey } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { type AuditTokens, refill } from '../../core/polling/audit.ts'
import {
  CONFIRM_AFTER_MS,
  contentDigest,
  judgeState,
  nextCheckAt,
  UNCLEAR_RETRY_MS,
  withoutMassAbsence,
} from '../../core/polling/reverify.ts'
import { aheadOf, type Watch, type Watches } from '../../gateway/watch.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import { type Archiving, queueItems } from '../../store/archive/queue.ts'
import { type Chunks, runCooperatively } from '../../store/db/chunked.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { insertDelivery } from '../../store/delivery/deliveries.ts'
import { catchUp } from '../../store/delivery/projections.ts'
import {
  type Erased,
  ERASED_AT_ONCE,
  type ErasedItem,
  eraseItems,
  listEditReceivers,
  withoutErased,
} from '../../store/erasure/erase.ts'
import {
  clampKept,
  keepItems,
  type KeptItem,
  listByAuthor,
  listDueKept,
  listKeptSources,
  settleKept,
} from '../../store/erasure/kept-items.ts'
import { findMonitor } from '../../store/monitoring/monitors.ts'
import type { Filters } from '../match.ts'

// Stored items are read again by their ids, and what is deleted at its source is erased here. An answer that is not clear
// erases nothing: a block page, a refusal or an outage would otherwise delete everything.

/** Wait after a source could not be read, ms. */
const FAULT_REST_MS = 60_000
/** Longest time until it is checked again if something is due, ms. */
const IDLE_MS = 60_000

export type VerifyDeps = {
  db: Db
  instance_id: string
  words: Naming
  clock: Clock
  log: Log
  signal: AbortSignal
  watches: Watches
  filters: Filters
  /** Share of the requests of a source that checks may use, 0 to 1. */
  recheck_share: number
  archive?: Archiving | undefined
  /** Called after deliveries were written. */
  on_pending: () => void
  /** Called after an erasure with its items: caches in memory forget them. */
  on_erased?: ((reasons: readonly ErasureReason[]) => void) | undefined
}

export type Verifier = {
  /** Time of the next round, epoch ms; Infinity: nothing is stored. */
  nextAt(): number
  verify(): Promise<void>
  clamp(): void
}

type Round = Omit<Erased, 'places'>

type Reader = NonNullable<Watch['recheck']> & Pick<Watch, 'per_minute'>

/** Creates the checks; nothing is read until {@link Verifier.verify}. */
export function createVerifier(deps: VerifyDeps): Verifier {
  const { db, clock, log, signal } = deps
  const clock_offset_ms = () => aheadOf(deps.watches)
  const tokens = new Map<string, AuditTokens>()
  const rests = new Map<string, number>()

  function readerOf(source: string): Reader | null {
    const watch = deps.watches.get(source)
    return watch?.recheck === undefined ? null : { ...watch.recheck, per_minute: watch.per_minute }
  }

  function saved(source: string, { per_minute }: Reader): number {
    const mono = clock.mono()
    const before = tokens.get(source) ?? { tokens: 1, mono }
    const after = refill(before, mono, deps.recheck_share * per_minute())
    tokens.set(source, after)
    return after.tokens
  }

  /** Milliseconds until a source may be read; 0: now. */
  function waitOf(source: string, reader: Reader): number {
    const rest = (rests.get(source) ?? -Infinity) - clock.mono()
    if (rest > 0) return rest
    const left = saved(source, reader)
    if (left > 0) return 0
    const allowance = deps.recheck_share * reader.per_minute()
    return allowance > 0 ? Math.ceil(((1 - left) * 60_000) / allowance) : IDLE_MS
  }

  async function verifySource(source: string): Promise<Round> {
    const none: Round = { items: 0, bodies: 0, events: 0 }
    const reader = readerOf(source)
    if (reader === null || waitOf(source, reader) > 0) return none
    const due = listDueKept(db, { source, now: clock.now(), limit: reader.items_max })
    if (due.length === 0) return none
    const names = due.map(({ item_id }) => ofItemKey(item_id).name)
    const before = tokens.get(source)
    if (before !== undefined)
      tokens.set(source, { ...before, tokens: before.tokens - reader.cost(due.length) })
    const read = await reader.states(names, signal)
    if (signal.aborted) return none
    if (!read.ok) {
      rests.set(source, clock.mono() + FAULT_REST_MS)
      log('debug', 'erasure.not_read', { source, fault: read.fault.kind })
      return none
    }
    const now = clock.now()
    const { gone, orphans, events } = settle(due, withoutMassAbsence(read.value), now)
    const erased = await eraseAll(source, gone, orphans, now)
    return { ...erased, events: erased.events + events }
  }

  /**
   * Records a round, in one transaction. Items that are gone stay due until they are erased, and those of accounts that are
   * gone are read again within hours, so that a process that dies in between erases them after its restart.
   */
  function settle(
    due: readonly KeptItem[],
    states: ReadonlyMap<string, ItemState>,
    now: number,
  ): { gone: readonly ErasedItem[]; orphans: ReadonlySet<string>; events: number } {
    const gone: ErasedItem[] = []
    const orphans = new Set<string>()
    return transact(db, () => {
      let events = 0
      for (const kept of due) {
        const { item_id, absent_at, first_kept_at, digest, checks, author } = kept
        const verdict = judgeState(states.get(ofItemKey(item_id).name), absent_at, now)
        const row = { item_id, absent_at, digest: null, checked: false }
        if (verdict.kind === 'erase') {
          gone.push({ item_id, reason: verdict.reason })
          continue
        }
        if (verdict.kind === 'unclear') {
          settleKept(db, { ...row, next_check_at: now + UNCLEAR_RETRY_MS })
          continue
        }
        if (verdict.kind === 'doubt') {
          const since = absent_at ?? now
          settleKept(db, { ...row, absent_at: since, next_check_at: since + CONFIRM_AFTER_MS })
          continue
        }
        const { item, author_gone } = verdict
        const is_orphan = author_gone && author !== null
        if (is_orphan) orphans.add(author)
        const seen = contentDigest(item)
        // Listings and reads by id may render a text differently, so the first read by id counts as the original.
        const is_edit = seen !== digest && (checks > 0 || item.edited !== false || author_gone)
        settleKept(db, {
          ...row,
          absent_at: null,
          digest: seen,
          checked: true,
          // Without its author it is next checked as all others.
          next_check_at: is_orphan ? now + UNCLEAR_RETRY_MS : nextCheckAt(first_kept_at, now),
        })
        // Scopes are those of the item that is archived; one that is not archived stays out.
        if (is_edit && deps.archive !== undefined) {
          const shown = withoutErased(db, [item])(item)
          keepItems(db, [shown], now)
          queueItems(db, deps.archive, [{ item: shown, scopes: [] }], now)
        }
        if (is_edit) events += writeEdited(item_id, item, seen, now)
      }
      return { gone, orphans, events }
    })
  }

  /** Erases items, and the accounts that are gone from every item that they wrote. In steps. */
  async function eraseAll(
    source: string,
    gone: readonly ErasedItem[],
    orphans: ReadonlySet<string>,
    now: number,
  ): Promise<Round> {
    const taken = new Set(gone.map(({ item_id }) => item_id))
    if (orphans.size > 0) catchUp({ db, words: deps.words, clock_offset_ms })
    const orphaned = [...orphans].flatMap((author) => listByAuthor(db, { source, author }))
    const all = [
      ...gone,
      ...[...new Set(orphaned)]
        .filter((item_id) => !taken.has(item_id))
        .map((item_id) => ({ item_id, reason: 'author_gone' as const })),
    ]
    const { words, instance_id } = deps
    const total = { items: 0, bodies: 0, events: 0 }
    function* steps(): Chunks<void> {
      for (let at = 0; at < all.length; at += ERASED_AT_ONCE) {
        const part = all.slice(at, at + ERASED_AT_ONCE)
        const { items, bodies, events } = eraseItems(
          { db, instance_id, words, clock_offset_ms },
          part,
          now,
        )
        total.items += items
        total.bodies += bodies
        total.events += events
        deps.on_erased?.(part.map(({ reason }) => reason))
        yield
      }
    }
    await runCooperatively(steps(), signal)
    if (total.items > 0)
      log('info', 'erasure.erased', { source, items: total.items, count: total.bodies })
    return total
  }

  /** Writes `item.edited` for each monitor and target that had received it. Returns their number. */
  function writeEdited(item_id: string, item: Item, digest: string, now: number): number {
    const receivers = listEditReceivers(db, item_id)
    return receivers.filter(({ webhook_id, customer_id, monitor_id }) => {
      const monitor = findMonitor(db, customer_id, monitor_id)
      const spec = monitor && deps.filters(monitor)
      if (spec === null) return false
      const { row } = rowOf(deps.words, spec, withoutErased(db, [item])(item))
      const id = deliveryId(deps.instance_id, monitor_id, webhook_id, [
        'item.edited',
        item_id,
        digest,
      ])
      return insertDelivery(db, {
        id,
        customer_id,
        monitor_id,
        webhook_id,
        item_ids: [item_id],
        status: 'pending',
        event: 'item.edited',
        now: now + clock_offset_ms(),
        due_at: now,
        body: editedBody({ delivery_id: id, monitor_id, row, detected_at: now }),
      })
    }).length
  }

  return {
    nextAt() {
      const now = clock.now()
      const times = listKeptSources(db).flatMap(({ source, next_check_at }) => {
        const reader = readerOf(source)
        return reader === null ? [] : [Math.max(next_check_at, now + waitOf(source, reader))]
      })
      return Math.min(Infinity, ...times)
    },
    async verify() {
      const now = clock.now()
      const due = listKeptSources(db).filter(({ next_check_at }) => next_check_at <= now)
      const done = await Promise.all(due.map(({ source }) => verifySource(source)))
      if (done.some(({ events }) => events > 0)) deps.on_pending()
    },
    clamp: () => clampKept(db, clock.now()),
  }
}
