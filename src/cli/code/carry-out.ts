import { placesOf } from '../../core/filter-places.ts'
import { beginningAt, effectiveCadence } from '../../core/gate.ts'
import { toSecret } from '../../core/signature.ts'
import { transact } from '../../store/db.ts'
import { findMonitor, type Monitor } from '../../store/monitors.ts'
import { changeMonitor, removeMonitorOf, startMonitor } from '../../store/watching.ts'
import { deleteWebhook, insertWebhook, updateWebhook } from '../../store/webhooks.ts'
import type { Opened } from '../instance.ts'
import type { MonitorStep, Planned, WebhookStep } from './plan.ts'

const SECRET_BYTES = 32

/** A secret that was made just now, to be shown this once. */
export type Made = {
  webhook_id: string
  name: string | null
  secret: string
  /** It takes nothing until its reader has said yes to a mail, which a test delivery sends. */
  awaits_confirmation: boolean
}

/** Writes all of a plan, or nothing of it. */
export function carryOut(opened: Opened, plans: readonly Planned[]): Made[] {
  const made: Made[] = []
  transact(opened.db, () => {
    for (const step of plans.flatMap(({ steps }) => steps))
      if (step.what === 'webhook') made.push(...writeWebhook(opened, step))
      else writeMonitor(opened, step)
  })
  return made
}

function writeWebhook({ db, ring, now, random }: Opened, step: WebhookStep): Made[] {
  const { customer_id, id, name } = step
  switch (step.action) {
    case 'create': {
      const { kind, url, edit } = step
      const secret = toSecret(random.bytes(SECRET_BYTES))
      insertWebhook(db, {
        id,
        customer_id,
        kind,
        url,
        secret: ring.seal(`webhooks.secret:${id}`, secret),
        created_at: now,
        awaits_confirmation: kind === 'email',
      })
      updateWebhook(db, customer_id, id, edit)
      return [{ webhook_id: id, name, secret, awaits_confirmation: kind === 'email' }]
    }
    case 'change':
      updateWebhook(db, customer_id, id, step.edit)
      return []
    case 'remove':
      deleteWebhook(db, customer_id, id, now)
      return []
    case 'keep':
    case 'left':
      return []
  }
}

function writeMonitor({ db, now, config }: Opened, step: MonitorStep): void {
  const { customer_id, id } = step
  switch (step.action) {
    case 'create': {
      const monitor: Monitor = {
        ...step.set,
        id,
        customer_id,
        cadence_s: cadenceOf(step.set.requested_cadence_s),
        baseline_item_id: null,
        active_since: beginningAt(now, 0),
        created_at: now,
        updated_at: now,
        last_match_at: null,
      }
      startMonitor(db, monitor, placesOf(step.spec))
      return
    }
    case 'change': {
      const before = findMonitor(db, customer_id, id)
      if (before === null) return
      const at = Math.max(now, before.updated_at + 1)
      const begins_at = beginningAt(now, 0)
      const restart = step.set.active && !before.active
      const monitor: Monitor = {
        ...before,
        ...step.set,
        cadence_s:
          step.set.requested_cadence_s === before.requested_cadence_s
            ? before.cadence_s
            : cadenceOf(step.set.requested_cadence_s),
        active_since: restart ? begins_at : before.active_since,
        baseline_item_id: restart ? null : before.baseline_item_id,
        updated_at: at,
      }
      const places = step.fields.includes('filter_spec') ? placesOf(step.spec) : null
      changeMonitor(db, monitor, { places, restart, begins_at, now: at })
      return
    }
    case 'remove':
      removeMonitorOf(db, customer_id, id, now)
      return
    case 'keep':
    case 'left':
  }

  function cadenceOf(requested_s: number | null): number {
    const name = db
      .query<{ plan: string }, [string]>('SELECT plan FROM customers WHERE id = ?')
      .get(customer_id)?.plan
    const plan = name === undefined ? undefined : config.plans[name]
    return plan === undefined ? (requested_s ?? NO_PLAN_S) : effectiveCadence(plan, requested_s)
  }
}

/** A plan that the configuration no longer has keeps what it has at an honest pace. */
const NO_PLAN_S = 3600
