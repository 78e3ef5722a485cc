import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ask, type Failure } from '../api.ts'
import { useAsk } from '../ask.ts'
import { words as inWords } from '../show.ts'
import type { Tone } from '../standing.ts'
import type { Feedback } from '../types.ts'
import { Badge } from './badge.tsx'
import { Time } from './time.tsx'

const TONES: { [status: string]: Tone } = {
  new: 'plain',
  triaged: 'warn',
  shipped: 'good',
  declined: 'quiet',
}

/** One piece of feedback and its answer. What people wrote keeps its lines and is nothing but text. */
export function FeedbackCard({
  feedback: { type, title, details, status, created_at, response, customer },
  children,
}: {
  feedback: Feedback
  children?: ComponentChildren
}) {
  return (
    <li class="card">
      <div class="card-head">
        <h3>{title}</h3>
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
          <p class="quiet small-text">The operator answered</p>
          <p class="written">{response}</p>
        </div>
      )}
      {children}
    </li>
  )
}

type FeedbackPage = { feedback: Feedback[]; next_cursor: string | null }

/** Feedback page by page, newest first. */
export function usePaged(asked: string) {
  const newest = useAsk<FeedbackPage>(asked)
  const [older, setOlder] = useState<{ rows: Feedback[]; next: string | null } | null>(null)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  useEffect(() => {
    setOlder(null)
    setFailure(null)
  }, [asked])
  const first = newest.value?.feedback ?? []
  const next = older ? older.next : (newest.value?.next_cursor ?? null)
  async function load() {
    if (next === null) return
    setBusy(true)
    const answer = await ask<FeedbackPage>(`${asked}&cursor=${encodeURIComponent(next)}`)
    setBusy(false)
    if (!answer.ok) return setFailure(answer.failure)
    const { feedback, next_cursor } = answer.value
    setOlder({ rows: [...(older?.rows ?? []), ...feedback], next: next_cursor })
  }
  const rows = [...first, ...(older?.rows ?? [])]
  return {
    rows,
    first: newest.value === undefined && newest.failure === null,
    none: newest.value !== undefined && rows.length === 0,
    failure: failure ?? newest.failure,
    // What is loaded of older ones may have changed with it.
    again: () => {
      setOlder(null)
      newest.again()
    },
    more: next !== null,
    busy,
    older: () => void load(),
  }
}
