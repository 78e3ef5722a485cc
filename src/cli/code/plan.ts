import type { Allowed } from '../../core/address.ts'
import type { FilterSpec } from '../../core/filter-spec.ts'
import { judgeSlots } from '../../core/gate.ts'
import type { WebhookKind } from '../../core/webhook-kind.ts'
import type { Words } from '../../core/wire.ts'
import type { Monitor } from '../../store/monitors.ts'
import type { WebhookEdit } from '../../store/webhooks.ts'
import type { Document } from './document.ts'
import type { Held } from './held.ts'
import { planMonitors } from './plan-monitors.ts'
import { planWebhooks } from './plan-webhooks.ts'
import type { Path, Problems } from './problems.ts'

/** What a monitor is to be, as far as a file says it. */
export type MonitorSet = Pick<
  Monitor,
  'name' | 'filter_spec' | 'requested_cadence_s' | 'webhook_ids' | 'active'
>

type About = { customer_id: string; id: string; name: string | null }

type Untouched = About & { action: 'keep' | 'left' | 'remove' }
/** What is to be done about one webhook. */
export type WebhookStep = { what: 'webhook' } & (
  | Untouched
  | (About & { action: 'create'; kind: WebhookKind; url: string; edit: WebhookEdit })
  | (About & { action: 'change'; fields: string[]; edit: WebhookEdit })
)
/** What is to be done about one monitor. */
export type MonitorStep = { what: 'monitor' } & (
  | Untouched
  | (About & { action: 'create'; spec: FilterSpec; set: MonitorSet })
  | (About & { action: 'change'; fields: string[]; spec: FilterSpec; set: MonitorSet })
)
/** One thing to do, or to leave. `left`: it is there, and the file does not speak of it. */
type Step = WebhookStep | MonitorStep

/** The steps for one customer, webhooks before the monitors that name them. */
export type Planned = { customer: string; steps: Step[] }

/** What a plan is made with, beside the file and what is there. */
export type Planning = {
  words: Words
  /** What targets may be called. */
  allowed: Allowed
  /** Whether there can be targets of kind email. */
  mails: boolean
  /** The text that stands for an address; the address itself where it stands for nothing else. */
  readUrl: (text: string) => string | { found: string; allowed: string }
  isTaken: (what: 'webhooks' | 'monitors', id: string) => boolean
  newId: (prefix: 'wh' | 'mon') => string
  /** Whether what the file does not speak of is removed. */
  prune: boolean
}

/** What it takes to make it so for one customer. What stands in the way is noted as a problem. */
export function planCustomer(
  declared: Document['customers'][number],
  held: Held,
  { planning, problems, path }: { planning: Planning; problems: Problems; path: Path },
): Planned {
  const webhooks = planWebhooks(declared.webhooks, held, {
    planning,
    problems,
    path: [...path, 'webhooks'],
  })
  const monitors = planMonitors(declared.monitors, held, webhooks.known, {
    planning,
    problems,
    path: [...path, 'monitors'],
  })
  checkSlots(held, monitors, (found, allowed) =>
    problems.add([...path, 'monitors'], found, allowed),
  )
  return { customer: held.customer.name, steps: [...webhooks.steps, ...monitors.steps] }
}

function checkSlots(
  { customer, plan, slots }: Held,
  { added }: { added: { used: number; sitewide_used: number } },
  refuse: (found: string, allowed: string) => void,
) {
  if (added.used <= 0 && added.sitewide_used <= 0) return
  if (plan === null)
    return refuse(
      `the plan ${customer.plan} of ${customer.name} is not in the configuration`,
      'forumd customer set-plan gives another one',
    )
  const refusal = judgeSlots(plan, slots, added)
  if (refusal === null) return
  const what = refusal.code === 'monitor_slots_exhausted' ? 'monitors' : 'site-wide monitors'
  refuse(
    `more ${what} than the plan ${customer.plan} has room for`,
    `allowed: ${refusal.limit}, or a larger plan: forumd customer set-plan`,
  )
}
