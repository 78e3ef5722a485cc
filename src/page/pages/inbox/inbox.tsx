import { Icon, type IconName } from '../../components/base/icon.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { useNow } from '../../components/base/time.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { compact, count, inFull } from '../../lib/format.ts'
import { Link } from '../../lib/route.tsx'
import type { MonitorList } from '../../lib/types.ts'
import { FirstSteps } from '../first-steps.tsx'
import { HelpDialog, HistoryDialog, LabelDialog, ReplyDialog } from './dialogs.tsx'
import { Chips, FilterMenu, InboxSearch, Tabs } from './filters.tsx'
import { MatchListView } from './list.tsx'
import { MuteDialog } from './mute.tsx'
import { ReaderPane } from './reader.tsx'
import { inboxPath, isNarrowed, type ListFilter, tabOf } from './state/filter.ts'
import type { TriageChange } from './state/types.ts'
import { type InboxStore, useInbox } from './state/use-inbox.ts'
import { FRESH_MAX } from './state/use-live.ts'

const FRESH_MS = 30_000

type StoreProps = { store: InboxStore }

export function Inbox() {
  const store = useInbox()
  return (
    <PageLayout title="Inbox" beside={<HeaderTools store={store} />}>
      <div class={store.cursor.opened ? 'inbox reading' : 'inbox'}>
        <ListPane store={store} />
        <div class="inbox-right">
          {store.cursor.match === undefined ? (
            <NothingOpen store={store} />
          ) : (
            <ReaderPane store={store} match={store.cursor.match} />
          )}
        </div>
      </div>
      <Dialogs store={store} />
    </PageLayout>
  )
}

const HeaderTools = ({ store }: StoreProps) => (
  <>
    <InboxSearch text={store.filter.q} search={(q) => store.show({ q })} />
    <FilterMenu store={store} />
    <button
      type="button"
      class="plain"
      aria-label="History"
      title="History"
      onClick={() => store.setDialog('history')}
    >
      <Icon name="history" />
    </button>
    <button
      type="button"
      class="plain wide-only"
      aria-label="Keys"
      title="Keys (?)"
      onClick={() => store.setDialog('help')}
    >
      <Icon name="keyboard" />
    </button>
  </>
)

function ListPane({ store }: StoreProps) {
  const { filter, list, live, cursor, expected } = store
  const clock = useNow()
  return (
    <div class="inbox-left">
      {cursor.selected.size > 0 ? (
        <SelectionBar
          size={cursor.selected.size}
          all={filter.q === '' ? expected : null}
          whole={cursor.whole}
          choose_all={cursor.chooseWhole}
          act={(set) => void store.change(set)}
          label={() => store.setDialog('label')}
          clear={cursor.clear}
        />
      ) : (
        <Tabs filter={filter} counts={live.counts} />
      )}
      <Chips store={store} />
      <div class="fresh-place" aria-live="polite">
        {live.fresh.length > 0 && (
          <button type="button" class="main fresh" onClick={store.arrive}>
            <Icon name="up" /> {count(live.fresh.length)}
            {live.fresh.length >= FRESH_MAX && '+'} new
          </button>
        )}
      </div>
      <ErrorNotice failure={list.failure} again={list.more} />
      {store.is_loading && <Skeleton rows={6} />}
      {store.is_empty && <NothingHere filter={filter} />}
      <MatchListView
        list={list}
        length={store.length}
        current={cursor.current}
        selected={cursor.selected}
        now={clock}
        reveal={cursor.reveal}
        choose={cursor.choose}
        select={cursor.select}
        star={(it) => void store.triage.act([it.id], { starred: !it.starred })}
      />
      {list.paused !== null && (
        <p class="paused quiet">
          Searched back to {inFull(Date.parse(list.paused))}.{' '}
          <button type="button" class="small" onClick={list.more}>
            Search older
          </button>
        </p>
      )}
    </div>
  )
}

const NothingOpen = ({ store: { filter, is_empty } }: StoreProps) => (
  <EmptyState
    title={tabOf(filter)?.name === 'Unread' && is_empty ? 'All read' : 'Choose a match to read it'}
  >
    <p>
      <kbd>j</kbd> <kbd>k</kbd> move · <kbd>e</kbd> dismisses · <kbd>?</kbd> shows all keys
    </p>
  </EmptyState>
)

function Dialogs({ store }: StoreProps) {
  const { base, dialog, cursor, expected } = store
  const { match, selected, whole } = cursor
  const close = () => store.setDialog(null)
  if (dialog === 'label')
    return (
      <LabelDialog
        label={selected.size > 0 ? '' : (match?.label ?? '')}
        known={store.labels}
        size={whole ? (expected ?? selected.size) : store.targets().length}
        set={(label) => void store.change({ label })}
        close={close}
      />
    )
  if (dialog === 'mute' && match)
    return <MuteDialog base={base} match={match} close={close} muted={store.triage.muted} />
  if (dialog === 'reply' && match) return <ReplyDialog match={match} close={close} />
  if (dialog === 'help')
    return <HelpDialog letters={store.letters} setLetters={store.setLetters} close={close} />
  if (dialog === 'history')
    return (
      <HistoryDialog base={base} own_key={store.own_key} undone={store.list.reload} close={close} />
    )
  return null
}

const EMPTY: { [tab: string]: readonly [string, string] } = {
  Unread: ['All read', 'New matches appear here as monitors find them.'],
  All: ['No matches yet', 'What your monitors match appears here.'],
  Starred: ['Nothing starred', 'Press s on a match to come back to it.'],
  Answered: ['Nothing answered yet', 'A comment made through forumd marks its match, or press a.'],
  Dismissed: ['Nothing dismissed', 'Press e on a match that needs nothing.'],
}

function NothingHere({ filter }: { filter: ListFilter }) {
  const { monitor_path } = useCurrentUser()
  const monitors = useQuery<MonitorList>(`${monitor_path}/list`, { fresh_ms: FRESH_MS })
  const [title, text] = EMPTY[tabOf(filter)?.name ?? ''] ?? ['No matches', '']
  if (monitors.value?.monitors.length === 0) return <FirstSteps />
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

type SelectionProps = {
  size: number
  /** Number of matches of the filter, which can be chosen as a whole; null: they cannot. */
  all: number | null
  /** The whole filter is chosen. */
  whole: boolean
  choose_all: () => void
  act: (set: TriageChange) => void
  label: () => void
  clear: () => void
}

const SelectionBar = ({ size, all, whole, choose_all, act, label, clear }: SelectionProps) => (
  <div class="selection" role="group" aria-label="Selected matches">
    <strong aria-live="polite">
      {whole ? `All ${all === null ? '' : count(all)} selected` : `${count(size)} selected`}
    </strong>
    {all !== null && !whole && all > size && (
      <button type="button" class="plain small" onClick={choose_all}>
        Select all {compact(all)}
      </button>
    )}
    <span class="selection-acts">
      <Act icon="dismiss" name="Dismiss selected" run={() => act({ state: 'dismissed' })} />
      <Act icon="check" name="Mark selected read" run={() => act({ state: 'read' })} />
      <Act icon="unread" name="Mark selected unread" run={() => act({ state: 'unread' })} />
      <Act icon="star" name="Star selected" run={() => act({ starred: true })} />
      <Act icon="label" name="Label selected" run={label} />
      <Act icon="close" name="Clear the selection" run={clear} />
    </span>
  </div>
)

const Act = ({ icon, name, run }: { icon: IconName; name: string; run: () => void }) => (
  <button type="button" class="plain small" aria-label={name} title={name} onClick={run}>
    <Icon name={icon} />
  </button>
)
