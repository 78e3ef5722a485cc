import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

import { Icon, type IconName } from '../../components/base/icon.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { Outward, termsOf } from '../../components/item.tsx'
import { useQuery } from '../../hooks/use-query.ts'
import { callApi, type Failure } from '../../lib/api.ts'
import { many, percent, words as inWords } from '../../lib/format.ts'
import { dashboardPath, Link } from '../../lib/route.tsx'
import { runAfter } from '../../lib/runtime.ts'
import { titleText } from './list.tsx'
import { inboxPath, placeOf } from './state/filter.ts'
import { type KeyAct, KEYS } from './state/keys.ts'
import type { ActingKey, Match, ThreadAround, ThreadItem, WholeMatch } from './state/types.ts'
import type { InboxStore } from './state/use-inbox.ts'
import { WrittenText } from './written.tsx'

/** Typing through the list quickly asks for no text. */
const PAUSE_MS = 150

type ReaderProps = { store: InboxStore; match: Match }

export function ReaderPane({ store: { base, perform, own_key, ...store }, match }: ReaderProps) {
  const thread_request = store.thread_request.id === match.id ? store.thread_request.n : 0
  const { id } = match
  const scroller = useRef<HTMLDivElement>(null)
  const [settled, setSettled] = useState<string | null>(null)
  useEffect(() => runAfter(PAUSE_MS, () => setSettled(id)), [id])
  useEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = 0
  }, [id])
  const encoded = encodeURIComponent(id)
  const full = useQuery<WholeMatch>(
    settled === id && !match.erased ? `${base}/item?id=${encoded}` : null,
  )
  const [threads, setThreads] = useState<{ [id: string]: ThreadState }>({})
  async function loadThread() {
    setThreads({ [id]: { value: null, failure: null, busy: true } })
    const answer = await callApi<ThreadAround>(`${base}/context?id=${encoded}`, { cached: false })
    setThreads({
      [id]: answer.ok
        ? { value: answer.value, failure: null, busy: false }
        : { value: null, failure: answer.failure, busy: false },
    })
  }
  useEffect(() => {
    if (thread_request > 0) void loadThread()
  }, [thread_request])
  const terms = termsOf(match.matched_terms)
  const text = full.value?.text ?? null
  return (
    <article class="reader" aria-labelledby="open-title">
      <Toolbar match={match} perform={perform} />
      <div class="reader-scroll" ref={scroller} tabIndex={0} role="region" aria-label="Text">
        <h2 id="open-title">{match.erased ? 'Erased' : (full.value?.title ?? titleText(match))}</h2>
        <FactsOf match={match} />
        {match.erased ? (
          <p class="quiet">
            It was deleted at its source or erased here, so its text is not kept any more.
          </p>
        ) : text !== null ? (
          <WrittenText text={text} terms={terms} />
        ) : full.failure === null ? (
          <Skeleton rows={2} label="Loading the text" />
        ) : (
          <p class="excerpt">{match.excerpt}</p>
        )}
        <Reasons match={match} />
        <Changed match={match} own_key={own_key} />
        {!match.erased && (
          <ThreadView thread={threads[id] ?? null} load={() => void loadThread()} terms={terms} />
        )}
      </div>
    </article>
  )
}

type ToolbarProps = { match: Match; perform: (act: KeyAct) => void }

function Toolbar({ match: { starred, state, erased }, perform }: ToolbarProps) {
  const tool = (act: KeyAct, icon: IconName, label: string, more: ToolLook = {}) => (
    <Tool icon={icon} label={label} act={act} perform={perform} {...more} />
  )
  const is_dismissed = state === 'dismissed'
  return (
    <div class="reader-bar" role="group" aria-label="Actions">
      {tool('back', 'back', 'Back to the list', { phone: true })}
      {tool('dismiss', 'dismiss', is_dismissed ? 'Back to the inbox' : 'Dismiss', { shown: true })}
      {tool('answered', 'check', 'Answered', { pressed: state === 'answered', shown: true })}
      {tool('star', 'star', 'Star', { pressed: starred })}
      {tool('unread', 'unread', state === 'unread' ? 'Mark read' : 'Mark unread')}
      {tool('label', 'label', 'Label')}
      {!erased && tool('mute', 'mute', 'Mute')}
      {!erased && tool('reply', 'reply', 'Reply', { shown: true })}
      <span class="reader-gap" />
      {tool('previous', 'up', 'Previous match')}
      {tool('next', 'down', 'Next match')}
    </div>
  )
}

type ToolLook = {
  pressed?: boolean
  /** With its label beside the icon. */
  shown?: boolean
  /** Only where the list and the text do not fit beside each other. */
  phone?: boolean
}

type ToolProps = ToolLook & {
  icon: IconName
  label: string
  act: KeyAct
  perform: (act: KeyAct) => void
}

function Tool({ icon, label, act, perform, pressed, shown = false, phone = false }: ToolProps) {
  const { keys = [], shown: names = [] } = KEYS.find((it) => it.act === act) ?? {}
  return (
    <button
      type="button"
      class={`plain small${phone ? ' phone-only' : ''}${act === 'star' && pressed ? ' starred' : ''}`}
      title={`${label} (${names[0]})`}
      aria-keyshortcuts={keys[0]}
      {...(!shown && { 'aria-label': label })}
      {...(pressed !== undefined && { 'aria-pressed': pressed })}
      onClick={() => perform(act)}
    >
      <Icon name={icon} />
      {shown && <span class="tool-label">{label}</span>}
    </button>
  )
}

function FactsOf({ match }: { match: Match }) {
  const { author, place, source, url, created, matched_at, score, comments, label } = match
  return (
    <p class="facts">
      {author !== null && (
        <Link to={inboxPath({ state: 'any', author })}>
          <span class="unseen">All of </span>
          {author}
        </Link>
      )}
      {place !== '' && (
        <Filtered to={inboxPath({ state: 'any', place, source })}>{placeOf(match)}</Filtered>
      )}
      <span class="quiet">{source}</span>
      <span class="quiet">
        <Time at={created ?? matched_at} />
      </span>
      {score !== null && <span class="quiet">{many(score, 'point')}</span>}
      {comments !== null && <span class="quiet">{many(comments, 'comment')}</span>}
      {label !== null && <span class="badge">{label}</span>}
      {url !== null && (
        <Outward url={url} own>
          Open at its source <Icon name="out" />
        </Outward>
      )}
    </p>
  )
}

const Filtered = ({ to, children }: { to: string; children: ComponentChildren }) => (
  <Link to={to}>
    <span class="unseen">All in </span>
    {children}
  </Link>
)

function Reasons({ match: { monitors, sentiment, intent } }: { match: Match }) {
  return (
    <dl class="facts-list">
      {monitors.map(({ id, name, matched_terms, removed, judgement }) => (
        <div key={id}>
          <dt>
            {removed ? (
              (name ?? 'A removed monitor')
            ) : (
              <Link to={dashboardPath('monitors', id)}>{name ?? 'Unnamed monitor'}</Link>
            )}
          </dt>
          <dd>
            {matched_terms.length === 0 ? (
              <span class="quiet">matched by its conditions</span>
            ) : (
              <ul class="terms" aria-label="Matched terms">
                {matched_terms.map((it) => (
                  <li key={it}>{it}</li>
                ))}
              </ul>
            )}
            {judgement !== null && (
              <p>
                {judgement.score === null ? 'No verdict' : `${percent(judgement.score)} relevant`}
                {judgement.reason && `: ${judgement.reason}`}
              </p>
            )}
          </dd>
        </div>
      ))}
      {(sentiment !== null || intent !== null) && (
        <div>
          <dt>Tags</dt>
          <dd class="quiet">
            {[intent && inWords(intent), sentiment && `${sentiment} sentiment`]
              .filter(Boolean)
              .join(', ')}
          </dd>
        </div>
      )}
    </dl>
  )
}

export const actorName = (by: ActingKey, own_key: string): string =>
  by === null ? 'forumd' : by.key_id === own_key ? 'you' : (by.name ?? 'an unnamed key')

function Changed({ match: { changed, state }, own_key }: { match: Match; own_key: string }) {
  if (changed === null) return null
  return (
    <p class="quiet small-text">
      {inWords(state)}, last changed by {actorName(changed.by, own_key)} <Time at={changed.at} />.
    </p>
  )
}

/** The state of the thread of the open match; null: it was not asked for. */
type ThreadState = {
  value: ThreadAround | null
  failure: Failure | null
  busy: boolean
} | null

type ThreadProps = { thread: ThreadState; load: () => void; terms: RegExp | null }

function ThreadView({ thread, load, terms }: ThreadProps) {
  if (thread === null)
    return (
      <p>
        <button type="button" class="small" onClick={load}>
          Load the thread <kbd aria-hidden="true">t</kbd>
        </button>{' '}
        <span class="quiet small-text">One read of the platform, billed as such.</span>
      </p>
    )
  if (thread.busy) return <Skeleton rows={2} label="Loading the thread" />
  if (thread.value === null) return <ErrorNotice failure={thread.failure} again={load} />
  const { id, post, ancestors, replies, found } = thread.value
  const above = [...(post === null || post.id === id ? [] : [post]), ...ancestors]
  return (
    <section aria-labelledby="thread">
      <h3 id="thread">Thread</h3>
      {!found && <p class="quiet">The comment is not among the first 500 of its thread.</p>}
      {above.length > 0 && (
        <ol class="thread-items" aria-label="Above it">
          {above.map((it) => (
            <ThreadItemView key={it.id} item={it} terms={terms} />
          ))}
        </ol>
      )}
      {found && (
        <p class="quiet small-text">
          {replies.length === 0 ? 'No replies yet.' : many(replies.length, 'reply', 'replies')}
        </p>
      )}
      {replies.length > 0 && (
        <ol class="thread-items" aria-label="Replies">
          {replies.map((it) => (
            <ThreadItemView key={it.id} item={it} terms={terms} />
          ))}
        </ol>
      )}
      {above.length === 0 && replies.length === 0 && !found && (
        <EmptyState title="Nothing more to read" />
      )}
    </section>
  )
}

const ThreadItemView = ({ item, terms }: { item: ThreadItem; terms: RegExp | null }) => (
  <li>
    <p class="quiet small-text facts">
      <span>{item.author ?? 'unknown author'}</span>
      <span>
        <Outward url={item.url} own>
          <Time at={item.created} none="at an unknown time" />
        </Outward>
      </span>
      {item.score !== null && <span>{many(item.score, 'point')}</span>}
    </p>
    {item.title !== null && item.title !== '' && (
      <p>
        <strong>{item.title}</strong>
      </p>
    )}
    <WrittenText text={item.text} terms={terms} />
  </li>
)
