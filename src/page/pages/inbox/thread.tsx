import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { Outward } from '../../components/item.tsx'
import type { Failure } from '../../lib/api.ts'
import { many } from '../../lib/format.ts'
import type { ThreadAround, ThreadItem } from './state/types.ts'
import { WrittenText } from './written.tsx'

/** The state of the thread of the open match; null: it was not asked for. */
export type ThreadState = {
  value: ThreadAround | null
  failure: Failure | null
  busy: boolean
} | null

type ThreadProps = { thread: ThreadState; load: () => void; terms: RegExp | null }

export function ThreadView({ thread, load, terms }: ThreadProps) {
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
