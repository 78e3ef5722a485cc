import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

import { callApi } from '../../../lib/api.ts'
import { addListener, runAfter } from '../../../lib/runtime.ts'
import type { InboxEvent, Match, MatchPage, TabCounts } from './types.ts'
import type { MatchList } from './use-matches.ts'

/** New matches that are counted; more are shown as this number and a plus. */
export const FRESH_MAX = 100
/** Rows that one event refreshes; beyond, all rows in memory near the view are. */
const REFRESHED_MAX = 300
const SETTLE_MS = 300

/** Numbers of the tabs, and new matches that wait above the list. */
export type LiveInbox = {
  counts: TabCounts | undefined
  /** Matches that arrived since the list was loaded, newest first. */
  fresh: readonly Match[]
  /** Puts them above the list. */
  showFresh: () => void
  /** Updates the counts after an action of this page; `labels`: those in use may have changed. */
  recount: (labels?: boolean) => void
}

type Options = {
  base: string
  /** Query of the list without its page, and of the counts. */
  query: string
  count_query: string
  list: MatchList
  /** Ids that this page took out of the list. */
  taken: ReadonlySet<string>
}

/** Follows the inbox: counts, changed rows in place, and new matches without moving the list. */
export function useLiveInbox({ base, query, count_query, list, taken }: Options): LiveInbox {
  const [counts, setCounts] = useState<TabCounts>()
  const [fresh, setFresh] = useState<readonly Match[]>([])
  const arrived = useRef(new Set<string>())
  const cancelRecount = useRef(() => {})
  const is_open = useRef(false)
  // The handler of the stream reads the latest values, so that the stream is opened once.
  const latest = useRef({ base, query, count_query, list, taken })
  latest.current = { base, query, count_query, list, taken }

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
    const { query: asked, list: into } = latest.current
    if (into.loading && into.rows.size() === 0) return
    const answer = await callApi<MatchPage>(`${base}?${asked}&limit=${FRESH_MAX}`, {
      cached: false,
    })
    if (!answer.ok || latest.current.list.rows !== into.rows) return
    const { rows } = into
    const newest = rows.at(0)?.matched_at ?? ''
    // The stream may have been away for a while: what is newer than the list has arrived too.
    const found = answer.value.items.filter(
      ({ id, matched_at }) =>
        (arrived.current.has(id) || (newest !== '' && matched_at > newest)) &&
        !rows.has(id) &&
        !latest.current.taken.has(id),
    )
    rows.replace(answer.value.items)
    // An empty list has nothing that could move.
    if (rows.size() === 0) {
      rows.prepend(found)
      arrived.current.clear()
    } else setFresh(found)
    into.changed()
  }

  async function refresh(ids: readonly string[]) {
    const { list: of } = latest.current
    const shown = ids.filter((id) => of.rows.has(id)).slice(0, REFRESHED_MAX)
    if (shown.length === 0) return
    of.rows.replace(await of.byId(shown))
    of.changed()
  }

  function take(event: InboxEvent) {
    const { list: of, count_query: narrowed } = latest.current
    if (narrowed === '')
      setCounts((it) => ({ ...(it?.labels && { labels: it.labels }), ...event.counts }))
    else recount()
    for (const id of event.new.ids) arrived.current.add(id)
    if (event.new.count > 0) void lookForFresh()
    const all = event.gone || event.changed.count > event.changed.ids.length
    void refresh(
      all ? of.rows.ids().filter((id) => of.rows.get(id) !== undefined) : event.changed.ids,
    )
  }

  useEffect(() => {
    arrived.current.clear()
    setFresh([])
  }, [list.rows])
  useEffect(() => {
    setCounts(undefined)
    recount()
    return () => cancelRecount.current()
  }, [count_query, recount])
  useEffect(
    () =>
      addListener(`/dashboard/api${base}/stream`, 'inbox', {
        onData: (data) => {
          const event: InboxEvent = JSON.parse(data)
          take(event)
        },
        down: (broken) => {
          is_open.current = !broken
          if (broken) return
          recount()
          void lookForFresh()
        },
      }),
    [base],
  )

  return {
    counts,
    fresh,
    showFresh() {
      if (fresh.length >= FRESH_MAX) return list.reload()
      list.rows.prepend(fresh)
      for (const { id } of fresh) arrived.current.delete(id)
      setFresh([])
      list.changed()
    },
    // The stream sends the counts of the whole inbox, but neither those of a filter nor the labels.
    recount(labels = false) {
      if (labels || count_query !== '' || !is_open.current) recount()
    },
  }
}
