import { useEffect, useRef, useState } from 'preact/hooks'

import { go } from '../../../lib/route.tsx'
import { runAfter } from '../../../lib/runtime.ts'
import { inboxPath, leavesList, type ListFilter } from './filter.ts'
import type { KeyAct } from './keys.ts'
import type { Match, TriageChange } from './types.ts'
import type { MatchList } from './use-matches.ts'
import type { Triage } from './use-triage.ts'

/** Time in view after which a match counts as read. */
const READ_MS = 1200
/** Time on a match after which the URL names it. */
const SETTLE_MS = 400
const PAGE_ROWS = 8
/** The list and the text are beside each other. Has the width of the style sheet. */
const BESIDE = '(min-width: 64rem)'

type Options = {
  list: MatchList
  filter: ListFilter
  /** Id of the match that the URL opens; null: none. */
  item: string | null
  triage: Triage
}

type Selection = { ids: ReadonlySet<string>; anchor: string | null; whole: boolean }

const NONE: Selection = { ids: new Set(), anchor: null, whole: false }

type State = { current: string | null; opened: boolean; selection: Selection }

export function useCursor({ list, filter, item, triage }: Options) {
  // A key may follow another one before the page is rendered, so functions read the state and not a render's copy of it.
  const state = useRef<State>({ current: item, opened: item !== null, selection: NONE }).current
  const [, render] = useState(0)
  const set = (change: Partial<State>) => {
    Object.assign(state, change)
    render((it) => it + 1)
  }
  const [reveal, setReveal] = useState({ at: 0, request: 0 })
  /** The current match when it is outside of the list, or far from the view. */
  const [outside, setOutside] = useState<Match | null>(null)
  const pushed = useRef(false)
  /** The id that this page put into the URL: by the next render, a key may have moved the cursor on. */
  const named = useRef<string | null>(null)
  const { rows } = list
  const held = useRef<Match | undefined>(undefined)
  /** The current match; undefined: none, or it is not loaded yet. */
  function matchNow(): Match | undefined {
    const { current } = state
    if (current === null) return undefined
    const found = rows.get(current)
    if (found !== undefined) held.current = found
    return found ?? [held.current, outside].find((it): it is Match => it?.id === current)
  }
  const match = matchNow()
  const { current, opened, selection } = state

  const show = (at: number) => setReveal((it) => ({ at, request: it.request + 1 }))

  function moveTo(at: number) {
    const last = rows.size() - 1
    if (last < 0) return
    const to = Math.max(0, Math.min(last, at))
    set({ current: rows.idAt(to) ?? null })
    show(to)
    if (!isInReader()) focusList()
  }

  function nameInUrl(id: string | null, { replace = true } = {}) {
    named.current = id
    go(inboxPath(filter, id), { replace })
  }

  const position = () => (state.current === null ? -1 : rows.positionOf(state.current))

  function open(id: string) {
    if (rows.get(id)?.state === 'unread') void triage.act([id], { state: 'read' }, true)
    const push = !state.opened && !matchMedia(BESIDE).matches
    if (push) pushed.current = true
    set({ current: id, opened: true })
    nameInUrl(id, { replace: !push })
  }

  function close() {
    if (pushed.current) history.back()
    else nameInUrl(null)
    pushed.current = false
    set({ opened: false })
    focusList()
  }

  const clear = () => set({ selection: NONE })

  /** Selects or unselects; `range` selects from the last one up to it. */
  function select(id: string, range: boolean) {
    const { ids, anchor } = state.selection
    const next = new Set(ids)
    const from = range && anchor !== null ? rows.positionOf(anchor) : -1
    if (from === -1) {
      if (!next.delete(id)) next.add(id)
    } else {
      const to = rows.positionOf(id)
      const between = rows.ids().slice(Math.min(from, to), Math.max(from, to) + 1)
      for (const it of between) next.add(it)
    }
    set({ selection: { ids: next, anchor: id, whole: false } })
  }

  // The URL is the truth for what is open: the button Back closes it.
  useEffect(() => {
    const is_own = named.current === item
    named.current = null
    if (item === null) pushed.current = false
    if (item === null) return set({ opened: false })
    set(is_own ? { opened: true } : { current: item, opened: true })
  }, [item])
  // A filter begins a list of its own.
  const first = useRef(true)
  useEffect(() => {
    if (!first.current) set({ current: item, selection: NONE })
    first.current = false
  }, [filter])
  // A copied address opens the match that is shown. Not while one moves through the list: browsers limit the changes.
  useEffect(() => {
    if (current === null || current === item || !(opened || matchMedia(BESIDE).matches)) return
    return runAfter(SETTLE_MS, () => nameInUrl(current))
  }, [current, filter])
  useEffect(() => {
    if (current === null || match !== undefined || list.loading) return
    void list.byId([current]).then(([it]) => setOutside(it ?? null))
  }, [current, match === undefined, list.loading])
  useEffect(() => {
    if (current === null) return
    return runAfter(READ_MS, () => {
      const seen = opened || matchMedia(BESIDE).matches
      if (seen && rows.get(current)?.state === 'unread' && document.visibilityState === 'visible')
        void triage.act([current], { state: 'read' }, true)
    })
  }, [current, opened, match === undefined])

  return {
    current,
    match,
    opened,
    selected: selection.ids,
    whole: selection.whole,
    reveal,
    /** The current match and the selection, also between two renders. */
    now: () => ({ match: matchNow(), selected: state.selection.ids, whole: state.selection.whole }),
    clear,
    select,
    chooseWhole: () => set({ selection: { ...state.selection, whole: true } }),
    choose(id: string, { shift, toggle }: { shift: boolean; toggle: boolean }) {
      if (shift || toggle) return select(id, shift)
      open(id)
    },
    moveToId(id: string) {
      const at = rows.positionOf(id)
      if (at !== -1) moveTo(at)
    },
    toTop() {
      setReveal((it) => ({ at: 0, request: it.request + 1 }))
      set({ current: rows.idAt(0) ?? null })
    },
    /** Moves off matches that an action takes out of the list, to the next one that stays. */
    leaving(ids: readonly string[], { state: after }: TriageChange) {
      const going = new Set(
        ids.filter((id) => {
          const before = rows.get(id)?.state
          return after !== undefined && before !== undefined && leavesList(filter, before, after)
        }),
      )
      if (state.selection.ids.size > 0) clear()
      if (state.current === null || !going.has(state.current)) return
      const at = position()
      const all = rows.ids()
      const stays = (id: string) => !going.has(id)
      const next = all.slice(at + 1).find(stays) ?? all.slice(0, at).findLast(stays) ?? null
      set({ current: next })
      if (state.opened) nameInUrl(next)
    },
    /** Performs the act of a key that moves, opens or selects; nothing for other acts. */
    perform(act: KeyAct) {
      const { current: at } = state
      const acts: { [name in KeyAct]?: () => unknown } = {
        next: () => moveTo(position() + 1),
        previous: () => moveTo(position() - 1),
        first: () => moveTo(0),
        last: () => moveTo(rows.size() - 1),
        page_down: () => moveTo(position() + PAGE_ROWS),
        page_up: () => moveTo(position() - PAGE_ROWS),
        open() {
          if (at === null) return moveTo(0)
          open(at)
          focusReader()
        },
        back() {
          if (state.selection.ids.size > 0) clear()
          else if (state.opened || isInReader()) close()
        },
        select: () => at !== null && select(at, false),
        select_range: () => at !== null && select(at, true),
        select_all: () =>
          set({ selection: { ids: new Set(rows.ids()), anchor: null, whole: false } }),
      }
      acts[act]?.()
    },
  }
}

const isInReader = (): boolean => document.activeElement?.closest('.reader') != null
const focusList = (): void =>
  document.querySelector<HTMLElement>('.inbox-list')?.focus({ preventScroll: true })

/** Focuses the text after the next render, which shows it. */
const focusReader = (): void =>
  void requestAnimationFrame(() =>
    document.querySelector<HTMLElement>('.reader-scroll')?.focus({ preventScroll: true }),
  )
