import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Comment, ItemLiveness, ItemState, Node, Post } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { fromNode, toNode } from '../items.ts'
import { inTurn, NOT_FOUND, SPANS_S } from '../lists.ts'
import type { ItemStates, Listing, SourceReads } from '../port.ts'
import {
  actCapabilities,
  readCapabilities,
  type Source,
  type SourceOptions,
  withUnsupported,
} from '../source.ts'
import { fieldsOf, idAt, textAt } from '../values.ts'
import { lemmyActs } from './acts.ts'
import { type ApiPage, createApi, type Params, postSort } from './api.ts'
import {
  type Dialect,
  livenessOf,
  stateOf,
  toComment,
  toCommunity,
  toItem,
  toModerators,
  toPost,
  toUser,
} from './readers.ts'
import { cutTree } from './trees.ts'
import { createIdWatch } from './watch.ts'

type Row = Record<string, unknown>
type Paging = { limit: number; after: string | null }

const AT_ONCE = 4
/** Places that are no community: everything that the server knows, and its own communities. */
const WHOLE = { all: 'All', local: 'Local' } as const

/**
 * A Lemmy server by its API, version 3 (0.19) or 4 (1.0), or a PieFed server. It is read without an
 * account unless `credential`, a token of the API, is set: an account hides what it has blocked.
 * @see https://join-lemmy.org/docs/contributors/04-api.html
 */
export function createLemmy(
  options: SourceOptions,
  software: 'lemmy' | 'piefed' = 'lemmy',
): Source {
  const { base_url, clock } = options
  const { host } = new URL(base_url)
  const api = createApi(options, software)

  const beside = { requests: 0 }

  /** The name that this server uses: without its own host. */
  const localName = (place: string): string => {
    const [name = '', at] = place.replace(/^!/, '').split('@')
    return at === undefined || at.toLowerCase() === host ? name : `${name}@${at}`
  }

  async function placeOf(place: string, call: HttpCall): Promise<Outcome<Params>> {
    const server = await api.server(call)
    if (!server.ok) return server
    const { word } = server.value.dialect
    if (place === 'all' || place === 'local') return ok({ type_: word(WHOLE[place]) })
    const named = await api.placeParams(localName(place), call)
    return named.ok ? ok({ type_: word('All'), ...named.value }) : named
  }

  /** A list whose parameters depend on the API. */
  async function list<T>(
    kind: Parameters<typeof api.list>[0],
    path: (dialect: Dialect) => string,
    params: (dialect: Dialect) => Params,
    toRow: (view: Row) => T | null,
    paging: Paging,
    call: HttpCall,
  ): Promise<Outcome<Listing<T>>> {
    const server = await api.server(call)
    if (!server.ok) return server
    const { dialect } = server.value
    const page = await api.list(kind, path(dialect), params(dialect), paging, call)
    return page.ok ? ok(toListing(page.value, toRow)) : page
  }

  /** Posts of `/user` and `/search` of 0.19, which take no `show_nsfw`. */
  async function withoutNsfw<T>(
    listing: Promise<Outcome<Listing<T>>>,
    call: HttpCall,
  ): Promise<Outcome<Listing<T>>> {
    const [page, server] = [await listing, await api.server(call)]
    if (!page.ok || !server.ok) return page
    const { dialect, site } = server.value
    const lacks_some =
      dialect.generation === 'v3' && options.credential === null && !site.shows_nsfw
    return ok({ ...page.value, ...(lacks_some && { lacks_some }) })
  }

  const livePost = (view: Row): Post | null =>
    stateOf(view) === 'public' ? toPost(view, base_url) : null
  const liveComment = (view: Row): Comment | null =>
    stateOf(view) === 'public' ? toComment(view, base_url) : null

  /** A comment of a tree: a hidden one stays, for its replies. */
  function shownComment(view: Row): Comment | null {
    const comment = toComment(view, base_url)
    const state = stateOf(view)
    if (comment === null || state === 'public') return comment
    return state === 'hidden' || state === 'unknown' ? null : { ...comment, body: `[${state}]` }
  }

  /** Views by id in the order of `ids`; those that no reader can see are left out, if the server works. */
  async function readAll(
    kind: 'post' | 'comment',
    ids: readonly string[],
    call: HttpCall,
  ): Promise<Outcome<Row[]>> {
    const views = await inTurn(ids, AT_ONCE, (id) => api.byId(kind, id, call))
    if (!views.ok) return views
    const found = views.value.filter((view) => view !== null)
    if (found.length > 0 || ids.length === 0) return ok(found)
    const works = await api.absence(call)
    return works.ok ? ok(found) : works
  }

  /** Posts or comments that contain words; the order is the server's. */
  const search = <T>(
    kind: 'post' | 'community' | 'person',
    q: string,
    more: (dialect: Dialect) => Params,
    toRow: (view: Row) => T | null,
    paging: Paging,
    call: HttpCall,
  ) =>
    list(
      kind,
      () => '/search',
      (dialect) => ({
        [dialect.query]: q,
        type_: dialect.word({ post: 'Posts', community: 'Communities', person: 'Users' }[kind]),
        listing_type: dialect.word('All'),
        ...more(dialect),
      }),
      toRow,
      paging,
      call,
    )

  /** Posts, comments or both of an account. Version 3 pages both lists by the same number. */
  async function contentOf<T extends { created_utc: number }>(
    kind: 'post' | 'comment' | 'item',
    { name, sort, t, limit, after }: Paging & { name: string; sort: string; t: string | null },
    toRow: (view: Row) => T | null,
    call: HttpCall,
  ): Promise<Outcome<Listing<T>>> {
    const username = localName(name)
    const server = await api.server(call)
    if (!server.ok) return server
    const { dialect } = server.value
    const is_v4 = dialect.generation === 'v4'
    const are_two = kind === 'item' && !is_v4
    const type_ = kind === 'item' ? 'all' : `${kind}s`
    const params = { username, ...(is_v4 ? { type_ } : postSort(sort, t, dialect)) }
    const each = are_two ? Math.max(1, Math.floor(limit / 2)) : limit
    const paging = { limit: each, after }
    const page = await api.list(kind, is_v4 ? '/person/content' : '/user', params, paging, call)
    if (!page.ok) return page
    const listing = toListing(page.value, toRow)
    if (!are_two) return ok(listing)
    return ok({ ...listing, rows: listing.rows.toSorted((a, b) => b.created_utc - a.created_utc) })
  }

  const reads: Partial<SourceReads> = {
    async posts({ subforums, sort, t, ...paging }, call) {
      if (subforums.length > 1) return fail(ONE_PLACE)
      const place = await placeOf(subforums[0] ?? 'all', call)
      if (!place.ok) return place
      return list(
        'post',
        () => '/post/list',
        (dialect) => ({ ...place.value, ...postSort(sort, t, dialect) }),
        livePost,
        paging,
        call,
      )
    },

    async comments({ subforums, ...paging }, call) {
      if (subforums.length > 1) return fail(ONE_PLACE)
      const place = await placeOf(subforums[0] ?? 'all', call)
      if (!place.ok) return place
      return list(
        'comment',
        () => '/comment/list',
        (dialect) => ({ ...place.value, sort: dialect.word('New') }),
        liveComment,
        paging,
        call,
      )
    },

    async search({ q, subforum, sort, t, nsfw, ...paging }, call) {
      const place = subforum === null ? ok({}) : await placeOf(subforum, call)
      if (!place.ok) return place
      const listing = search(
        'post',
        q,
        (dialect) => ({
          ...place.value,
          // The kind of rows, which the place must not replace.
          type_: dialect.word('Posts'),
          ...(subforum === 'local' && { listing_type: dialect.word('Local') }),
          ...(dialect.generation === 'v4'
            ? { time_range_seconds: SPANS_S[t] ?? 0 }
            : postSort(sort === 'relevance' ? 'top' : sort, t, dialect)),
          show_nsfw: nsfw,
        }),
        (view) => {
          const post = livePost(view)
          return post === null || (post.over_18 && !nsfw) ? null : post
        },
        paging,
        call,
      )
      return nsfw ? withoutNsfw(listing, call) : listing
    },

    searchCommunities: ({ q, nsfw, ...paging }, call) =>
      search(
        'community',
        q,
        () => ({ show_nsfw: nsfw }),
        (view) => {
          const community = toCommunity(view, base_url)
          return community?.over_18 && !nsfw ? null : community
        },
        paging,
        call,
      ),

    searchUsers: ({ q, limit, after }, call) =>
      search(
        'person',
        q,
        () => ({}),
        (view) => toUser(view, base_url),
        { limit, after },
        call,
      ),

    userComments: (query, call) => contentOf('comment', query, liveComment, call),

    async userItems({ tab, ...query }, call) {
      const kind = TABS[tab]
      if (kind === undefined) return fail({ kind: 'unsupported', capability: 'userItems' })
      const listing = contentOf(kind, query, (view) => toItem(view, base_url), call)
      return kind === 'comment' ? listing : withoutNsfw(listing, call)
    },

    async tree({ post_id: of_post, comment_id, sort, depth, limit }, call) {
      let post_id = of_post
      if (of_post === ANY_POST && comment_id !== undefined) {
        const found = await readAll('comment', [comment_id], call)
        if (!found.ok) return found
        const id = idAt(fieldsOf(found.value[0]?.['comment']), 'post_id')
        if (id === null) return fail(NOT_FOUND)
        post_id = String(id)
      }
      const read = await readAll('post', [post_id], call)
      if (!read.ok) return read
      const [post] = read.value.flatMap((view) => livePost(view) ?? [])
      if (post === undefined) return fail(NOT_FOUND)
      const most = limit ?? Infinity
      const tree = await api.commentsUnder({ post_id, parent_id: comment_id, sort, most }, call)
      if (!tree.ok) return tree
      const comments = tree.value.rows.flatMap((row) => shownComment(row) ?? [])
      const bounds = { comment_id, depth, limit }
      const server = await api.server(call)
      if (!server.ok) return server
      const { dialect, site } = server.value
      // 1.0 lists no comment of a post for adults without an account.
      const lacks_some =
        dialect.generation === 'v4' &&
        post.over_18 &&
        !site.shows_nsfw &&
        options.credential === null
      const shown = { ...tree.value, is_cut: tree.value.is_cut || lacks_some }
      return ok({ post, comments: cutTree(post, comments, shown, bounds) })
    },

    async more({ post_id, ids, sort }, call) {
      // One request for all of them: the API has no list by ids.
      const tree = await api.commentsUnder({ post_id, sort, most: 0 }, call)
      if (!tree.ok) return tree
      const read = await api.branches(tree.value, { post_id, sort }, ids, call)
      if (!read.ok) return read
      const wanted = new Set(ids)
      const under = read.value.rows.filter((view) =>
        (textAt(fieldsOf(view['comment']), 'path') ?? '').split('.').some((id) => wanted.has(id)),
      )
      return ok(under.flatMap((view) => nodesOf(shownComment(view))))
    },

    async postsById(ids, call) {
      const views = await readAll('post', ids, call)
      return views.ok ? ok(views.value.flatMap((view) => livePost(view) ?? [])) : views
    },

    async nodesById(ids, call) {
      const views = await readAll('comment', ids, call)
      return views.ok ? ok(views.value.flatMap((view) => nodesOf(shownComment(view)))) : views
    },

    async liveness(ids, call) {
      const views = await readAll('comment', ids, call)
      if (!views.ok) return views
      const found = views.value.map((view): [string, ItemLiveness] => {
        return [String(fieldsOf(view['comment'])['id']), livenessOf(view)]
      })
      return ok(new Map(found))
    },

    async visibility(id, call) {
      const read = await readAll('post', [id], call)
      if (!read.ok) return read
      const [view] = read.value
      // Removed, deleted, private and unknown posts have the same answer.
      if (view === undefined)
        return ok({ verdict: 'not_visible', reason: 'absent', confident: false })
      const state = livenessOf(view)
      if (state === 'live') return ok({ verdict: 'live', reason: null, confident: true })
      const reason = state === 'not_found' ? 'absent' : state
      return ok({ verdict: 'not_visible', reason, confident: true })
    },

    async user(name, call) {
      const server = await api.server(call)
      if (!server.ok) return server
      const query = { username: localName(name) }
      const answer = await api.get(server.value.dialect.person, query, call)
      if (!answer.ok) return answer
      const user = toUser(fieldsOf(fieldsOf(answer.value)['person_view']), base_url)
      return user === null ? fail({ kind: 'unreadable', path: '$.person_view' }) : ok(user)
    },

    async community(name, call) {
      const answer = await api.community(localName(name), call)
      if (!answer.ok) return answer
      const view = fieldsOf(answer.value['community_view'])
      if (await api.refuses(fieldsOf(view['community']), call))
        return fail({ kind: 'forbidden', reason: 'private' })
      const community = toCommunity(view, base_url)
      return community === null
        ? fail({ kind: 'unreadable', path: '$.community_view' })
        : ok(community)
    },

    async moderators(name, call) {
      const answer = await api.community(localName(name), call)
      return answer.ok ? ok(toModerators(answer.value)) : answer
    },

    communities: ({ which, ...paging }, call) =>
      list(
        'community',
        () => '/community/list',
        ({ word, generation }) => ({
          type_: word(which === 'default' ? 'Local' : 'All'),
          sort: word(which === 'new' ? 'New' : generation === 'v4' ? 'Subscribers' : 'TopAll'),
        }),
        (view) => toCommunity(view, base_url),
        paging,
        call,
      ),
  }

  /** One request for each. An id that the server does not know may be removed, deleted, private or rolled back. */
  const states: ItemStates = async (fullnames, call) => {
    const found = new Map<string, ItemState>()
    for (const name of fullnames) {
      beside.requests += 1
      const view = await api.byId(name.startsWith('t3_') ? 'post' : 'comment', name.slice(3), call)
      if (!view.ok) return view
      const state = view.value === null ? 'absent' : livenessOf(view.value)
      if (view.value === null || state !== 'live') {
        if (state !== 'live' && state !== 'not_found') found.set(name, { state })
        continue
      }
      const item = toItem(view.value, base_url)
      const author_gone = fieldsOf(view.value['creator'])['deleted'] === true
      if (item !== null) found.set(name, { state, item, author_gone })
    }
    // A server without its database states an absence too.
    const has_absent = [...found.values()].some((it) => it.state === 'absent')
    const works = has_absent ? await api.absence(call) : ok(null)
    return works.ok ? ok(found) : works
  }

  // Acts were not tried with PieFed, whose sign-in takes other fields.
  const acts =
    software === 'lemmy'
      ? lemmyActs(api, base_url, () => clock.now() + api.client.clock_offset_ms())
      : {}
  return {
    kind: software,
    url: base_url,
    capabilities: new Set([
      ...readCapabilities(reads),
      ...actCapabilities(acts),
      ...('vote' in acts ? (['downvote'] as const) : []),
    ]),
    states,
    acts,
    authorization: null,
    reads: withUnsupported(reads, fromNode),
    watch: createIdWatch({ clock, api, site_url: base_url, localName, beside }),
    place_examples: ['coffee', 'coffee@other.example'],
    isPlace: (place) => PLACE.test(place),
    spell: (place) => api.named(localName(place)),
    partialFor(place) {
      if (place === 'local') return null
      const name = api.named(localName(place))
      return place === 'all' || name.includes('@') ? 'copy_of_remote' : api.uncovered(name)
    },
    targetOf(url) {
      if (url.host !== host) return null
      const [, of_comment] = COMMENT_PATH.exec(url.pathname) ?? []
      if (of_comment !== undefined) return { post_id: ANY_POST, comment_id: of_comment }
      const [, post_id, comment_id] = POST_PATH.exec(url.pathname) ?? []
      if (post_id === undefined) return null
      return { post_id, comment_id: comment_id ?? null }
    },
    clock_offset_ms: api.client.clock_offset_ms,
    perMinute: api.perMinute,
    isDown: api.client.isDown,
    async probe(call) {
      const server = await api.server(call)
      if (!server.ok) return server
      const { site, dialect } = server.value
      const notes = [`API: ${dialect.base}`]
      if (site.message_per_minute !== null)
        notes.push(`reads allowed a minute: ${Math.round(site.message_per_minute)}`)
      notes.push(`requests a minute, at most: ${Math.round(api.perMinute())}`)
      if (site.is_private) notes.push('the instance is private: it answers its own accounts only')
      if (dialect.is_wrapper) notes.push('partial API: comments beyond the newest 50 are not read')
      return ok({ title: site.title, version: site.version, notes })
    },
  }
}

const TABS: Readonly<Record<string, 'post' | 'comment' | 'item'>> = {
  overview: 'item',
  submitted: 'post',
  comments: 'comment',
}
/** The API lists one community or all. */
const ONE_PLACE: Fault = { kind: 'rejected', status: 400 }
const PLACE = /^!?[\w.-]{1,255}(?:@[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?(?::\d{1,5})?)?$/i
const COMMENT_PATH = /^\/comment\/(\d{1,15})\/?$/
/** Post of a comment that is known by its id alone. */
const ANY_POST = '0'
const POST_PATH = /^\/post\/(\d{1,15})(?:\/(\d{1,15}))?\/?$/

function toListing<T>({ views, after }: ApiPage, toRow: (view: Row) => T | null): Listing<T> {
  return { rows: views.flatMap((view) => toRow(view) ?? []), after, logged_in: null }
}

const nodesOf = (comment: Comment | null): Node[] => (comment === null ? [] : [toNode(comment)])
