import { feedsOf, sourceKey } from '../../config/schema.ts'
import { sealCredentials } from '../../core/delivery/credentials.ts'
import { newTargetSecret, withSigningKey } from '../../core/delivery/signature.ts'
import { placesOf } from '../../core/filter/feeds.ts'
import { beginningAt, effectiveCadence } from '../../core/limits/plan.ts'
import { findCustomer } from '../../store/customers/customers.ts'
import { transact } from '../../store/db/connection.ts'
import { deleteWebhook, insertWebhook, updateWebhook } from '../../store/delivery/webhooks.ts'
import {
  changeMonitor,
  findMonitor,
  type Monitor,
  removeMonitorOf,
  startMonitor,
  type WrittenMonitor,
} from '../../store/monitoring/monitors.ts'
import type { OpenInstance } from '../configuration.ts'
import type { CustomerPlan, MonitorStep, WebhookStep } from './plan.ts'

const SEED_BYTES = 32

/** A newly created secret, printed once. */
export type NewSecret = {
  webhook_id: string
  name: string | null
  secret: string
  /** True until the recipient confirms a mail, which a test delivery sends; nothing is delivered before. */
  awaits_confirmation: boolean
}

/** Applies a whole plan in one transaction. */
export function applySteps(opened: OpenInstance, plans: readonly CustomerPlan[]): NewSecret[] {
  const new_secrets: NewSecret[] = []
  transact(opened.db, () => {
    for (const step of plans.flatMap(({ steps }) => steps))
      if (step.what === 'webhook') new_secrets.push(...writeWebhook(opened, step))
      else writeMonitor(opened, step)
  })
  return new_secrets
}

function writeWebhook({ db, ring, now, random }: OpenInstance, step: WebhookStep): NewSecret[] {
  const { customer_id, id, name } = step
  const place = `webhooks.secret:${id}`
  switch (step.action) {
    case 'create': {
      const { kind, url, credentials, edit } = step
      const { secret, stored, public_key } = newTargetSecret(
        random,
        edit.signatures.includes('v1a'),
      )
      insertWebhook(db, {
        id,
        customer_id,
        kind,
        url,
        secret: ring.seal(place, stored),
        public_key,
        credentials: credentials && sealCredentials(ring, id, credentials),
        created_at: now,
        awaits_confirmation: kind === 'email',
      })
      updateWebhook(db, customer_id, id, edit)
      return [{ webhook_id: id, name, secret, awaits_confirmation: kind === 'email' }]
    }
    case 'change':
      updateWebhook(db, customer_id, id, {
        ...step.edit,
        ...(step.address && {
          url: step.address.url,
          credentials:
            step.address.credentials && sealCredentials(ring, id, step.address.credentials),
        }),
        ...(step.fields.includes('signatures') && {
          signing: {
            reseal(sealed: Uint8Array) {
              const seed = step.edit.signatures.includes('v1a') ? random.bytes(SEED_BYTES) : null
              const { stored, public_key } = withSigningKey(ring.unseal(place, sealed), seed)
              return { secret: ring.seal(place, stored), public_key }
            },
          },
        }),
      })
      return []
    case 'remove':
      deleteWebhook(db, customer_id, id, now)
      return []
    case 'keep':
    case 'left':
      return []
  }
}

function writeMonitor({ db, now, config }: OpenInstance, step: MonitorStep): void {
  const { customer_id, id } = step
  const sources = new Map(
    config.source.map((it) => [
      sourceKey(config, it.name),
      { proof: it.kind === 'reddit' ? 'time_listing' : 'by_ids', feeds: feedsOf(it) },
    ]),
  )
  switch (step.action) {
    case 'create': {
      const monitor: WrittenMonitor = {
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
      startMonitor(db, monitor, placesOf(step.spec, sources))
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
      const places = step.fields.includes('filter_spec') ? placesOf(step.spec, sources) : null
      // The sources are not at hand here, so that nothing of them counts as verified.
      const coverage = { offset_ms: 0, limitOf: () => 'not_verified' }
      changeMonitor(db, monitor, { places, restart, begins_at, now: at }, coverage)
      return
    }
    case 'remove':
      removeMonitorOf(db, customer_id, id, now)
      return
    case 'keep':
    case 'left':
  }

  function cadenceOf(requested_s: number | null): number {
    const name = findCustomer(db, customer_id)?.plan
    const plan = name === undefined ? undefined : config.plans[name]
    return plan === undefined ? (requested_s ?? NO_PLAN_S) : effectiveCadence(plan, requested_s)
  }
}

/** Cadence of a customer whose plan is no longer configured. */
const NO_PLAN_S = 3600
