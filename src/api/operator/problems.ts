import { iso } from '../../core/base/time.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { daysUntil, endWarning } from '../../core/limits/ends-at.ts'
import { allCalls } from '../../core/relevance/calls.ts'
import { type ModelReport, OVERDUE_MS } from '../../core/relevance/judgement.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { listAccounts } from '../../store/accounts/accounts.ts'
import { listProxies } from '../../store/accounts/proxies.ts'
import { listNewFeedback } from '../../store/customers/feedback.ts'
import { listWithoutCredit } from '../../store/customers/problems.ts'
import type { Db } from '../../store/db/connection.ts'
import { checksState } from '../../store/erasure/kept-items.ts'
import { judgeDisk } from '../../store/maintenance/disk.ts'
import { measureWaiting } from '../../store/relevance/judgements.ts'
import {
  type MonitorView,
  type Problem,
  type ProblemReport,
  readProblems,
  toProblemReport,
} from '../account/problems.ts'
import { listOperated, type OperatedSource, type SourceDeps } from './sources.ts'

const KIND_MAX = 50
/** A source that fails for so long is out of service. */
const OUTAGE_MS = 60_000
const STALE_MS = 2 * 3_600_000

type StorageReport = () => {
  trouble: string | null
  /** True if erased content could not be overwritten in the files for a day. */
  erasure_late: boolean
  free_bytes: number
  /** Null where the file system has no such limit. */
  free_files: number | null
  db_bytes: number
  wal_bytes: number
  /** True if the reserve file exists. */
  ballast: boolean
}

export type ProblemDeps = {
  db: Db
  words: Pick<Naming, 'home'>
  clock: Clock
  view?: MonitorView | undefined
  storage: StorageReport
  /** State of reads as in `/health`. */
  reads: () => string
  sources: SourceDeps['sources']
  source_desk: Pick<SourceDeps['source_desk'], 'kinds'>
  failing_loops: () => string[]
  /** Price of a read in micro-dollars; null: calls are not billed. */
  read_price_micros: number | null
  /** State of the operator's model; null: none is configured. */
  model: () => ModelReport | null
}

const severe = (kind: Problem['kind'], message: string, fix: string): Problem => ({
  kind,
  severity: 'error',
  subject: null,
  since: null,
  message,
  fix,
})
const mild = (...text: Parameters<typeof severe>): Problem => ({
  ...severe(...text),
  severity: 'warning',
})

export function instanceProblems(deps: ProblemDeps): ProblemReport {
  const { db, clock, words } = deps
  const now = clock.now()
  const found = readProblems(db, null, { home: words.home, now, view: deps.view })
  return toProblemReport([
    ...storageProblems(deps),
    ...found,
    ...sourceProblems(deps, new Set(found.map(({ subject }) => subject?.name ?? '')), now),
    ...poolProblems(db),
    ...creditProblems(deps),
    ...feedbackProblems(db),
    ...checkProblems(db, now),
    ...modelProblems(deps, now),
  ])
}

function storageProblems({ storage, reads, failing_loops }: ProblemDeps): Problem[] {
  const report = storage()
  const short = judgeDisk(report, { db_bytes: report.db_bytes, elapsed_ms: 0 })
  return [
    ...(report.trouble === null
      ? []
      : [
          severe(
            'storage',
            `The database cannot be written: ${report.trouble.replaceAll('_', ' ')}`,
            'Make room on the disk, or repair it; forumd continues by itself',
          ),
        ]),
    ...(report.trouble === null && short !== null
      ? [
          mild(
            'storage',
            short === 'bytes' ? 'Little disk space is left' : 'Few files are left on the disk',
            'Make room before the disk is full: forumd then stops recording matches',
          ),
        ]
      : []),
    ...failing_loops().map((loop) =>
      severe('loop_failing', `The ${loop} loop fails repeatedly`, 'See the log for its error'),
    ),
    ...(report.erasure_late
      ? [
          mild(
            'erasure_late',
            'Content that was erased more than a day ago may still be in unused parts of the database file',
            'Another process, such as Litestream, reads the database all the time: end it for two minutes, see docs/privacy.md',
          ),
        ]
      : []),
    ...(reads() === 'degraded'
      ? [
          mild(
            'reads_degraded',
            'Reads of callers fail, or no account can be used for them',
            'See the accounts of the pool and the sources',
          ),
        ]
      : []),
  ]
}

/** A single failed request is not an outage, and an old one says nothing of the present. */
const isOut = ({ status, since, last_request_at }: OperatedSource['state'], now: number): boolean =>
  status === 'fails' &&
  now - Date.parse(since ?? '') >= OUTAGE_MS &&
  now - Date.parse(last_request_at ?? '') < STALE_MS

const KINDS = {
  fails: 'source_unreachable',
  untried: 'source_untried',
  late: 'feed_behind',
  incomplete: 'source_incomplete',
} as const

/** Sources whose access ends, and those that do not work and that `reported` does not name. */
function sourceProblems(deps: ProblemDeps, reported: ReadonlySet<string>, now: number): Problem[] {
  return listOperated(deps).sources.flatMap(({ name, state, ends_at, standing }): Problem[] => {
    const subject = { id: name, name }
    const called = `Source ${name}`
    const warning = ends_at === null ? null : endWarning(ends_at, now)
    const days = ends_at === null ? 0 : daysUntil(ends_at, now)
    const end = (text: string) => ({
      ...(warning === 'over' ? severe : mild)(
        'access_ends',
        text,
        'Renew the access, then set ends_at',
      ),
      subject,
    })
    return [
      ...(standing.state === 'works' || reported.has(name)
        ? []
        : [
            {
              kind: KINDS[standing.state],
              severity: severityOf(standing.state, isOut(state, now)),
              subject,
              since: state.fault === null ? null : state.since,
              message: `${called}: ${standing.text}`,
              fix: standing.fix ?? '',
            },
          ]),
      ...(warning === null
        ? []
        : [
            end(
              warning === 'over'
                ? `Access to ${called.toLowerCase()} ended on ${ends_at}`
                : `Access to ${called.toLowerCase()} ends on ${ends_at}, in ${days} ${days === 1 ? 'day' : 'days'}`,
            ),
          ]),
    ]
  })
}

const severityOf = (state: keyof typeof KINDS, is_out: boolean): Problem['severity'] =>
  is_out ? 'error' : state === 'fails' || state === 'late' ? 'warning' : 'info'

const ACCOUNT_STATES: Readonly<Record<string, (name: string) => [string, string]>> = {
  needs_login: (name) => [
    'needs a new login',
    `Sign it in again here, or on the host: forumd account login ${name}`,
  ],
  suspended: () => ['is suspended by the platform', 'Its owner has to settle that there'],
  locked: () => ['is locked by the platform', 'Its owner has to unlock it there'],
}

function poolProblems(db: Db): Problem[] {
  const accounts = listAccounts(db).flatMap(({ id, name, state, state_since }): Problem[] => {
    const [what, fix] = ACCOUNT_STATES[state]?.(name) ?? []
    if (what === undefined || fix === undefined) return []
    const problem = severe('account_unusable', `Account ${name} ${what}`, fix)
    return [{ ...problem, subject: { id, name }, since: iso(state_since) }]
  })
  const proxies = listProxies(db).flatMap(({ id, name, last_error }): Problem[] => {
    if (last_error === null) return []
    const fix = `On the host: forumd proxy test ${name}`
    const problem = severe('proxy_failing', `Proxy ${name} fails: ${last_error}`, fix)
    return [{ ...problem, subject: { id, name } }]
  })
  return [...accounts.slice(0, KIND_MAX), ...proxies.slice(0, KIND_MAX)]
}

function creditProblems({ db, read_price_micros }: ProblemDeps): Problem[] {
  if (read_price_micros === null) return []
  return listWithoutCredit(db, read_price_micros, KIND_MAX).map(({ id, name }) => ({
    ...mild(
      'credits_used_up',
      `The credits of customer ${name} are used up: its reads are refused`,
      `Add credits here, or on the host: forumd credit add ${name} USD`,
    ),
    subject: { id, name },
    customer: { id, name },
  }))
}

/** By so long checks of stored items may be late before the promise to erase deleted content is in danger, ms. */
const CHECKS_LATE_MS = 3_600_000

function checkProblems(db: Db, now: number): Problem[] {
  const { due, lag_ms } = checksState(db, now)
  if (lag_ms <= CHECKS_LATE_MS) return []
  const hours = Math.floor(lag_ms / CHECKS_LATE_MS)
  const problem = mild(
    'checks_late',
    `${due} stored items wait to be checked for deletion, the oldest for ${hours} h or more`,
    'Raise [retention] recheck_share or the requests of the source; see kept_items in docs/privacy.md',
  )
  return [{ ...problem, since: iso(now - lag_ms) }]
}

function modelProblems({ db, model }: ProblemDeps, now: number): Problem[] {
  const report = model()
  const { waiting, since_at, limited } = measureWaiting(db)
  const down =
    report === null || report.is_up
      ? []
      : [
          {
            ...severe(
              'model_unavailable',
              `The model ${report.model} cannot be used: ${report.fault ?? 'unreachable'}`,
              'Start it, or correct [relevance]; until then each monitor delivers without a verdict or holds its matches',
            ),
            since: iso(report.since_at),
          },
        ]
  const used = report === null ? 0 : allCalls(report.calls)
  const most = report?.calls.limits.all ?? 0
  const reached =
    limited > 0
      ? [
          mild(
            'model_limit',
            `${limited} matches are held, because the calls of the model in this day are used: ${used} of ${most === 0 ? 'any number' : most}`,
            'Raise max_calls_per_day or max_customer_calls_per_day in [relevance], or narrow filters; calls begin again at 00:00 UTC',
          ),
        ]
      : most > 0 && used >= most * 0.95
        ? [
            mild(
              'model_limit',
              `The calls of the model in this day are nearly or fully used: ${used} of ${most}`,
              'Raise max_calls_per_day in [relevance], or narrow filters; calls begin again at 00:00 UTC',
            ),
          ]
        : []
  const late =
    since_at === null || now - since_at < OVERDUE_MS
      ? []
      : [
          {
            ...mild(
              'verdicts_late',
              `${waiting} matches wait for a verdict, the oldest for a day or longer`,
              report === null
                ? 'Configure [relevance], or remove relevance from the monitors'
                : 'See the state of the model and its calls of the day',
            ),
            since: iso(since_at),
          },
        ]
  return [...down, ...reached, ...late]
}

/** Characters of a feedback's text in a problem; the notice of its arrival has all of it. */
const EXCERPT_MAX = 500

function feedbackProblems(db: Db): Problem[] {
  return listNewFeedback(db, KIND_MAX).map(({ id, type, title, details, created_at, customer }) => {
    const text = details.length > EXCERPT_MAX ? `${details.slice(0, EXCERPT_MAX)}…` : details
    const problem = mild(
      'feedback_new',
      `Feedback of ${customer} (${type.replaceAll('_', ' ')}): ${title}: ${text}`,
      `Answer it on the host: forumd feedback answer ${id} TEXT`,
    )
    return { ...problem, severity: 'info', subject: { id, name: title }, since: iso(created_at) }
  })
}
