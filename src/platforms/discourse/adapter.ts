import { fail, ok, type Outcome } from '../../core/base/result.ts'
import { createTurns } from '../../core/base/turns.ts'
import { markdownOf } from '../../core/filter/text.ts'
import type { Comment, Community, Item, Post } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { fromNode } from '../items.ts'
import { commentsOf, createHold, NOT_FOUND, SPANS_S } from '../lists.ts'
import type { Call, Listing, SourceReads } from '../port.ts'
import {
  actCapabilities,
  readCapabilities,
  type Source,
  type SourceOptions,
  withUnsupported,
} from '../source.ts'
import { fieldsOf, hasShape, idAt, numberAt, rowsOf, textAt } from '../values.ts'
import { discourseActs, keyAuthorization } from './acts.ts'
import { createPlaces, isPlaceName, listPath, placeTerm } from './places.ts'
import {
  actionToItem,
  type Category,
  foundTopics,
  itemNameOf,
  itemOf,
  livenessOf,
  type NativePost,
  tagToCommunity,
  toComment,
  toCommunity,
  toModerators,
  topicsOf,
  toUser,
} from './readers.ts'
import {
  createSiteClient,
  digestOf,
  LIMIT_S,
  LIST_PAGES_MAX,
  type NumberedPage,
  pages,
  type Paging,
} from './site.ts'
import { createTopicTags } from './tags.ts'
import { createTopicReads } from './topics.ts'
import { createPostWatch, type StreamPage, type StreamRow, type TopicsPage } from './watch.ts'

const ACTIONS_PAGE = 30
const SEARCH_PAGES = 10
const CATEGORIES_PAGE = 100
const WINDOW = 50
const NEW_TOPICS = '4'
const REPLIES = '5'

/**
 * A Discourse site, at the address of its front page. `credential` is a User API key; null: the site
 * as everybody sees it.
 * @see https://docs.discourse.org
 */
export function createDiscourse(options: SourceOptions): Source {
  const client = createSiteClient(options)
  const { base_url, http, site } = client
  const { placeOf, categoryIds } = createPlaces(client)
  const { states, starters, ...topics } = createTopicReads(client)
  const { credential } = options
  const held = createHold(options.clock)
  const watch = createPostWatch({
    clock: options.clock,
    tags: createTopicTags(client, options),
    page: readPostPage,
    topics: readNewTopics,
    topic: async (id, call) => {
      const rows = await starters(id, call)
      return rows.ok ? ok(await toStreamRows(rows.value)) : rows
    },
    // A key has a small allowance for a day.
    topics_every_ms: credential === null ? 60_000 : 180_000,
  })

  async function topicPage(
    path: string,
    page: number,
    call: HttpCall,
  ): Promise<Outcome<NumberedPage<Post>>> {
    const at = `${path}${path.includes('?') ? '&' : '?'}page=${page}`
    const body = await client.get(at, call, '$.topic_list.topics[]')
    if (!body.ok) return body
    const list = fieldsOf(body.value['topic_list'])
    const prepared = await client.prepare(rowsOf(list['topics']), call)
    if (!prepared.ok) return prepared
    const rows = topicsOf(body.value, site)
    return ok({ rows, more: textAt(list, 'more_topics_url') !== null && rows.length > 0 })
  }

  async function listTopics(
    { subforums, sort, t }: { subforums: string[]; sort: string; t: string | null },
    paging: Paging,
    call: Call,
  ): Promise<Outcome<Listing<Post>>> {
    const is_one = subforums.length === 1
    const place = await placeOf(is_one ? subforums[0] : undefined, call)
    if (!place.ok) return place
    const only = is_one ? ok(null) : await categoryIds(subforums, 'posts', call)
    if (!only.ok) return only
    const prefix = listPath(place.value)
    const names = only.value === null ? null : new Set([...only.value].map(site.placeOf))
    const read = (path: string) =>
      pages(paging, (page) => topicPage(path, page, call), {
        keep: ({ subforum }) => names === null || names.has(subforum),
      })
    if (sort === 'top' || sort === 'controversial')
      return read(`${prefix}/top.json?period=${PERIODS[t ?? ''] ?? 'all'}`)
    if (sort === 'new') return read(`${prefix}/latest.json?order=created`)
    if (sort !== 'hot') return read(`${prefix}/latest.json`)
    const hot = await read(`${prefix}/hot.json`)
    // Versions before 3.3 have no such list; theirs by activity is the nearest.
    return !hot.ok && hot.fault.kind === 'not_found' ? read(`${prefix}/latest.json`) : hot
  }

  async function listComments(
    { subforums, limit, after }: Paging & { subforums: string[] },
    call: Call,
  ): Promise<Outcome<Listing<Comment>>> {
    const only = await categoryIds(subforums, 'comments', call)
    if (!only.ok) return only
    let before = after === null ? null : Number(/^b(\d{1,15})$/.exec(after)?.[1] ?? Number.NaN)
    if (Number.isNaN(before)) return fail({ kind: 'rejected', status: 400 })
    const rows: Comment[] = []
    for (let page = 0; page < LIST_PAGES_MAX; page++) {
      const answer = await readPosts(before, call)
      if (!answer.ok) return answer
      const { found, ids } = answer.value
      for (const it of found.toSorted((a, b) => b.id - a.id)) {
        if (it.number === 1 || livenessOf(it) !== 'live' || it.id >= (before ?? Infinity)) continue
        if (only.value !== null && !only.value.has(idAt(it.row, 'category_id') ?? 0)) continue
        rows.push(toComment(it, site))
        if (rows.length === limit) return ok({ rows, after: `b${it.id}`, logged_in: null })
      }
      // Old servers list windows of ids, which may be empty, and repeat the id of the request.
      const window_from = before === null ? Infinity : Math.max(1, before - WINDOW + 1)
      before = ids.some((id) => id < (before ?? Infinity)) ? Math.min(...ids) : window_from
      if (before <= 1 || before === Infinity) return ok({ rows, after: null, logged_in: null })
    }
    return ok({ rows, after: `b${before}`, logged_in: null })
  }

  async function listActions(
    { name, filter }: { name: string; filter: string },
    paging: Paging,
    call: Call,
  ): Promise<Outcome<Listing<Item>>> {
    return pages(paging, async (page) => {
      const params = new URLSearchParams({
        username: name,
        filter,
        offset: String(page * ACTIONS_PAGE),
        limit: String(ACTIONS_PAGE),
      })
      const path = `/user_actions.json?${params.toString()}`
      const body = await client.get(path, call, '$.user_actions[]')
      if (!body.ok) return body
      // Old servers ignore the limit; their next page begins in the middle of this one.
      const found = rowsOf(body.value['user_actions']).slice(0, ACTIONS_PAGE)
      const prepared = await client.prepare(found, call)
      if (!prepared.ok) return prepared
      const rows = found.map((row) => actionToItem(row, site)).filter((it) => it !== null)
      return ok({ rows, more: found.length === ACTIONS_PAGE })
    })
  }

  async function readSearch(params: URLSearchParams, call: Call) {
    const body = await client.get(`/search.json?${params.toString()}`, call, isFound)
    // Refused for load or for a limit, and answered as if nothing was found.
    return body.ok && textAt(fieldsOf(body.value['grouped_search_result']), 'error')
      ? fail({ kind: 'throttled', retry_after_s: LIMIT_S, estimated: true })
      : body
  }

  const reads: Partial<SourceReads> = {
    posts: ({ limit, after, ...query }, call) => listTopics(query, { limit, after }, call),
    comments: listComments,

    async search({ q, subforum, sort, t, ...paging }, call) {
      const place = await placeOf(subforum ?? undefined, call)
      if (!place.ok) return place
      const since = sinceOf(t, options.clock.now())
      const terms = [q, 'in:first', SEARCH_ORDERS[sort], since, placeTerm(place.value)]
      return pages(paging, async (page) => {
        const term = terms.filter((it) => it != null && it !== '').join(' ')
        const params = new URLSearchParams({ q: term, page: String(page + 1) })
        const body = await held.pass(() => readSearch(params, call))
        if (!body.ok) return body
        const grouped = fieldsOf(body.value['grouped_search_result'])
        if (!hasShape(body.value, '$.posts[]')) return fail({ kind: 'unreadable', path: '$.posts' })
        const found = [...rowsOf(body.value['topics']), ...rowsOf(body.value['posts'])]
        const prepared = await client.prepare(found, call)
        if (!prepared.ok) return prepared
        const rows = foundTopics(body.value, site)
        const has_more = grouped['more_full_page_results'] === true && page + 1 < SEARCH_PAGES
        return ok({ rows, more: has_more })
      })
    },

    async searchCommunities({ q, ...paging }, call) {
      const words = q.toLowerCase()
      return categoryPages(paging, call, ({ path, row }) =>
        [path, textAt(row, 'name'), textAt(row, 'description_text') ?? textAt(row, 'description')]
          .join(' ')
          .toLowerCase()
          .includes(words),
      )
    },

    searchUsers: ({ q, ...paging }, call) =>
      pages(paging, async (page) => {
        const params = new URLSearchParams({
          period: 'all',
          order: 'likes_received',
          name: q,
          page: String(page),
        })
        const path = `/directory_items.json?${params.toString()}`
        const body = await client.get(path, call, '$.directory_items[]')
        if (!body.ok) return body
        const items = rowsOf(body.value['directory_items'])
        const rows = items
          .map((row) => toUser({ ...row, ...fieldsOf(row['user']) }, base_url))
          .filter((it) => it !== null)
        return ok({ rows, more: items.length >= DIRECTORY_PAGE })
      }),

    async userComments({ name, ...paging }, call) {
      return commentsOf(await listActions({ name, filter: REPLIES }, paging, call))
    },

    async userItems({ name, tab, ...paging }, call) {
      const filter = TABS[tab]
      return filter === undefined
        ? fail({ kind: 'unsupported', capability: 'userItems' })
        : listActions({ name, filter }, paging, call)
    },

    ...topics,

    async user(name, call) {
      const body = await client.get(`/u/${encodeURIComponent(name)}.json`, call, '$.user')
      if (!body.ok) return body
      const user = toUser(fieldsOf(body.value['user']), base_url)
      return user === null ? fail({ kind: 'unreadable', path: '$.user' }) : ok(user)
    },

    async community(name, call) {
      const place = await placeOf(name, call)
      if (!place.ok) return place
      if (place.value.kind === 'all') return fail(NOT_FOUND)
      if (place.value.kind === 'category') return ok(toCommunity(place.value.it, base_url))
      const { tag } = place.value
      const body = await client.get(`${listPath(place.value)}/latest.json`, call, '$.topic_list')
      if (!body.ok) return body
      const [row = {}] = rowsOf(fieldsOf(body.value['topic_list'])['tags'])
      return ok(tagToCommunity(tag, row, base_url))
    },

    communities: ({ which, ...paging }, call) => categoryPages(paging, call, () => true, which),

    async moderators(name, call) {
      const place = await placeOf(name, call)
      if (!place.ok) return place
      const body = await client.get('/about.json', call, '$.about')
      return body.ok ? ok(toModerators(fieldsOf(body.value['about']))) : body
    },
  }

  async function categoryPages(
    paging: Paging,
    call: Call,
    keep: (category: Category) => boolean,
    which: 'popular' | 'new' | 'default' = 'popular',
  ): Promise<Outcome<Listing<Community>>> {
    const categories = await client.readCategories(call)
    if (!categories.ok) return categories
    const rank: (it: Category) => number =
      which === 'new'
        ? ({ id }) => -id
        : which === 'default'
          ? ({ row }) => numberAt(row, 'position') ?? 0
          : ({ row }) => -(numberAt(row, 'topic_count') ?? 0)
    const all = [...categories.value.by_id.values()].filter(keep)
    const ordered = all.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id)
    return pages(paging, async (page) => {
      const rows = ordered.slice(page * CATEGORIES_PAGE, (page + 1) * CATEGORIES_PAGE)
      const has_more = ordered.length > (page + 1) * CATEGORIES_PAGE
      return ok({ rows: rows.map((it) => toCommunity(it, base_url)), more: has_more })
    })
  }

  /** A page of the site's list of posts, below an id. `ids` are of rows of every kind. */
  async function readPosts(before: number | null, call: HttpCall) {
    const seen = await client.observe(
      `/posts.json${before === null ? '' : `?before=${before}`}`,
      call,
      '$.latest_posts[]',
    )
    if (!seen.ok) return seen
    const { value, as_of, anonymous } = seen.value
    const posts = rowsOf(fieldsOf(value)['latest_posts'])
    const found = await client.natives(posts, call)
    if (!found.ok) return found
    const ids = posts.flatMap((row) => idAt(row, 'id') ?? [])
    return ok({ found: found.value, ids, as_of, anonymous })
  }

  async function readPostPage(before: number | null, call: HttpCall): Promise<Outcome<StreamPage>> {
    const page = await readPosts(before, call)
    if (!page.ok) return page
    const { found, ...rest } = page.value
    return ok({ rows: await toStreamRows(found), ...rest })
  }

  async function toStreamRows(found: readonly NativePost[]): Promise<StreamRow[]> {
    const rows: StreamRow[] = []
    const turn = createTurns()
    for (const it of found) {
      const item = livenessOf(it) === 'live' ? itemOf(it, site) : null
      rows.push({ id: it.id, name: itemNameOf(it), digest: digestOf(it), item })
      await turn(item === null ? 0 : 2 * markdownOf(item).length)
    }
    return rows
  }

  async function readNewTopics(page: number, call: HttpCall): Promise<Outcome<TopicsPage>> {
    const path = `/latest.json?order=created&page=${page}`
    const seen = await client.observe(path, call, '$.topic_list.topics[]')
    if (!seen.ok) return seen
    const { value, as_of, anonymous } = seen.value
    const list = fieldsOf(fieldsOf(value)['topic_list'])
    const found = rowsOf(list['topics']).flatMap((row) => {
      const id = idAt(row, 'id')
      const created_ms = Date.parse(textAt(row, 'created_at') ?? '')
      return id === null || Number.isNaN(created_ms) ? [] : [{ id, created_ms }]
    })
    const more = textAt(list, 'more_topics_url') !== null && found.length > 0
    return ok({ topics: found, as_of, anonymous, more })
  }

  const acts = discourseActs(client, topics)
  return {
    kind: 'discourse',
    url: base_url,
    capabilities: new Set([...readCapabilities(reads), ...actCapabilities(acts), 'authorize']),
    acts,
    states,
    authorization: keyAuthorization(base_url),
    reads: withUnsupported(reads, fromNode),
    watch: {
      ...watch,
      async advance(state, bounds) {
        const { deadline_at, signal, share } = bounds
        await client.lookFor(bounds.places ?? [], { deadline_at, signal, share, use: 'poll' })
        return watch.advance(state, bounds)
      },
    },
    partialFor: (place) => watch.partialFor(place) ?? client.partialFor(place),
    place_examples: ['support', 'support/bugs', 'tag:release'],
    isPlace: isPlaceName,
    targetOf({ origin, pathname }) {
      const base = new URL(base_url)
      if (origin !== base.origin || !pathname.startsWith(base.pathname)) return null
      const path = pathname.slice(base.pathname.replace(/\/$/, '').length)
      const [, post_id, number] = TOPIC_PATH.exec(path) ?? []
      if (post_id === undefined) return null
      // A link to a reply names it by its number, not by its id: the link alone leads to the topic.
      return { post_id, comment_id: null, ...(Number(number) > 1 && { number: Number(number) }) }
    },
    clock_offset_ms: http.clock_offset_ms,
    isDown: http.isDown,
    async probe(call) {
      // Another software may answer, or a page in front of the site.
      const body = await client.get('/about.json', call, '$.about')
      if (!body.ok) return body
      const about = fieldsOf(body.value['about'])
      const notes = [
        credential === null
          ? 'Without a key, a site answers 200 requests a minute and 50 in 10 seconds, if its operator left the defaults.'
          : 'With a User API key, a site answers 20 requests a minute and 2,880 a day, if its operator left the defaults.',
      ]
      return ok({ title: textAt(about, 'title'), version: textAt(about, 'version'), notes })
    },
  }
}

const DIRECTORY_PAGE = 50

/** A refused search has no posts. */
const isFound = (value: unknown): boolean =>
  hasShape(value, '$.posts[]') || hasShape(value, '$.grouped_search_result')

const TOPIC_PATH = /^\/t\/(?:[^/]+\/)?(\d{1,15})(?:\/(\d{1,9}))?\/?(?:\.json)?$/

const TABS: Readonly<Record<string, string>> = {
  submitted: NEW_TOPICS,
  comments: REPLIES,
  overview: `${NEW_TOPICS},${REPLIES}`,
}

const SEARCH_ORDERS: Readonly<Record<string, string>> = {
  new: 'order:latest_topic',
  top: 'order:likes',
  hot: 'order:views',
}

const PERIODS: Readonly<Record<string, string>> = {
  hour: 'daily',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
  year: 'yearly',
}

const DAY_S = 86_400

/** The search knows days, not hours. */
function sinceOf(span: string, now: number): string | null {
  const span_s = SPANS_S[span]
  if (span_s === undefined) return null
  const from = now - Math.max(span_s, DAY_S) * 1000
  return `after:${new Date(from).toISOString().slice(0, 10)}`
}
