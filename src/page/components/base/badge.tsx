import type { ComponentChildren } from 'preact'

import type { Tone } from '../../lib/monitor-status.ts'

/** A state in one or two words. The colour repeats the text and adds no information. */
export const Badge = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** The tone of each delivery state and event. */
const DELIVERY_TONES: { [status: string]: Tone } = {
  delivered: 'good',
  pending: 'plain',
  retrying: 'warn',
  failed: 'bad',
  dead: 'bad',
  suppressed: 'warn',
  match: 'plain',
  paused: 'warn',
}

/** The state of a delivery, or the type of an event. */
export const DeliveryBadge = ({ status }: { status: string }) => (
  <Badge tone={DELIVERY_TONES[status] ?? 'plain'}>{status}</Badge>
)
