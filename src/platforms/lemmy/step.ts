import type { Fault } from '../../core/base/result.ts'
import { createTurns } from '../../core/base/turns.ts'
import { type Item, shownDigest } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { hasReadEnough } from '../source.ts'
import { fieldsOf, idAt, textAt } from '../values.ts'
import { type Api, type ApiCall, type ApiPage, PAGE_MAX } from './api.ts'
import { hiddenUntil, hiddenWith, modActionsOf, stateOf, toItem } from './readers.ts'
import { baseOf, type Held, type SeriesName, toKnown } from './series.ts'

type Row = Record<string, unknown>

export type StepReads = ReturnType<typeof createStep>
/** State of an id: `absent` is one that no reader can see, for a reason that the API does not state. */
export type Asked = 'live' | 'hidden' | 'absent'

/** So long a new item waits for a second read of a server that publishes in steps, at least and at most. */
export const HELD_MIN_MS = 3000
export const HELD_MAX_MS = 15_000
/** Requests by which the row of one id is checked, at most: the list of its place, and a search. */
const CHECK_MAX = 2
/** Items that wait at once; the others are given as they are. */
const HELD_ITEMS_MAX = 500
/** Characters of a row besides its text. */
const ROW_LENGTH = 1000
/** Older items were published whole. */
const HELD_YOUNG_MS = 90_000

/**
 * Reads within a number of requests. `wait_ms`: after the first one, no request is sent that has
 * to wait. `held`: items that wait for a second read; null: none has to.
 */
export function createStep(
  api: Api,
  site_url: string,
  bounds: HttpCall,
  requests_max: number,
  {
    held = null,
    now = 0,
    wait_ms = () => 0,
  }: { held?: Map<string, Held> | null; now?: number; wait_ms?: () => number } = {},
) {
  const turn = createTurns()
  const items = new Map<string, Item>()
  const gone = new Set<string>()
  /** Read in this step, by kind and id. */
  const seen = { post: new Set<number>(), comment: new Set<number>() }
  const answered = new Set<number>()
  /** Became public since an earlier request or list. */
  const published = new Set<string>()
  /** Epoch ms before which a hidden one is not shown. */
  const until = new Map<string, number>()
  /** Removed themselves, not with their thread or place. */
  const removed = new Set<string>()
  const withs = new Map<string, string | null>()
  let sent = 0
  let fault: Fault | null = null
  /** Requests that had been sent when an absence was stated that an outage may state too; null: none was, since a witness. */
  let doubted_at: number | null = null
  /** An answer that proves that the server works; `number`: that of its request. */
  const witness = (number: number): void => {
    if (doubted_at !== null && number > doubted_at) doubted_at = null
  }
  const call: ApiCall = {
    ...bounds,
    spend() {
      // A row that was read and not checked says nothing: its check may go beyond the number.
      if (sent >= requests_max + CHECK_MAX || hasReadEnough(call)) return false
      sent += 1
      return true
    },
  }

  function left(): number {
    if (fault !== null || hasReadEnough(call) || (sent > 0 && wait_ms() > 0)) return 0
    return Math.max(0, requests_max - sent)
  }

  /** True for an item that may be delivered: the server has shown it like this before, or for long enough. */
  function isWhole(item: Item): boolean {
    if (held === null) return true
    const digest = shownDigest(item)
    const created = item.created_utc * 1000
    const before = held.get(item.name)
    // A restored database gives an id again: the item that waited under it was another one.
    if (before === undefined || before[3] !== created) {
      held.delete(item.name)
      if (now - created > HELD_YOUNG_MS || held.size >= HELD_ITEMS_MAX) return true
      held.set(item.name, [item.name, digest, now, created, now])
      return false
    }
    const held_ms = now - before[2]
    // Text and link follow a title in seconds: the server looks at the link before.
    const is_bare = item.kind === 'post' && item.text === '' && item.link_url === null
    const agrees = !is_bare && before[1] === digest && held_ms >= HELD_MIN_MS
    if (agrees || held_ms >= HELD_MAX_MS) return held.delete(item.name)
    held.set(item.name, [item.name, digest, before[2], created, now])
    return false
  }

  /** Takes a row that was read; false for one that its readers cannot see. */
  function take(kind: SeriesName, view: Row): boolean {
    const object = fieldsOf(view[kind])
    const id = idAt(object, 'id')
    if (id === null) return false
    const name = nameOf(kind, id)
    answered.add(baseOf(kind) + id)
    const state = stateOf(view)
    if (state !== 'public') {
      items.delete(name)
      held?.delete(name)
      if (state === 'removed' || state === 'deleted') gone.add(name)
      until.set(name, hiddenUntil(view) ?? 0)
      if (object['removed'] === true) removed.add(name)
      withs.set(name, hiddenWith(view, held === null))
      return false
    }
    const item = toItem(view, site_url)
    gone.delete(name)
    if (item !== null && isWhole(item)) items.set(name, item)
    return true
  }

  /** Does the server answer, and fails at this row alone? It is asked for again like one that is late. */
  async function isOfOneRow(of: Fault): Promise<boolean> {
    const is_answered =
      of.kind === 'unreadable' ||
      of.kind === 'rejected' ||
      (of.kind === 'unavailable' && of.status !== null)
    return is_answered && call.spend?.() === true && (await api.absence(call)).ok
  }

  return {
    seen,
    take,
    left,
    requests: () => sent,
    /** Ids that may be requested at once, so that the row of each can be checked; at least one. */
    atOnce: (most: number): number =>
      Math.max(1, Math.min(most, Math.floor(left() / (held === null ? 1 : 1 + CHECK_MAX)))),
    fault: () => fault,
    items: () =>
      [...items.values()].toSorted(
        (a, b) => a.created_utc - b.created_utc || Number(a.id) - Number(b.id),
      ),
    gone: () => [...gone],
    published: () => [...published].filter((name) => items.has(name)),
    publishedIs: (kind: SeriesName, id: number) => void published.add(nameOf(kind, id)),
    answered: () => [...answered],
    hiddenUntil: (kind: SeriesName, id: number): number => until.get(nameOf(kind, id)) ?? 0,
    /** The thread or place with which a hidden item that was read is hidden; null: none. */
    hiddenWith: (kind: SeriesName, id: number): string | null =>
      withs.get(nameOf(kind, id)) ?? null,
    isRemoved: (kind: SeriesName, id: number): boolean => removed.has(nameOf(kind, id)),
    isHeld: (kind: SeriesName, id: number): boolean => held?.has(nameOf(kind, id)) === true,
    release: (kind: SeriesName, id: number) => void held?.delete(nameOf(kind, id)),
    goneIs: (kind: SeriesName, id: number) => void gone.add(nameOf(kind, id)),
    /** A page of the newest; null if it was not read. A cursor that has failed ends the pages only. */
    async page(
      kind: SeriesName,
      params: Record<string, string>,
      after: string | null,
    ): Promise<ApiPage | null> {
      if (fault !== null || sent >= requests_max) return null
      sent += 1
      const paging = { limit: PAGE_MAX, after }
      const number = sent
      const page = await api.list(kind, `/${kind}/list`, params, paging, call)
      if (page.ok) {
        witness(number)
        for (const view of page.value.views) {
          toKnown(view, kind)
          const row = fieldsOf(view[kind])
          await turn((textAt(row, 'body') ?? textAt(row, 'content') ?? '').length + ROW_LENGTH)
        }
        return page.value
      }
      if (after === null || !['rejected', 'not_found'].includes(page.fault.kind)) fault = page.fault
      return null
    },
    /** Requests one id; null if it was not answered. */
    async ask(kind: SeriesName, id: number): Promise<Asked | null> {
      const listed = kind === 'post' ? api.listedPost(id) : null
      if (listed !== null) {
        seen.post.add(id)
        return take(kind, listed) ? 'live' : 'hidden'
      }
      if (fault !== null || sent >= requests_max) return null
      sent += 1
      const number = sent
      const answer = await api.byId(kind, id, call)
      if (!answer.ok) {
        if (await isOfOneRow(answer.fault)) return 'absent'
        fault = answer.fault
        return null
      }
      if (answer.value !== null || !api.isAbsenceDoubtful(kind)) witness(number)
      if (answer.value === null) return 'absent'
      seen[kind].add(id)
      return take(kind, answer.value) ? 'live' : 'hidden'
    },
    /** An absence that decides was stated. */
    doubts(kind: SeriesName): void {
      if (api.isAbsenceDoubtful(kind)) doubted_at = sent
    },
    /** Null once all of them were stated by a server that works; else the fault that shows that it does not. */
    async doubt(): Promise<Fault | null> {
      if (doubted_at === null) return null
      sent += 1
      const works = await api.absence(call)
      return works.ok ? null : works.fault
    },
    /** Entries of the moderation log; null if it was not read. A log that is not public is left. */
    async modlog() {
      if (fault !== null || sent >= requests_max) return null
      sent += 1
      const answer = await api.get('/modlog', { limit: PAGE_MAX, show_bulk: true }, call)
      return answer.ok ? modActionsOf(answer.value) : null
    },
  }
}

const nameOf = (kind: SeriesName, id: number): string => `${kind === 'post' ? 't3' : 't1'}_${id}`
