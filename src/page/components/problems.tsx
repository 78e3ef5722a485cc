import { useCurrentUser } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import { many } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import { errorReason } from '../lib/reasons.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Problem, ProblemReport } from '../lib/types.ts'
import { webhookPath } from '../lib/webhook-health.ts'
import { Badge } from './base/badge.tsx'
import { ErrorNotice, sentence, Skeleton } from './base/notice.tsx'
import { Time } from './base/time.tsx'

const REFRESH_MS = 15_000

const TONES: { [severity: string]: readonly [Tone, string] } = {
  error: ['bad', 'Failing'],
  warning: ['warn', 'Warning'],
  info: ['quiet', 'To do'],
}

/** A page that opens the dialog of an object. */
const opened = (page: string, dialog: string, of: string) =>
  `${dashboardPath(page)}?${dialog}=${encodeURIComponent(of)}`

const OF_CUSTOMER: { [kind: string]: (subject: string) => string } = {
  source_unreachable: () => dashboardPath('monitors'),
  feed_behind: () => dashboardPath('monitors'),
  monitor_incomplete: (id) =>
    id === '' ? dashboardPath('monitors') : dashboardPath('monitors', id),
  webhook_failing: webhookPath,
  webhook_retrying: webhookPath,
  webhook_paused: webhookPath,
  webhook_off: (id) => `${webhookPath(id)}?edit=${encodeURIComponent(id)}`,
  webhook_unconfirmed: webhookPath,
  monitor_stopped: (id) => dashboardPath('monitors', id, 'edit'),
  monitors_paused: () => dashboardPath('monitors'),
  daily_ceiling: () => `${dashboardPath('deliveries')}?status=suppressed`,
  credits_used_up: () => dashboardPath('usage'),
  drafts_waiting: () => dashboardPath('drafts'),
  model_limit: () => dashboardPath('monitors'),
  model_unavailable: () => dashboardPath('monitors'),
}

/** The same for operators, where the problem is not that of one customer. */
const OF_OPERATOR: { [kind: string]: string } = {
  source_unreachable: 'sources',
  source_untried: 'sources',
  source_incomplete: 'sources',
  feed_behind: 'sources',
  monitor_incomplete: 'monitors',
  access_ends: 'sources',
  reads_degraded: 'sources',
  proxy_failing: 'pool',
  daily_ceiling: 'customers',
  drafts_waiting: 'drafts',
}

/** Pages of an owner for problems of the daemon. */
const OF_OWNER: { [kind: string]: string } = {
  source_unreachable: dashboardPath('sources'),
  source_untried: dashboardPath('sources'),
  source_incomplete: dashboardPath('sources'),
  feed_behind: dashboardPath('sources'),
  access_ends: dashboardPath('sources'),
  reads_degraded: dashboardPath('sources'),
  proxy_failing: dashboardPath('pool'),
  account_unusable: dashboardPath('pool'),
}

const customerPath = ({ kind, subject }: Problem): string =>
  OF_CUSTOMER[kind]?.(subject?.id ?? '') ?? dashboardPath()

export function operatorPath({ kind, customer, subject }: Problem): string {
  if (customer)
    return (
      dashboardPath('customers', customer.id) +
      (kind === 'credits_used_up' ? '?do=add%20credits' : '')
    )
  if (kind === 'account_unusable') return opened('pool', 'login', subject?.name ?? '')
  const page = OF_OPERATOR[kind]
  return page === undefined ? dashboardPath() : dashboardPath(page)
}

/** The state in one sentence, and each problem as one linked line with its fix. */
export function ProblemBanner({ path, operator = false }: { path: string; operator?: boolean }) {
  const { value, failure, again } = useQuery<ProblemReport>(path, { every_ms: REFRESH_MS })
  if (value === undefined)
    return failure === null ? (
      <Skeleton rows={1} label="Checking" />
    ) : (
      <ErrorNotice failure={failure} again={again} />
    )
  return <ProblemList report={value} pathOf={operator ? operatorPath : customerPath} />
}

/** The state of the whole on each page: one line that opens, or nothing while nothing fails. */
export function StateLine() {
  const { customer, role } = useCurrentUser()
  const path = role === 'customer' ? '/account/problems' : '/operator/problems'
  const { value } = useQuery<ProblemReport>(path, { every_ms: REFRESH_MS })
  if (value === undefined || value.status === 'ok') return null
  const own = (problem: Problem) =>
    role === 'customer'
      ? customerPath(problem)
      : role === 'operator'
        ? operatorPath(problem)
        : problem.customer === null || problem.customer?.id === customer?.id
          ? (OF_OWNER[problem.kind] ?? customerPath(problem))
          : operatorPath(problem)
  const [tone] = TONES[value.status] ?? ['good']
  return (
    <details class={`notice status-banner ${tone}`}>
      <summary>{summaryOf(value)}</summary>
      <Problems report={value} pathOf={own} />
    </details>
  )
}

type ProblemListProps = { report: ProblemReport; pathOf: (problem: Problem) => string }

export function ProblemList({ report, pathOf }: ProblemListProps) {
  const { status } = report
  const [tone] = TONES[status] ?? ['good']
  return (
    <section class={`notice status-banner ${tone}`} aria-labelledby="state">
      <div role="status">
        <h2 id="state">{summaryOf(report)}</h2>
      </div>
      <Problems report={report} pathOf={pathOf} />
    </section>
  )
}

const Problems = ({ report: { problems, truncated }, pathOf }: ProblemListProps) => (
  <>
    {problems.length > 0 && (
      <ul class="problems">
        {problems.map((it) => (
          <li key={`${it.kind} ${it.subject?.id ?? it.subject?.name} ${it.message}`}>
            <ProblemLine problem={it} path={pathOf(it)} />
          </li>
        ))}
      </ul>
    )}
    {truncated && <p class="quiet">There are more; these are the worst.</p>}
  </>
)

function summaryOf({ status, problems }: ProblemReport): string {
  const notes = problems.filter(({ severity }) => severity === 'info').length
  if (status === 'ok')
    return notes === 0 ? 'All good' : `Nothing fails, ${many(notes, 'note', 'notes')}`
  const needs = `${many(problems.length - notes, 'thing needs', 'things need')} attention`
  return notes === 0 ? needs : `${needs}, ${many(notes, 'note', 'notes')}`
}

/** The message, with words in place of the error of deliveries at its end. */
const withReason = ({ kind, message }: Problem): string =>
  !kind.startsWith('webhook_')
    ? message
    : message.replace(/\((\w+)\)$/, (_, code: string) => `(${errorReason(code)})`)

function ProblemLine({ problem, path }: { problem: Problem; path: string }) {
  const { severity, since, fix } = problem
  const [tone, word] = TONES[severity] ?? ['plain', severity]
  return (
    <>
      <Badge tone={tone}>{word}</Badge>
      <span class="problem">
        <Link to={path}>{withReason(problem)}</Link>
        {since !== null && (
          <span class="quiet">
            {' '}
            (began <Time at={since} />)
          </span>
        )}
        <span class="block small-text">{sentence(fix)}</span>
      </span>
    </>
  )
}
