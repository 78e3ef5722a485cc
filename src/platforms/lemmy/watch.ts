import { fail, ok, type Outcome } from '../../core/base/result.ts'
import type { Clock } from '../../runtime/runtime.ts'
import {
  type IdRange,
  type IdWatch,
  type PartialReason,
  pollCall,
  type WatchCall,
  type WatchStep,
} from '../source.ts'
import { isAfter } from '../summit.ts'
import { fieldsOf } from '../values.ts'
import type { Api, ApiPage } from './api.ts'
import { createdOf, type Dialect, hiddenUntil } from './readers.ts'
import {
  baseOf,
  begin,
  boundHoles,
  climbed,
  COMMENT_BASE,
  deferVoids,
  dueAt,
  dueHoles,
  GONE,
  hasRemoved,
  type Held,
  heldAt,
  holeOf,
  isAuthor,
  isReadAhead,
  isSeldom,
  isShort,
  keepRows,
  lastOf,
  learn,
  leftBehind,
  markRead,
  missingIds,
  newState,
  noteListed,
  olderHole,
  overdueOf,
  roomOf,
  seconds,
  type Series,
  type SeriesName,
  settleWith,
  shownUntil,
  type State,
  toKnown,
  unreadOf,
  type Urgency,
  withOf,
} from './series.ts'
import { type Asked, createStep, HELD_MAX_MS, HELD_MIN_MS, type StepReads } from './step.ts'

type Row = Record<string, unknown>

const KINDS = ['post', 'comment'] as const
const PAGES_MAX = 20
/** Rows at the end of a page; if none of them is new, the next page has hardly a new one. */
const PAGE_TAIL = 10
/** So long after ids were left behind, the watch is not complete. */
const SKIP_MS = 3_600_000
const MODLOG_EVERY_MS = 60_000
const VANISHED_MAX = 5
const AT_ONCE = 4
/** Steps that follow each other so soon read an item again in time. */
const SOON_S = 12
/** Share of the requests a minute that monitors use, with rereads and checks of kept items; reads have the rest. */
const SHARE = 0.85
/** Requests by id that follow a step, even if its lists have used up the budget. */
const SETTLE_MIN = 2
/** Fewer are not sent once more: each such round may take one to prove that the server works. */
const AGAIN_MIN = 4
/** Requests by id whose items are recorded together. */
const SETTLE_MAX = 16
const REQUESTS_MIN = 16
/** Requests that holes leave for the ids that the next lists will lack. */
const RESERVE = 3
/** One in so many requests by id is for hidden items, however many others are due. */
const HIDDEN_EACH = 4
/** The time up to which everything was read may be so old before steps are delayed for its proof. */
const PROOF_MS = 60_000
/** A step waits for its budget if that takes longer. */
const WAIT_MIN_MS = 500

/**
 * The watch of posts and comments by the server's own ids: the newest pages for most of them, one
 * request for each id between that no page had. Neither series is dense, and no list is in the order
 * of arrival: posts of other servers arrive late, under their own date and a new id.
 * A step reads the lists only, so that their items are matched at once. The requests by id follow it.
 */
export function createIdWatch({
  clock,
  api,
  site_url,
  localName,
  beside,
}: {
  clock: Pick<Clock, 'now' | 'sleep'>
  api: Api
  site_url: string
  localName(place: string): string
  /** Requests that monitors have sent beside steps, and that these have not paid for yet. */
  beside: { requests: number }
}): IdWatch {
  /** Adds the requests that steps may send since the last time. They pay for those of rereads and checks, and run into no debt. */
  function refill({ budget }: State, now: number, requests: number): void {
    const gained = (Math.max(0, now - budget.at) / 60_000) * SHARE * api.perMinute()
    const tokens = Math.min(requests, budget.tokens + gained)
    const paid = Math.min(beside.requests, Math.max(0, Math.floor(tokens)))
    beside.requests -= paid
    budget.tokens = tokens - paid
    budget.at = now
  }

  async function advance(text: string | null, bounds: WatchCall): Promise<Outcome<WatchStep>> {
    const call = pollCall(bounds)
    const server = await api.server(call)
    if (!server.ok) return server
    const { dialect } = server.value
    const began = clock.now()
    const state: State = text === null ? newState(began) : JSON.parse(text)
    refill(state, began, bounds.requests)
    const wait_ms = (-state.budget.tokens / (SHARE * api.perMinute())) * 60_000
    if (wait_ms > WAIT_MIN_MS)
      return fail({
        kind: 'throttled',
        retry_after_s: Math.ceil(wait_ms / 1000),
        not_requested: true,
      })
    const held = heldOf(state, dialect)
    const step = createStep(api, site_url, call, bounds.requests, { held, now: began })
    const params = { type_: dialect.word('All'), sort: dialect.word('New') }

    const heads = {
      post: await step.page('post', params, null),
      comment: await step.page('comment', params, null),
    }
    // What the lists of the first step have is from before the start.
    const started = clock.now()
    if (heads.post === null) return { ok: false, fault: step.fault() ?? { kind: 'timeout' } }
    const from = (text === null ? bounds.since?.() : undefined) ?? Infinity
    let verified_from = from === Infinity || heads.comment === null ? null : from
    const copy_s = seconds(Math.max(heads.post.age_ms, heads.comment?.age_ms ?? 0))
    const skipped: IdRange[] = []
    let behind: IdRange | null = null
    let partial: PartialReason | null = (await api.isAccepted(call)) ? null : 'seen_as_anonymous'
    let went_back = false
    for (const kind of KINDS) {
      const head = heads[kind]
      if (head === null) continue
      const series = state[kind]
      series.copy_s = copy_s
      const at = shownUntil(head.views, kind, head.as_of, began + api.client.clock_offset_ms())
      const redates = dialect.generation === 'piefed' && kind === 'post'
      const as_of = { at, now: began, redates }
      if (series.first === 0) {
        const is_whole = begin(series, head.views, kind, from)
        series.read_until = text === null ? Math.min(started, from) : at
        series.since = series.read_until
        if (!is_whole) verified_from = null
        if (from === Infinity) {
          climbed(series, head.views, kind, as_of)
          continue
        }
      }
      const { summit, since, rows } = series
      if (climbed(series, head.views, kind, as_of)) {
        went_back = true
        const known = new Set(rows.map(([id]) => id))
        for (const view of head.views) {
          const created = createdOf(fieldsOf(view[kind]))
          // Where the higher id was none, what was written before it may be unread.
          const is_unread = created >= since && !known.has(toKnown(view, kind)[0])
          if (is_unread || isAfter(summit, created)) step.take(kind, view)
        }
        continue
      }
      const is_late = series.last < series.bound
      series.floor = series.bound
      // A list of comments without pages and ids is all that a partial API has.
      const can_ask = canAsk(kind, dialect)
      const { is_read: is_logged } = state.modlog
      await readPages(series, kind, { head, ...as_of, can_ask, is_logged }, params, step)
      if (kind === 'post') askVanished(series, step, began)
      const unread = leftBehind(series, kind, began, can_ask)
      skipped.push(...unread.skipped)
      if (!can_ask) series.read_until = Math.max(series.read_until, at)
      // Ids that this step has found are requested next.
      if (is_late || !can_ask) behind ??= unread.behind
      if (began - series.skipped_at < SKIP_MS) partial ??= can_ask ? 'not_affordable' : 'no_paging'
    }
    for (const kind of KINDS) behind ??= overdueOf(state[kind], kind, began)
    if (text === null) await readModlog(state, step, began, true)
    const names = (bounds.places ?? []).map(localName)
    const local = names.filter((it) => !['all', 'local'].includes(it) && !it.includes('@'))
    state.budget.tokens -= await api.lookFor(local, call)
    state.is_settled = false
    state.held = [...(held?.values() ?? [])]
    const found = result(state, step, began, api.accountUntil(), { behind, skipped, partial })
    if (verified_from !== null) return ok({ ...found, verified_from })
    if (text === null) return ok({ ...found, verified_until: started })
    return ok(went_back ? { ...found, went_back } : found)
  }

  async function settle(text: string, bounds: WatchCall): Promise<Outcome<WatchStep>> {
    const call = pollCall(bounds)
    const server = await api.server(call)
    if (!server.ok) return server
    const { dialect } = server.value
    const state: State = JSON.parse(text)
    const held = heldOf(state, dialect)
    // The next step reads it again, if it is soon enough.
    const reads_again = held !== null && held.size > 0 && (bounds.interval_s ?? 0) > SOON_S
    if (reads_again) {
      const since = Math.max(...[...held.values()].map((it) => it[2]))
      const ms = since + 2 * HELD_MIN_MS - clock.now()
      if (ms > 0) await clock.sleep(ms, bounds.signal)
    }
    const began = clock.now()
    // What the step has left is more than an interval has.
    refill(state, began, Math.max(bounds.requests, state.budget.tokens))
    const tokens = Math.floor(state.budget.tokens)
    const affordable = state.is_settled && tokens < AGAIN_MIN ? 0 : tokens
    const most = Math.max(state.is_settled ? 0 : SETTLE_MIN, affordable)
    state.is_settled = true
    const requests = Math.min(SETTLE_MAX, most) + (reads_again ? KINDS.length : 0)
    const wait_ms = () => api.client.wait_ms(call.share)
    const step = createStep(api, site_url, call, requests, { held, now: began, wait_ms })
    /** Is one more request within the budget, so that it delays no step? */
    const canSpare = () => step.requests() < affordable
    if (reads_again) await readHeld(held, dialect, step)
    await askHeld(state, step, began, reads_again)
    const kinds = KINDS.filter((kind) => state[kind].first !== 0 && canAsk(kind, dialect))
    // Voids are many: what the log names, and hidden items, have requests of their own.
    await readModlog(state, step, began, false)
    const due = kinds.flatMap((kind) => dueHoles(state[kind], began, 'hidden')).length
    const own = Math.min(due, Math.ceil(step.left() / HIDDEN_EACH))
    const retries = Math.max(SETTLE_MIN, affordable - RESERVE)
    // Where each of them has one request, none is kept for the next ones.
    const proofs = kinds.some((kind) => isShort(state[kind])) ? affordable : retries
    await retryHoles(state, kinds, step, began, 'proof', proofs - own)
    // The item of a hidden one shows that the server works, for which absent ones would need another request.
    await retryHoles(state, kinds, step, began, 'hidden', step.requests() + own)
    await walk(state, kinds, step, began, affordable)
    for (const urgency of ['hidden', 'absent'] as const)
      await retryHoles(state, kinds, step, began, urgency, retries)
    for (const kind of kinds)
      if (canSpare() || began - state[kind].read_until > PROOF_MS)
        await readNext(state, kind, step, began, 'due')
    for (const kind of kinds) if (canSpare()) await readNext(state, kind, step, began, 'spare')
    await retryHoles(state, kinds, step, began, 'late', affordable)
    const fault = step.fault()
    if (fault !== null && step.answered().length === 0) return { ok: false, fault }
    // Nothing of it holds: the step is made again.
    const doubt = await step.doubt()
    if (doubt !== null) return fail(doubt)
    state.held = [...(held?.values() ?? [])]
    let behind: IdRange | null = null
    let partial: PartialReason | null = (await api.isAccepted(call)) ? null : 'seen_as_anonymous'
    for (const kind of KINDS) {
      const can_ask = canAsk(kind, dialect)
      if (can_ask) behind ??= unreadOf(state[kind], kind) ?? overdueOf(state[kind], kind, began)
      if (began - state[kind].skipped_at < SKIP_MS)
        partial ??= can_ask ? 'not_affordable' : 'no_paging'
    }
    return ok(result(state, step, began, api.accountUntil(), { behind, skipped: [], partial }))
  }

  return {
    proof: 'sparse_walk',
    // What one interval leaves is for the next: a round by id uses whole requests.
    requests_min: REQUESTS_MIN,
    // Hidden ids are requested again, and the moderation log names those that are shown again.
    relisted_ms: 0,
    advance,
    settle,
    async reread(range, bounds) {
      const kind = range.from_id > COMMENT_BASE ? 'comment' : 'post'
      const base = baseOf(kind)
      const call = pollCall(bounds)
      const step = createStep(api, site_url, call, bounds.requests)
      let last = range.from_id - base - 1
      const end = range.to_id - base
      const unanswered: number[] = []
      for (; last < end; last += 1) {
        const answer = await step.ask(kind, last + 1)
        if (answer === null) break
        if (answer !== 'absent') continue
        step.doubts(kind)
        unanswered.push(base + last + 1)
      }
      beside.requests += step.requests()
      const fault = step.fault()
      if (fault !== null && last < range.from_id - base) return { ok: false, fault }
      const doubt = await step.doubt()
      if (doubt !== null) return fail(doubt)
      return ok({
        items: step.items(),
        unanswered,
        behind: last < end ? { from_id: base + last + 1, to_id: range.to_id } : null,
        requests: step.requests(),
      })
    },
  }
}

/** Items that wait for a second read, by name; null: the server publishes at once. */
const heldOf = ({ held }: State, { generation }: Dialect): Map<string, Held> | null =>
  generation === 'piefed' ? new Map(held.map((it) => [it[0], it])) : null

/** Reads the newest page again for the items that wait. */
async function readHeld(
  held: ReadonlyMap<string, Held>,
  { word }: Dialect,
  step: StepReads,
): Promise<void> {
  const params = { type_: word('All'), sort: word('New') }
  for (const kind of KINDS) {
    const prefix = kind === 'post' ? 't3_' : 't1_'
    if (![...held.keys()].some((name) => name.startsWith(prefix))) continue
    const page = await step.page(kind, params, null)
    for (const view of page?.views ?? []) {
      const [id] = toKnown(view, kind)
      if (step.isHeld(kind, id)) step.take(kind, view)
    }
  }
}

/** Requests those by their ids that left the newest page before their second read. */
async function askHeld(
  state: State,
  step: StepReads,
  now: number,
  was_page_read: boolean,
): Promise<void> {
  for (const [name, , since, , read_at] of state.held.toSorted((a, b) => a[2] - b[2])) {
    const kind = name.startsWith('t3_') ? 'post' : 'comment'
    const id = Number(name.slice(3))
    // The next step's page shows the others again.
    const is_missed = was_page_read || now - since >= HELD_MAX_MS
    if (!is_missed || now - read_at < HELD_MIN_MS || !step.isHeld(kind, id)) continue
    const answer = await step.ask(kind, id)
    if (answer === null) return
    note(state, kind, { id, answer, now }, step)
    if (answer !== 'live') forget(state[kind], id)
    if (answer === 'absent') step.release(kind, id)
  }
}

/** One that was hidden before its second read was not delivered: its return is news. */
function forget(series: Series, id: number): void {
  const row = series.rows.find((it) => it[0] === id)
  if (row !== undefined) row[1] = ''
}

/** Can the ids of a series be requested? A partial API has only those of posts. */
const canAsk = (kind: SeriesName, { is_wrapper }: Dialect): boolean =>
  kind === 'post' || !is_wrapper

/** `is_logged`: the moderation log can be read. */
type ListBounds = {
  head: ApiPage
  at: number
  now: number
  can_ask: boolean
  redates: boolean
  is_logged: boolean
}

/** Takes the rows of the newest pages: new ones, edited ones, those that were hidden or restored. */
async function readPages(
  series: Series,
  kind: SeriesName,
  { head, at, now, can_ask, redates, is_logged }: ListBounds,
  params: Record<string, string>,
  step: StepReads,
): Promise<void> {
  const known = new Map(series.rows.map((row) => [row[0], row]))
  const views: Row[] = []
  let page: ApiPage | null = head
  for (let count = 1; page !== null; count++) {
    const isNew = (view: Row): boolean => {
      const [id] = toKnown(view, kind)
      return id > series.last && !isReadAhead(series, id)
    }
    const news = page.views.slice(-PAGE_TAIL).filter(isNew).length
    for (const view of page.views) {
      const [id, digest, created_s] = toKnown(view, kind)
      views.push(view)
      step.seen[kind].add(id)
      series.bound = Math.max(series.bound, id)
      const before = known.get(id)
      const is_known = before?.[1] === digest && before[2] === created_s
      // One that was written before the beginning may be published after it.
      const is_old = id < series.first && !(redates && created_s * 1000 > series.since)
      const was_held = step.isHeld(kind, id)
      if (!was_held && (is_old || is_known)) continue
      step.take(kind, view)
      const is_hidden = digest === ''
      if (is_hidden && was_held) forget(series, id)
      if (before?.[1] === '' || before?.[1] === GONE || series.holes.some(([hole]) => hole === id))
        step.publishedIs(kind, id)
      // One that was hidden before it was read may be restored; one that was read has matched.
      if (is_hidden && ((known.has(id) && !was_held) || !can_ask)) continue
      series.holes = series.holes.filter(([hole]) => hole !== id)
      const until = hiddenUntil(view) ?? 0
      const is_patient = is_logged && step.isRemoved(kind, id)
      const with_id = step.hiddenWith(kind, id)
      if (is_hidden)
        series.holes.push(holeOf(series, id, now, { is_hidden, until, is_patient, with_id }))
    }
    const has_next = can_ask && page.after !== null && count < PAGES_MAX && step.left() > 1
    if (news === 0 || !has_next || isWhole(series, kind, step)) break
    page = await step.page(kind, params, page.after)
  }
  noteListed(series, views, kind, at)
  markRead(series, step.seen[kind])
  keepRows(series, views, kind)
}

const isWhole = (series: Series, kind: SeriesName, step: StepReads): boolean =>
  missingIds(series, step.seen[kind].size + 1).every((id) => step.seen[kind].has(id))

/**
 * Requests the ids that no list had, of both series in turn. Where most of them have no item, those beyond `affordable` wait for
 * the one request that proves the void.
 */
async function walk(
  state: State,
  kinds: readonly SeriesName[],
  step: StepReads,
  now: number,
  affordable: number,
): Promise<void> {
  const waiting = (kind: SeriesName, count: number): number[] => {
    const series = state[kind]
    if (isShort(series)) return []
    return missingIds(series, Math.min(count, step.left(), roomOf(series)))
  }
  for (;;) {
    const some = kinds.filter((kind) => waiting(kind, 1).length > 0)
    if (some.length === 0) break
    const each = Math.max(1, Math.floor(step.atOnce(AT_ONCE) / some.length))
    for (const kind of some) await walkSome(state, kind, waiting(kind, each), step, now)
    if (step.fault() !== null) break
  }
  const is_spent = step.fault() === null && step.requests() >= affordable
  for (const kind of kinds) {
    const series = state[kind]
    if (isShort(series) || (is_spent && isSeldom(series))) deferVoids(series, now)
  }
}

async function walkSome(
  state: State,
  kind: SeriesName,
  ids: readonly number[],
  step: StepReads,
  now: number,
): Promise<void> {
  const series = state[kind]
  const answers = await Promise.all(ids.map((id) => step.ask(kind, id)))
  for (const [index, answer] of answers.entries()) {
    const id = ids[index] ?? 0
    if (answer !== null) learn(series, answer === 'live')
    // A hidden item may be restored; one that no reader can see may be late.
    if (answer !== null) note(state, kind, { id, answer, now }, step)
  }
  markRead(
    series,
    ids.filter((_, index) => answers[index] !== null),
  )
}

function note(
  state: State,
  kind: SeriesName,
  { id, answer, now }: { id: number; answer: Asked; now: number },
  step: StepReads,
): void {
  const series = state[kind]
  series.holes = series.holes.filter(([hole]) => hole !== id)
  if (answer === 'live') return
  const is_patient = state.modlog.is_read && step.isRemoved(kind, id)
  const until = step.hiddenUntil(kind, id)
  const with_id = step.hiddenWith(kind, id)
  const is_hidden = answer === 'hidden'
  series.holes.push(holeOf(series, id, now, { is_hidden, until, is_patient, with_id }))
}

/** Requests the id after the newest: a post of another server may be too old for the pages. */
async function readNext(
  state: State,
  kind: SeriesName,
  step: StepReads,
  now: number,
  which: Series['next'],
): Promise<void> {
  const series = state[kind]
  while (series.next === which && series.last === series.bound && step.left() > 0) {
    const answer = await step.ask(kind, series.bound + 1)
    if (answer === null) return
    if (answer === 'absent') {
      series.next = 'known'
      series.read_until = Math.max(series.read_until, series.listed_at)
      return
    }
    note(state, kind, { id: series.bound + 1, answer, now }, step)
    markRead(series, [series.bound + 1])
  }
}

/** Requests holes again that are due, the longest overdue first, until the step has sent `requests_max`. */
async function retryHoles(
  state: State,
  kinds: readonly SeriesName[],
  step: StepReads,
  now: number,
  urgency: Urgency,
  requests_max: number,
): Promise<void> {
  const due = kinds.flatMap((kind) =>
    dueHoles(state[kind], now, urgency).map((hole) => ({
      kind,
      hole,
      at: dueAt(hole, state[kind]),
    })),
  )
  const count = Math.max(0, Math.min(step.left(), requests_max - step.requests()))
  const oldest = due.toSorted((a, b) => a.at - b.at).slice(0, count)
  // The answer for a post shows that the server works, for which absent comments would need another request.
  for (const { kind, hole } of oldest.toSorted((a, b) => rankOf(a.kind) - rankOf(b.kind))) {
    const series = state[kind]
    if (step.left() === 0 || step.requests() >= requests_max) return
    const [id] = hole
    const answer = await step.ask(kind, id)
    if (answer === null) return
    series.holes = series.holes.filter((it) => it[0] !== id)
    const row = series.rows.find((it) => it[0] === id)
    if (answer === 'live' && (row?.[1].length ?? 0) <= 1) step.publishedIs(kind, id)
    if (urgency === 'proof') learn(series, answer === 'live')
    if (answer === 'absent' && urgency !== 'absent') step.doubts(kind)
    const [, , , , with_id] = hole
    const now_with = step.hiddenWith(kind, id)
    if (with_id !== undefined && !isAuthor(with_id) && answer !== 'absent')
      for (const of of KINDS) settleWith(state[of], with_id, now_with !== with_id, now)
    if (answer === 'live') continue
    const was_read = row !== undefined && row[1] !== ''
    const older = was_read
      ? holeOf(series, id, now, { is_hidden: true, is_patient: true })
      : olderHole(hole, answer, now, series.copy_s)
    if (older !== null) series.holes.push(withOf(older, now_with))
    if (!was_read) continue
    // Its author was banned with all that they wrote, which the log does not name.
    step.goneIs(kind, id)
    row[1] = GONE
  }
}

const rankOf = (kind: SeriesName): number => (kind === 'comment' ? 0 : 1)

/** Has posts read again that left the list since the step before, as they do when they are removed. */
function askVanished(series: Series, step: StepReads, now: number): void {
  const listed = series.rows.filter(([id]) => step.seen.post.has(id))
  // Featured posts stand above the order, so the oldest tenth of the rows says nothing.
  const oldest = listed.map(([, , created]) => created).toSorted((a, b) => a - b)
  const floor = oldest[Math.floor(oldest.length / 10)] ?? Infinity
  const waiting = new Set(series.holes.map(([id]) => id))
  const vanished = series.rows.filter(
    ([id, digest, created]) =>
      id >= series.first && digest.length > 1 && created > floor && !step.seen.post.has(id),
  )
  for (const [id] of vanished.slice(0, VANISHED_MAX))
    if (!waiting.has(id)) series.holes.push(lastOf(id, now))
}

/** Reads removals and restorations since the last time, where the log is public. */
async function readModlog(
  state: State,
  step: StepReads,
  now: number,
  is_first: boolean,
): Promise<void> {
  const { modlog } = state
  if (now - modlog.at < MODLOG_EVERY_MS || step.left() === 0) return
  const actions = await step.modlog()
  if (step.fault() === null) modlog.at = now
  modlog.is_read = actions !== null
  const before = { ...modlog }
  // Oldest first: of the entries of one item the last one holds.
  for (const { id, at, fullname, is_restored } of (actions ?? []).toReversed()) {
    const prefix = PREFIXES.find((it) => fullname.startsWith(it)) ?? 't1'
    if (prefix === 't2') {
      const is_new = at === null ? id > before.t2 : at > before.until
      modlog.t2 = Math.max(modlog.t2, id)
      modlog.until = Math.max(modlog.until, at ?? 0)
      if (!is_first && is_new)
        askAllOf(state, fullname, Math.min(now, at ?? before.at), is_restored === false)
      continue
    }
    const kind = prefix === 't3' ? 'post' : 'comment'
    const series = state[kind]
    const target = Number(fullname.slice(3))
    const is_known = target >= series.first && target <= series.bound
    const is_new = at === null ? id > before[prefix] : at > before.until
    modlog[prefix] = Math.max(modlog[prefix], id)
    modlog.until = Math.max(modlog.until, at ?? 0)
    if (is_first || !is_new || !is_known) continue
    if (is_restored === false) {
      step.goneIs(kind, target)
      continue
    }
    // It is requested at once, and proves nothing later until then.
    series.holes = series.holes.filter((it) => it[0] !== target)
    series.holes.push([target, seconds(Math.min(now, at ?? before.at)), 0, 0])
    settleWith(state.comment, fullname, true, now)
  }
}

const PREFIXES = ['t1', 't2', 't3'] as const

/** Has the items of an author read again: a ban may have removed those that were shown, or its end restored others. */
function askAllOf(state: State, fullname: string, at: number, is_ban: boolean): void {
  const author = Number(fullname.slice(3))
  for (const kind of KINDS) {
    const series = state[kind]
    // Items that are shown stay shown when a ban ends, and hidden ones stay hidden when it begins.
    const rows = series.rows.filter(
      ([id, digest, , of]) => of === author && id >= series.first && digest.length > 1 === is_ban,
    )
    // The ids of removed ones that no list had are known by their author.
    if (!is_ban) settleWith(series, fullname, true, at)
    const asked = new Map(rows.map(([id, digest]) => [id, digest]))
    series.holes = series.holes.filter(([id]) => !asked.has(id))
    for (const [id, digest] of asked)
      series.holes.push(digest === '' ? [id, seconds(at), 0, 0] : lastOf(id, at))
  }
}

function result(
  state: State,
  step: StepReads,
  now: number,
  account_until: number,
  found: Pick<WatchStep, 'behind' | 'skipped' | 'partial'>,
): WatchStep {
  const { post, comment, modlog } = state
  // Items that came while the server did not accept the account may have been hidden from it.
  state.account_at = Math.max(state.account_at, Math.min(now, account_until))
  for (const kind of KINDS) boundHoles(state[kind])
  state.budget.tokens -= step.requests()
  const items = step.items()
  return {
    ...found,
    items,
    arrived: items.filter(({ kind, id }) => Number(id) > state[kind].floor).map(({ name }) => name),
    published: step.published(),
    gone: step.gone(),
    // Voids are no gaps: they are requested again at growing ages.
    unanswered: [],
    answered: step.answered(),
    state: JSON.stringify(state),
    proven: post.last < post.first ? null : { from_id: post.first, to_id: post.last },
    verified_until: Math.min(
      now,
      post.read_until,
      comment.read_until,
      heldAt(post, now),
      heldAt(comment, now),
      ...state.held.map(([, , since, created]) => Math.min(since, created)),
      modlog.is_read && KINDS.some((kind) => hasRemoved(state[kind])) ? modlog.at : Infinity,
      state.account_at,
    ),
    requests: step.requests(),
  }
}
