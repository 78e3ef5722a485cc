import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { autoRetryDelay, callApi, type Failure } from '../../../lib/api.ts'
import { runAfter } from '../../../lib/runtime.ts'
import { createRows, type Rows } from './rows.ts'
import type { Match, MatchPage } from './types.ts'

const PAGE = 100
const IDS_PAGE = 5000
const AHEAD = 40
const BEHIND = 20
/** Scrolling pauses for this time before matches are loaded: those that fly by are not. */
const SETTLE_MS = 60
const RETRY_MS = 2000
/** Pages without a row after which the page waits for its reader; a rare text examines much and finds little. */
const EMPTY_PAGES_MAX = 20

export type MatchList = {
  rows: Rows
  /** Changes with every change of the rows. */
  version: number
  changed: () => void
  loading: boolean
  /** A search found nothing in many pages and waits; `more` goes on. */
  paused: string | null
  more: () => void
  failure: Failure | null
  reload: () => void
  /** Says which positions are in view, so that they and those around are loaded. */
  view: (from: number, to: number) => void
  /** Ids of the loaded matches in view, and a few around it. */
  inView: () => string[]
  /** Loads matches by id; erased or aged ones may be absent. */
  byId: (ids: readonly string[]) => Promise<Match[]>
}

type Status = { loading: boolean; paused: string | null; failure: Failure | null }

const LOADING: Status = { loading: true, paused: null, failure: null }
const IDLE: Status = { loading: false, paused: null, failure: null }

/**
 * Loads the matches of a query as they come into view: the first page with its matches, then ids far ahead, and the
 * matches of those in view. A search has pages of matches alone. `base`: path of the inbox.
 */
export function useMatches(base: string, query: string, is_search: boolean): MatchList {
  const [generation, setGeneration] = useState(0)
  const [version, setVersion] = useState(0)
  const [status, setStatus] = useState(LOADING)
  const rows = useMemo(() => createRows(), [base, query, generation])
  const wanted = useRef({ from: 0, to: PAGE })
  const busy = useRef<Rows | null>(null)
  const cancelRetry = useRef(() => {})
  const changed = useCallback(() => setVersion((it) => it + 1), [])
  const { byId, fill } = useFilling(base, rows, wanted, changed)

  const loadPage = useCallback(async () => {
    const { cursor } = rows.next()
    const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    if (cursor === null || is_search) {
      const path = `${base}?${query}&limit=${PAGE}${after}`
      const answer = await callApi<MatchPage>(path, { cached: false })
      if (!answer.ok) return answer
      const { value } = answer
      return { ...answer, add: () => rows.append(value) }
    }
    const path = `${base}/ids?${query}&limit=${IDS_PAGE}${after}`
    const answer = await callApi<{ ids: string[]; next_cursor: string | null }>(path, {
      cached: false,
    })
    if (!answer.ok) return answer
    const { value } = answer
    return { ...answer, add: () => rows.appendIds(value) }
  }, [base, query, is_search, rows])

  /** Loads pages until the view is covered or the list ends. */
  const load = useCallback(async () => {
    if (busy.current === rows) return
    busy.current = rows
    let empty = 0
    const short = () => rows.size() < wanted.current.to + AHEAD && !rows.next().ended
    if (short()) setStatus(LOADING)
    while (short()) {
      const size = rows.size()
      const answer = await loadPage()
      // The list of another query has taken its place.
      if (busy.current !== rows) return
      if (!answer.ok) {
        busy.current = null
        setStatus({ ...IDLE, failure: answer.failure })
        const wait_ms = autoRetryDelay(answer.failure)
        if (wait_ms !== null) cancelRetry.current = runAfter(wait_ms, () => void load())
        return
      }
      answer.add()
      rows.trim(wanted.current.from, wanted.current.to)
      changed()
      empty = rows.size() === size ? empty + 1 : 0
      if (empty < EMPTY_PAGES_MAX) continue
      busy.current = null
      const until = 'examined_until' in answer.value ? answer.value.examined_until : null
      setStatus({ ...IDLE, paused: until })
      return
    }
    busy.current = null
    setStatus((it) => (it === LOADING || it.failure !== null ? IDLE : it))
    fill()
  }, [loadPage, rows, changed, fill])

  useEffect(() => {
    wanted.current = { from: 0, to: PAGE - AHEAD }
    setStatus(LOADING)
    void load()
    return () => {
      busy.current = null
      cancelRetry.current()
    }
  }, [load])

  const view = useCallback(
    (from: number, to: number) => {
      wanted.current = { from, to }
      void load()
      fill()
    },
    [load, fill],
  )

  return {
    rows,
    version,
    changed,
    ...status,
    more: () => void load(),
    reload: () => setGeneration((it) => it + 1),
    view,
    inView: () =>
      rows
        .ids()
        .slice(Math.max(0, wanted.current.from - BEHIND), wanted.current.to + BEHIND)
        .filter((id) => rows.get(id) !== undefined),
    byId,
  }
}

type NamedView = { readonly current: { from: number; to: number } }

/** Loads matches by id: those in view whose ids alone are known, in blocks. */
function useFilling(base: string, rows: Rows, wanted: NamedView, changed: () => void) {
  const asked = useRef(new Set<string>())
  const cancel = useRef(() => {})

  const ask = useCallback(
    async (ids: readonly string[]): Promise<Match[] | null> => {
      const found: Match[] = []
      for (let at = 0; at < ids.length; at += PAGE) {
        const some = ids
          .slice(at, at + PAGE)
          .map(encodeURIComponent)
          .join(',')
        let after: string | null = ''
        // A page of large matches ends early.
        while (after !== null) {
          const path: string = `${base}?ids=${some}&limit=${PAGE}${after}`
          const answer = await callApi<MatchPage>(path, { cached: false })
          if (!answer.ok) return null
          found.push(...answer.value.items)
          const { next_cursor } = answer.value
          after = next_cursor === null ? null : `&cursor=${encodeURIComponent(next_cursor)}`
        }
      }
      return found
    },
    [base],
  )

  const fillNow = useCallback(async () => {
    const { from, to } = wanted.current
    const first = Math.max(0, Math.floor((from - BEHIND) / PAGE) * PAGE)
    const last = Math.ceil((to + AHEAD) / PAGE) * PAGE
    const ids = rows.missing(first, last).filter((id) => !asked.current.has(id))
    if (ids.length === 0) return
    for (const id of ids) asked.current.add(id)
    const found = await ask(ids)
    for (const id of ids) asked.current.delete(id)
    if (found === null) {
      cancel.current = runAfter(RETRY_MS, () => void fillNow())
      return
    }
    const there = new Set(found.map(({ id }) => id))
    rows.replace(found)
    // An id without an answer is past its retention.
    rows.remove(new Set(ids.filter((id) => !there.has(id))))
    rows.trim(wanted.current.from, wanted.current.to)
    changed()
  }, [rows, ask, changed])

  const fill = useCallback(() => {
    cancel.current()
    cancel.current = runAfter(SETTLE_MS, () => void fillNow())
  }, [fillNow])
  useEffect(() => () => cancel.current(), [fillNow])

  const byId = useCallback(async (ids: readonly string[]) => (await ask(ids)) ?? [], [ask])
  return { byId, fill }
}
