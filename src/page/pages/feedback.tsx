import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { Badge } from '../components/base/badge.tsx'
import { ChoiceField, LinesField, TextField } from '../components/base/field.tsx'
import { assignErrors, EmptyState, ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { Time } from '../components/base/time.tsx'
import { notify } from '../components/base/toast.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useCurrentUser } from '../hooks/contexts.ts'
import { useAction } from '../hooks/use-action.ts'
import { usePaged } from '../hooks/use-query.ts'
import { postJson } from '../lib/api.ts'
import { words as inWords } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import type { Feedback, FeedbackList } from '../lib/types.ts'

const TONES: { [status: string]: Tone } = {
  new: 'plain',
  triaged: 'warn',
  shipped: 'good',
  declined: 'quiet',
}

/** One piece of feedback and its answer, as plain text with line breaks. */
function FeedbackCard({
  feedback: { type, title, details, status, created_at, response, customer },
  heading: Heading = 'h3',
  children,
}: {
  feedback: Feedback
  /** One level below the heading that the list is under. */
  heading?: 'h2' | 'h3'
  children?: ComponentChildren
}) {
  return (
    <li class="card">
      <div class="card-head">
        <Heading>{title}</Heading>
        <Badge tone={TONES[status] ?? 'plain'}>{inWords(status)}</Badge>
      </div>
      <p class="quiet small-text facts">
        <span>{inWords(type)}</span>
        {customer && <span>from {customer.name}</span>}
        <span>
          <Time at={created_at} />
        </span>
      </p>
      <p class="written">{details}</p>
      {response && (
        <div class="answer">
          <p class="quiet small-text">Answer of the operator</p>
          <p class="written">{response}</p>
        </div>
      )}
      {children}
    </li>
  )
}

const FEEDBACK_NAMES: Record<Feedback['status'], string> = {
  new: 'new',
  triaged: 'triaged',
  shipped: 'shipped',
  declined: 'declined',
}
const STATUSES = Object.entries(FEEDBACK_NAMES)
const STATUS_FILTERS = [['', 'all'] as const, ...STATUSES]

/** Feedback of all customers, with a form to answer. */
function FeedbackAnswering() {
  const [status, setStatus] = useState<string>('new')
  const list = usePaged<FeedbackList>(`/operator/feedback?limit=25${status && `&status=${status}`}`)
  const rows = list.pages.flatMap((page) => page.feedback)
  return (
    <PageLayout
      title="Feedback"
      lead="Feedback from customers. They see your answer and the status."
      beside={
        <ChoiceField<string>
          label="Show"
          value={status}
          options={STATUS_FILTERS}
          change={setStatus}
        />
      }
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.first && <Skeleton rows={3} />}
      {list.pages.length > 0 && rows.length === 0 && (
        <EmptyState title={status === 'new' ? 'No new feedback' : 'No feedback with this status'}>
          <p>Customers send feedback on their dashboard or with POST /feedback.</p>
        </EmptyState>
      )}
      <ul class="cards">
        {rows.map((it) => (
          <FeedbackCard key={it.id} feedback={it} heading="h2">
            <AnswerForm feedback={it} done={list.again} />
          </FeedbackCard>
        ))}
      </ul>
      {list.more && (
        <button type="button" disabled={list.busy} onClick={list.older}>
          Show older
        </button>
      )}
    </PageLayout>
  )
}

function AnswerForm({ feedback, done }: { feedback: Feedback; done: () => void }) {
  const [status, setStatus] = useState<string>(feedback.status)
  const [response, setResponse] = useState(feedback.response ?? '')
  const action = useAction()
  async function answer(event: Event) {
    event.preventDefault()
    const text = response.trim()
    const answered = await action.run(() =>
      postJson(`/operator/feedback/${encodeURIComponent(feedback.id)}`, {
        status,
        response: text === '' ? null : text,
      }),
    )
    if (!answered.ok) return
    notify('Answer saved.')
    done()
  }
  const { errorOf, rest } = assignErrors(action.failure, ['status', 'response'])
  return (
    <details>
      <summary>Answer</summary>
      <form onSubmit={(event) => void answer(event)} noValidate>
        <ChoiceField
          label="State"
          error={errorOf('status')}
          value={status}
          options={STATUSES}
          change={setStatus}
        />
        <LinesField
          label="Answer"
          hint="Shown to the customer."
          error={errorOf('response')}
          rows={4}
          maxLength={8000}
          value={response}
          change={setResponse}
        />
        <ErrorNotice failure={rest} />
        <button type="submit" class="main" disabled={action.busy}>
          Save answer
        </button>
      </form>
    </details>
  )
}

const NAMES: Record<Feedback['type'], string> = {
  bug: 'bug',
  idea: 'idea',
  missing_capability: 'missing capability',
}
const TYPES = Object.entries(NAMES)

/** Sends feedback to the operator and shows the answers. */
function FeedbackSending() {
  const list = usePaged<FeedbackList>('/feedback?limit=25')
  const rows = list.pages.flatMap((page) => page.feedback)
  return (
    <PageLayout
      title="Feedback"
      lead="Report bugs, missing capabilities and ideas to the operator of this daemon."
    >
      <FeedbackForm sent={list.again} />
      <section aria-labelledby="sent">
        <h2 id="sent">Sent feedback</h2>
        <ErrorNotice failure={list.failure} again={list.again} />
        {list.first && <Skeleton rows={2} />}
        {list.pages.length > 0 && rows.length === 0 && (
          <EmptyState title="No feedback yet">
            <p>Your reports and the answers of the operator appear here.</p>
          </EmptyState>
        )}
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
    </PageLayout>
  )
}

function FeedbackForm({ sent }: { sent: () => void }) {
  const [type, setType] = useState<string>('bug')
  const [title, setTitle] = useState('')
  const [details, setDetails] = useState('')
  const action = useAction()
  async function submit(event: Event) {
    event.preventDefault()
    const answer = await action.run(() => postJson('/feedback', { type, title, details }))
    if (!answer.ok) return
    setTitle('')
    setDetails('')
    notify('Sent. The answer will be shown here.')
    sent()
  }
  const { errorOf, rest } = assignErrors(action.failure, ['type', 'title', 'details'])
  return (
    <form class="card" onSubmit={(event) => void submit(event)} noValidate>
      <ChoiceField<string>
        label="Type"
        error={errorOf('type')}
        value={type}
        options={TYPES}
        change={setType}
      />
      <TextField
        label="Title"
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
      <ErrorNotice failure={rest} />
      <div class="actions">
        <button type="submit" class="main" disabled={action.busy}>
          {action.busy ? 'Sending …' : 'Send'}
        </button>
      </div>
    </form>
  )
}

/** Feedback: customers send it, operators answer it. */
export const FeedbackPage = () =>
  useCurrentUser().role === 'operator' ? <FeedbackAnswering /> : <FeedbackSending />
