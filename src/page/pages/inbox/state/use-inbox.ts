import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { useCurrentUser } from '../../../hooks/contexts.ts'
import { useQuery } from '../../../hooks/use-query.ts'
import { inShort } from '../../../lib/filter-spec.ts'
import { go, useRoute } from '../../../lib/route.tsx'
import { now, recall, remember } from '../../../lib/runtime.ts'
import type { MonitorList, Source } from '../../../lib/types.ts'
import {
  expectedOf,
  inboxPath,
  type ListFilter,
  readFilter,
  toBody,
  toCountQuery,
  toQuery,
} from './filter.ts'
import { actOf, type FocusPlace, type KeyAct } from './keys.ts'
import type { MatchState, TriageChange } from './types.ts'
import { useCursor } from './use-cursor.ts'
import { useLiveInbox } from './use-live.ts'
import { useMatches } from './use-matches.ts'
import { useTriage } from './use-triage.ts'

export type OpenDialog = 'label' | 'mute' | 'reply' | 'help' | 'history' | null

const LETTERS = 'forumd.inbox.letters'

export type InboxStore = ReturnType<typeof useInbox>

/** The page's state; the filter and the open match are those of the URL. */
export function useInbox() {
  const { words, key, monitor_path, base_path } = useCurrentUser()
  const base = `/${words.platform}/inbox`
  const { query } = useRoute()
  const item = query.get('item')
  const filter = useFilter(query)
  const body = useMemo(() => toBody(filter, now()), [filter])
  const list = useMatches(base, toQuery(body), filter.q !== '')
  const pending = useRef(0)
  const live = useLiveInbox({
    base,
    query: toQuery(body),
    count_query: toCountQuery(body),
    list,
    pending,
  })
  const triage = useTriage({
    base,
    filter,
    list,
    pending,
    recount: live.recount,
    onRestored: (id) => cursor.moveToId(id),
  })
  const cursor = useCursor({ list, filter, item, triage })
  const monitors = (useQuery<MonitorList>(`${monitor_path}/list`).value?.monitors ?? []).map(
    (it) => [it.id, it.name ?? inShort(it.filter_spec, words)] as const,
  )
  const sources = useQuery<{ sources: Source[] }>(`${base_path}/sources`).value?.sources ?? []
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const [letters, setLetters] = useState(recall(LETTERS) !== 'off')
  const [thread_request, setThreadRequest] = useState({ id: '', n: 0 })
  const { rows } = list
  const expected = expectedOf(filter, live.counts)
  const is_loading = list.loading && rows.size() === 0
  const is_empty = !list.loading && rows.size() === 0 && !list.failure && list.paused === null

  /** Ids that an action is about: the selection, or the current match. */
  const targets = (): string[] => {
    const { selected, match } = cursor.now()
    return selected.size > 0 ? [...selected] : match === undefined ? [] : [match.id]
  }

  async function change(set: TriageChange) {
    if (cursor.now().whole) {
      cursor.clear()
      return triage.actOnAll(set)
    }
    const ids = targets()
    if (ids.length === 0) return
    cursor.leaving(ids, set)
    await triage.act(ids, set)
  }

  /** The change of a key; it toggles by the current match, and a selection follows it. */
  function changeOf(act: KeyAct): TriageChange | null {
    const { match, selected } = cursor.now()
    const toggled = (state: MatchState): TriageChange => ({
      state: match?.state === state && selected.size === 0 ? 'read' : state,
    })
    if (act === 'dismiss') return toggled('dismissed')
    if (act === 'answered') return toggled('answered')
    if (act === 'unread') return toggled('unread')
    return act === 'star' ? { starred: !(match?.starred ?? false) } : null
  }

  /** Opens a dialog if there is something that it is about. */
  const ask = (which: OpenDialog, about: boolean) => about && setDialog(which)

  function arrive() {
    live.showFresh()
    cursor.toTop()
  }

  function perform(act: KeyAct) {
    const set = changeOf(act)
    if (set !== null) return void change(set)
    const { match } = cursor.now()
    const own: { [name in KeyAct]?: () => unknown } = {
      undo: () => triage.undo(),
      fresh: arrive,
      help: () => ask('help', true),
      label: () => ask('label', targets().length > 0),
      mute: () => ask('mute', match !== undefined && !match.erased),
      reply: () => ask('reply', match?.url != null),
      thread: () => match && setThreadRequest(({ n }) => ({ id: match.id, n: n + 1 })),
      visit: () => match?.url && open(match.url, '_blank', 'noopener,noreferrer'),
    }
    const run = own[act]
    if (run === undefined) cursor.perform(act)
    else run()
  }
  useInboxKeys(perform, letters)

  return {
    base,
    own_key: key.id,
    filter,
    /** Changes some filters. Each list has an entry in the history of the browser; typing on in a search has none. */
    show(next: Partial<ListFilter>) {
      const is_refined = filter.q !== '' && Boolean(next.q)
      go(inboxPath({ ...filter, ...next }), { replace: is_refined })
    },
    list,
    live,
    triage,
    cursor,
    monitors,
    sources: sources.map((it) => [it.name, it.name] as const),
    labels: live.counts?.labels.map((it) => it.label) ?? [],
    /** Number of matches of the filter; null: unknown. */
    expected,
    /** Rows that the list has or will have. */
    length:
      is_empty || is_loading
        ? 0
        : rows.next().ended
          ? rows.size()
          : Math.max(expected ?? 0, rows.size() + 1),
    is_loading,
    is_empty,
    targets,
    change,
    perform,
    arrive,
    dialog,
    setDialog,
    letters,
    setLetters(on: boolean) {
      setLetters(on)
      remember(LETTERS, on ? null : 'off')
    },
    thread_request,
  }
}

/** The filter of the URL, the same object until it changes; the open match is no part of it. */
function useFilter(query: URLSearchParams): ListFilter {
  const filter = readFilter(query)
  return useMemo(() => filter, [JSON.stringify(filter)])
}

/** Performs the acts of keys while the page is open. `letters` false: single letters do nothing. */
function useInboxKeys(perform: (act: KeyAct) => void, letters: boolean): void {
  const latest = useRef({ perform, letters })
  latest.current = { perform, letters }
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      if (event.defaultPrevented) return
      const act = actOf(event, placeOfFocus(event.target), latest.current.letters)
      if (act === null) return
      event.preventDefault()
      latest.current.perform(act)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

function placeOfFocus(target: EventTarget | null): FocusPlace {
  if (!(target instanceof HTMLElement)) return 'page'
  if (target.closest('input, textarea, select, dialog, [role=dialog]') !== null) return 'typing'
  if (target.closest('.inbox-list') !== null) return 'list'
  if (target.closest('a, button, summary') !== null) return 'control'
  return target.closest('.reader') === null ? 'page' : 'reader'
}
