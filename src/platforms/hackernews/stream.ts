import { ok, type Outcome } from '../../core/base/result.ts'
import type { Item } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { fieldsOf, numberAt } from '../items.ts'
import type { ItemStream, StreamCall, StreamStep } from '../source.ts'
import {
  isComment,
  isDelayed,
  isPost,
  livenessOf,
  type NativeItem,
  type Story,
  toComment,
  toItem,
  toPost,
} from './readers.ts'

/** Story of a comment. */
export type FoundStory = { story: Story; requests: number }

/** Requests of the stream to the API. */
export type ItemReader = {
  clock: { now(): number }
  maxItem(call: HttpCall): Promise<Outcome<number>>
  item(id: number, call: HttpCall): Promise<Outcome<unknown>>
  updates(call: HttpCall): Promise<Outcome<unknown>>
  /** The story above a comment, and the requests that it took. */
  storyAbove(item: NativeItem, call: HttpCall): Promise<Outcome<FoundStory>>
}

/** An id that is answered with `null`, or whose text is delayed: requested again until `patience`. */
type Pending = { id: number; since: number; due_at: number }
type State = {
  /** Every id up to this one was answered, or waits in `pending`. */
  last: number
  first: number
  pending: Pending[]
  /** Dead items, which may come back: requested again for a day. */
  dead: Pending[]
  /** Changed items that were not read again yet. */
  changed: number[]
  changed_at: number
  /** Epoch ms: everything created before was read, but for pending ids. */
  read_until: number
}

/** An id without an item after this time is reported as unanswered. */
const PATIENCE_MS = 30 * 60_000
const DEAD_MS = 24 * 3_600_000
const RETRY_FIRST_MS = 5_000
const RETRY_MAX_MS = 5 * 60_000
const DEAD_EVERY_MS = 3_600_000
const UPDATES_EVERY_MS = 30_000
const AT_ONCE = 8
const DEAD_MAX = 500
const CHANGED_MAX = 500
/** A step that has this many requests left still reads what was changed. */
const UPDATES_MIN = 5

/**
 * The stream of all items: ids are dense, so that every id up to `maxitem` has an item, or will.
 * https://github.com/HackerNews/API
 */
export function createStream(reader: ItemReader): ItemStream {
  const { clock } = reader

  async function advance(text: string | null, bounds: StreamCall): Promise<Outcome<StreamStep>> {
    const call = { deadline_at: bounds.deadline_at, signal: bounds.signal }
    const began = clock.now()
    const max = await reader.maxItem(call)
    if (!max.ok) return max
    const state = read(text) ?? {
      last: max.value,
      first: max.value + 1,
      pending: [],
      dead: [],
      changed: [],
      changed_at: 0,
      read_until: began,
    }
    const step = createStep(reader, call, bounds.requests - 1)
    const until = Math.max(state.last, max.value)

    for (const again of [...state.pending, ...state.dead]) {
      if (again.due_at <= began) await step.read(again.id)
    }
    // The list is a window of the last minutes, which a step that catches up would see pass.
    let { changed_at } = state
    const changed = new Set(state.changed)
    if (step.left() >= UPDATES_MIN && began - changed_at >= UPDATES_EVERY_MS) {
      const updates = await reader.updates(call)
      step.count()
      if (updates.ok) {
        changed_at = began
        for (const id of changedIn(updates.value))
          if (id >= state.first && id <= state.last) changed.add(id)
      }
    }
    let last = state.last
    while (last < until && step.left() > 0) {
      const ids = Array.from(
        { length: Math.min(AT_ONCE, until - last, step.left()) },
        (_, n) => last + 1 + n,
      )
      const answered = await Promise.all(ids.map((id) => step.read(id)))
      const stop = answered.indexOf(false)
      last += stop === -1 ? ids.length : stop
      if (stop !== -1) break
    }
    if (step.fault() !== null && last === state.last && step.requests() <= 1)
      return { ok: false, fault: step.fault() ?? { kind: 'timeout' } }

    for (const id of changed) if (step.left() > 0) await step.read(id)
    const { pending, dead, unanswered } = settle(state, step, began)
    const read_until = last === until ? began : Math.max(state.read_until, step.createdAt(last))
    const unread = [...changed].filter((id) => !step.answers.has(id)).slice(-CHANGED_MAX)
    const { first } = state
    const next: State = { last, first, pending, dead, changed: unread, changed_at, read_until }
    return ok({
      items: step.items(),
      gone: step.gone(),
      state: JSON.stringify(next),
      proven: last < state.first ? null : { from_id: state.first, to_id: last },
      behind: last < until ? { from_id: last + 1, to_id: until } : null,
      skipped: [],
      unanswered,
      answered: step.answered(),
      verified_until: Math.min(read_until, ...pending.map(({ since }) => since)),
      partial: null,
      requests: step.requests() + 1,
    })
  }

  return {
    proof: 'dense',
    relisted_ms: 0,
    advance,
    async reread(range, bounds) {
      const step = createStep(
        reader,
        { deadline_at: bounds.deadline_at, signal: bounds.signal },
        bounds.requests,
      )
      let last = range.from_id - 1
      while (last < range.to_id && step.left() > 0 && (await step.read(last + 1))) last += 1
      const fault = step.fault()
      if (fault !== null && last < range.from_id) return { ok: false, fault }
      return ok({
        items: step.items(),
        unanswered: step.unanswered(),
        behind: last < range.to_id ? { from_id: last + 1, to_id: range.to_id } : null,
        requests: step.requests(),
      })
    },
  }
}

type Answer = NativeItem | null
type Step = ReturnType<typeof createStep>

/** True for an id without an item so far, or with one whose text is to come. */
const isMissing = (item: Answer): boolean => item === null || isDelayed(item)

/** Reads items within a number of requests. */
function createStep(reader: ItemReader, call: HttpCall, requests_max: number) {
  const answers = new Map<number, Answer>()
  const items: Item[] = []
  const gone: string[] = []
  let sent = 0
  let fault: (Outcome<never> & { ok: false })['fault'] | null = null

  return {
    left: () => (fault === null ? Math.max(0, requests_max - sent) : 0),
    requests: () => sent,
    fault: () => fault,
    answers,
    count: () => void sent++,
    items: () => items.toSorted((a, b) => Number(a.id) - Number(b.id)),
    gone: () => gone,
    answered: () => [...answers].flatMap(([id, item]) => (isMissing(item) ? [] : [id])),
    unanswered: () => [...answers].flatMap(([id, item]) => (isMissing(item) ? [id] : [])),
    /** Creation of an item that was read, epoch ms; 0 if it states none. */
    createdAt: (id: number): number => (numberAt(answers.get(id)?.row ?? {}, 'time') ?? 0) * 1000,
    /** True if the id was answered, if only by `null`. */
    async read(id: number): Promise<boolean> {
      if (answers.has(id)) return true
      if (requests_max - sent <= 0 || fault !== null) return false
      sent += 1
      const outcome = await reader.item(id, call)
      if (!outcome.ok) {
        fault = outcome.fault
        return false
      }
      const item = toItem(outcome.value)
      if (item !== null && livenessOf(item) === 'live' && !isDelayed(item)) {
        const found = await toMonitored(item)
        if (!found.ok) {
          fault = found.fault
          return false
        }
        if (found.value !== null) items.push(found.value)
      } else if (item !== null && livenessOf(item) !== 'live')
        gone.push(`${isComment(item) ? 't1' : 't3'}_${id}`)
      answers.set(id, item)
      return true
    },
  }

  async function toMonitored(item: NativeItem): Promise<Outcome<Item | null>> {
    if (isPost(item)) return ok({ kind: 'post', ...toPost(item) })
    if (!isComment(item)) return ok(null)
    const found = await reader.storyAbove(item, call)
    if (!found.ok) return found
    sent += found.value.requests
    return ok({ kind: 'comment', ...toComment(item, found.value.story) })
  }
}

/** Ids that wait for another request after a step, and those that have waited for too long. */
function settle(state: State, step: Step, now: number) {
  const known = new Map([...state.pending, ...state.dead].map((it) => [it.id, it]))
  const pending = new Map(state.pending.map((it) => [it.id, it]))
  const dead = new Map(state.dead.map((it) => [it.id, it]))
  const unanswered: number[] = []
  for (const [id, item] of step.answers) {
    const since = known.get(id)?.since ?? now
    const age = now - since
    pending.delete(id)
    dead.delete(id)
    if (isMissing(item)) {
      if (age >= PATIENCE_MS) unanswered.push(id)
      else {
        const wait = Math.min(RETRY_MAX_MS, Math.max(RETRY_FIRST_MS, age))
        pending.set(id, { id, since, due_at: now + wait })
      }
    } else if (item !== null && livenessOf(item) === 'removed' && age < DEAD_MS)
      dead.set(id, { id, since, due_at: now + DEAD_EVERY_MS })
  }
  return {
    pending: [...pending.values()],
    dead: [...dead.values()].slice(-DEAD_MAX),
    unanswered,
  }
}

/** Ids of changed items, as the API lists those of the last minutes. */
function changedIn(value: unknown): number[] {
  const { items } = fieldsOf(value)
  return Array.isArray(items) ? items.filter((it) => typeof it === 'number') : []
}

function read(text: string | null): State | null {
  if (text === null) return null
  const state: State = JSON.parse(text)
  return state
}
