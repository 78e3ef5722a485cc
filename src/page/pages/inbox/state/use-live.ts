import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

import { useLive } from '../../../hooks/contexts.ts'
import { callApi } from '../../../lib/api.ts'
import { runAfter, runEvery } from '../../../lib/runtime.ts'
import type { Match, MatchPage, TabCounts } from './types.ts'
import type { MatchList } from './use-matches.ts'

/** New matches that are counted; more are shown as this number and a plus. */
export const FRESH_MAX = 100
const SETTLE_MS = 300
/** Erasures and further monitors of a match are not announced, so the rows in view are read again. */
const REFRESH_MS = 60_000

type Options = {
  base: string
  /** Query of the list without its page, and of the counts. */
  query: string
  count_query: string
  list: MatchList
  /** Number of own actions without an answer yet: the rows are ahead of the server then. */
  pending: { readonly current: number }
}

/** Follows the inbox by the event stream of the dashboard: counts, rows in view, and new matches without moving the list. */
export function useLiveInbox({ base, query, count_query, list, pending }: Options) {
  const { item, action } = useLive().snapshot?.inbox ?? {}
  const [counts, setCounts] = useState<TabCounts>()
  const [fresh, setFresh] = useState<readonly Match[]>([])
  const cancelRecount = useRef(() => {})
  const latest = useRef({ query, count_query, list })
  latest.current = { query, count_query, list }

  const recount = useCallback(() => {
    cancelRecount.current()
    cancelRecount.current = runAfter(SETTLE_MS, () => {
      const asked = latest.current.count_query
      void callApi<TabCounts>(`${base}/counts?${asked}`, { cached: false }).then((answer) => {
        if (answer.ok && asked === latest.current.count_query) setCounts(answer.value)
      })
    })
  }, [base])

  /** Reads the first page again for matches that are not in the list. */
  async function lookForFresh() {
    const { rows, changed } = list
    const answer = await callApi<MatchPage>(`${base}?${query}&limit=${FRESH_MAX}`, {
      cached: false,
    })
    if (!answer.ok || latest.current.list.rows !== rows) return
    const found = answer.value.items.filter(
      ({ id, matched_at }) => !rows.has(id) && !rows.wasRemoved(id) && matched_at >= rows.newest(),
    )
    // An empty list has nothing that could move.
    if (rows.size() === 0) rows.prepend(found)
    else setFresh(found)
    changed()
  }

  async function refresh() {
    const { rows, inView, byId, changed } = latest.current.list
    const found = await byId(inView())
    if (pending.current > 0) return
    rows.replace(found)
    changed()
  }

  useEffect(() => setFresh([]), [list.rows])
  useEffect(() => {
    setCounts(undefined)
    recount()
    return () => cancelRecount.current()
  }, [count_query, recount])
  /** The newest item when the list was begun. */
  const begun = useRef({ rows: list.rows, item })
  if (begun.current.rows !== list.rows) begun.current = { rows: list.rows, item }
  const is_ready = !list.loading || list.rows.size() > 0
  useEffect(() => {
    if (!is_ready || item === begun.current.item) return
    begun.current.item = item
    recount()
    void lookForFresh()
  }, [list.rows, is_ready, item])
  useEffect(() => {
    recount()
    void refresh()
  }, [action])
  useEffect(() => runEvery(REFRESH_MS, () => void refresh()), [])

  return {
    counts,
    /** Matches that arrived since the list was loaded, newest first. */
    fresh,
    showFresh() {
      if (fresh.length >= FRESH_MAX) return list.reload()
      list.rows.prepend(fresh)
      setFresh([])
      list.changed()
    },
    recount,
  }
}
