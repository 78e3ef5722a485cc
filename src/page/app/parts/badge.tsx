import type { ComponentChildren } from 'preact'

import type { Tone } from '../standing.ts'

/** A state in a word or two. The colour repeats what the words say. */
export const Badge = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** How each state of a delivery is shown. */
const DELIVERY_TONES: { [status: string]: Tone } = {
  delivered: 'good',
  pending: 'plain',
  failed: 'bad',
  dead: 'bad',
  suppressed: 'warn',
  match: 'plain',
  paused: 'warn',
}

/** The state of a delivery, or what happened to one. */
export const DeliveryBadge = ({ status }: { status: string }) => (
  <Badge tone={DELIVERY_TONES[status] ?? 'plain'}>{status}</Badge>
)
