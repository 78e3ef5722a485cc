import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { autoRetryDelay, callApi, type Failure } from '../../../lib/api.ts'
import { runAfter } from '../../../lib/runtime.ts'
import { createRows, type Rows } from './rows.ts'
import type { Match, MatchPage } from './types.ts'

/** Matches of a page, and the most that one call returns by id. */
const PAGE = 100
const BY_ID_MAX = 100
/** Rows beyond the view that are loaded ahead. */
const AHEAD = 60
/** Pages without a row after which the page waits for its reader; a rare text examines much and finds little. */
const EMPTY_PAGES_MAX = 20

/** The loaded matches of a list, and its loading. */
export type MatchList = {
  rows: Rows
  /** Changes with every change of the rows. */
  version: number
  /** Renders the rows after a change. */
  changed: () => void
  loading: boolean
  /** A search found nothing in many pages and waits; `more` goes on. */
  paused: string | null
  more: () => void
  failure: Failure | null
  /** Loads the list again from its start. */
  reload: () => void
  /** Says which positions are in view, so that they and those around are loaded. */
  view: (from: number, to: number) => void
  /** Loads matches by id; erased or aged ones may be absent. */
  byId: (ids: readonly string[]) => Promise<Match[]>
}

/** Loads the matches of a query as they come into view. `base`: path of the inbox. */
export function useMatches(base: string, query: string): MatchList {
  const [generation, setGeneration] = useState(0)
  const [version, setVersion] = useState(0)
  const [status, setStatus] = useState<{
    loading: boolean
    paused: string | null
    failure: Failure | null
  }>({ loading: true, paused: null, failure: null })
  const rows = useMemo(() => createRows(), [base, query, generation])
  const wanted = useRef({ from: 0, to: PAGE })
  const filling = useRef(new Set<string>())
  const busy = useRef<Rows | null>(null)
  const cancelRetry = useRef(() => {})
  const changed = useCallback(() => setVersion((it) => it + 1), [])

  const byId = useCallback(
    async (ids: readonly string[]): Promise<Match[]> => {
      const found: Match[] = []
      for (let at = 0; at < ids.length; at += BY_ID_MAX) {
        const some = ids
          .slice(at, at + BY_ID_MAX)
          .map(encodeURIComponent)
          .join(',')
        const answer = await callApi<MatchPage>(`${base}?ids=${some}&limit=${BY_ID_MAX}`, {
          cached: false,
        })
        if (answer.ok) found.push(...answer.value.items)
      }
      return found
    },
    [base],
  )

  /** Loads pages until the view is covered or the list ends. */
  const load = useCallback(async () => {
    if (busy.current === rows) return
    busy.current = rows
    let empty = 0
    const short = () => rows.size() < wanted.current.to + AHEAD && !rows.next().ended
    if (short()) setStatus({ loading: true, paused: null, failure: null })
    while (short()) {
      const { cursor } = rows.next()
      const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const answer = await callApi<MatchPage>(`${base}?${query}&limit=${PAGE}${after}`, {
        cached: false,
      })
      if (busy.current !== rows) return
      if (!answer.ok) {
        busy.current = null
        setStatus({ loading: false, paused: null, failure: answer.failure })
        const wait_ms = autoRetryDelay(answer.failure)
        if (wait_ms !== null) cancelRetry.current = runAfter(wait_ms, () => void load())
        return
      }
      rows.append(answer.value)
      rows.trim(wanted.current.from, wanted.current.to)
      changed()
      empty = answer.value.items.length === 0 ? empty + 1 : 0
      if (empty < EMPTY_PAGES_MAX) continue
      busy.current = null
      setStatus({ loading: false, paused: answer.value.examined_until, failure: null })
      return
    }
    busy.current = null
    setStatus({ loading: false, paused: null, failure: null })
  }, [base, query, rows, changed])

  /** Loads dropped matches again that came back into view. */
  const fill = useCallback(
    async (from: number, to: number) => {
      const ids = rows
        .missing(Math.max(0, from - AHEAD / 2), to + AHEAD / 2)
        .filter((id) => !filling.current.has(id))
      if (ids.length === 0) return
      for (const id of ids) filling.current.add(id)
      rows.replace(await byId(ids))
      for (const id of ids) filling.current.delete(id)
      rows.trim(wanted.current.from, wanted.current.to)
      changed()
    },
    [rows, byId, changed],
  )

  useEffect(() => {
    wanted.current = { from: 0, to: PAGE - AHEAD }
    setStatus({ loading: true, paused: null, failure: null })
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
      void fill(from, to)
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
    byId,
  }
}
