import type { ComponentChildren } from 'preact'

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
