import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useDeed } from '../deed.ts'
import { usePaged } from '../paged.ts'
import { FeedbackCard } from '../parts/feedback-card.tsx'
import { Choice, Field, LinesField, TextField } from '../parts/field.tsx'
import { Empty, placed, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { say } from '../say.ts'
import type { Feedback, FeedbackList } from '../types.ts'

const NAMES: Record<Feedback['type'], string> = {
  bug: 'something is broken',
  idea: 'an idea',
  missing_capability: 'something is missing',
}
const TYPES = Object.entries(NAMES)

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
  const { errorOf, rest } = placed(deed.failure, ['type', 'title', 'details'])
  return (
    <form class="card" onSubmit={(event) => void submit(event)} noValidate>
      <Field label="It is" error={errorOf('type')}>
        {(tied) => <Choice<string> {...tied} value={type} options={TYPES} change={setType} />}
      </Field>
      <TextField
        label="In a line"
        hint="At most 120 characters."
        error={errorOf('title')}
        value={title}
        maxLength={120}
        change={setTitle}
      />
      <LinesField
        label="Details"
        hint="What you did, what happened, what you expected. No keys or passwords."
        error={errorOf('details')}
        rows={5}
        maxLength={8000}
        value={details}
        change={setDetails}
      />
      <Trouble failure={rest} />
      <div class="actions">
        <button type="submit" class="main" disabled={deed.busy}>
          {deed.busy ? 'Sending …' : 'Send'}
        </button>
      </div>
    </form>
  )
}
