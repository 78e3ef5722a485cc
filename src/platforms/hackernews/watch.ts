import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Item } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { hasReadEnough, type IdWatch, pollCall, type WatchCall, type WatchStep } from '../source.ts'
import { fieldsOf, idsOf, numberAt, wrongField } from '../values.ts'
import {
  createQueues,
  createTouches,
  isMissing,
  NO_QUEUES,
  type Queues,
  type QueueState,
} from './queues.ts'
import {
  isComment,
  isDelayed,
  isPost,
  livenessOf,
  type NativeItem,
  type Story,
  toComment,
  toPost,
} from './readers.ts'
import type { StoredStories, Stories } from './stories.ts'

export type ItemReader = {
  clock: { now(): number }
  maxItem(call: HttpCall): Promise<Outcome<number>>
  item(id: number, call: HttpCall): Promise<Outcome<NativeItem | null>>
  updates(call: HttpCall): Promise<Outcome<unknown>>
  stories: Pick<Stories, 'above' | 'stored' | 'restore'>
  /** Requests that may be sent within so many ms, and a share of a minute's requests. */
  left(share: number, within_ms: number): number
  requests_per_minute: number
  /** Milliseconds by which the clock of the API is ahead. */
  offset_ms(): number
  copy_ms(): number
}

type State = QueueState & {
  /** Every id up to this one was answered, or waits as pending. */
  last: number
  first: number
  /** The highest id that exists. */
  until: number
  /** Epoch ms of the last requests for the highest id, and for the list of changes. */
  max_at: number
  /** Since when the highest id is answered with a lower one, epoch ms; 0: it is not. */
  lower_since: number
  changed_at: number
  /** Creation of the highest item that was read, epoch ms; 0: none so far. */
  time: number
  /** Epoch ms: no item above `until` had been created then. */
  empty_at: number
  /** So that a start takes one request for each story, and none for what is between it and a comment. */
  known: StoredStories
}

/** The list of changes is a window of the last minute or so, without a cursor. */
const UPDATES_EVERY_MS = 25_000
/** Longer than that, so that every step reads the list, whose entries stay for about half a minute. */
const INTERVAL_MAX_S = 28
/** An answer that names no newer item may be a copy of this age. */
const COPY_MS = 60_000
/** A highest id that is further ahead is believed when an item is there, or just below: there are 25 items a minute. */
const JUMP_MAX = 1000
const JUMP_ITEMS = 4
const AT_ONCE = 8
/** So many ids are read back for monitors that waited for the first step. */
const BEGIN_MAX = 40
/** Parts of a minute's requests that changes, and all others, leave to new items. */
const CHANGES_SPARE = 0.05
const REST_SPARE = 0.1
/** Part of a step's requests for others while more new items wait than can be read. */
const OTHERS_SHARE = 0.2
/** The highest id is requested no more often than this. */
const MAX_EARLIEST_MS = 5000
/** The highest id is requested this often at most when less than 60 %, and 30 %, of a minute's requests are left. */
const MAX_SPARING_MS = 9000
const MAX_SCARCE_MS = 18_000
const MAX_LATEST_MS = 30_000
/** A step waits so long for requests: those of the step a minute before still count at its start. */
const WAIT_MS = 5000
const FULL_WAIT_S = 2
/** A comment whose story cannot be read counts as unread for so long after its creation: its story gives its place. */
const ORPHAN_MS = 10 * 60_000
const DAY_MS = 86_400_000
const SITE_BEGAN_MS = Date.UTC(2006, 9)

/**
 * The watch of all items: ids are dense, so that every id up to `maxitem` has an item, or will.
 * https://github.com/HackerNews/API
 */
export function createIdWatch(reader: ItemReader): IdWatch {
  const { clock } = reader
  const touches = createTouches()
  let is_restored = false

  async function advance(text: string | null, bounds: WatchCall): Promise<Outcome<WatchStep>> {
    const { share = 1, since } = bounds
    const call = pollCall(bounds)
    let begun_at: number | null = null
    const began = clock.now()
    const left = reader.left(share, WAIT_MS)
    if (left === 0)
      return fail({ kind: 'throttled', retry_after_s: FULL_WAIT_S, not_requested: true })
    const step = createStep(reader, call, Math.min(bounds.requests, left))
    let state = toState(text)
    let went_back = false
    let started = began
    let queues = createQueues(state ?? NO_QUEUES, began, touches)
    if (state !== null && !is_restored) reader.stories.restore(state.known)
    is_restored = true

    if (state !== null && began - state.changed_at >= UPDATES_EVERY_MS) {
      step.count()
      const updates = await reader.updates(call)
      const ids = updates.ok ? changedIn(updates.value) : null
      if (ids !== null) {
        const { first, last, until } = state
        queues.listed(ids.filter((id) => id >= first && id <= last))
        const near = ids.filter((id) => id <= until + JUMP_MAX)
        state = { ...state, changed_at: began, until: Math.max(until, ...near) }
      }
    }
    if (state === null || isMaxDue(state, began, left)) {
      step.count()
      const asked_at = clock.now()
      const max = await reader.maxItem(call)
      if (!max.ok) return max
      started = clock.now()
      if (state === null) {
        const start =
          since === undefined
            ? { id: max.value, at: null }
            : await step.startFrom(max.value, since())
        state = { ...startAt(start.id, began), until: max.value }
        begun_at = start.at
      }
      // An answer below a known id is a copy, which proves nothing, unless it stays.
      const lower_since = max.value >= state.until ? 0 : state.lower_since || asked_at
      const is_lower = lower_since !== 0 && asked_at - lower_since >= COPY_MS
      // To walk to an end that is none would pass the items to come.
      const is_forged = max.value > state.until + JUMP_MAX && !(await step.isItem(max.value))
      went_back = is_lower && max.value < state.last
      if (went_back) state = startAt(max.value, began)
      else if (!is_forged && (lower_since === 0 || is_lower)) {
        const copy_ms = Math.max(COPY_MS, reader.copy_ms())
        const empty_at = asked_at - copy_ms + Math.min(0, reader.offset_ms())
        state = { ...state, until: Math.max(max.value, state.last), empty_at, lower_since: 0 }
      } else state = { ...state, lower_since }
      state = { ...state, max_at: asked_at }
    }
    if (went_back) queues = createQueues(NO_QUEUES, began, touches)
    step.begin(state, state.time)

    const changes = queues.changes()
    const rest = queues.rest()
    // While more new items wait than can be read, the others have their part too.
    const is_full = state.until - state.last > step.left()
    const others = changes.length + rest.length
    const kept = is_full ? Math.min(others, Math.ceil(OTHERS_SHARE * step.left())) : 0
    const last = await readNew(state, step, kept)
    const fault = step.fault()
    if (fault !== null && last === state.last && step.answers.size === 0)
      return { ok: false, fault }
    let extra = kept
    const readOthers = async (ids: readonly number[], spare: number): Promise<void> => {
      for (const id of ids) {
        if (step.left() === 0) return
        if (extra <= 0 && reader.left(share, WAIT_MS) <= spare * share * reader.requests_per_minute)
          return
        extra -= 1
        await step.read(id)
      }
    }
    await readOthers(changes, CHANGES_SPARE)
    await readOthers(rest, REST_SPARE)
    const known = reader.stories.stored()
    const report = settle({ ...state, known }, { last, step, queues })
    // What is older than the answer for the highest id is from before the start.
    if (begun_at !== null) return ok({ ...report, verified_from: begun_at })
    if (text === null) return ok({ ...report, verified_until: started })
    return ok(went_back ? { ...report, went_back } : report)
  }

  /** True unless there is enough to read, or most of a minute's requests are used. */
  function isMaxDue({ last, until, max_at }: State, now: number, left: number): boolean {
    if (now - max_at < MAX_EARLIEST_MS) return false
    if (now - max_at >= MAX_LATEST_MS) return true
    if (until - last >= left) return false
    const spare = left / reader.requests_per_minute
    return spare >= 0.6 || now - max_at >= (spare >= 0.3 ? MAX_SPARING_MS : MAX_SCARCE_MS)
  }

  return {
    proof: 'dense',
    relisted_ms: 0,
    // Items come in bursts: the requests of a minute bound a step.
    requests_min: reader.requests_per_minute,
    interval_max_s: INTERVAL_MAX_S,
    advance,
    async reread(range, { share = 1, ...bounds }) {
      const call = pollCall({ ...bounds, share })
      const step = createStep(reader, call, Math.min(bounds.requests, reader.left(share, WAIT_MS)))
      step.begin({ first: range.from_id, last: range.from_id - 1 })
      let last = range.from_id - 1
      while (last < range.to_id && step.left() > 0 && (await step.read(last + 1))) last += 1
      const fault = step.fault()
      if (fault !== null && last < range.from_id) return { ok: false, fault }
      // Those above an unreadable one are requested again with it.
      const from_id = Math.min(last + 1, ...step.unread)
      return ok({
        items: step.items(),
        unanswered: step.unanswered().filter((id) => id < from_id),
        behind: from_id <= range.to_id ? { from_id, to_id: range.to_id } : null,
        requests: step.requests(),
      })
    },
  }
}

async function readNew(state: State, step: Step, kept: number): Promise<number> {
  let { last } = state
  // Each round sends at least one request, or is the last.
  for (let rounds = step.left(); rounds > 0 && last < state.until && step.left() > kept; rounds--) {
    const length = Math.min(AT_ONCE, state.until - last, step.left() - kept)
    const ids = Array.from({ length }, (_, n) => last + 1 + n)
    const answered = await Promise.all(ids.map((id) => step.read(id)))
    const stop = answered.indexOf(false)
    last += stop === -1 ? ids.length : stop
    if (stop !== -1) break
  }
  return last
}

/** The step's report, and the state after it. */
function settle(
  state: State,
  { last, step, queues }: { last: number; step: Step; queues: Queues },
): WatchStep {
  const { first, until } = state
  // Ids are in the order of creation: one without an item is no older than the item below it.
  const timeBelow = (id: number): number => step.timeBelow(id, state.last) ?? state.time
  const time = timeBelow(last + 1)
  const { skipped, unanswered, changes, ...kept } = queues.settle(step.answers, {
    unread: step.unread,
    isNew: (id) => id > state.last,
    first,
    timeBelow,
  })
  const next: State = { ...state, ...kept, last, time }
  const head = last < until ? time - 1 : Math.max(time - 1, state.empty_at)
  return {
    items: step.items(),
    gone: step.gone(),
    state: JSON.stringify(next),
    proven: last < first ? null : { from_id: first, to_id: last },
    behind: last < until ? { from_id: last + 1, to_id: until } : null,
    skipped: skipped.map((id) => ({ from_id: id, to_id: id })),
    changes,
    unanswered,
    answered: step.answered(),
    verified_until: Math.min(head, ...next.pending.map(([, , , after]) => after - 1)),
    partial: null,
    requests: step.requests(),
  }
}

type Step = ReturnType<typeof createStep>

const startAt = (max: number, now: number): State => ({
  ...NO_QUEUES,
  last: max,
  first: max + 1,
  until: max,
  max_at: now,
  lower_since: 0,
  changed_at: now,
  time: now - COPY_MS,
  empty_at: now - COPY_MS,
  known: { roots: [] },
})

const createdAt = (item: NativeItem | null): number =>
  (numberAt(item?.row ?? {}, 'time') ?? 0) * 1000

const isUnreadable = (outcome: Outcome<unknown>): boolean =>
  !outcome.ok && outcome.fault.kind === 'unreadable'

const isShown = (item: NativeItem | null): boolean =>
  !isMissing(item) && livenessOf(item) === 'live'

function createStep(reader: ItemReader, call: HttpCall, requests_max: number) {
  const answers = new Map<number, NativeItem | null>()
  /** Ids whose answer cannot be read, or has an item that cannot be shown: it proves nothing. */
  const unread = new Set<number>()
  const items = new Map<number, Item>()
  const gone: string[] = []
  const requested = new Map<number, Promise<Outcome<NativeItem | null>>>()
  let first = Infinity
  let last = Infinity
  /** Creation of the item `last`, epoch ms. */
  let newest = 0
  let sent = 0
  let fault: Fault | null = null

  const source_now = (): number => reader.clock.now() + reader.offset_ms()

  /** Epoch ms; an item of the future says nothing of the present. */
  const timeOf = (id: number): number =>
    Math.min(Math.max(0, createdAt(answers.get(id) ?? null)), source_now())

  return {
    /** Items above a comment are part of the watch from the first id on. */
    begin: (state: Pick<State, 'first' | 'last'>, time = 0) =>
      void ({ first, last, time: newest } = { ...state, time }),
    left: () => (fault === null && !hasReadEnough(call) ? Math.max(0, requests_max - sent) : 0),
    requests: () => sent,
    fault: () => fault,
    answers,
    unread,
    count: () => void sent++,
    items: () => [...items.values()].toSorted((a, b) => Number(a.id) - Number(b.id)),
    gone: () => gone,
    /** Ids that have an item which readers see. */
    answered: () => [...answers].flatMap(([id, item]) => (isShown(item) ? [id] : [])),
    unanswered: () => [...answers].flatMap(([id, item]) => (isShown(item) ? [] : [id])),
    /**
     * A time that is no later than the creation of an item `id`: that of the next lower item above `floor` that was
     * read, or of a higher one, if the order of creation is another there. Null: none was read.
     */
    timeBelow(id: number, floor: number): number | null {
      const read = [...answers.keys()].filter((it) => it > floor && timeOf(it) > 0)
      const below = Math.max(...read.filter((it) => it < id))
      return Number.isFinite(below)
        ? Math.min(...read.filter((it) => it >= below).map(timeOf))
        : null
    },
    /**
     * The highest id of an item that was created before `since` (epoch ms), from `max` downwards, and `since` where one was
     * found; null: not within some ids.
     */
    async startFrom(max: number, since: number): Promise<{ id: number; at: number | null }> {
      let lowest = max + 1
      for (let id = max; id > 0 && max - id < BEGIN_MAX && lowest - id <= JUMP_ITEMS; id--) {
        const outcome = sent < requests_max ? await request(id) : null
        if (outcome?.ok !== true) break
        const created_s = numberAt(outcome.value?.row ?? {}, 'time')
        if (created_s !== null && created_s * 1000 < since) return { id, at: since }
        if (created_s !== null) lowest = id
      }
      return { id: lowest - 1, at: null }
    },
    /** True if there is an item under the id, or just below. */
    async isItem(id: number): Promise<boolean> {
      for (let n = 0; n < JUMP_ITEMS && requests_max > sent; n++) {
        const outcome = await request(id - n)
        if (!outcome.ok || outcome.value !== null) return outcome.ok
      }
      return false
    },
    /** True if the id was answered, if only by `null` or by something unreadable. */
    async read(id: number): Promise<boolean> {
      if (answers.has(id) || unread.has(id)) return true
      if (requests_max - sent <= 0 || fault !== null) return false
      const outcome = await request(id)
      if (isUnreadable(outcome)) {
        unread.add(id)
        return true
      }
      const done = outcome.ok ? await take(id, outcome.value) : outcome
      if (!done.ok) fault = done.fault
      return done.ok
    },
  }

  function request(id: number): Promise<Outcome<NativeItem | null>> {
    const known = requested.get(id)
    if (known !== undefined) return known
    sent += 1
    const outcome = reader.item(id, call)
    requested.set(id, outcome)
    return outcome
  }

  /** Takes an item with those above it that had to be read: they may have changed since they were read before. */
  async function take(id: number, item: NativeItem | null): Promise<Outcome<null>> {
    const above: [number, NativeItem | null][] = []
    let story: Story | null = null
    if (item !== null && isComment(item) && livenessOf(item) === 'live' && !isDelayed(item)) {
      const found = await reader.stories.above(item, async (parent) => {
        const outcome = await request(parent)
        if (outcome.ok && parent >= first) above.push([parent, outcome.value])
        return isUnreadable(outcome) ? ok(null) : outcome
      })
      if (!found.ok) return found
      const is_orphan = !found.value.is_known && source_now() - createdAt(item) < ORPHAN_MS
      story = is_orphan ? null : found.value.story
    }
    for (const [at, native] of [[id, item] as const, ...above]) {
      if (answers.has(at)) continue
      if (put(at, native, story)) answers.set(at, native)
      else unread.add(at)
    }
    return ok(null)
  }

  /** False for an item that cannot be shown as it is. */
  function put(id: number, item: NativeItem | null, story: Story | null): boolean {
    if (item === null) return true
    if (item.id !== id) return false
    const state = livenessOf(item)
    if (state !== 'live') gone.push(`${isComment(item) ? 't1' : 't3'}_${id}`)
    else if (isDelayed(item)) return true
    else if (isPost(item)) items.set(id, { kind: 'post', ...toPost(item) })
    else if (isComment(item)) {
      if (story === null) return false
      items.set(id, { kind: 'comment', ...toComment(item, story) })
    }
    // The fence counts and leaves out what is wrong.
    const shown = items.get(id)
    if (shown === undefined) return true
    // Ids are in the order of creation: a new one is not that old, and none is older than the site.
    const created_at = shown.created_utc * 1000
    if (created_at < SITE_BEGAN_MS || (id > last && created_at < newest - DAY_MS)) return false
    return wrongField(shown, reader.clock.now()) === null
  }
}

/** Ids of changed items, as the API lists those of the last minute; null: the answer is no list. */
function changedIn(value: unknown): number[] | null {
  const { items } = fieldsOf(value)
  return Array.isArray(items) ? idsOf(items) : null
}

function toState(text: string | null): State | null {
  if (text === null) return null
  const state: State = JSON.parse(text)
  return state
}
