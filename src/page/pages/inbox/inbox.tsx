import { useMemo, useRef, useState } from 'preact/hooks'

import { Icon } from '../../components/base/icon.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { useNow } from '../../components/base/time.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { inShort } from '../../lib/filter-spec.ts'
import { count, inFull } from '../../lib/format.ts'
import { dashboardPath, go, Link, useRoute } from '../../lib/route.tsx'
import { now, recall, remember } from '../../lib/runtime.ts'
import type { MonitorList, Source } from '../../lib/types.ts'
import { HelpDialog, HistoryDialog, LabelDialog, ReplyDialog } from './dialogs.tsx'
import { Chips, FilterMenu, InboxSearch, Tabs } from './filters.tsx'
import { MatchListView } from './list.tsx'
import { MuteDialog } from './mute.tsx'
import { ReaderPane } from './reader.tsx'
import { SelectionBar } from './selection.tsx'
import {
  expectedOf,
  inboxPath,
  isNarrowed,
  type ListFilter,
  readFilter,
  tabOf,
  toBody,
  toCountQuery,
  toQuery,
} from './state/filter.ts'
import type { KeyAct } from './state/keys.ts'
import type { Match, MatchState, TriageChange } from './state/types.ts'
import { useCursor } from './state/use-cursor.ts'
import { useInboxKeys } from './state/use-keys.ts'
import { FRESH_MAX, useLiveInbox } from './state/use-live.ts'
import { useMatches } from './state/use-matches.ts'
import { useTriage } from './state/use-triage.ts'
import { ViewsMenu } from './views.tsx'

type OpenDialog = 'label' | 'mute' | 'reply' | 'help' | 'history' | null

const LETTERS = 'forumd.inbox.letters'

/** Matches of all monitors, to read, decide and answer. */
export function Inbox() {
  const { words, key, monitor_path, base_path } = useCurrentUser()
  const base = `/${words.platform}/inbox`
  const { query } = useRoute()
  const item = query.get('item')
  const search = query.toString()
  const filter = useMemo(() => readFilter(new URLSearchParams(search)), [without(search)])
  const body = useMemo(() => toBody(filter, now()), [filter])
  const list = useMatches(base, toQuery(body), filter.q !== '')
  const taken = useRef(new Set<string>()).current
  const live = useLiveInbox({
    base,
    query: toQuery(body),
    count_query: toCountQuery(body),
    list,
    taken,
  })
  const triage = useTriage({
    base,
    filter,
    list,
    taken,
    now,
    recount: live.recount,
    onRestored: (id) => cursor.moveToId(id),
  })
  const cursor = useCursor({ list, filter, item, triage })
  const monitors = useNames(`${monitor_path}/list`)
  const sources = useQuery<{ sources: Source[] }>(`${base_path}/sources`).value?.sources ?? []
  const [dialog, setDialog] = useState<OpenDialog>(null)
  const [letters, setLetters] = useState(recall(LETTERS) !== 'off')
  const [thread_request, setThreadRequest] = useState({ id: '', n: 0 })
  const clock = useNow()
  const { rows } = list
  const { match, selected, whole } = cursor
  const expected = expectedOf(filter, live.counts)
  const length = rows.next().ended
    ? rows.size()
    : Math.max(rows.size(), expected ?? 0, rows.size() + 1)
  const labels = live.counts?.labels?.map((it) => it.label) ?? []

  /** Ids that an action is about: the selection, or the current match. */
  const targets = (): string[] => {
    const { selected: chosen, match: at } = cursor.now()
    return chosen.size > 0 ? [...chosen] : at === undefined ? [] : [at.id]
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

  function show(next: Partial<ListFilter>) {
    go(inboxPath({ ...filter, ...next }), { replace: true })
  }

  /** The change of a key; it toggles by the current match, and a selection follows it. */
  function changeOf(act: KeyAct): TriageChange | null {
    const { match: it, selected: chosen } = cursor.now()
    const toggled = (state: MatchState): TriageChange => ({
      state: it?.state === state && chosen.size === 0 ? 'read' : state,
    })
    if (act === 'dismiss') return toggled('dismissed')
    if (act === 'answered') return toggled('answered')
    if (act === 'unread') return toggled('unread')
    return act === 'star' ? { starred: !(it?.starred ?? false) } : null
  }

  /** Opens a dialog if there is something that it is about. */
  const ask = (which: OpenDialog, about: boolean) => about && setDialog(which)

  function perform(act: KeyAct) {
    const set = changeOf(act)
    if (set !== null) return void change(set)
    const { match: it } = cursor.now()
    const own: { [name in KeyAct]?: () => unknown } = {
      undo: () => triage.undo(),
      fresh: arrive,
      help: () => ask('help', true),
      label: () => ask('label', targets().length > 0),
      mute: () => ask('mute', it !== undefined && !it.erased),
      reply: () => ask('reply', it?.url != null),
      thread: () => it && setThreadRequest(({ n }) => ({ id: it.id, n: n + 1 })),
      visit: () => it?.url && open(it.url, '_blank', 'noopener,noreferrer'),
    }
    const run = own[act]
    if (run === undefined) cursor.perform(act)
    else run()
  }
  useInboxKeys(perform, letters)

  function arrive() {
    live.showFresh()
    cursor.toTop()
  }

  const stable = useStable({
    choose: cursor.choose,
    select: cursor.select,
    star: (it: Match) => void triage.act([it.id], { starred: !it.starred }),
  })
  const tab = tabOf(filter)
  const acts = {
    star: () => perform('star'),
    unread: () => perform('unread'),
    answered: () => perform('answered'),
    dismiss: () => perform('dismiss'),
    label: () => perform('label'),
    mute: () => perform('mute'),
    reply: () => perform('reply'),
    previous: () => perform('previous'),
    next: () => perform('next'),
    close: () => perform('back'),
  }
  const is_empty =
    !list.loading && rows.size() === 0 && list.failure === null && list.paused === null
  return (
    <PageLayout
      title="Inbox"
      beside={
        <>
          <InboxSearch text={filter.q} search={(q) => show({ q })} />
          <FilterMenu
            filter={filter}
            change={show}
            monitors={monitors}
            sources={sources.map((it) => [it.name, it.name] as const)}
            labels={labels}
          />
          <ViewsMenu base={base} filter={filter} now={now} />
          <Link to={dashboardPath('inbox', 'charts')} class="button">
            <Icon name="usage" /> <span class="wide-only">Charts</span>
            <span class="unseen phone-only">Charts</span>
          </Link>
          <button
            type="button"
            class="plain"
            aria-label="History"
            title="History"
            onClick={() => setDialog('history')}
          >
            <Icon name="history" />
          </button>
          <button
            type="button"
            class="plain wide-only"
            aria-label="Keys"
            title="Keys (?)"
            onClick={() => setDialog('help')}
          >
            <Icon name="keyboard" />
          </button>
        </>
      }
    >
      <div class={cursor.opened ? 'inbox reading' : 'inbox'}>
        <div class="inbox-left">
          {selected.size > 0 ? (
            <SelectionBar
              size={selected.size}
              all={filter.q === '' ? expected : null}
              whole={whole}
              choose_all={cursor.chooseWhole}
              act={(set) => void change(set)}
              label={() => setDialog('label')}
              clear={cursor.clear}
            />
          ) : (
            <Tabs filter={filter} counts={live.counts} />
          )}
          <Chips
            filter={filter}
            change={show}
            monitorName={(id) => monitors.find(([it]) => it === id)?.[1] ?? 'a removed monitor'}
          />
          <div class="fresh-place" aria-live="polite">
            {live.fresh.length > 0 && (
              <button type="button" class="fresh" onClick={arrive}>
                <Icon name="up" /> {count(live.fresh.length)}
                {live.fresh.length >= FRESH_MAX && '+'} new
              </button>
            )}
          </div>
          <ErrorNotice failure={list.failure} again={list.more} />
          {list.loading && rows.size() === 0 && <Skeleton rows={6} />}
          {is_empty && <NothingHere filter={filter} />}
          <MatchListView
            list={list}
            length={is_empty || (list.loading && rows.size() === 0) ? 0 : length}
            current={cursor.current}
            selected={selected}
            now={clock}
            reveal={cursor.reveal}
            {...stable}
          />
          {list.paused !== null && (
            <p class="paused">
              Searched back to {inFull(Date.parse(list.paused))}.{' '}
              <button type="button" class="small" onClick={list.more}>
                Search older
              </button>
            </p>
          )}
        </div>
        <div class="inbox-right">
          {match === undefined ? (
            <div class="reader-none">
              <Icon name="inbox" />
              <p>
                {tab?.name === 'Unread' && is_empty ? 'All read.' : 'Choose a match to read it.'}
              </p>
              <p class="quiet small-text">
                <kbd>j</kbd> <kbd>k</kbd> move · <kbd>e</kbd> dismisses · <kbd>?</kbd> shows all
                keys
              </p>
            </div>
          ) : (
            <ReaderPane
              base={base}
              match={match}
              actions={acts}
              thread_request={thread_request.id === match.id ? thread_request.n : 0}
              own_key={key.id}
            />
          )}
        </div>
      </div>
      {dialog === 'label' && (
        <LabelDialog
          label={selected.size > 0 ? '' : (match?.label ?? '')}
          known={labels}
          size={whole ? (expected ?? selected.size) : targets().length}
          set={(label) => void change({ label })}
          close={() => setDialog(null)}
        />
      )}
      {dialog === 'mute' && match && (
        <MuteDialog base={base} match={match} close={() => setDialog(null)} done={() => {}} />
      )}
      {dialog === 'reply' && match && <ReplyDialog match={match} close={() => setDialog(null)} />}
      {dialog === 'help' && (
        <HelpDialog
          letters={letters}
          setLetters={(it) => {
            setLetters(it)
            remember(LETTERS, it ? null : 'off')
          }}
          close={() => setDialog(null)}
        />
      )}
      {dialog === 'history' && (
        <HistoryDialog
          base={base}
          own_key={key.id}
          undone={list.reload}
          close={() => setDialog(null)}
        />
      )}
    </PageLayout>
  )
}

/** The query of the URL without the open match, which is no filter. */
function without(search: string): string {
  const query = new URLSearchParams(search)
  query.delete('item')
  return query.toString()
}

/** Ids and names of the monitors. */
function useNames(path: string): readonly (readonly [string, string])[] {
  const { words } = useCurrentUser()
  const list = useQuery<MonitorList>(path)
  return (list.value?.monitors ?? []).map(
    (it) => [it.id, it.name ?? inShort(it.filter_spec, words)] as const,
  )
}

/** Functions that stay the same between renders and call the latest ones, so that rows need not be drawn again. */
function useStable<T extends Record<string, (...given: never[]) => void>>(functions: T): T {
  const latest = useRef(functions)
  latest.current = functions
  return useMemo(() => {
    const names = Object.keys(functions)
    const calls = names.map((name) => [
      name,
      (...given: never[]) => latest.current[name]?.(...given),
    ])
    return Object.fromEntries(calls)
  }, [])
}

const EMPTY: { [tab: string]: readonly [string, string] } = {
  Unread: ['All read', 'New matches appear here as monitors find them.'],
  All: ['No matches yet', 'What your monitors match appears here.'],
  Starred: ['Nothing starred', 'Press s on a match to come back to it.'],
  Answered: ['Nothing answered yet', 'A comment made through forumd marks its match, or press a.'],
  Dismissed: ['Nothing dismissed', 'Press e on a match that needs nothing.'],
}

function NothingHere({ filter }: { filter: ListFilter }) {
  const [title, text] = EMPTY[tabOf(filter)?.name ?? ''] ?? ['No matches', '']
  if (isNarrowed(filter))
    return (
      <EmptyState title="No matches for these filters">
        <p>
          <Link to={inboxPath({ state: filter.state, starred: filter.starred })}>
            Clear the filters
          </Link>
        </p>
      </EmptyState>
    )
  return (
    <EmptyState title={title}>
      <p>{text}</p>
    </EmptyState>
  )
}
