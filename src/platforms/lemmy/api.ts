import { LRUCache } from 'lru-cache'

import { isObject } from '../../core/base/object.ts'
import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import { boundedWait, pauseAfterLimit } from '../../core/base/wait.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { type CallerClient, createHttpClient, type HttpAnswer, type HttpCall } from '../http.ts'
import { createHold, inTurn, SPANS_S } from '../lists.ts'
import type { PartialReason, SourceOptions } from '../source.ts'
import { fieldsOf, idAt, identityOf, type Shape, textAt } from '../values.ts'
import {
  communityName,
  createdOf,
  type Dialect,
  DIALECTS,
  noteState,
  shownState,
  type SiteInfo,
  stateOf,
  toSite,
  type ViewKind,
  viewsOf,
} from './readers.ts'
import { missingReplies, type TreeRows } from './trees.ts'

type Row = Record<string, unknown>
/** Query of a request; null and undefined are left out. */
export type Params = Record<string, string | number | boolean | null | undefined>

export type Server = { dialect: Dialect; site: SiteInfo }

/** `spend`: counts a further request that an answer takes; false: none is left. */
export type ApiCall = HttpCall & { spend?: () => boolean }

/** Rows of one page. `as_of`: epoch ms by the server's clock; `age_ms`: age in a cache of the site. */
export type ApiPage = { views: Row[]; after: string | null; as_of: number; age_ms: number }

export type Api = ReturnType<typeof createApi>

/** Rows of a page at most; more are refused. */
export const PAGE_MAX = 50
const AT_ONCE = 4
/** The API answers a tree up to this depth in one request. */
const DEPTH_MAX = 50
/** Requests for branches that a tree lacks. */
const BRANCHES_MAX = 8
type TreeOf = { post_id: string; sort: string }
/** The description is requested again after this time: an update may bring another API. */
const SITE_MS = 24 * 3_600_000
/** Share of the announced limit of reads that a reader uses, unless the operator has set another number. */
const SHARE = 0.5
const RATE_PAUSE_S = 60
/** Age of an answer on the credential, for a step and for an absence. */
const ACCEPTED_MS = 300_000
const WITNESS_MS = 10_000
/** The same once an answer has the marks of one for anyone. */
const DOUBT_MS = 60_000
/** Pages of a numbered list; the next one is refused. */
const PAGES_MAX = 100
/** What a place has answered holds for this time. */
const OPEN_MS = 3_600_000
/** Age at which a place with new rows is asked again, and time between two such: its moderators may have made it private. */
const REOPEN_MS = 30_000
const REOPEN_EACH_MS = 4000
const NEW_MS = 180_000
/** The newest posts of a place, for several of its posts. */
const NEWEST_MS = 5000
const PLACES_MAX = 5000
/** Ids of the newest posts of all these places. */
const PLACE_POSTS_MAX = 300_000
/** A place that was never seen is asked for again after this time; so many at once. */
const LOOK_EVERY_MS = 3_600_000
const LOOKS_MAX = 3

/** Client for one server: finds its API once, keeps to its announced limits, maps its errors. */
export function createApi(options: SourceOptions, software: keyof typeof DIALECTS = 'lemmy') {
  const { clock, credential } = options
  const resets = createResets(clock)
  const client = createHttpClient({
    ...options,
    verdict(answer, path) {
      noteReader(answer)
      return verdict(answer, resets.of(answer, path))
    },
    ...(credential !== null && { headers: () => ({ authorization: `Bearer ${credential}` }) }),
  })
  let per_minute = options.requests_per_minute
  let found: { server: Server; at: number } | null = null
  let finding: Promise<Outcome<Server>> | null = null
  const searches = createHold(clock)
  let accepted = { at: -Infinity, is: true }
  let proved_at: number | null = null
  let is_doubted = false
  const places = new LRUCache<number, Place>({
    max: PLACES_MAX,
    maxSize: PLACE_POSTS_MAX,
    sizeCalculation: ({ ids }) => 1 + ids.size,
  })
  let reopened_at = -Infinity
  let lately = { at: -Infinity, posts: new Map<number, Row>() }
  const place_ids = new LRUCache<string, { id: number; at: number }>({ max: PLACES_MAX })
  const seen = createSeenPlaces(clock)
  /** Names of places as the server spells them, by those that it was asked for. */
  const names = new LRUCache<string, string>({ max: PLACES_MAX })

  /** An answer to an account is private; one that caches may share was made for a reader without one. */
  function noteReader({ status, headers }: HttpAnswer): void {
    const marks = headers.get('cache-control') ?? ''
    if (credential === null || status >= 400) return
    if (/\bprivate\b/i.test(marks)) [proved_at, is_doubted] = [clock.now(), false]
    if (!/\bpublic\b/i.test(marks)) return
    is_doubted = true
    if (clock.now() - accepted.at >= DOUBT_MS) accepted = { ...accepted, at: -Infinity }
  }

  /** Requests the site by each API in turn. A server that has the newest never gets an older one. */
  async function find(call: HttpCall): Promise<Outcome<Server>> {
    let refusal: Fault = { kind: 'unreadable', path: '$.version' }
    for (const dialect of DIALECTS[software]) {
      const answer = await client.get(`${dialect.base}/site`, call, isSite)
      const site = answer.ok ? toSite(answer.value) : null
      if (site !== null) {
        const is_wrapper = dialect.generation === 'v3' && /^[1-9]/.test(site.version ?? '')
        const cursors = is_wrapper ? new Set<string>() : dialect.cursors
        const known: Server = { dialect: { ...dialect, is_wrapper, cursors }, site }
        if (site.message_per_minute !== null) {
          const share = options.is_pace_set === true ? 1 : SHARE
          const allowed = Math.max(1, site.message_per_minute * share)
          client.limit(allowed)
          per_minute = Math.min(options.requests_per_minute, allowed)
        }
        found = { server: known, at: clock.now() }
        return ok(known)
      }
      if (answer.ok) continue
      // The web page of an older server answers unknown paths with HTML or 404.
      if (!['not_found', 'blocked', 'rejected', 'unreadable'].includes(answer.fault.kind))
        return answer
      if (refusal.kind !== 'blocked') refusal = answer.fault
    }
    return fail(refusal)
  }

  async function server(call: HttpCall): Promise<Outcome<Server>> {
    if (found !== null && clock.now() - found.at < SITE_MS) return ok(found.server)
    finding ??= find(call).finally(() => (finding = null))
    return finding
  }

  async function request(
    path: string,
    params: Params,
    call: HttpCall,
    { sender = client, shape = '$' }: { sender?: CallerClient | undefined; shape?: Shape } = {},
  ) {
    const at = await server(call)
    if (!at.ok) return at
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(params))
      if (value !== null && value !== undefined) query.set(name, String(value))
    const { base } = at.value.dialect
    const wanted = { path: `${base}${path}?${query.toString()}`, shape }
    // Searches have a limit of their own, which any caller can use up.
    return path === '/search'
      ? searches.pass(() => sender.send({ ...wanted, has_own_limit: true }, call))
      : sender.send(wanted, call)
  }

  /** `sender`: the client of a caller's account; absent: that of the source. */
  async function get(
    path: string,
    params: Params,
    call: HttpCall,
    sender?: CallerClient,
  ): Promise<Outcome<unknown>> {
    const answer = await request(path, params, call, { sender })
    return answer.ok ? ok(answer.value.value) : answer
  }

  /** A page of a list with the states of its rows; its cursor is that of the API or the number of a page. */
  async function list(
    ...[kind, path, params, paging, call]: Parameters<typeof rows>
  ): ReturnType<typeof rows> {
    const page = await rows(kind, path, params, paging, call)
    if (!page.ok || (kind !== 'post' && kind !== 'comment' && kind !== 'item')) return page
    const at = await server(call)
    if (!at.ok) return at
    const { generation } = at.value.dialect
    const { shows_nsfw } = at.value.site
    const is_account = credential !== null
    const shown = { from: 'list', generation, is_account, shows_nsfw } as const
    for (const view of page.value.views) {
      noteState(view, shownState(view, shown))
      seen.add(fieldsOf(view['community']))
    }
    if (generation === 'piefed' && credential === null) await hideClosed(page.value.views, call)
    return page
  }

  /** PieFed's lists of everything have the posts of private communities, whose own lists refuse. */
  async function hideClosed(views: readonly Row[], call: ApiCall): Promise<void> {
    const placesOf = (of: readonly Row[]) => [
      ...new Set(of.flatMap((view) => idAt(fieldsOf(view['community']), 'id') ?? [])),
    ]
    await inTurn(placesOf(views), AT_ONCE, async (id) => ok(await isOpen(id, call)))
    const now = clock.now()
    const news = views.filter(
      (it) => now - createdOf(fieldsOf(it['comment'] ?? it['post'])) < NEW_MS,
    )
    const [oldest] = placesOf(news).toSorted((a, b) => askedAt(a) - askedAt(b))
    const is_due = now - reopened_at >= REOPEN_EACH_MS
    if (oldest !== undefined && is_due && now - askedAt(oldest) > REOPEN_MS) {
      reopened_at = now
      await newestOf(oldest, call)
    }
    for (const view of views) {
      const id = idAt(fieldsOf(view['community']), 'id')
      if (id !== null && places.get(id)?.is_open !== true && stateOf(view) === 'public')
        noteState(view, { state: 'hidden', until: null })
    }
  }

  const askedAt = (id: number): number => places.get(id)?.at ?? Infinity

  async function isOpen(id: number, call: ApiCall): Promise<boolean> {
    const known = places.get(id)
    if (known !== undefined && clock.now() - known.at < OPEN_MS) return known.is_open
    const place = await newestOf(id, call)
    return place.ok && place.value.is_open
  }

  /** The newest posts of a place by its own list. */
  async function newestOf(community_id: number, call: ApiCall): Promise<Outcome<Place>> {
    const known = places.get(community_id)
    if (known !== undefined && clock.now() - known.at < NEWEST_MS) return ok(known)
    if (call.spend?.() === false) return fail({ kind: 'timeout' })
    const query = { type_: 'All', sort: 'New', community_id }
    const page = await rows('post', '/post/list', query, { limit: PAGE_MAX, after: null }, call)
    if (!page.ok && !isClosed(page.fault)) return page
    const views = page.ok ? page.value.views : []
    const at = clock.now()
    const posts = views.map((view) => fieldsOf(view['post']))
    const place: Place = {
      at,
      is_open: page.ok,
      ids: new Set(posts.flatMap((post) => idAt(post, 'id') ?? [])),
      is_whole: page.ok && page.value.after === null,
      // Featured posts stand above the order, however old they are.
      since: createdOf(fieldsOf(posts.at(-1))),
    }
    places.set(community_id, place)
    if (at - lately.at > NEWEST_MS) lately = { at, posts: new Map() }
    for (const view of views) {
      noteState(view, shownState(view, { from: 'list', generation: 'piefed', is_account: true }))
      lately.posts.set(idAt(fieldsOf(view['post']), 'id') ?? 0, view)
    }
    return ok(place)
  }

  /** A post that the own list of its place has shown just now: no request is needed for it. */
  function listedPost(id: number): Row | null {
    return clock.now() - lately.at > NEWEST_MS ? null : (lately.posts.get(id) ?? null)
  }

  /**
   * State of a post of PieFed that was read by its id: drafts look like all others, and only lists leave them out. A list that
   * was not read leaves it open.
   */
  async function confirm(view: Row, call: ApiCall): Promise<Outcome<null>> {
    const post = fieldsOf(view['post'])
    const [id, place_id] = [idAt(post, 'id'), idAt(fieldsOf(view['community']), 'id')]
    if (id === null || place_id === null) return ok(null)
    const newest = await newestOf(place_id, call)
    if (!newest.ok) return newest
    const place = newest.value
    const is_listed = place.ids.has(id)
    if (is_listed || !place.is_open || place.is_whole || createdOf(post) >= place.since) {
      noteState(view, { state: is_listed ? 'public' : 'hidden', until: null })
      return ok(null)
    }
    if (call.spend?.() === false) return fail({ kind: 'timeout' })
    // Too old for that page.
    const query = { q: textAt(post, 'title'), type_: 'Posts', listing_type: 'All', sort: 'New' }
    const paging = { limit: PAGE_MAX, after: null }
    const hit = await rows('post', '/search', query, paging, call)
    // A server without a search that anyone may use shows such posts to no one.
    if (!hit.ok) return ['not_found', 'forbidden'].includes(hit.fault.kind) ? ok(null) : hit
    if (hit.value.views.some((it) => idAt(fieldsOf(it['post']), 'id') === id))
      noteState(view, { state: 'public', until: null })
    return ok(null)
  }

  /**
   * False: the server takes the credential for none, and answers as to anyone. An ended token has no other sign. Asked again
   * after `age_ms`; an answer that says nothing changes nothing.
   */
  async function isAccepted(call: ApiCall, age_ms = ACCEPTED_MS): Promise<boolean> {
    if (credential === null) return true
    if (clock.now() - accepted.at < age_ms) return accepted.is
    const at = await server(call)
    if (!at.ok) return accepted.is
    const is_v4 = at.value.dialect.generation === 'v4'
    const answer = await get(is_v4 ? '/account/validate_auth' : '/site', {}, call)
    const says = answer.ok || ['login_required', 'rejected'].includes(answer.fault.kind)
    if (!says) return accepted.is
    const is = answer.ok && (is_v4 || isObject(fieldsOf(answer.value)['my_user']))
    accepted = { at: clock.now(), is }
    if (is) [proved_at, is_doubted] = [clock.now(), false]
    return is
  }

  /** True once the server has answered a list from its database: an absence that it states is none of an outage. */
  async function absence(call: ApiCall): Promise<Outcome<null>> {
    const at = await server(call)
    if (!at.ok) return at
    const query = { type_: at.value.dialect.word('All'), sort: at.value.dialect.word('New') }
    const page = await rows('post', '/post/list', query, { limit: 1, after: null }, call)
    if (page.ok)
      return (await isAccepted(call, WITNESS_MS)) ? ok(null) : fail({ kind: 'login_required' })
    return page.fault.kind === 'not_found' ? fail(UNAVAILABLE) : page
  }

  async function rows(
    kind: ViewKind,
    path: string,
    params: Params,
    { limit, after }: { limit: number; after: string | null },
    call: ApiCall,
  ): Promise<Outcome<ApiPage>> {
    const at = await server(call)
    if (!at.ok) return at
    const { dialect } = at.value
    const by_cursor = dialect.cursors.has(path)
    if (!by_cursor && after !== null && !(/^[1-9]\d{0,2}$/.test(after) && +after <= PAGES_MAX))
      return fail({ kind: 'rejected', status: 400 })
    const size = Math.min(limit, PAGE_MAX)
    const page = by_cursor ? { [dialect.cursor]: after } : { page: after ?? 1 }
    const query = { ...dialect.list, limit: size, ...page, ...params }
    const isList = (value: unknown) => viewsOf(value, kind) !== null
    const answer = await request(path, query, call, { shape: isList })
    if (!answer.ok) return answer
    const { value, as_of, age_ms } = answer.value
    const all = viewsOf(value, kind) ?? []
    const views = all.filter((view) => kind === 'item' || hasId(fieldsOf(view[kind])))
    for (const view of views) {
      const wrong = kind === 'post' || kind === 'comment' || kind === 'item' ? lackOf(view) : null
      if (wrong !== null) options.left_out?.(wrong, identityOf(view))
    }
    const kept = new Set(views)
    for (const view of all) if (!kept.has(view)) options.left_out?.('id', identityOf(view))
    const number = Number(after ?? 1)
    const numbered = all.length < size || number >= PAGES_MAX ? null : String(number + 1)
    const next = by_cursor ? textAt(fieldsOf(value), 'next_page') : numbered
    return ok({ views, after: next, as_of, age_ms })
  }

  /** The view of a post or comment by its local id, with its state; null if no reader can see it. */
  async function byId(
    kind: 'post' | 'comment',
    id: number | string,
    call: ApiCall,
    sender?: CallerClient,
  ): Promise<Outcome<Row | null>> {
    const answer = await get(`/${kind}`, { id }, call, sender)
    if (!answer.ok) {
      if (answer.fault.kind === 'not_found') return ok(null)
      return isClosed(answer.fault) ? ok(closedView(kind, Number(id))) : answer
    }
    const view = fieldsOf(fieldsOf(answer.value)[`${kind}_view`])
    if (idAt(fieldsOf(view[kind]), 'id') !== Number(id))
      return fail({ kind: 'unreadable', path: `$.${kind}_view` })
    const at = await server(call)
    if (!at.ok) return at
    const { generation } = at.value.dialect
    const is_account = credential !== null || sender !== undefined
    const { shows_nsfw } = at.value.site
    noteState(view, shownState(view, { from: 'id', generation, is_account, shows_nsfw }))
    if (stateOf(view) === 'unknown') {
      const confirmed = await confirm(view, call)
      if (!confirmed.ok) return confirmed
    } else if (generation === 'piefed' && !is_account) await hideClosed([view], call)
    return ok(view)
  }

  /** Comments under a post, or under one of them; `most`: rows that are of use. */
  async function commentsUnder(
    { most, ...of }: TreeOf & { parent_id?: string | undefined; most: number },
    call: HttpCall,
  ): Promise<Outcome<TreeRows>> {
    const at = await server(call)
    if (!at.ok) return at
    const { word, generation, tree_pages, tree_rows } = at.value.dialect
    const query = {
      ...of,
      type_: word('All'),
      sort: word(commentSort(of.sort)),
      // PieFed has no limit of its own.
      max_depth: generation === 'piefed' ? null : DEPTH_MAX,
    }
    const read: Row[] = []
    let after: string | null = null
    for (let count = 0; count < tree_pages; count++) {
      const paging = { limit: PAGE_MAX, after }
      const page = await list('comment', '/comment/list', query, paging, call)
      if (!page.ok) return page
      read.push(...page.value.views)
      after = page.value.after
      if (after === null) break
    }
    const is_cut = read.length >= tree_rows || (tree_pages > 1 && after !== null)
    const tree = { rows: read, is_cut }
    return is_cut && tree_rows < Infinity && most > read.length
      ? branches(tree, of, [...missingReplies(read).keys()], call)
      : ok(tree)
  }

  /** A tree with what is below some comments that its rows lack, a few requests for all. */
  async function branches(
    { rows: shown, is_cut }: TreeRows,
    of: TreeOf,
    ids: readonly string[],
    call: HttpCall,
  ): Promise<Outcome<TreeRows>> {
    if (!is_cut) return ok({ rows: shown, is_cut })
    const known = new Set(shown.map((row) => idAt(fieldsOf(row['comment']), 'id')))
    const all = [...shown]
    const lacking = new Set(missingReplies(shown).keys())
    const wanted = ids.filter((id) => lacking.has(id) || !known.has(Number(id)))
    for (const parent_id of wanted.slice(0, BRANCHES_MAX)) {
      const read = await commentsUnder({ ...of, parent_id, most: 0 }, call)
      if (!read.ok) return all.length > shown.length ? ok({ rows: all, is_cut }) : read
      for (const row of read.value.rows) {
        const id = idAt(fieldsOf(row['comment']), 'id')
        if (!known.has(id)) all.push(row)
        known.add(id)
      }
    }
    return ok({ rows: all, is_cut })
  }

  /** The answer about a community; its place is then one that the server has shown. */
  async function community(name: string, call: HttpCall): Promise<Outcome<Row>> {
    const answer = await get('/community', { name }, call)
    if (!answer.ok) {
      // PieFed without its database gives the text of an unknown community.
      const works = answer.fault.kind === 'not_found' ? await absence(call) : answer
      return works.ok ? answer : works
    }
    const body = fieldsOf(answer.value)
    const row = fieldsOf(fieldsOf(body['community_view'])['community'])
    seen.add(row)
    if (textAt(row, 'name') !== null) names.set(name.toLowerCase(), communityName(row))
    return ok(body)
  }

  /** True for a place whose own list refuses readers without an account. PieFed's communities do not say so. */
  async function refuses(place: Row, call: HttpCall): Promise<boolean> {
    const id = idAt(place, 'id')
    if (software !== 'piefed' || credential !== null || id === null) return false
    const newest = await newestOf(id, call)
    return newest.ok && !newest.value.is_open
  }

  /** Asks for places that were never seen, a few at a time. The number of requests. */
  async function lookFor(wanted: readonly string[], call: HttpCall): Promise<number> {
    const due = seen.due(wanted)
    for (const name of due) await community(name, call)
    return due.length
  }

  /** The parameters that name a community for a list. PieFed's compares names exactly, and leaves out unlisted ones by name. */
  async function placeParams(name: string, call: HttpCall): Promise<Outcome<Params>> {
    if (software === 'lemmy') return ok({ community_name: name })
    const known = place_ids.get(name)
    if (known !== undefined && clock.mono() - known.at < OPEN_MS)
      return ok({ community_id: known.id })
    const answer = await community(name, call)
    if (!answer.ok) return answer
    const view = fieldsOf(answer.value['community_view'])
    const community_id = idAt(fieldsOf(view['community']), 'id')
    if (community_id === null) return fail({ kind: 'unreadable', path: '$.community_view' })
    place_ids.set(name, { id: community_id, at: clock.mono() })
    return ok({ community_id })
  }

  return {
    client,
    server,
    get,
    list,
    byId,
    listedPost,
    absence,
    /** True where a server without its database states an absence of such an item, as 0.19 does of comments. */
    isAbsenceDoubtful: (kind: 'post' | 'comment'): boolean =>
      kind === 'comment' && found?.server.dialect.generation === 'v3',
    isAccepted,
    /** Epoch ms of the last answer to the account, once later ones are not known to be to it; Infinity: they are. */
    accountUntil: (): number =>
      credential === null || (accepted.is && !is_doubted) ? Infinity : (proved_at ?? 0),
    commentsUnder,
    branches,
    placeParams,
    community,
    refuses,
    lookFor,
    /** A name as the server spells it, once it was asked for it: another address or another case of its own. */
    named: (name: string): string => names.get(name.toLowerCase()) ?? name,
    /** Why a place of this server is not covered; null: it is. */
    uncovered: (name: string): PartialReason | null => {
      const place = seen.of(name)
      if (place === undefined) return 'places_not_read'
      const is_v4 = found?.server.dialect.generation === 'v4'
      const is_left_out =
        place.is_unlisted || (place.is_nsfw && found?.server.site.shows_nsfw === false)
      return is_v4 && is_left_out ? 'places_not_read' : null
    },
    /** Requests a minute that may be sent, as far as the server's limit is known. */
    perMinute: () => per_minute,
  }
}

/** Places that the server has shown, by name. One that it has not shown is asked for once an hour. */
function createSeenPlaces(clock: Pick<Clock, 'mono'>) {
  const places = new LRUCache<string, { is_unlisted: boolean; is_nsfw: boolean }>({
    max: PLACES_MAX,
  })
  const asked = new LRUCache<string, number>({ max: PLACES_MAX })
  const of = (name: string) => places.get(name.toLowerCase())
  return {
    of,
    add(row: Row): void {
      if (row['local'] === false) return
      const name = textAt(row, 'name')?.toLowerCase()
      const is_unlisted = textAt(row, 'visibility')?.toLowerCase() === 'unlisted'
      if (name !== undefined) places.set(name, { is_unlisted, is_nsfw: row['nsfw'] === true })
    },
    due(names: readonly string[]): string[] {
      const since = clock.mono() - LOOK_EVERY_MS
      const due = names
        .filter((it) => of(it) === undefined && (asked.get(it) ?? -Infinity) < since)
        .slice(0, LOOKS_MAX)
      for (const name of due) asked.set(name, clock.mono())
      return due
    },
  }
}

/** What the own list of a place of PieFed has shown. */
type Place = { at: number; is_open: boolean; ids: Set<number>; is_whole: boolean; since: number }

const UNAVAILABLE = { kind: 'unavailable', status: null, retry_after_s: null } satisfies Fault

/** The answer to one item of a private place. */
const isClosed = (fault: Fault): boolean => fault.kind === 'forbidden' && fault.reason === 'private'

/** View of an item that only members may read: nothing but its state. */
function closedView(kind: 'post' | 'comment', id: number): Row {
  const view: Row = { [kind]: { id } }
  noteState(view, { state: 'hidden', until: null })
  return view
}

const hasId = (object: Record<string, unknown>): boolean => idAt(object, 'id') !== null
const isSite = (value: unknown): boolean => toSite(value) !== null

/**
 * Seconds until the next window of the limit that a request counts for, by the last answer that stated it: the refusals of 1.0
 * state none. Searches have a limit of their own.
 */
function createResets(clock: Pick<Clock, 'mono'>) {
  const ends = new Map<boolean, number>()
  return {
    /** Null: it has passed, or was never stated. */
    of({ headers }: HttpAnswer, path: string): number | null {
      const is_search = path.includes('/search?')
      const stated_s = boundedWait(headers.get('x-ratelimit-reset')?.trim())
      if (stated_s !== null) ends.set(is_search, clock.mono() + stated_s * 1000)
      const left_s = Math.ceil(((ends.get(is_search) ?? 0) - clock.mono()) / 1000)
      return left_s > 0 ? left_s : null
    },
  }
}

/** Meaning of the API's error codes; null: by the status. Login codes are answers for their caller. */
function verdict(
  { status, value, retry_after_s }: HttpAnswer,
  reset_s: number | null,
): Fault | null {
  const body = fieldsOf(value)
  const code = textAt(body, 'error') ?? textAt(body, 'message') ?? ''
  if (status === 429 || (status === 400 && /^(rate_limit_error|too_many_requests)$/.test(code))) {
    return { kind: 'throttled', ...pauseAfterLimit(retry_after_s ?? reset_s, RATE_PAUSE_S) }
  }
  if (status < 400 || status >= 500) return null
  if (/^(incorrect_login|missing_totp_token|incorrect_totp_token)$/.test(code))
    return { kind: 'rejected', status }
  if (/^(not_logged_in|instance_is_private)$/.test(code)) return { kind: 'login_required' }
  if (/^(couldnt_find_\w+|not_found|\w+_not_found)$/.test(code))
    return { kind: 'not_found', reason: 'absent' }
  if (/^(person_is_banned_from_|site_ban$)/.test(code))
    return { kind: 'forbidden', reason: 'banned' }
  if (status !== 400) return null
  // PieFed answers 400 to every exception, with its text.
  if (body['code'] === 400) return meaningOf(code)
  // So does Lemmy without its database; a query that it cannot read has the same code.
  if (code === 'unknown' && !/deserialize|invalid|parse/i.test(textAt(body, 'message') ?? ''))
    return { ...UNAVAILABLE, status }
  return null
}

/** PieFed's texts for a row that it does not have. */
const ABSENT =
  /^\(\)$|^no row was found|^'NoneType' object has no attribute|unknown community|^no object found|not found\.?$/i
/** Those for a credential that it does not accept. */
const SIGNED_OUT = /incorrect.login|not enough segments|signature|token|login required/i

function meaningOf(text: string): Fault {
  if (ABSENT.test(text)) return { kind: 'not_found', reason: 'absent' }
  if (/^private community/i.test(text)) return { kind: 'forbidden', reason: 'private' }
  if (SIGNED_OUT.test(text)) return { kind: 'login_required' }
  if (text === 'Validation failed') return { kind: 'rejected', status: 400 }
  return text === 'alpha api is not enabled'
    ? { kind: 'forbidden', reason: null }
    : { ...UNAVAILABLE, status: 400 }
}

const TOPS: Readonly<Record<string, string>> = {
  hour: 'TopHour',
  day: 'TopDay',
  week: 'TopWeek',
  month: 'TopMonth',
  year: 'TopYear',
}
const SORTS: Readonly<Record<string, string>> = {
  new: 'New',
  rising: 'Active',
  controversial: 'Controversial',
}

export function postSort(sort: string, t: string | null, { generation, word }: Dialect): Params {
  if (sort !== 'top') return { sort: word(SORTS[sort] ?? 'Hot') }
  return generation === 'v4'
    ? { sort: 'top', time_range_seconds: SPANS_S[t ?? 'all'] ?? 0 }
    : { sort: TOPS[t ?? 'all'] ?? 'TopAll' }
}

/** Order of comments, as `word` takes it. */
const commentSort = (sort: string): string =>
  ({ new: 'New', old: 'Old', top: 'Top', controversial: 'Controversial' })[sort] ?? 'Hot'

/** The field without which no reader is shown a post or a comment; null: it has all. */
function lackOf(view: Row): 'created' | 'title' | null {
  const comment = view['comment']
  if (Number.isNaN(createdOf(fieldsOf(comment ?? view['post'])))) return 'created'
  return isObject(comment) || textAt(fieldsOf(view['post']), 'name') !== null ? null : 'title'
}
