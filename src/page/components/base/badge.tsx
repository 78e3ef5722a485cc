import type { ComponentChildren } from 'preact'

import type { Tone } from '../../lib/monitor-status.ts'

/** A state in one or two words. The colour repeats the text and adds no information. */
export const Badge = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

const DELIVERY_TONES: { [status: string]: Tone } = {
  delivered: 'good',
  waiting: 'plain',
  retrying: 'warn',
  failed: 'bad',
  dead: 'bad',
  suppressed: 'warn',
  match: 'plain',
  paused: 'warn',
}

/** The state of a delivery, or the type of an event. A pending delivery that failed before is retrying, else waiting. */
export function DeliveryBadge({ status }: { status: string }) {
  const word = status === 'pending' ? 'waiting' : status
  return <Badge tone={DELIVERY_TONES[word] ?? 'plain'}>{word}</Badge>
}
