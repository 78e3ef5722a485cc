import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

import { Icon, type IconName } from '../../components/base/icon.tsx'
import { Skeleton } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { Outward, termsOf } from '../../components/item.tsx'
import { useQuery } from '../../hooks/use-query.ts'
import { callApi } from '../../lib/api.ts'
import { many, words as inWords } from '../../lib/format.ts'
import { dashboardPath, Link } from '../../lib/route.tsx'
import { runAfter } from '../../lib/runtime.ts'
import { titleText } from './list.tsx'
import { inboxPath, placeOf } from './state/filter.ts'
import { percent, readJudgement } from './state/judgement.ts'
import type { ActingKey, Match, ThreadAround, WholeMatch } from './state/types.ts'
import { type ThreadState, ThreadView } from './thread.tsx'
import { WrittenText } from './written.tsx'

/** Typing through the list quickly asks for no text. */
const PAUSE_MS = 150

/** The actions of the open match. */
type ReaderActions = {
  star: () => void
  unread: () => void
  answered: () => void
  dismiss: () => void
  label: () => void
  mute: () => void
  reply: () => void
  previous: () => void
  next: () => void
  close: () => void
}

type ReaderProps = {
  base: string
  match: Match
  actions: ReaderActions
  /** Changes when the key asks for the thread. */
  thread_request: number
  /** Key of the reader, to name its own actions. */
  own_key: string
}

/** The open match: its whole text, its facts, and its actions. */
export function ReaderPane({ base, match, actions, thread_request, own_key }: ReaderProps) {
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
      <Toolbar match={match} actions={actions} />
      <div class="reader-scroll" ref={scroller} tabIndex={0} role="region" aria-label="Text">
        <h2 id="open-title">
          {match.erased ? 'Deleted at its source' : (full.value?.title ?? titleText(match))}
        </h2>
        <FactsOf match={match} />
        {match.erased ? (
          <p class="quiet">
            Its author or the platform removed it, so its text is no longer kept here.
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

function Toolbar({ match, actions }: { match: Match; actions: ReaderActions }) {
  const { starred, state, erased } = match
  return (
    <div class="reader-bar" role="group" aria-label="Actions">
      <Tool icon="back" label="Back to the list" keys="Esc" run={actions.close} phone />
      <Tool
        icon="dismiss"
        label={state === 'dismissed' ? 'Back to the inbox' : 'Dismiss'}
        keys="e"
        run={actions.dismiss}
        shown
      />
      <Tool
        icon="answered"
        label="Answered"
        keys="a"
        run={actions.answered}
        shown
        pressed={state === 'answered'}
      />
      <Tool icon="star" label="Star" keys="s" run={actions.star} pressed={starred} />
      <Tool
        icon="unread"
        label={state === 'unread' ? 'Mark read' : 'Mark unread'}
        keys="u"
        run={actions.unread}
      />
      <Tool icon="label" label="Label" keys="l" run={actions.label} />
      {!erased && <Tool icon="mute" label="Mute" keys="m" run={actions.mute} />}
      {!erased && <Tool icon="drafts" label="Reply" keys="r" run={actions.reply} />}
      <span class="reader-gap" />
      <Tool icon="up" label="Previous match" keys="k" run={actions.previous} />
      <Tool icon="down" label="Next match" keys="j" run={actions.next} />
    </div>
  )
}

type ToolProps = {
  icon: IconName
  label: string
  keys: string
  run: () => void
  pressed?: boolean
  /** With its label beside the icon. */
  shown?: boolean
  /** Only where the list and the text do not fit beside each other. */
  phone?: boolean
}

/** A button of the toolbar, with its key in the tooltip. */
const Tool = ({ icon, label, keys, run, pressed, shown = false, phone = false }: ToolProps) => (
  <button
    type="button"
    class={`plain tool${phone ? ' phone-only' : ''}${pressed ? ' on' : ''}`}
    title={`${label} (${keys})`}
    aria-keyshortcuts={keys === 'Esc' ? 'Escape' : keys}
    {...(!shown && { 'aria-label': label })}
    {...(pressed !== undefined && { 'aria-pressed': pressed })}
    onClick={run}
  >
    <Icon name={icon} />
    {shown && <span class="tool-label">{label}</span>}
  </button>
)

function FactsOf({ match }: { match: Match }) {
  const { author, place, source, url, created, matched_at, score, comments, label } = match
  return (
    <p class="reader-facts">
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
      {label !== null && <span class="row-label">{label}</span>}
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

/** Monitors and their terms, and the tags of the text. */
function Reasons({ match: { monitors, sentiment, intent, enrichment } }: { match: Match }) {
  const judgement = readJudgement(enrichment)
  return (
    <dl class="reasons">
      {monitors.map(({ id, name, matched_terms, removed }) => (
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
      {judgement !== null && (
        <div>
          <dt>Model</dt>
          <dd>
            {judgement.score === null ? (
              <span class="quiet">
                no verdict: {inWords(judgement.fault ?? 'unknown').toLowerCase()}
              </span>
            ) : (
              <>
                <strong>{percent(judgement.score)}</strong> relevant
                {judgement.reason && `: ${judgement.reason}`}
              </>
            )}
            {judgement.model !== null && (
              <span class="quiet small-text block">{judgement.model}</span>
            )}
          </dd>
        </div>
      )}
    </dl>
  )
}

/** The name of the key that acted. */
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
