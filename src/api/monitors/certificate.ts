import { Elysia } from 'elysia'
import * as z from 'zod'

import { version } from '../../../package.json'
import { invalid } from '../../core/base/errors.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { iso } from '../../core/base/time.ts'
import {
  type CoverageStatus,
  DAY_MS,
  type Interval,
  percentile,
  worstOf,
} from '../../core/certificate/day.ts'
import {
  type Certificate,
  certify,
  digestOfJson,
  type Json,
} from '../../core/certificate/signed.ts'
import { decodeFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { StreamSources } from '../../gateway/streams.ts'
import {
  type DayContext,
  type DayReport,
  type History,
  HISTORY_DAYS,
  listKept,
  readHistory,
  reportDay,
} from '../../store/certificate/days.ts'
import { currentKey, listSigningKeys, toJwk } from '../../store/certificate/keys.ts'
import type { Customer } from '../../store/customers/customers.ts'
import { type Chunks, runCooperatively } from '../../store/db/chunked.ts'
import type { Db } from '../../store/db/connection.ts'
import { listMonitorFeeds, type Monitor } from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { querySchema, required } from '../http/fields.ts'
import { answers } from '../openapi/route-docs.ts'
import { type MonitorDeps, requireMonitor } from './edit.ts'
import { coverageOf } from './health.ts'

const DAYS_DEFAULT = 30
/** Gaps of a certificate, newest first. */
const GAPS_MAX = 500

/** Where certificates and keys come from. */
export type CertificateDeps = Pick<MonitorDeps, 'db' | 'watch' | 'streams'> & {
  ring: Ring
  instance_id: string
}

/** Why a stream proves nothing for the places of a stored filter, for `DayContext`. */
export const partialOf =
  (sources: StreamSources): DayContext['partialOf'] =>
  (place, filter_spec) =>
    sources.get(place)?.partialFor(decodeFilterSpec(filter_spec).subforum) ?? null

/** `/.well-known/forumd-keys.json`: the public keys of the instance, also those that no longer sign. */
export const publicKeys = ({ db }: { db: Db }) =>
  new Elysia({ name: 'public keys', detail: { hide: true } }).get(
    '/.well-known/forumd-keys.json',
    ({ set }) => {
      set.headers['cache-control'] = 'public, max-age=300'
      return { keys: listSigningKeys(db).map(toJwk) }
    },
  )

/** `GET certificate`. */
export const certificates = (context: RouteContext, deps: CertificateDeps) =>
  new Elysia({ name: `certificate`, prefix: context.words.monitor })
    .use(context.keyed)
    .get(
      '/certificate',
      ({ customer, query, request }) =>
        runCooperatively(certificateOf(context, deps, customer, query), request.signal),
      {
        query: querySchema(() => ({
          id: required('id', { max: 64 }),
          from: dayField('from'),
          to: dayField('to'),
        })),
        detail: {
          summary: 'Signed certificate of what a monitor observed',
          description: `Days of UTC, from and to included, at most ${HISTORY_DAYS}; without them the last ${DAYS_DEFAULT}. A creation time is complete if audits or ids have verified it and no gap or event lies over it; anything else says why.`,
          tags: ['Monitoring'],
          ...answers(certificateShape),
        },
      },
    )

const dayField = (name: string) => {
  const sentence = `${name} must be a day of UTC such as 2026-01-31`
  return z
    .string({ error: sentence })
    .refine((text) => /^\d{4}-\d\d-\d\d$/.test(text) && dayOf(text) !== null, sentence)
    .optional()
    .meta({ type: 'string', format: 'date' })
}

/** Days since the epoch; null: no such day. */
function dayOf(text: string): number | null {
  const at = Date.parse(text)
  return Number.isNaN(at) || !iso(at).startsWith(text) ? null : at / DAY_MS
}
const dayText = (day: number): string => iso(day * DAY_MS).slice(0, 10)

/** Requested days, first and last, with defaults. */
function daysOf(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  today: number,
): { first: number; last: number } {
  const last = to === undefined ? today : (dayOf(to) ?? today)
  const first = from === undefined ? last - DAYS_DEFAULT + 1 : (dayOf(from) ?? last)
  if (last > today) throw invalid('to', `to must not be after today, ${dayText(today)} UTC`)
  if (first > last) throw invalid('from', 'from must not be after to')
  if (last - first >= HISTORY_DAYS)
    throw invalid('from', `from and to may be at most ${HISTORY_DAYS} days apart`)
  return { first, last }
}

/**
 * Makes a certificate of a customer's monitor, a day in a step.
 * @throws {ApiError} NOT_FOUND for a monitor of another customer or an absent one; INVALID_REQUEST for days that cannot be
 * covered
 */
export function* certificateOf(
  context: Pick<RouteContext, 'clock' | 'words' | 'random' | 'log'>,
  deps: CertificateDeps,
  customer: Customer,
  query: { id: string; from?: string | undefined; to?: string | undefined },
): Chunks<Certificate> {
  const { db, ring, watch, streams } = deps
  const monitor = requireMonitor(db, customer.id, query.id)
  const now = context.clock.now()
  const offset_ms = watch.item_clock.earliest_ms()
  const days = daysOf(query, Math.floor((now + offset_ms) / DAY_MS))
  const figures = { now, offset_ms, partialOf: partialOf(streams) }
  const history = readHistory(db, monitor, figures)
  const kept = listKept(db, { monitor_id: monitor.id, first: days.first, end: days.last + 1 })
  const reports: Report[] = []
  for (let day = days.first; day <= days.last; day++) {
    const old = kept.get(day)
    const report = old ?? reportDay(db, monitor.id, history, day, figures)
    // A day that is not kept is counted from its rows, which may be thousands.
    if (old === undefined) yield
    reports.push({ ...report, day, is_final: old !== undefined })
  }
  const { coverage } = coverageOf({ db, log: context.log, watch, streams }, monitor, now)
  const issued = { now, offset_ms: Math.round(watch.clock_offset_ms()), ...days }
  const statement = {
    ...statementOf(
      deps,
      context.words,
      monitor,
      { history, reports, is_current: coverage.status === 'complete' },
      issued,
    ),
    health: {
      status: coverage.status,
      reason: coverage.reason,
      audited_until: iso(coverage.audited_until_at),
      audit_interval_s: coverage.audit_interval_s,
      proof: coverage.proof,
    },
  }
  return certify(currentKey({ db, ring, random: context.random, now }).seed, statement)
}

type Report = DayReport & { day: number; is_final: boolean }

const secondsOf = (intervals: readonly Interval[], status: CoverageStatus): number =>
  Math.round(
    intervals
      .filter((it) => it.status === status)
      .reduce((sum, { from, until }) => sum + until - from, 0) / 1000,
  )

const sum = (reports: readonly Report[], figure: (report: Report) => number): number =>
  reports.reduce((total, it) => total + figure(it), 0)

function statementOf(
  { db, instance_id }: CertificateDeps,
  words: Naming,
  monitor: Monitor,
  {
    history,
    reports,
    is_current,
  }: { history: History; reports: readonly Report[]; is_current: boolean },
  { now, offset_ms, first, last }: { now: number; offset_ms: number; first: number; last: number },
) {
  const all = reports.flatMap((it) => it.intervals)
  const intervals = all.filter(({ reason }) => reason !== 'before_start')
  const judged = is_current ? withoutTail(intervals) : intervals
  const gaps = reports.flatMap((it) => it.gaps.listed).toReversed()
  const delays = reports.flatMap((it) => it.delays)
  const feeds = listMonitorFeeds(db, monitor.id)
  const estimates = reports.map(({ gaps: { missed_estimate } }) => missed_estimate)
  const digest = (filter_spec: string) => filterDigest(filter_spec, words)
  return {
    type: 'coverage',
    version: 1,
    issued_at: iso(now),
    instance_id,
    software: `forumd ${version}`,
    clock_offset_s: Math.round(offset_ms / 1000),
    monitor: {
      id: monitor.id,
      name: monitor.name,
      created_at: iso(monitor.created_at),
      active: monitor.active,
      feeds: feeds.map(({ key }) => key),
      filter_digest: digest(monitor.filter_spec),
    },
    promise: {
      cadence_s: monitor.cadence_s,
      poll_interval_s: feeds.length === 0 ? null : Math.max(...feeds.map((it) => it.interval_s)),
    },
    period: {
      from: iso(intervals[0]?.from ?? first * DAY_MS),
      until: iso(intervals.at(-1)?.until ?? (last + 1) * DAY_MS),
      known_from: Number.isFinite(history.known_from) ? iso(history.known_from) : null,
    },
    settings: settingsIn(history, first * DAY_MS).map((it) => ({
      from: iso(it.at),
      filter_digest: digest(it.filter_spec),
      cadence_s: it.cadence_s,
      active: it.active,
    })),
    coverage: {
      status: worstOf(judged.map((it) => it.status)),
      verified_until: iso(judged.findLast((it) => it.status === 'complete')?.until ?? null),
      complete_s: secondsOf(intervals, 'complete'),
      degraded_s: secondsOf(intervals, 'degraded'),
      partial_s: secondsOf(intervals, 'partial'),
      unknown_s: secondsOf(intervals, 'unknown'),
    },
    polls: { made: sum(reports, (it) => it.polls), failed: sum(reports, (it) => it.failed) },
    audits: sum(reports, (it) => it.audits),
    late_items: sum(reports, (it) => it.late_items),
    gaps: {
      reported: sum(reports, (it) => it.gaps.reported),
      open: sum(reports, (it) => it.gaps.open),
      missed_estimate: estimates.includes(null)
        ? null
        : estimates.reduce((total: number, it) => total + (it ?? 0), 0),
      listed: gaps.slice(0, GAPS_MAX).map(({ recorded_at, closed_at, from, until, ...gap }) => ({
        ...gap,
        at: iso(recorded_at),
        from: iso(from),
        until: iso(until),
        closed_at: iso(closed_at),
      })),
    },
    matched: sum(reports, (it) => it.matched),
    deliveries: {
      delivered: sum(reports, (it) => it.deliveries.delivered),
      pending: sum(reports, (it) => it.deliveries.pending),
      failed: sum(reports, (it) => it.deliveries.failed),
      dead: sum(reports, (it) => it.deliveries.dead),
      suppressed: sum(reports, (it) => it.deliveries.suppressed),
      delay_p50_ms: percentile(delays, 0.5),
      delay_p99_ms: percentile(delays, 0.99),
    },
    days: reports.map(toDay),
  } satisfies Record<string, Json>
}

const TAIL = ['not_audited', 'not_verified']

/** Intervals without the newest, which the next audit verifies: while health is complete, it is so up to there. */
const withoutTail = (intervals: readonly Interval[]): readonly Interval[] =>
  TAIL.includes(intervals.at(-1)?.reason ?? '') ? intervals.slice(0, -1) : intervals

const toDay = ({
  day,
  is_final,
  intervals,
  polls,
  failed,
  audits,
  gaps,
  matched,
  deliveries,
}: Report) => ({
  day: dayText(day),
  is_final,
  status: worstOf(intervals.map(({ status }) => status)),
  intervals: intervals.map(({ from, until, status, reason }) => ({
    from: iso(from),
    until: iso(until),
    status,
    reason,
  })),
  polls,
  failed,
  audits,
  gaps: gaps.reported,
  matched,
  delivered: deliveries.delivered,
})

/** SHA-256 of the filter as monitors are listed with, in its canonical form. */
const filterDigest = (filter_spec: string, words: Naming): string =>
  digestOfJson(JSON.parse(JSON.stringify(renderFilterSpec(decodeFilterSpec(filter_spec), words))))

/** The settings in force at `from`, and all later ones. */
function settingsIn({ settings }: History, from: number): History['settings'] {
  const at = settings.findLastIndex((it) => it.at <= from)
  return settings.slice(Math.max(0, at))
}

const certificateShape = () =>
  z.object({
    statement: z
      .looseObject({
        type: z.literal('coverage'),
        version: z.literal(1).meta({ description: 'Version of the form of the statement.' }),
        key_id: z.string(),
      })
      .meta({
        description:
          'What the monitor was set to, what was verified, gaps, polls, deliveries, and each day with its intervals.',
      }),
    signature: z.string().meta({
      description:
        'Ed25519 signature of the statement in its canonical form (RFC 8785), in base64url.',
    }),
    key_id: z.string(),
    public_key: z.string().meta({
      description: 'Public key, 32 bytes in base64url. Compare it with the published one.',
    }),
  })
