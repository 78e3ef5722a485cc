import type { Db } from '../../store/db/connection.ts'
import { listFailingWebhooks } from '../../store/maintenance/metric-queries.ts'
import { type Check, type CheckResult, doubtful, fine } from './check.ts'

const LISTED_MAX = 10

/** Checks for webhooks without successful deliveries, with their pending deliveries. */
export function webhookChecks(db: Db): Check[] {
  const { count, failing } = listFailingWebhooks(db)
  return [{ title: 'checking webhooks', run: () => webhookResults(count, failing) }]
}

type Failing = ReturnType<typeof listFailingWebhooks>['failing']

function webhookResults(count: number, failing: Failing): CheckResult[] {
  if (count === 0) return []
  if (failing.length === 0)
    return [
      fine('webhooks', count === 1 ? '1 webhook, none fails' : `${count} webhooks, none fails`),
    ]
  const more = failing.length - LISTED_MAX
  return [
    ...failing.slice(0, LISTED_MAX).map((it) => {
      const of = `${it.id} of ${it.customer}`
      if (it.pause_reason !== null)
        return doubtful(
          'webhook',
          it.pause_reason === 'gone'
            ? 'it is paused: its receiver answered 410'
            : 'it is paused: no delivery succeeded for a week',
          'fix the receiver, then call webhook/test and run forumd deliveries redrive',
          of,
        )
      return doubtful(
        'webhook',
        `its deliveries fail (${it.last_error ?? 'unknown'}), ${it.waiting} pending`,
        'check its receiver; GET why?delivery_id=… shows its responses',
        of,
      )
    }),
    ...(more > 0 ? [doubtful('webhook', `${more} more fail`, 'see /dashboard, Webhooks')] : []),
  ]
}
