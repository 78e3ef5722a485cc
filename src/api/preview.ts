import { Elysia } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../core/errors.ts'
import { placesOf } from '../core/filter-places.ts'
import { judgeItem, matchesPerDay, previewOf } from '../core/filter-preview.ts'
import { filterSchema } from '../core/filter-schema.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { parseFilterSpec, renderFilterSpec } from '../core/filter.ts'
import { iso } from '../core/instant.ts'
import type { Item, Page } from '../core/items.ts'
import type { Fault } from '../core/outcome.ts'
import { rowOf } from '../core/row.ts'
import { oldestAt } from '../core/stream-rows.ts'
import type { StreamKind } from '../core/stream.ts'
import { wireCode, worded, type Words } from '../core/wire.ts'
import { type Lot, lotsOf, type Sampling } from '../gateway/sampling.ts'
import { toApiError } from './faults.ts'
import { closed } from './fields.ts'
import type { Infra } from './infra.ts'
import { answers, refuses, shownAs } from './openapi.ts'
import { atBothPlaces } from './places.ts'
import { previewShape } from './preview-shape.ts'
import type { SamplePace } from './sample-pace.ts'

/** What a preview needs. `ahead_ms`: how far the platform's clock is ahead of ours. */
export type PreviewDeps = { sampling: Sampling; pace: SamplePace; ahead_ms: () => number }

const REQUESTS_MAX = 4
const MATCHES_MAX = 100
const MATCHES = 25
/** Nobody else is answered while items are looked at. */
const LOOK_MS = 40
const ITEM_ID = /^(?:t[13]_)?[a-z0-9]{1,13}$/

const limitSentence = `limit must be a whole number from 1 to ${MATCHES_MAX}`
const itemSentence = 'item_id must be the id of a post or comment, such as t3_abc123'

/** The fullname that an id means, for who watches posts, or comments alone. */
export const fullnameOf = (spec: FilterSpec, id: string): string =>
  /^t\d_/.test(id) ? id : `${spec.kind === 'comment' ? 't1' : 't3'}_${id}`

/** An id of an item in a body or a query. */
export const itemId = () =>
  z
    .string({ error: itemSentence })
    .refine((it) => ITEM_ID.test(it), itemSentence)
    .optional()

/** What a filter would match, under both places where monitoring answers. Free, and nothing is delivered. */
export const preview = (infra: Infra, deps: PreviewDeps) =>
  atBothPlaces(infra.words, (place) => group(place, infra, deps))

function group(prefix: string, infra: Infra, deps: PreviewDeps) {
  const { words } = infra
  const body = closed(() => ({
    filter_spec: z
      .unknown()
      .refine((it) => it !== undefined, 'filter_spec is required')
      .meta(shownAs(() => filterSchema(words))),
    limit: z
      .int({ error: limitSentence })
      .min(1, limitSentence)
      .max(MATCHES_MAX, limitSentence)
      .default(MATCHES),
    item_id: itemId(),
  }))
  return new Elysia({ name: `preview ${prefix}`, prefix })
    .use(infra.keyed)
    .post('/preview', ({ customer, body: asked }) => tryOut(infra, deps, customer.id, asked), {
      body,
      detail: {
        summary: 'Try a filter on what its feeds hold now',
        description:
          'Matches with their enrichment, how many items hold each keyword and are left after each condition, and an estimate of matches a day. With item_id: why that item does or does not match. Free; nothing is delivered.',
        tags: ['Monitoring'],
        ...refuses('subforum_not_found', 'subforum_reserved', 'upstream_unavailable'),
        ...answers(() => previewShape(words)),
      },
    })
}

type Asked = { filter_spec?: unknown; limit: number; item_id?: string | undefined }
type Found = { lot: Lot; page: Page<Item> | null; fault: Fault | null }

async function tryOut(
  { words, clock }: Infra,
  { sampling, pace, ahead_ms }: PreviewDeps,
  customer_id: string,
  { filter_spec, limit, item_id }: Asked,
) {
  const spec = parseFilterSpec(filter_spec, words)
  const places = placesOf(spec)
  const lots = lotsOf(places, REQUESTS_MAX)
  pace.before(customer_id)
  let requests = 0
  const found = await Promise.all(
    lots.map(async (lot): Promise<Found> => {
      const outcome = await sampling.page(lot)
      if (!outcome.ok || outcome.value.cache === 'miss') requests += 1
      return outcome.ok
        ? { lot, page: outcome.value.body, fault: null }
        : { lot, page: null, fault: outcome.fault }
    }),
  )
  pace.after(customer_id, requests)
  refuseAllFailed(found, words)
  const rows = found.map(({ page }) => ({ rows: page?.rows ?? [] }))
  const until = clock.mono() + LOOK_MS
  const { matched_in, ...tried } = previewOf(spec, rows, {
    words,
    limit,
    enough: () => clock.mono() >= until,
  })
  const feeds = found.map((it, at) => ({ ...it, matched: matched_in[at] ?? 0 }))
  const now_s = (clock.now() + ahead_ms()) / 1000
  const asked = feeds.flatMap(({ lot }) => lot.places).length
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
    feeds_left_out: places.length - asked,
    item:
      item_id === undefined
        ? null
        : await explained({ words, sampling, pace, customer_id }, spec, item_id, found),
  }
}

/** Where nothing can be read, the answer is that of a monitor that would be added. */
function refuseAllFailed(found: readonly Found[], words: Words): void {
  const faults = found.flatMap(({ fault }) => fault ?? [])
  const [first] = faults
  if (first === undefined || faults.length < found.length) return
  const field = fieldOf(found[0]?.lot.kind, words)
  if ((first.kind !== 'forbidden' && first.kind !== 'not_found') || field === null)
    throw toApiError(first, { flavour: 'read', with_session: false })
  const names = [...new Set(found.flatMap(({ lot }) => lot.places))]
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

/** The field of a spec that names the places of such a feed; null where none does. */
function fieldOf(kind: StreamKind | undefined, words: Words): string | null {
  if (kind === 'posts' || kind === 'comments') return words.community
  if (kind === 'thread') return 'thread'
  return kind === 'user_comments' ? 'author' : null
}

/** When the oldest row of a page was created, in seconds; null without one. */
function oldestOf(page: Page<Item> | null): number | null {
  const rows = (page?.rows ?? []).map((it) => ({
    id: it.name,
    created_at: it.created_utc,
    sticky: it.kind === 'post' && it.stickied,
  }))
  return oldestAt(rows)
}

function toFeed(words: Words, { lot, page, fault, matched }: Found & { matched: number }) {
  const [place = null] = lot.places
  const placed = lot.kind === 'posts' || lot.kind === 'comments'
  const oldest_s = oldestOf(page)
  return worded(words, {
    kind: lot.kind,
    subforums: placed ? lot.places : null,
    query: lot.kind === 'search' ? place : null,
    place: placed || lot.kind === 'search' ? null : place,
    scanned: page?.rows.length ?? null,
    matched: page === null ? null : matched,
    oldest: iso(oldest_s === null ? null : oldest_s * 1000),
    error:
      fault === null
        ? null
        : wireCode(words, toApiError(fault, { flavour: 'read', with_session: false }).code),
  })
}

type Asking = {
  words: Words
  sampling: Sampling
  pace: SamplePace
  customer_id: string
}

/** What one item comes to: as a feed shows it, or asked for by itself. */
async function explained(
  { words, sampling, pace, customer_id }: Asking,
  spec: FilterSpec,
  id: string,
  found: readonly Found[],
) {
  const name = fullnameOf(spec, id)
  const shown = found.flatMap(({ page }) => page?.rows ?? []).find((it) => it.name === name)
  let item = shown ?? null
  if (item === null) {
    pace.before(customer_id)
    const outcome = await sampling.item(name)
    pace.after(customer_id, 1)
    if (!outcome.ok) throw toApiError(outcome.fault, { flavour: 'read', with_session: false })
    item = outcome.value
  }
  if (item === null) throw invalid('item_id', `item_id: there is no item ${name}`)
  return {
    item_id: name,
    in_feeds: shown !== undefined,
    ...judgeItem(spec, item, words),
    row: rowOf(words, spec, item).row,
  }
}
