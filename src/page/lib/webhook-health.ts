import type { Tone } from './monitor-status.ts'
import { errorReason, pauseReason } from './reasons.ts'
import { dashboardPath } from './route.tsx'
import type { Webhook } from './types.ts'

/** The name of a webhook; without one, the host or mail address of its URL. */
export const webhookName = ({ name, url }: Pick<Webhook, 'name' | 'url'>): string =>
  name ?? (URL.parse(url)?.host || url.replace(/^mailto:/i, ''))

const STATES: { [state: string]: { tone: Tone; word: string } } = {
  good: { tone: 'good', word: 'Active' },
  unused: { tone: 'plain', word: 'Active, not used yet' },
  retrying: { tone: 'warn', word: 'Retrying' },
  failing: { tone: 'bad', word: 'Failing' },
  paused: { tone: 'bad', word: 'Paused' },
  off: { tone: 'quiet', word: 'Off' },
}

/** The state of a webhook in one or two words. A state that a newer daemon has is its own word. */
export function webhookStatus({ health, kind }: Webhook): { tone: Tone; word: string } {
  if (health.state === 'off' && kind === 'email')
    return { tone: 'quiet', word: 'Off or unconfirmed' }
  return STATES[health.state] ?? { tone: 'plain', word: health.state }
}

/** The reason for which deliveries to a webhook do not arrive; null if they do, or it is off. */
export function webhookProblem({ health, pause_reason }: Webhook): string | null {
  if (health.state === 'paused') return pauseReason(pause_reason ?? 'unknown')
  if (health.state !== 'retrying' && health.state !== 'failing') return null
  return errorReason(health.last_failure?.reason ?? 'unknown')
}

/** The targets of a monitor. null: every active webhook. An id without a webhook is left out. */
export const targetsOf = (
  webhook_ids: readonly string[] | null | undefined,
  webhooks: readonly Webhook[],
): Webhook[] =>
  webhook_ids
    ? webhook_ids.flatMap((id) => webhooks.find((it) => it.id === id) ?? [])
    : webhooks.filter(({ active, health }) => active || health.state === 'paused')

export const webhookPath = (id: string): string => dashboardPath('webhooks', id)
