import type { Plan } from '../../core/gate.ts'
import { listSetWebhooks, type SetWebhook } from '../../store/as-code.ts'
import { type Customer, findCustomerByName } from '../../store/customers.ts'
import type { Db } from '../../store/db.ts'
import { countSlots, listMonitors, type Monitor } from '../../store/monitors.ts'

/** What a customer has, for what is declared to be held against. */
export type Held = {
  customer: Customer
  plan: Plan | null
  slots: { used: number; sitewide_used: number }
  webhooks: SetWebhook[]
  monitors: Monitor[]
}

/** What a customer of this name has; null when there is none. */
export function heldBy(db: Db, name: string, plans: Readonly<Record<string, Plan>>): Held | null {
  const customer = findCustomerByName(db, name)
  if (customer === null) return null
  return {
    customer,
    plan: plans[customer.plan] ?? null,
    slots: countSlots(db, customer.id),
    webhooks: listSetWebhooks(db, customer.id),
    monitors: listMonitors(db, customer.id),
  }
}
