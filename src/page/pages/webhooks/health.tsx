import { Badge } from '../../components/base/badge.tsx'
import { Notice, sentence } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { count, many } from '../../lib/format.ts'
import { dashboardPath, Link } from '../../lib/route.tsx'
import type { Webhook } from '../../lib/types.ts'
import { webhookProblem, webhookStatus } from '../../lib/webhook-health.ts'

type Health = Webhook['health']

const BAR = 10
const GAP = 2
const HEIGHT = 36
/** Height of the smallest column, so that one attempt among thousands stays visible. */
const LEAST = 2

/** Attempts of 24 hours, a column each: those that failed above those that succeeded. */
function Sparkline({ hours: { succeeded, failed }, ...health }: Health) {
  const most = Math.max(1, ...succeeded.map((it, at) => it + (failed[at] ?? 0)))
  const height = (it: number) => (it === 0 ? 0 : Math.max(LEAST, (it / most) * HEIGHT))
  const ago = (at: number) => (at === succeeded.length - 1 ? 'this hour' : `${23 - at} h ago`)
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${24 * (BAR + GAP) - GAP} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Attempts in 24 hours: ${count(health.succeeded_24h)} succeeded, ${count(health.failed_24h)} failed`}
    >
      {succeeded.map((ok, at) => {
        const bad = failed[at] ?? 0
        const [good_height, bad_height] = [height(ok), height(bad)]
        const x = at * (BAR + GAP)
        return (
          <g key={at}>
            <title>{`${ago(at)}: ${count(ok)} succeeded, ${count(bad)} failed`}</title>
            <rect class="ground" x={x} width={BAR} height={HEIGHT} />
            <rect
              class="succeeded"
              x={x}
              width={BAR}
              y={HEIGHT - good_height}
              height={good_height}
            />
            <rect
              class="failed"
              x={x}
              width={BAR}
              y={Math.max(0, HEIGHT - good_height - bad_height)}
              height={Math.min(bad_height, HEIGHT)}
            />
          </g>
        )
      })}
    </svg>
  )
}

/** A share such as 99.95 %, never rounded up to all of them. */
const percent = (share: number): string => `${Math.floor(share * 1000) / 10} %`

/** Deliveries to a webhook: success rate, attempts of 24 hours, and what waits. */
export function HealthFacts({ webhook: { id, health } }: { webhook: Webhook }) {
  const { success_rate_24h, last_failure, waiting, retrying, next_attempt_at } = health
  const attempts = health.succeeded_24h + health.failed_24h
  return (
    <div class="webhook-health">
      <Sparkline {...health} />
      <p class="small-text facts">
        <span>
          {success_rate_24h === null
            ? 'no attempts in 24 h'
            : `${percent(success_rate_24h)} of ${many(attempts, 'attempt')} in 24 h succeeded`}
        </span>
        <span>
          last success <Time at={health.last_success_at} />
        </span>
        {last_failure && (
          <span>
            <LastFailure {...last_failure} />
          </span>
        )}
        {waiting > 0 && (
          <Link to={`${dashboardPath('deliveries')}?status=waiting&webhook=${id}`}>
            {count(waiting)} waiting
          </Link>
        )}
        {retrying > 0 && (
          <Link to={`${dashboardPath('deliveries')}?status=retrying&webhook=${id}`}>
            {count(retrying)} retrying
          </Link>
        )}
        {next_attempt_at !== null && (
          <span>
            next attempt <Time at={next_attempt_at} close="now" />
          </span>
        )}
        <Link to={`${dashboardPath('deliveries')}?webhook=${id}`}>Deliveries</Link>
      </p>
    </div>
  )
}

const LastFailure = ({ at, delivery_id }: NonNullable<Health['last_failure']>) => {
  const text = (
    <>
      last error <Time at={at} />
    </>
  )
  return delivery_id === null ? (
    text
  ) : (
    <Link to={dashboardPath('deliveries', delivery_id)}>{text}</Link>
  )
}

export function WebhookBadge({ webhook }: { webhook: Webhook }) {
  const { tone, word } = webhookStatus(webhook)
  return <Badge tone={tone}>{word}</Badge>
}

export const ResponseBody = ({ text }: { text: string | null | undefined }) =>
  text ? (
    <div>
      <span class="small-text">Response body:</span>
      <code class="said-back">{text}</code>
    </div>
  ) : null

/** Reason, since when, and fix, while deliveries to a webhook do not arrive. */
export function WebhookProblem({ webhook }: { webhook: Webhook }) {
  const { id, health, paused_at } = webhook
  const problem = webhookProblem(webhook)
  if (problem === null) return null
  return (
    <Notice tone={health.state === 'retrying' ? 'warn' : 'bad'}>
      {health.state === 'paused' ? (
        <p>
          Paused <Time at={paused_at} />: {problem}. Fix the receiver, then test it: a successful
          test resumes the webhook.
        </p>
      ) : (
        <p>
          <strong>{sentence(problem)}</strong> First failed attempt{' '}
          <Time at={health.failing_since} />.{' '}
          {health.state === 'retrying' ? (
            'Attempts are repeated.'
          ) : (
            <>
              At least one delivery was given up: fix the receiver, then{' '}
              <Link to={`${dashboardPath('deliveries')}?webhook=${id}&resend=${id}`}>
                send failed deliveries again
              </Link>
              .
            </>
          )}
        </p>
      )}
      <ResponseBody text={health.last_failure?.body_start} />
    </Notice>
  )
}
