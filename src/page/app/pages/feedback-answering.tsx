import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useDeed } from '../deed.ts'
import { usePaged } from '../paged.ts'
import { FeedbackCard } from '../parts/feedback-card.tsx'
import { Choice, Field, LinesField } from '../parts/field.tsx'
import { Empty, placed, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { say } from '../say.ts'
import type { Feedback, FeedbackList } from '../types.ts'

const NAMES: Record<Feedback['status'], string> = {
  new: 'new',
  triaged: 'triaged',
  shipped: 'shipped',
  declined: 'declined',
}
const STATUSES = Object.entries(NAMES)
const SHOWN = [['', 'all of it'] as const, ...STATUSES]

/** What customers told, and the operator's answers. */
export function FeedbackAnswering() {
  const [status, setStatus] = useState<string>('new')
  const list = usePaged<FeedbackList>(`/operator/feedback?limit=25${status && `&status=${status}`}`)
  const rows = list.pages.flatMap((page) => page.feedback)
  return (
    <Page
      title="Feedback"
      lead="What customers told you. They see your answer and its state."
      beside={
        <Field label="Show">
          {(tied) => <Choice<string> {...tied} value={status} options={SHOWN} change={setStatus} />}
        </Field>
      }
    >
      <Trouble failure={list.failure} again={list.again} />
      {list.first && <Waiting rows={3} />}
      {list.pages.length > 0 && rows.length === 0 && (
        <Empty title={status === 'new' ? 'Nothing waits for you' : 'None is like that'}>
          <p>Customers send it on their dashboard, or by POST /feedback.</p>
        </Empty>
      )}
      <ul class="cards">
        {rows.map((it) => (
          <FeedbackCard key={it.id} feedback={it}>
            <AnswerForm feedback={it} done={list.again} />
          </FeedbackCard>
        ))}
      </ul>
      {list.more && (
        <button type="button" disabled={list.busy} onClick={list.older}>
          Show older
        </button>
      )}
    </Page>
  )
}

function AnswerForm({ feedback, done }: { feedback: Feedback; done: () => void }) {
  const [status, setStatus] = useState<string>(feedback.status)
  const [response, setResponse] = useState(feedback.response ?? '')
  const deed = useDeed()
  async function answer(event: Event) {
    event.preventDefault()
    const text = response.trim()
    const answered = await deed.run(() =>
      send(`/operator/feedback/${encodeURIComponent(feedback.id)}`, {
        status,
        response: text === '' ? null : text,
      }),
    )
    if (!answered.ok) return
    say('Answered.')
    done()
  }
  const { errorOf, rest } = placed(deed.failure, ['status', 'response'])
  return (
    <details>
      <summary>Answer</summary>
      <form onSubmit={(event) => void answer(event)} noValidate>
        <Field label="State" error={errorOf('status')}>
          {(tied) => <Choice {...tied} value={status} options={STATUSES} change={setStatus} />}
        </Field>
        <LinesField
          label="Answer"
          hint="The customer reads it."
          error={errorOf('response')}
          rows={4}
          maxLength={8000}
          value={response}
          change={setResponse}
        />
        <Trouble failure={rest} />
        <button type="submit" class="main" disabled={deed.busy}>
          Save answer
        </button>
      </form>
    </details>
  )
}
