import { renderComment } from '../render/comments.ts'
import { renderPost } from '../render/posts.ts'
import { meFields, renderMe, renderSubforum } from '../render/users.ts'
import { existed, type SandboxRequest } from '../server/request.ts'
import { encode, json, refusal, type SandboxResponse } from '../server/response.ts'
import { isVisible } from '../server/viewer.ts'
import type { Subforum, Thing } from '../world/model.ts'
import { mayRead } from '../world/subforum-access.ts'
import { inOrder, type RowSource } from '../world/timeline.ts'

/** Maximum depth of a listing. */
export const DEEPEST = 1_000
const MAX_LIMIT = 100
const DEFAULT_LIMIT = 25

/** Rows per page, clamped silently as on the platform. */
export function limitOf(
  query: URLSearchParams,
  fallback = DEFAULT_LIMIT,
  most = MAX_LIMIT,
): number {
  const limit = Number.parseInt(query.get('limit') ?? '', 10)
  return Number.isNaN(limit) ? fallback : Math.min(most, Math.max(1, limit))
}

/** Envelope of a listing. `children` are rendered rows. */
export function listingEnvelope(
  { viewer }: SandboxRequest,
  children: readonly string[],
  edges: { after: string | null; before: string | null; dist?: number | null; facets?: boolean },
): string {
  const { after, before, dist = children.length, facets = false } = edges
  const head = encode({
    after,
    dist,
    ...(facets ? { facets: {} } : {}),
    modhash: viewer.modhash,
    geo_filter: '',
  })
  const rows = `"children":[${children.join(',')}],"before":${JSON.stringify(before)}`
  return `{"kind":"Listing","data":${head.slice(0, -1)},${rows}}}`
}

export type ListingOptions = {
  deepest?: number
  /** Rows above the first page, beyond its limit. */
  pinned?: readonly Thing[]
  facets?: boolean
}

/**
 * One page of a listing. Rows are filtered after they were fetched, so a page may be short while
 * `after` is set; only `after: null` ends the listing.
 */
export function listing(
  request: SandboxRequest,
  source: RowSource<Thing>,
  options: ListingOptions = {},
): string {
  const { query, patch, world } = request
  const { deepest = DEEPEST, pinned = [], facets = false } = options
  if (patch.instead !== null) {
    const children = patch.instead === 'emptied' ? [] : [noticeRow(request)]
    return listingEnvelope(request, children, { after: null, before: null, facets })
  }
  const rows = patch.stale || patch.drop_newest ? patchedSource(request, source) : source
  const limit = limitOf(query)
  const end = Math.min(rows.length, deepest)

  const cursor = (name: 'after' | 'before') => {
    const thing = world.things.get(query.get(name) ?? '')
    return thing === undefined ? -1 : rows.indexOf(thing)
  }
  const before = query.get('before')
  // A row that has left the listing has nothing before or after it; an id without a row is ignored as `after`.
  const has_left = world.things.has(query.get('after') ?? '') && cursor('after') < 0
  if (has_left || (before && cursor('before') < 0))
    return listingEnvelope(request, [], { after: null, before: null, facets })
  const until = before ? cursor('before') : end
  const from = before ? Math.max(0, until - limit) : Math.min(cursor('after') + 1, end)
  const stop = Math.min(until, from + limit)

  const visible_rows = visibleRows(request, rows, from, stop)
  const first = from === 0 && !before
  const things = first
    ? [...pinned, ...visible_rows.filter((it) => !pinned.includes(it))]
    : visible_rows
  const counted = Number(query.get('count') ?? 0) > 0
  const children = repeat(things, patch.repeat_last).map((thing) => renderRow(request, thing))
  return listingEnvelope(request, children, {
    after: stop < end ? (rows.at(stop - 1)?.name ?? null) : null,
    before: counted && from > 0 ? (rows.at(from)?.name ?? null) : null,
    facets,
  })
}

/** The notice in place of mature rows: it has the shape of a post, and leads to the login. */
function noticeRow({ path, viewer }: SandboxRequest): string {
  const [, place = ''] = path
  return encode({
    kind: 't3',
    data: {
      id: 'notice',
      name: 't3_notice',
      title: 'Log in to confirm your age and view this content',
      author: 'reddit',
      subreddit: place,
      selftext: '',
      over_18: true,
      is_self: true,
      score: 0,
      num_comments: 0,
      created_utc: viewer.now_s,
      permalink: `/login/?dest=/r/${place}/`,
      url: `/login/?dest=/r/${place}/`,
    },
  })
}

function visibleRows(
  { viewer, query }: SandboxRequest,
  rows: RowSource<Thing>,
  from: number,
  stop: number,
): Thing[] {
  const { user } = viewer
  const all = query.get('show') === 'all'
  const visible_rows: Thing[] = []
  for (let index = from; index < stop; index++) {
    const thing = rows.at(index)
    if (thing === undefined || !isVisible(thing, user)) continue
    // `show=all` lists what the account has hidden, never whom it has blocked.
    if (user?.blocked.has(thing.author)) continue
    if (!all && thing.kind === 't3' && user?.hidden.includes(thing)) continue
    visible_rows.push(thing)
  }
  return visible_rows
}

/** Listing as an old cache, or a platform that lost its newest rows, would return it. */
function patchedSource({ patch }: SandboxRequest, source: RowSource<Thing>): RowSource<Thing> {
  const rows: Thing[] = []
  for (let index = 0; index < source.length && rows.length < DEEPEST + patch.drop_newest; index++) {
    const thing = source.at(index)
    if (thing !== undefined && existed(patch, thing)) rows.push(thing)
  }
  return inOrder(rows.slice(patch.drop_newest))
}

function repeat(things: readonly Thing[], times: number): readonly Thing[] {
  return times === 0 ? things : [...things, ...things.slice(-times)]
}

/** Row as rendered in listings. */
function renderRow({ viewer }: SandboxRequest, thing: Thing): string {
  return thing.kind === 't3'
    ? renderPost(thing, viewer)
    : renderComment(thing, viewer, { kind: 'listing' })
}

/** Page of rows without fullnames: users and subforums. */
export function directory<T>(
  request: SandboxRequest,
  rows: readonly T[],
  nameOf: (row: T) => string,
  render: (row: T) => string,
): string {
  const limit = limitOf(request.query)
  const after = request.query.get('after')
  const from = after ? rows.findIndex((row) => nameOf(row) === after) + 1 : 0
  const page_rows = rows.slice(from, from + limit)
  const last = page_rows.at(-1)
  const more = from + limit < rows.length && last !== undefined
  return listingEnvelope(request, page_rows.map(render), {
    after: more ? nameOf(last) : null,
    before: null,
  })
}

const MOST_IDS = 100

/** `/api/info`: things of any kind, masked ones included; unknown or hidden ones are omitted. */
export function info(request: SandboxRequest): SandboxResponse {
  const ids = (request.query.get('id') ?? '').split(',').filter((id) => id !== '')
  if (ids.length > MOST_IDS) return refusal(400)
  const byName = (request.query.get('sr_name') ?? '').split(',').filter((name) => name !== '')
  const rows = ids.flatMap((id) => byFullname(request, id))
  for (const name of byName.slice(0, MOST_IDS)) {
    const subforum = request.world.subforums.get(name.toLowerCase())
    if (subforum) rows.push(renderSubforum(subforum, request.viewer))
  }
  return json(listingEnvelope(request, rows, { after: null, before: null }))
}

/** `/by_id/t3_a,t3_b`: posts only. */
export function byId(request: SandboxRequest, joined: string): SandboxResponse {
  const ids = joined.split(',').filter((id) => id.startsWith('t3_'))
  if (ids.length === 0) return refusal(404)
  const rows = ids.slice(0, MOST_IDS).flatMap((id) => byFullname(request, id))
  return json(listingEnvelope(request, rows, { after: null, before: null }))
}

function byFullname(request: SandboxRequest, fullname: string): string[] {
  const { world, viewer } = request
  if (fullname.startsWith('t5_')) {
    const found = [...world.subforums.values()].find(({ id }) => `t5_${id}` === fullname)
    return found && isReadable(request, found) ? [renderSubforum(found, viewer)] : []
  }
  const thing = world.things.get(fullname)
  if (thing === undefined || !isReadable(request, subforumOf(thing)) || isShadowed(request, thing))
    return []
  return [
    thing.kind === 't3'
      ? renderPost(thing, viewer)
      : renderComment(thing, viewer, { kind: 'alone' }),
  ]
}

const subforumOf = (thing: Thing): Subforum =>
  thing.kind === 't3' ? thing.subforum : thing.post.subforum

const isReadable = ({ viewer }: SandboxRequest, subforum: Subforum) =>
  mayRead(subforum, viewer.user)

// Items of a shadowed account are visible only to that account.
const isShadowed = ({ viewer }: SandboxRequest, thing: Thing) =>
  thing.author.standing === 'shadowed' && thing.author !== viewer.user

/** `/api/me`: a dead session gets the anonymous answer, with status 200 and without a name. */
export function me({ viewer, world }: SandboxRequest): SandboxResponse {
  if (viewer.session) return json(renderMe(viewer.session, world))
  return json(
    viewer.user
      ? encode({ kind: 't2', data: { ...meFields(viewer.user, world), modhash: null } })
      : '{"data":{"features":{}}}',
  )
}
