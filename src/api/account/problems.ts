import * as z from 'zod'

import { describeFault } from '../../core/base/fault-texts.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { decodeFilterSpec } from '../../core/filter/parse.ts'
import { nameOfSource, type Naming } from '../../core/forum/naming.ts'
import { judgeMonitor } from '../../core/polling/coverage.ts'
import {
  countWaiting,
  type FeedGroup,
  listFeedStates,
  listStoppedMonitors,
  listTroubledTargets,
  RETRYING_MAX,
  type TargetFacts,
  type Waiting,
} from '../../store/customers/problems.ts'
import type { Db } from '../../store/db/connection.ts'
import { lastHidden, listMonitorCoverage } from '../../store/maintenance/metric-queries.ts'
import {
  measureWaiting,
  type Waiting as WaitingVerdicts,
} from '../../store/relevance/judgements.ts'

/** Severities, worst first: it does not work, it works in part, it waits for a person. */
const SEVERITIES = ['error', 'warning', 'info'] as const

/** Kinds of problems; the last ones are reported to operators only. */
const PROBLEM_KINDS = [
  'storage',
  'source_unreachable',
  'source_untried',
  'source_incomplete',
  'feed_behind',
  'monitor_incomplete',
  'webhook_failing',
  'webhook_retrying',
  'webhook_paused',
  'webhook_off',
  'webhook_unconfirmed',
  'monitor_stopped',
  'monitors_paused',
  'daily_ceiling',
  'credits_used_up',
  'drafts_waiting',
  'model_unavailable',
  'model_limit',
  'reads_degraded',
  'access_ends',
  'account_unusable',
  'proxy_failing',
  'loop_failing',
  'feedback_new',
  'checks_late',
  'erasure_late',
  'verdicts_late',
] as const

/** One thing that does not work or waits for a person. */
export type Problem = {
  kind: (typeof PROBLEM_KINDS)[number]
  severity: (typeof SEVERITIES)[number]
  /** Id and name of the object; null: no single one. */
  subject: { id: string | null; name: string } | null
  /** The customer that it concerns, for operators. */
  customer?: { id: string; name: string }
  since: string | null
  message: string
  fix: string
}

export type ProblemReport = {
  status: 'ok' | 'warning' | 'error'
  problems: Problem[]
  truncated: boolean
}

const PROBLEMS_MAX = 100
const KIND_MAX = 50

export const problemsShape = once(() =>
  z.object({
    status: z
      .enum(['ok', 'warning', 'error'])
      .describe('The worst severity; ok: no problem but of severity info.'),
    problems: z
      .array(
        z.object({
          kind: z.enum(PROBLEM_KINDS).describe('Kind of the problem, for programs.'),
          severity: z
            .enum(SEVERITIES)
            .describe(
              'error: it does not work. warning: it works in part, or is tried again. info: it waits for you.',
            ),
          subject: z
            .object({ id: z.string().nullable(), name: z.string() })
            .nullable()
            .describe('Id and name of the object; null: no single one.'),
          since: z.iso.datetime().nullable().describe('Start; null: not known.'),
          message: z.string().describe('The problem, as a sentence.'),
          fix: z.string().describe('The next step, as a sentence.'),
        }),
      )
      .describe(`Worst first; at most ${PROBLEMS_MAX}.`),
    truncated: z.boolean().describe('True if there are further problems.'),
  }),
)

/** Judges the state of the whole: the problems, worst and oldest first, and their total. */
export function toProblemReport(problems: readonly Problem[]): ProblemReport {
  const sorted = problems.toSorted(
    (a, b) =>
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      (a.since ?? '9').localeCompare(b.since ?? '9'),
  )
  const worst = sorted[0]?.severity ?? 'info'
  return {
    status: worst === 'info' ? 'ok' : worst,
    problems: sorted.slice(0, PROBLEMS_MAX),
    truncated: sorted.length > PROBLEMS_MAX,
  }
}

type Audience = 'customer' | 'operator'

const many = (n: number, one: string, more = `${one}s`) => `${n} ${n === 1 ? one : more}`

/** Reads what does not work for a customer; null: for all, in words for the operator. */
export function readProblems(
  db: Db,
  customer_id: string | null,
  { home, now, view }: Pick<Naming, 'home'> & { now: number; view?: MonitorView | undefined },
): Problem[] {
  const audience: Audience = customer_id === null ? 'operator' : 'customer'
  const owned = (problem: Problem, { customer_id: id, customer: name }: Owner): Problem =>
    audience === 'operator' ? { ...problem, customer: { id, name } } : problem
  const of_sources = sourceProblems(listFeedStates(db, customer_id, now), audience, { home, now })
  return [
    ...of_sources,
    ...coverageProblems(db, customer_id, { home, now, view, of_sources }),
    ...listTroubledTargets(db, customer_id, KIND_MAX).flatMap((it) => {
      const problem = targetProblem(it, audience)
      return problem === null ? [] : [owned(problem, it)]
    }),
    ...listStoppedMonitors(db, customer_id, KIND_MAX).map((it) =>
      owned(
        {
          kind: 'monitor_stopped',
          severity: 'error',
          subject: { id: it.id, name: it.name ?? it.id },
          since: iso(it.since),
          message: `Monitor ${it.name ?? it.id}${ownerOf(it, audience)} was stopped, because its patterns took too long`,
          fix: 'Simplify its patterns, then resume it',
        },
        it,
      ),
    ),
    ...waitingProblems(countWaiting(db, customer_id, now), audience),
    // The operator's own have the state of the model.
    ...(customer_id === null ? [] : heldProblems(measureWaiting(db, { customer_id }))),
  ]
}

type Owner = { customer_id: string; customer: string }

const ownerOf = ({ customer }: Owner, audience: Audience): string =>
  audience === 'operator' ? ` of ${customer}` : ''

/** Host of a target's address, or its mail address: the path may be a secret. */
export const hostOf = (url: string): string =>
  url.startsWith('mailto:') || !URL.canParse(url) ? url.replace(/^mailto:/, '') : new URL(url).host

/** The state of a target, worst first: a paused one is not reported as failing too. */
function targetProblem(target: TargetFacts, audience: Audience): Problem | null {
  const { id, name, url, retrying, last_error } = target
  // The path of an address may be a secret.
  const called = name ?? hostOf(url)
  const webhook = `Webhook ${called}${ownerOf(target, audience)}`
  const of = (
    rest: Pick<Problem, 'kind' | 'severity' | 'message' | 'fix'> & { at: number | null },
  ) => {
    const { at, ...problem } = rest
    return { ...problem, subject: { id, name: called }, since: iso(at) }
  }
  const error = last_error === null ? '' : ` (${last_error})`
  const count = retrying >= RETRYING_MAX ? `${RETRYING_MAX} or more` : String(retrying)
  const repair =
    last_error === 'http_429'
      ? 'The receiver limits its rate: set max_per_second of the webhook to what it accepts'
      : 'Repair the receiver and test the webhook'
  if (target.paused_at !== null)
    return of({
      kind: 'webhook_paused',
      severity: 'error',
      at: target.paused_at,
      message:
        target.pause_reason === 'gone'
          ? `${webhook} was paused, because its receiver answered 410`
          : `${webhook} was paused, because every delivery failed for a week`,
      fix: `${repair}: a successful test resumes it`,
    })
  if (target.active === 0)
    return audience === 'operator'
      ? null
      : of({
          kind: 'webhook_off',
          severity: 'info',
          at: null,
          message: `${webhook} is switched off`,
          fix: 'Switch it on to receive deliveries',
        })
  if (target.awaits_confirmation === 1)
    return audience === 'operator'
      ? null
      : of({
          kind: 'webhook_unconfirmed',
          severity: 'warning',
          at: null,
          message: `${webhook} receives nothing until its reader confirms`,
          fix: 'Open the link in the confirmation mail',
        })
  if (target.failing_since !== null)
    return of({
      kind: 'webhook_failing',
      severity: 'error',
      at: target.failing_since,
      message: `${webhook} is failing: deliveries have failed${error}`,
      fix: `${repair}, then send the failed deliveries again`,
    })
  return of({
    kind: 'webhook_retrying',
    severity: 'warning',
    at: target.retrying_since,
    message: `${webhook} is failing: ${count} ${retrying === 1 ? 'delivery is' : 'deliveries are'} tried again${error}`,
    fix: repair,
  })
}

const READ_IN_PART = [
  'poll_overflow',
  'listing_exhausted',
  'page_restart',
  'empty_listing',
  'emptied',
]

const RETRIED = 'forumd tries again at every poll'

function sourceProblems(
  states: readonly FeedGroup[],
  audience: Audience,
  { home, now }: Pick<Naming, 'home'> & { now: number },
): Problem[] {
  const total = new Map<string, number>()
  for (const { source, feeds } of states) total.set(source, (total.get(source) ?? 0) + feeds)
  return states.flatMap((state): Problem[] => {
    const { fault, feeds, monitors, ok_at, interval_s } = state
    const source = nameOfSource({ home }, state.source)
    const name = `Source ${source}`
    const all = feeds === total.get(state.source)
    const of = (rest: Omit<Problem, 'subject'>): Problem[] => [
      { ...rest, subject: { id: source, name: source } },
    ]
    if (fault !== null && !READ_IN_PART.includes(fault.split(':', 1)[0] ?? '')) {
      const { text, customer, operator } = describeFault(fault)
      const share = all ? '' : `, for ${many(feeds, 'feed')} of ${many(monitors, 'monitor')}`
      const fix =
        audience === 'operator'
          ? `${operator}; ${RETRIED}`
          : (customer ?? `No step of yours: ${RETRIED}, from where it stopped`)
      return of({
        kind: 'source_unreachable',
        // A single failed poll is not an outage yet.
        severity: all && now - ok_at > 2 * interval_s * 1000 ? 'error' : 'warning',
        since: iso(ok_at),
        message: `${name} cannot be read${share}: ${text}`,
        fix,
      })
    }
    const late = state.stalled > 0 ? state.stalled : state.behind
    if (late === 0 && state.untried > 0)
      return of({
        kind: 'feed_behind',
        severity: 'info',
        since: null,
        message: `${name} was not read yet, for ${many(state.untried, 'feed')}`,
        fix: 'Wait for the first poll',
      })
    if (late === 0) return []
    return of({
      kind: 'feed_behind',
      severity: 'warning',
      since: iso(state.stalled > 0 ? state.stalled_since : state.behind_since),
      message:
        state.stalled > 0
          ? `${name} is polled too seldom: ${many(late, 'feed is', 'feeds are')} overdue`
          : `${name} has items that were not read yet`,
      fix:
        audience === 'operator'
          ? 'Raise its requests a minute, or watch less often'
          : 'No step of yours: nothing is lost, and matches arrive later',
    })
  })
}

/** The state that coverage of a monitor is derived from, beside its rows. */
export type MonitorView = {
  /** Lead of the platform's clock, ms. */
  ahead_ms: () => number
  /** Why a source proves nothing of one of these places; null: it does. */
  partialFor: (source: string, places: readonly string[]) => string | null
}

const MONITORS_MAX = 1000
/** A monitor is given this long for its first audit. */
const FIRST_AUDIT_MS = 15 * 60_000

const COVERAGE: Readonly<Record<string, readonly [message: string, fix: string]>> = {
  gap: ['missed items', 'See the gaps of the monitor; watch fewer places, or more often'],
  healed: ['was cut short, and has caught up since', 'No step of yours: the items were read later'],
  loss_events_not_observed: [
    'was not observed for a part of the last 24 hours',
    'See the monitor for the time: items of it may be missing',
  ],
  not_audited: [
    'is not verified by an audit',
    'Wait for the next audit; more requests a minute make it finish sooner',
  ],
  changes_behind: [
    'reads edits and deletions late',
    'Allow its source more requests a minute: requests_per_minute',
  ],
  streams_not_polling: ['has a feed that is not polled', 'See its feeds, and the log'],
  catching_up: ['has items that were not read yet', 'Wait: they are read next'],
  source_unreachable: ['has a source whose last poll was cut short', 'Wait: the next one goes on'],
  stream_liveness_unknown: ['was not read yet', 'Wait for the first poll'],
  streams_awaiting_first_poll: ['was not read yet', 'Wait for the first poll'],
  places_not_read: [
    'watches a place that its source has not shown yet',
    'Check the spelling of its places',
  ],
}
const IN_PART = [
  'cannot be proved complete by its source',
  'See the page of the source for the reason',
] as const
const WARNINGS = ['gap', 'loss_events_not_observed', 'changes_behind', 'streams_not_polling']
/** Reasons that the problem of a source explains. */
const BY_SOURCE = [
  'gap',
  'healed',
  'source_unreachable',
  'catching_up',
  'streams_not_polling',
  'stream_liveness_unknown',
  'streams_awaiting_first_poll',
]

/** Monitors whose last day is not proved complete, and which no problem of a source explains, by reason. */
function coverageProblems(
  db: Db,
  customer_id: string | null,
  {
    home,
    now,
    view,
    of_sources,
  }: Pick<Naming, 'home'> & {
    now: number
    view?: MonitorView | undefined
    of_sources: readonly Problem[]
  },
): Problem[] {
  const offset_ms = view?.ahead_ms() ?? 0
  const reported = new Set(of_sources.map(({ subject }) => subject?.name))
  const monitors = listMonitorCoverage(db, lastHidden(db, now), {
    ...(customer_id !== null && { whose: customer_id }),
    after_id: '',
    limit: MONITORS_MAX + 1,
    now,
    offset_ms,
  })
  const found = monitors.slice(0, MONITORS_MAX).flatMap((monitor) => {
    if (!monitor.active) return []
    const { sources } = monitor
    const { subforum } = decodeFilterSpec(monitor.filter_spec)
    const { status, reason } = judgeMonitor(monitor, now, offset_ms)
    const in_part = sources.map((it) => view?.partialFor(it, subforum) ?? null)
    const code =
      status === 'degraded' && reason === null
        ? monitor.open === 1
          ? 'gap'
          : 'healed'
        : status === 'complete'
          ? (in_part.find((it) => it !== null) ?? null)
          : (reason ?? status)
    const is_explained =
      BY_SOURCE.includes(code ?? '') &&
      sources.some((it) => reported.has(nameOfSource({ home }, it)))
    return code === null || is_explained ? [] : [{ ...monitor, code }]
  })
  const by_code = Map.groupBy(found, ({ code }) => code)
  const problems = [...by_code].map(([code, group]): Problem => {
    const [first] = group
    const [what, fix] = COVERAGE[code] ?? IN_PART
    const is_late = code === 'not_audited' && group.some((it) => now - it.since_at > FIRST_AUDIT_MS)
    const name = first?.name ?? first?.id ?? ''
    const alone = group.length === 1 && first !== undefined ? first : null
    return {
      kind: 'monitor_incomplete',
      severity: is_late || WARNINGS.includes(code) ? 'warning' : 'info',
      subject: alone && { id: alone.id, name },
      ...(alone && customer_id === null && { customer: ownerIn(alone) }),
      since: null,
      message: `Monitor ${name} ${what}${alone ? '' : `, and ${many(group.length - 1, 'other')}`}`,
      fix,
    }
  })
  return monitors.length <= MONITORS_MAX
    ? problems
    : [
        ...problems,
        {
          kind: 'monitor_incomplete',
          severity: 'info',
          subject: null,
          since: null,
          message: `The first ${MONITORS_MAX} monitors were looked at`,
          fix: 'See the metric forumd_monitors for all of them',
        },
      ]
}

const ownerIn = ({ customer_id: id, customer: name }: Owner) => ({ id, name })

/** An instant within a sentence, such as 2026-01-02 00:00 UTC. */
const minuteOf = (at: number | null): string =>
  at === null ? 'midnight UTC' : `${(iso(at) ?? '').slice(0, 16).replace('T', ' ')} UTC`

/** Matches that are held, because the operator's model does not judge them now. */
function heldProblems({ since_at, failing, limited, limited_until }: WaitingVerdicts): Problem[] {
  const of = (n: number, kind: Problem['kind'], why: string, fix: string): Problem[] => {
    const message = `${many(n, 'match is', 'matches are')} held, because ${why}`
    const problem = { kind, severity: 'warning', subject: null, message, fix } as const
    return n > 0 ? [{ ...problem, since: iso(since_at) }] : []
  }
  return [
    ...of(
      failing,
      'model_unavailable',
      'the model is not available',
      'No step of yours: judging goes on as soon as the model answers',
    ),
    ...of(
      limited,
      'model_limit',
      `your calls of the model in this day are used: judging goes on at ${minuteOf(limited_until)}`,
      'Narrow the filters, let the monitors deliver without a verdict, or ask the operator for more calls',
    ),
  ]
}

function waitingProblems(waiting: Waiting, audience: Audience): Problem[] {
  const { monitors_paused, monitors_at_ceiling, drafts, drafts_since } = waiting
  const of = (present: number, problem: Omit<Problem, 'subject'>): Problem[] =>
    present > 0 ? [{ ...problem, subject: null }] : []
  return [
    ...(audience === 'operator'
      ? []
      : of(monitors_paused, {
          kind: 'monitors_paused',
          severity: 'info',
          since: null,
          message: `${many(monitors_paused, 'monitor is', 'monitors are')} paused`,
          fix: `Resume ${monitors_paused === 1 ? 'it' : 'them'} to receive matches`,
        })),
    ...of(monitors_at_ceiling, {
      kind: 'daily_ceiling',
      severity: 'warning',
      since: null,
      message: `${many(monitors_at_ceiling, 'monitor has', 'monitors have')} reached the daily ceiling of deliveries: further matches of today are not delivered`,
      fix:
        audience === 'operator'
          ? 'Raise daily_deliveries of the plan'
          : 'Narrow the filters, or ask the operator for a larger plan',
    }),
    ...of(drafts, {
      kind: 'drafts_waiting',
      severity: 'info',
      since: iso(drafts_since),
      message: `${many(drafts, 'draft waits', 'drafts wait')} for a decision`,
      fix: 'Approve or decline',
    }),
  ]
}
