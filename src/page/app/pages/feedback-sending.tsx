import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useDeed } from '../deed.ts'
import { usePaged } from '../paged.ts'
import { FeedbackCard } from '../parts/feedback-card.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Empty, sentence, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { say } from '../say.ts'
import type { FeedbackList } from '../types.ts'

const TYPES = [
  ['bug', 'something is broken'],
  ['idea', 'an idea'],
  ['missing_capability', 'something is missing'],
] as const

/** Tells the operator something, and shows what was answered. */
export function FeedbackSending() {
  const list = usePaged<FeedbackList>('/feedback?limit=25')
  const rows = list.pages.flatMap((page) => page.feedback)
  return (
    <Page
      title="Feedback"
      lead="Tell the operator of this daemon what is broken, missing or could be better."
    >
      <FeedbackForm sent={list.again} />
      <section aria-labelledby="sent">
        <h2 id="sent">What you sent</h2>
        <Trouble failure={list.failure} again={list.again} />
        {list.first && <Waiting rows={2} />}
        {list.pages.length > 0 && rows.length === 0 && <Empty title="Nothing yet" />}
        <ul class="cards">
          {rows.map((it) => (
            <FeedbackCard key={it.id} feedback={it} />
          ))}
        </ul>
        {list.more && (
          <button type="button" disabled={list.busy} onClick={list.older}>
            Show older
          </button>
        )}
      </section>
    </Page>
  )
}

function FeedbackForm({ sent }: { sent: () => void }) {
  const [type, setType] = useState<string>('bug')
  const [title, setTitle] = useState('')
  const [details, setDetails] = useState('')
  const deed = useDeed()
  async function submit(event: Event) {
    event.preventDefault()
    const answer = await deed.run(() => send('/feedback', { type, title, details }))
    if (!answer.ok) return
    setTitle('')
    setDetails('')
    say('Sent. The answer will be shown here.')
    sent()
  }
  const { failure } = deed
  const errorOf = (field: string) => (failure?.field === field ? sentence(failure.message) : null)
  const placed = ['type', 'title', 'details'].includes(failure?.field ?? '')
  return (
    <form class="card" onSubmit={(event) => void submit(event)} noValidate>
      <Field label="It is" error={errorOf('type')}>
        {(tied) => <Choice<string> {...tied} value={type} options={TYPES} change={setType} />}
      </Field>
      <Field label="In a line" hint="At most 120 characters." error={errorOf('title')}>
        {(tied) => (
          <input
            {...tied}
            value={title}
            maxLength={120}
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="Details"
        hint="What you did, what happened, what you expected. No keys or passwords."
        error={errorOf('details')}
      >
        {(tied) => (
          <textarea
            {...tied}
            rows={5}
            maxLength={8000}
            value={details}
            onInput={(event) => setDetails(event.currentTarget.value)}
          />
        )}
      </Field>
      <Trouble failure={placed ? null : failure} />
      <div class="actions">
        <button type="submit" class="main" disabled={deed.busy}>
          {deed.busy ? 'Sending …' : 'Send'}
        </button>
      </div>
    </form>
  )
}
