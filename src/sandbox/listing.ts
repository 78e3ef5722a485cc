import { type Ask, existed } from './ask.ts'
import { encode } from './json.ts'
import type { Thing } from './model.ts'
import { renderComment } from './native-comment.ts'
import { renderPost } from './native-post.ts'
import { inOrder, type Source } from './timeline.ts'
import { visible } from './viewer.ts'

/** No listing goes deeper. */
export const DEEPEST = 1_000
const MOST = 100
const USUAL = 25

/** Rows a page, clamped silently as the platform does. */
export function limitOf(query: URLSearchParams, usual = USUAL, most = MOST): number {
  const asked = Number.parseInt(query.get('limit') ?? '', 10)
  return Number.isNaN(asked) ? usual : Math.min(most, Math.max(1, asked))
}

/** The envelope. `children` are rendered rows. */
export function envelope(
  { viewer }: Ask,
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

export type Options = {
  deepest?: number
  /** Stand above the first page, beyond its limit. */
  pinned?: readonly Thing[]
  facets?: boolean
}

/**
 * One page of a listing. Rows are filtered after they were fetched, so a page may be short while `after`
 * is set; only `after: null` ends.
 */
export function listing(ask: Ask, source: Source<Thing>, options: Options = {}): string {
  const { query, twist, world } = ask
  const { deepest = DEEPEST, pinned = [], facets = false } = options
  const rows = twist.stale || twist.vanished ? twisted(ask, source) : source
  const limit = limitOf(query)
  const end = Math.min(rows.length, deepest)

  const cursor = (name: 'after' | 'before') => {
    const thing = world.things.get(query.get(name) ?? '')
    return thing === undefined ? -1 : rows.indexOf(thing)
  }
  const before = query.get('before')
  // A row that has vanished has nothing before it; one nobody knows is ignored when it stands in `after`.
  if (before && cursor('before') < 0)
    return envelope(ask, [], { after: null, before: null, facets })
  const until = before ? cursor('before') : end
  const from = before ? Math.max(0, until - limit) : Math.min(cursor('after') + 1, end)
  const stop = Math.min(until, from + limit)

  const shown = cut(ask, rows, from, stop)
  const first = from === 0 && !before
  const things = first ? [...pinned, ...shown.filter((it) => !pinned.includes(it))] : shown
  const counted = Number(query.get('count') ?? 0) > 0
  const children = repeat(things, twist.repeated).map((thing) => renderRow(ask, thing))
  return envelope(ask, children, {
    after: stop < end ? (rows.at(stop - 1)?.name ?? null) : null,
    before: counted && from > 0 ? (rows.at(from)?.name ?? null) : null,
    facets,
  })
}

function cut({ viewer, query }: Ask, rows: Source<Thing>, from: number, stop: number): Thing[] {
  const { user } = viewer
  const all = query.get('show') === 'all'
  const shown: Thing[] = []
  for (let index = from; index < stop; index++) {
    const thing = rows.at(index)
    if (thing === undefined || !visible(thing, user)) continue
    if (!all && thing.kind === 't3' && user?.hidden.includes(thing)) continue
    shown.push(thing)
  }
  return shown
}

/** The listing as an old cache, or a platform that lost its newest rows, would tell it. */
function twisted({ twist }: Ask, source: Source<Thing>): Source<Thing> {
  const kept: Thing[] = []
  for (let index = 0; index < source.length && kept.length < DEEPEST + twist.vanished; index++) {
    const thing = source.at(index)
    if (thing !== undefined && existed(twist, thing)) kept.push(thing)
  }
  return inOrder(kept.slice(twist.vanished))
}

function repeat(things: readonly Thing[], times: number): readonly Thing[] {
  return times === 0 ? things : [...things, ...things.slice(-times)]
}

/** A row as it stands in listings. */
function renderRow({ viewer }: Ask, thing: Thing): string {
  return thing.kind === 't3'
    ? renderPost(thing, viewer)
    : renderComment(thing, viewer, { kind: 'listing' })
}

/** A page of rows that have no fullname among the world's things: users and subforums. */
export function directory<T>(
  ask: Ask,
  rows: readonly T[],
  nameOf: (row: T) => string,
  render: (row: T) => string,
): string {
  const limit = limitOf(ask.query)
  const after = ask.query.get('after')
  const from = after ? rows.findIndex((row) => nameOf(row) === after) + 1 : 0
  const shown = rows.slice(from, from + limit)
  const last = shown.at(-1)
  const more = from + limit < rows.length && last !== undefined
  return envelope(ask, shown.map(render), { after: more ? nameOf(last) : null, before: null })
}
