import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, type FieldError, invalid } from '../../core/base/errors.ts'
import { createLru } from '../../core/base/lru.ts'
import type { Fault } from '../../core/base/result.ts'
import { iso } from '../../core/base/time.ts'
import { rowOf } from '../../core/enrichment/enrich.ts'
import { checkSources, placesOf } from '../../core/filter/feeds.ts'
import { ALL_SOURCES, filterSchema, type FilterSpec } from '../../core/filter/fields.ts'
import { parseFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import { judgeItem, matchesPerDay, previewOf } from '../../core/filter/preview.ts'
import { HOME, type Item, itemKey, type Page } from '../../core/forum/items.ts'
import { type Naming, sourceOfName, toWire, wireCode } from '../../core/forum/naming.ts'
import { type Bucket, perMinute, step } from '../../core/limits/pace.ts'
import { oldestAt } from '../../core/polling/cursor.ts'
import type { FeedKind } from '../../core/polling/feed.ts'
import { weigh } from '../../gateway/cache.ts'
import { type PreviewBatch, previewBatches, type PreviewSource } from '../../gateway/sampling.ts'
import type { Watches } from '../../gateway/watch.ts'
import type { PatternJudge } from '../../patterns/judge.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Customer } from '../../store/customers/customers.ts'
import type { RouteContext } from '../context.ts'
import { toApiError } from '../http/errors.ts'
import { bodySchema } from '../http/fields.ts'
import { answers, documentAs, refuses } from '../openapi/route-docs.ts'
import {
  type BacktestDeps,
  backtestShape,
  checkPreviewFields,
  runBacktest,
  windowField,
} from './backtest.ts'
import { checkPatternCost, withPatterns } from './patterns.ts'
import { previewShape } from './shapes.ts'

/** Dependencies of a preview. `ahead_ms`: lead of the platform's clock over the local one. */
export type PreviewDeps = {
  sampling: PreviewSource
  /** Further sources that can be monitored, by name. */
  watches: Watches
  pace: PreviewPace
  patterns: PatternJudge
  ahead_ms: () => number
  backtest: BacktestDeps
}

const REQUESTS_MAX = 4
const LISTED = { post: ['posts'], comment: ['comments'], both: ['posts', 'comments'] } as const
const MATCHES_MAX = 100
const MATCHES = 25
/** Matching blocks the event loop. */
const MATCH_BUDGET_MS = 40
/** More than a hundred of the longest posts. */
const PAGE_BYTES_MAX = 64 * 1024 * 1024
const ITEM_ID = /^(?:[a-z0-9][a-z0-9-]{0,30}\/)?(?:t[13]_)?[a-z0-9]{1,13}$/

const limitSentence = `limit must be a whole number from 1 to ${MATCHES_MAX}`
const itemSentence =
  'item_id must be the id of a post or comment, such as t3_abc123, after the name of its source and a slash unless that is the first one of a Reddit-style platform'

/**
 * Key of an id: of a post, or a comment if the filter watches comments only; of the filter's source
 * if it watches a single one, else of the default source.
 */
export function itemKeyOf(spec: FilterSpec, text: string, words: Naming): string {
  const [id = '', given] = text.split('/').toReversed()
  const [only = HOME, ...others] = spec.source
  const is_one = others.length === 0 && only !== ALL_SOURCES
  const source =
    given === undefined && is_one ? only : sourceOfName(words, given ?? words.default_source)
  const name = /^t\d_/.test(id) ? id : `${spec.kind === 'comment' ? 't1' : 't3'}_${id}`
  return itemKey({ name, source })
}

/** Filter in a body, checked with the other fields, so that one error names every invalid one. */
export const filterField = (words: Naming) =>
  z
    .unknown()
    .superRefine((value, context) => {
      if (value === undefined) return context.addIssue('filter_spec is required')
      addFilterIssues(value, words, (issue) => context.addIssue(issue))
    })
    .meta(documentAs(() => filterSchema(words)))

const compareField = (words: Naming) =>
  z
    .unknown()
    .superRefine((value, context) => {
      if (value === undefined) return
      addFilterIssues(value, words, ({ message, ...issue }) =>
        context.addIssue({ ...issue, message: message.replaceAll('filter_spec', 'compare') }),
      )
    })
    .optional()
    .meta({
      ...documentAs(() => filterSchema(words)),
      description: 'A second filter to compare with, tried on the same window.',
    })

type FilterIssue = { code: 'custom'; path: string[]; message: string }

function addFilterIssues(value: unknown, words: Naming, add: (issue: FilterIssue) => void): void {
  for (const { field, message } of filterErrors(value, words)) {
    const part = field.slice('filter_spec.'.length)
    add({ code: 'custom', path: part === '' ? [] : [part], message })
  }
}

function filterErrors(value: unknown, words: Naming): readonly FieldError[] {
  try {
    parseFilterSpec(value, words)
    return []
  } catch (error) {
    // The route answers with codes of their own.
    if (!(error instanceof ApiError) || error.code !== 'INVALID_REQUEST') return []
    const { errors, field = 'filter_spec' } = error.details
    return errors ?? [{ field, message: error.message }]
  }
}

export const itemId = () =>
  z
    .string({ error: itemSentence })
    .refine((it) => ITEM_ID.test(it), itemSentence)
    .optional()

/** Free, and nothing is delivered. */
export const preview = (context: RouteContext, deps: PreviewDeps) =>
  group(context.words.monitor, context, deps)

function group(prefix: string, context: RouteContext, deps: PreviewDeps) {
  const { words } = context
  const body = bodySchema(() => ({
    filter_spec: filterField(words),
    limit: z
      .int({ error: limitSentence })
      .min(1, limitSentence)
      .max(MATCHES_MAX, limitSentence)
      .default(MATCHES),
    item_id: itemId(),
    window: windowField(),
    compare: compareField(words),
  }))
  return new Elysia({ name: `preview ${prefix}`, prefix })
    .use(context.keyed)
    .post(
      '/preview',
      ({ customer, body: input, request }) =>
        answerPreview(context, deps, { customer, request }, input),
      {
        body,
        detail: {
          summary: 'Preview the matches of a filter in its current feeds, or in past days',
          description:
            'Matches with their enrichment, counts of items by keyword and by condition, and an estimate of matches a day. With item_id: why that item does or does not match. With window: matches by day in the archive, expected deliveries, and the difference to a second filter; criteria and feeds are empty then. Free; nothing is delivered.',
          tags: ['Monitoring'],
          ...refuses('subforum_not_found', 'subforum_reserved', 'upstream_unavailable'),
          ...answers(() => previewShape(words).extend(backtestShape())),
        },
      },
    )
}

type PreviewInput = {
  filter_spec?: unknown
  limit: number
  item_id?: string | undefined
  window?: string | undefined
  compare?: unknown
}

async function answerPreview(
  context: RouteContext,
  deps: PreviewDeps,
  { customer, request }: { customer: Customer; request: Request },
  input: PreviewInput,
) {
  checkPreviewFields(input)
  const { window } = input
  return window === undefined
    ? runPreview(context, deps, { customer_id: customer.id, request }, input)
    : tryOnArchive(context, deps, customer, { ...input, window })
}

/** Milliseconds of work in the archive that count as one request of a preview. */
const WORK_PER_REQUEST_MS = 100

async function tryOnArchive(
  { words, clock }: RouteContext,
  { watches, pace, patterns, ahead_ms, backtest }: PreviewDeps,
  customer: Customer,
  input: PreviewInput & { window: string },
) {
  const spec = parseFilterSpec(input.filter_spec, words)
  const compare = input.compare === undefined ? null : parseFilterSpec(input.compare, words)
  for (const it of [spec, ...(compare === null ? [] : [compare])]) {
    checkSources(it, watches, words)
    await checkPatternCost(patterns, it, customer.id)
  }
  pace.before(customer.id)
  const { answer, work_ms } = await runBacktest(words, backtest, customer, {
    spec,
    compare,
    window: input.window,
    limit: input.limit,
    now: clock.now() + ahead_ms(),
  })
  pace.after(customer.id, Math.max(1, Math.ceil(work_ms / WORK_PER_REQUEST_MS)))
  return answer
}
type FetchedBatch = { batch: PreviewBatch; page: Page<Item> | null; fault: Fault | null }

async function runPreview(
  { words, clock, in_flight }: RouteContext,
  { sampling, watches, pace, patterns, ahead_ms }: PreviewDeps,
  { customer_id, request }: { customer_id: string; request: Request },
  { filter_spec, limit, item_id }: PreviewInput,
) {
  const spec = parseFilterSpec(filter_spec, words)
  checkSources(spec, watches, words)
  await checkPatternCost(patterns, spec, customer_id)
  const places = placesOf(spec, watches)
  const batches = previewBatches(places, REQUESTS_MAX, LISTED[spec.kind])
  pace.before(customer_id)
  let requests = 0
  const found = await Promise.all(
    batches.map(async (batch): Promise<FetchedBatch> => {
      const outcome = await sampling.page(batch)
      if (!outcome.ok || outcome.value.cache === 'miss') requests += 1
      return outcome.ok
        ? { batch, page: outcome.value.body, fault: null }
        : { batch, page: null, fault: outcome.fault }
    }),
  )
  pace.after(customer_id, requests)
  refuseAllFailed(found, words)
  // Held until the call ends, also where the cache did not keep them.
  for (const { page } of found)
    in_flight.holdForRequest(request, weigh(page?.rows ?? [], PAGE_BYTES_MAX))
  const rows = found.map(({ page }) => ({ rows: page?.rows ?? [] }))
  const { matched_in, ...tried } = await withPatterns(patterns, customer_id, (evaluatePatterns) => {
    const until = clock.mono() + MATCH_BUDGET_MS
    return previewOf(spec, rows, {
      words,
      limit,
      should_stop: () => clock.mono() >= until,
      evaluatePatterns,
    })
  })
  const feeds = found.map((it, at) => ({ ...it, matched: matched_in[at] ?? 0 }))
  const now_s = (clock.now() + ahead_ms()) / 1000
  const read_count = new Set(
    feeds.flatMap(({ batch: { kind, places: of } }) => of.map((it) => `${kind} ${it}`)),
  ).size
  return {
    filter_spec: renderFilterSpec(spec, words),
    ...tried,
    estimate_per_day: tried.truncated
      ? null
      : matchesPerDay(
          feeds.map(({ page, matched }) => ({ oldest_s: oldestOf(page), matched })),
          now_s,
        ),
    feeds: feeds.map((it) => toFeed(words, it)),
    feeds_left_out: places.length - read_count,
    item:
      item_id === undefined
        ? null
        : await explainItem({ words, sampling, pace, patterns, customer_id }, spec, item_id, found),
  }
}

/** If nothing can be read, answers like the creation of such a monitor. */
function refuseAllFailed(found: readonly FetchedBatch[], words: Naming): void {
  const faults = found.flatMap(({ fault }) => fault ?? [])
  const [first] = faults
  if (first === undefined || faults.length < found.length) return
  const field = fieldOf(found[0]?.batch.kind, words)
  if ((first.kind !== 'forbidden' && first.kind !== 'not_found') || field === null)
    throw toApiError(first, { flavour: 'read', with_session: false })
  const names = [...new Set(found.flatMap(({ batch }) => batch.places))]
  const sentence = `${names.join(', ')} cannot be watched`
  const extra = { names, reason: first.reason }
  if (field === words.community)
    throw new ApiError('subforum_not_found', {
      field: `filter_spec.${field}`,
      message: sentence,
      extra,
    })
  throw new ApiError('INVALID_REQUEST', {
    field: `filter_spec.${field}`,
    message: `filter_spec.${field}: ${sentence}`,
    extra,
  })
}

/** Field of a spec that names the places of such a feed; null: none. */
function fieldOf(kind: FeedKind | undefined, words: Naming): string | null {
  if (kind === 'posts' || kind === 'comments') return words.community
  if (kind === 'thread') return 'thread'
  return kind === 'user_comments' ? 'author' : null
}

/** Creation time of the oldest row of a page, epoch seconds; null without rows. */
function oldestOf(page: Page<Item> | null): number | null {
  const rows = (page?.rows ?? []).map((it) => ({
    id: it.name,
    created_at: it.created_utc,
    sticky: it.kind === 'post' && it.stickied,
  }))
  return oldestAt(rows)
}

function toFeed(
  words: Naming,
  { batch, page, fault, matched }: FetchedBatch & { matched: number },
) {
  const [place = null] = batch.places
  const is_subforum = batch.kind === 'posts' || batch.kind === 'comments'
  const oldest_s = oldestOf(page)
  return toWire(words, {
    kind: batch.kind,
    subforums: is_subforum ? batch.places : null,
    query: batch.kind === 'search' ? place : null,
    place: is_subforum || batch.kind === 'search' ? null : place,
    ...(batch.of !== undefined && { items: batch.of }),
    scanned: page?.rows.length ?? null,
    matched: page === null ? null : matched,
    oldest: iso(oldest_s === null ? null : oldest_s * 1000),
    error:
      fault === null
        ? null
        : wireCode(words, toApiError(fault, { flavour: 'read', with_session: false }).code),
  })
}

type ItemContext = {
  words: Naming
  sampling: PreviewSource
  pace: PreviewPace
  patterns: PatternJudge
  customer_id: string
}

/** Explains one item: as a feed lists it, or fetched by its id. */
async function explainItem(
  { words, sampling, pace, patterns, customer_id }: ItemContext,
  spec: FilterSpec,
  id: string,
  found: readonly FetchedBatch[],
) {
  const name = itemKeyOf(spec, id, words)
  const rows = found.flatMap(({ page }) => page?.rows ?? [])
  const listed_item = rows.find((it) => itemKey(it) === name)
  let item = listed_item ?? null
  if (item === null) {
    pace.before(customer_id)
    const outcome = await sampling.item(name)
    pace.after(customer_id, 1)
    if (!outcome.ok) throw toApiError(outcome.fault, { flavour: 'read', with_session: false })
    item = outcome.value
  }
  if (item === null) throw invalid('item_id', `item_id: there is no item ${name}`)
  const found_item = item
  const judged = await withPatterns(patterns, customer_id, (evaluatePatterns) =>
    judgeItem(spec, found_item, words, evaluatePatterns),
  )
  return {
    item_id: name,
    in_feeds: listed_item !== undefined,
    ...judged,
    row: rowOf(words, spec, item).row,
  }
}

const REQUESTS_PER_MINUTE = 40
const CUSTOMERS_MAX = 10_000

/**
 * Limits free previews, so that they leave the platform's rate budget to monitors and reads.
 * `before` throws 429 rate_limited if a customer has none left; `after` counts the requests made.
 */
export type PreviewPace = {
  before(customer_id: string): void
  after(customer_id: string, requests: number): void
}

export function createPreviewPace(clock: Clock): PreviewPace {
  const pace = perMinute(REQUESTS_PER_MINUTE)
  // Excess requests of one preview, or of several at once, delay the next.
  const unbounded_pace = { ...pace, max_wait_ms: Infinity }
  const buckets = createLru<string, Bucket>(CUSTOMERS_MAX)
  return {
    before(customer_id) {
      const { wait_ms, retry_ms } = step(buckets.get(customer_id), pace, clock.mono())
      if (wait_ms !== null) return
      throw new ApiError('rate_limited', {
        message: `too many previews; the limit is ${REQUESTS_PER_MINUTE} a minute, and a repeat within 30 seconds is free`,
        retry_after_s: Math.max(1, Math.ceil(retry_ms / 1000)),
      })
    },
    after(customer_id, requests) {
      for (let i = 0; i < requests; i++) {
        const { bucket } = step(buckets.get(customer_id), unbounded_pace, clock.mono())
        buckets.set(customer_id, bucket)
      }
    },
  }
}
