import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Item, ItemState, Node, Post } from '../../core/forum/items.ts'
import { createHosts } from '../hosts.ts'
import { warm } from '../html.ts'
import { createHttpClient, type HttpAnswer, type HttpCall } from '../http.ts'
import { fromNode, type HiddenReplies, toNode, toTree } from '../items.ts'
import { commentsOf, createHold, inTurn, NOT_FOUND, postsOf, SPANS_S } from '../lists.ts'
import type { Call, ItemStates, Listing, SourceReads, Tree } from '../port.ts'
import { readCapabilities, type Source, type SourceOptions, withUnsupported } from '../source.ts'
import { fieldsOf, hasShape, idAt, idsOf, isId, rowsOf, type Shape, textAt } from '../values.ts'
import {
  commentsOfTree,
  hitOf,
  isComment,
  isPost,
  livenessOf,
  type NativeItem,
  type Place,
  PLACES,
  rowsBelow,
  SITE,
  storyOf,
  toComment,
  toCommunity,
  toItem,
  toPost,
  toUser,
} from './readers.ts'
import { createStories } from './stories.ts'
import { createIdWatch } from './watch.ts'

const FIREBASE = 'https://hacker-news.firebaseio.com'
const ALGOLIA = 'https://hn.algolia.com'
const HITS_MAX = 1000
/** An item with its text and the ids of its replies. */
const ITEM_BYTES_MAX = 1024 * 1024
const AT_ONCE = 8

const LISTS: Readonly<Record<Place, string>> = {
  story: 'newstories',
  ask: 'askstories',
  show: 'showstories',
  job: 'jobstories',
}

/**
 * Hacker News by its two public APIs: items by id (Firebase), search (Algolia). Neither has writes.
 * `base_url` and `search_url` are set by tests only.
 * @see https://github.com/HackerNews/API, https://hn.algolia.com/api
 */
export function createHackerNews(given: SourceOptions & { search_url?: string }): Source {
  // Both hosts serve nothing but the documented API: rules for crawlers of pages do not concern it.
  const options = { ...given, robots: false }
  const { clock, requests_per_minute } = options
  const base_url = options.base_url || FIREBASE
  // Each item is a request, and a poll reads all those of its interval: paced one by one, the last would be late.
  const pace = (options.hosts ?? createHosts(clock))
    .at(new URL(base_url).host)
    .join(requests_per_minute, requests_per_minute)
  const firebase = createHttpClient({
    ...options,
    pace,
    base_url,
  })
  const algolia = createHttpClient({
    ...options,
    pace,
    base_url: options.search_url ?? (options.base_url || ALGOLIA),
    verdict: searchFault,
    // A limit of the index holds no item up.
    isOwnLimit: () => true,
  })
  const held = createHold(clock)
  const stories = createStories()

  const ask = (path: string, call: HttpCall, shape: Shape) =>
    held.pass(() => algolia.get(path, call, shape))

  const get = (name: string, call: HttpCall, shape: Shape) =>
    firebase.get(`/v0/${name}.json`, call, shape)

  async function maxItem(call: HttpCall): Promise<Outcome<number>> {
    const answer = await get('maxitem', call, isId)
    return answer.ok && isId(answer.value) ? ok(answer.value) : unreadableOr(answer)
  }

  async function readItem(
    id: number | string,
    call: HttpCall,
  ): Promise<Outcome<NativeItem | null>> {
    const request = { path: `/v0/item/${id}.json`, shape: isItem, bytes_max: ITEM_BYTES_MAX }
    const answer = await firebase.send(request, call)
    const path = answer.ok ? '$.id' : '$'
    if (!answer.ok && answer.fault.kind !== 'unreadable') return answer
    const value = answer.ok ? answer.value.value : undefined
    const item = toItem(value)
    if (value === null || (item !== null && String(item.id) === String(id))) return ok(item)
    options.left_out?.(path === '$' ? 'item' : 'id', String(id))
    return fail({ kind: 'unreadable', path })
  }

  /** An item, or null for one that cannot be read: the others are read all the same. */
  async function readOne(id: number | string, call: HttpCall): Promise<Outcome<NativeItem | null>> {
    const answer = await readItem(id, call)
    return answer.ok || answer.fault.kind !== 'unreadable' ? answer : ok(null)
  }

  /** Items in the order of `ids`; `null` answers are left out. */
  async function readAll(
    ids: readonly (number | string)[],
    call: HttpCall,
  ): Promise<Outcome<NativeItem[]>> {
    const items = await inTurn(ids, AT_ONCE, (id) => readOne(id, call))
    return items.ok ? ok(items.value.filter((it) => it !== null)) : items
  }

  async function list(
    name: string,
    { limit, after }: { limit: number; after: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Post>>> {
    const answer = await get(name, call, '$[]')
    if (!answer.ok) return answer
    const ids = idsOf(answer.value)
    const from = after === null ? 0 : ids.indexOf(Number(after.replace(/^t3_/, ''))) + 1
    // The row of the cursor has left the list.
    if (after !== null && from === 0) return ok({ rows: [], after: null, logged_in: null })
    const taken = ids.slice(from, from + limit)
    const items = await readAll(taken, call)
    if (!items.ok) return items
    const rows = items.value.filter((it) => isPost(it) && livenessOf(it) === 'live').map(toPost)
    const last = taken.at(-1)
    const has_more = last !== undefined && from + limit < ids.length
    return ok({ rows, after: has_more ? `t3_${last}` : null, logged_in: null })
  }

  /** A page of the search index, newest first unless `ranked`. Its cursor is the number of the page. */
  async function search(
    query: { q: string; tags: string; ranked?: boolean; since_s?: number | null },
    { limit, after }: { limit: number; after: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Item>>> {
    const page = after === null ? 0 : Number(after.replace(/^p/, ''))
    if (!Number.isInteger(page) || page < 0) return fail({ kind: 'rejected', status: 400 })
    const params = new URLSearchParams({
      query: query.q,
      tags: query.tags,
      page: String(page),
      hitsPerPage: String(limit),
      typoTolerance: 'false',
    })
    if (query.since_s != null) params.set('numericFilters', `created_at_i>${query.since_s}`)
    const answer = await ask(
      `/api/v1/${query.ranked ? 'search' : 'search_by_date'}?${params.toString()}`,
      call,
      '$.hits[]',
    )
    if (!answer.ok) return answer
    const body = fieldsOf(answer.value)
    const hits = rowsOf(body['hits'])
    await warm(
      hits.flatMap((row) => [row['comment_text'], row['story_text']]),
      SITE,
    )
    const rows = hits.flatMap((row): Item[] => {
      const hit = hitOf(row)
      if (hit === null) return []
      return hit.kind === 'post'
        ? [{ kind: 'post', ...hit.post }]
        : [{ kind: 'comment', ...hit.comment }]
    })
    const pages = typeof body['nbPages'] === 'number' ? body['nbPages'] : 0
    const has_more = page + 1 < pages && (page + 1) * limit < HITS_MAX && hits.length > 0
    return ok({ rows, after: has_more ? `p${page + 1}` : null, logged_in: null })
  }

  const reads: Partial<SourceReads> = {
    async posts({ subforums, sort, t, ...paging }, call) {
      const [place = 'story'] = subforums
      if (sort === 'hot' || sort === 'rising') return list('topstories', paging, call)
      if (sort === 'top' || sort === 'controversial') {
        const tags = place === 'story' ? 'story' : TAGS[asPlace(place) ?? 'story']
        const since_s = sinceOf(t, clock.now())
        const page = await search({ q: '', tags, ranked: true, since_s }, paging, call)
        return postsOf(page)
      }
      const name = LISTS[asPlace(place) ?? 'story']
      return list(name, paging, call)
    },

    async comments({ subforums, ...paging }, call) {
      const page = await search({ q: '', tags: 'comment' }, paging, call)
      const places = new Set(subforums.filter((it) => it !== 'story'))
      const comments = commentsOf(page)
      if (!comments.ok || places.size === 0) return comments
      const rows = comments.value.rows.filter(({ subforum }) => places.has(subforum))
      return ok({ ...comments.value, rows })
    },

    async search({ q, subforum, sort, t, limit, after }, call) {
      const place = subforum === null ? null : asPlace(subforum)
      const tags = place === null ? '(story,poll,job)' : TAGS[place]
      const ranked = sort === 'relevance' || sort === 'top' || sort === 'hot'
      const since_s = sinceOf(t, clock.now())
      return postsOf(await search({ q, tags, ranked, since_s }, { limit, after }, call))
    },

    async userComments({ name, t, limit, after }, call) {
      const since_s = sinceOf(t, clock.now())
      return commentsOf(
        await search({ q: '', tags: `comment,author_${name}`, since_s }, { limit, after }, call),
      )
    },

    async userItems({ name, tab, t, limit, after }, call) {
      const kinds = tab === 'submitted' ? '(story,poll,job)' : tab === 'comments' ? 'comment' : null
      if (kinds === null && tab !== 'overview')
        return fail({ kind: 'unsupported', capability: 'userItems' })
      const tags = `${kinds ?? '(story,poll,job,comment)'},author_${name}`
      return search({ q: '', tags, since_s: sinceOf(t, clock.now()) }, { limit, after }, call)
    },

    async tree({ post_id, comment_id, ...query }, call) {
      const root = await readItem(post_id, call)
      if (!root.ok) return root
      // The address of a comment is that of an item, and names no story.
      if (root.value !== null && isComment(root.value) && comment_id === undefined) {
        const story_id = await storyAbove(root.value, call)
        if (!story_id.ok) return story_id
        if (story_id.value === null || reads.tree === undefined) return fail(NOT_FOUND)
        return reads.tree({ ...query, post_id: story_id.value, comment_id: post_id }, call)
      }
      if (root.value === null || !isPost(root.value)) return fail(NOT_FOUND)
      const post = toPost(root.value)
      const story = storyOf(post)
      const answer = await ask(`/api/v1/items/${comment_id ?? post_id}`, call, '$.children[]')
      // The index lags: what it does not have yet has all its comments by id.
      if (!answer.ok && answer.fault.kind !== 'not_found') return answer
      if (!answer.ok && comment_id !== undefined) return unindexedBranch(post, comment_id, call)
      const native = answer.ok ? fieldsOf(answer.value) : {}
      const branch = comment_id === undefined ? native : { children: [native] }
      const { rows, beyond } = rowsBelow(branch)
      await warm(
        rows.map((row) => row['text']),
        SITE,
      )
      const comments = commentsOfTree(rows, story)
      const hidden: HiddenReplies[] = beyond.map(({ parent, ids }) => ({
        parent: parent === null ? post.name : `t1_${parent}`,
        ids,
      }))
      // Top-level comments that the index does not have yet are named by id.
      const indexed = new Set(rowsOf(native['children']).map(({ id }) => id))
      const missing = idsOf(root.value.row['kids']).filter((id) => !indexed.has(id))
      if (comment_id === undefined && missing.length > 0)
        hidden.push({ parent: post.name, ids: missing.map(String) })
      return ok({ post, comments: toTree(post.name, comments, hidden) })
    },

    async more({ ids }, call) {
      return nodesOf(ids, call)
    },

    async postsById(ids, call) {
      const items = await readAll(ids, call)
      if (!items.ok) return items
      return ok(items.value.filter((it) => isPost(it) && livenessOf(it) === 'live').map(toPost))
    },

    nodesById: (ids, call) => nodesOf(ids, call),

    async liveness(ids, call) {
      const found = new Map<string, ReturnType<typeof livenessOf>>()
      const items = await readAll(ids, call)
      if (!items.ok) return items
      for (const item of items.value) found.set(String(item.id), livenessOf(item))
      return ok(found)
    },

    async visibility(id, call) {
      const item = await readItem(id, call)
      if (!item.ok) return item
      const state = livenessOf(item.value)
      if (state === 'live') return ok({ verdict: 'live', reason: null, confident: true })
      // Items that were just written are answered with null too.
      return state === 'not_found'
        ? ok({ verdict: 'not_visible', reason: 'absent', confident: false })
        : ok({ verdict: 'not_visible', reason: state, confident: true })
    },

    async user(name, call) {
      const answer = await get(`user/${encodeURIComponent(name)}`, call, isItem)
      if (!answer.ok) return answer
      const user = toUser(fieldsOf(answer.value))
      return user === null ? fail(NOT_FOUND) : ok(user)
    },

    community: async (name) => {
      const place = asPlace(name)
      return place === null ? fail(NOT_FOUND) : ok(toCommunity(place))
    },
    communities: async () => ok({ rows: PLACES.map(toCommunity), after: null, logged_in: null }),
  }

  /** Story of a comment; an item above that cannot be read is passed by the index. */
  async function storyAbove(item: NativeItem, call: Call): Promise<Outcome<string | null>> {
    const found = await stories.above(item, (id) => readOne(id, call))
    if (!found.ok) return found
    if (found.value.is_known) return ok(found.value.story.id)
    const answer = await ask(`/api/v1/items/${item.id}`, call, '$.children[]')
    if (!answer.ok) return answer
    const id = idAt(fieldsOf(answer.value), 'story_id')
    return ok(id === null ? null : String(id))
  }

  async function unindexedBranch(post: Post, id: string, call: Call): Promise<Outcome<Tree>> {
    const item = await readItem(id, call)
    if (!item.ok) return item
    if (item.value === null || !isComment(item.value) || livenessOf(item.value) !== 'live')
      return fail(NOT_FOUND)
    const comment = toComment(item.value, storyOf(post))
    const kids = idsOf(item.value.row['kids']).map(String)
    const hidden = kids.length === 0 ? [] : [{ parent: comment.name, ids: kids }]
    return ok({ post, comments: toTree(post.name, [comment], hidden) })
  }

  async function nodesOf(ids: readonly string[], call: Call): Promise<Outcome<Node[]>> {
    const items = await readAll(ids, call)
    if (!items.ok) return items
    const nodes: Node[] = []
    for (const item of items.value) {
      if (!isComment(item)) continue
      const found = await stories.above(item, (id) => readOne(id, call))
      if (!found.ok) return found
      nodes.push(toNode(toComment(item, found.value.story)))
    }
    return ok(nodes)
  }

  /** An id that is answered with null proves nothing: items that were just written are too. */
  const states: ItemStates = async (fullnames, call) => {
    const found = new Map<string, ItemState>()
    for (const name of fullnames) {
      const read = await readOne(name.slice(3), call)
      if (!read.ok) return read
      const { value: item } = read
      const state = livenessOf(item)
      if (item === null || state === 'not_found') continue
      if (state !== 'live') found.set(name, { state })
      else if (isPost(item))
        found.set(name, { state, item: { ...toPost(item), kind: 'post' }, author_gone: false })
      else if (isComment(item)) {
        const above = await stories.above(item, (id) => readOne(id, call))
        if (!above.ok) return above
        const comment = toComment(item, above.value.story)
        found.set(name, { state, item: { ...comment, kind: 'comment' }, author_gone: false })
      }
    }
    return ok(found)
  }

  return {
    kind: 'hackernews',
    url: SITE,
    capabilities: new Set(readCapabilities(reads)),
    reads: withUnsupported(reads, fromNode),
    states,
    acts: {},
    authorization: null,
    // A list of ids takes a request for each of them.
    newestPosts: async ({ limit, after }, call) =>
      postsOf(await search({ q: '', tags: '(story,poll,job)' }, { limit, after }, call)),
    watch: createIdWatch({
      clock,
      maxItem,
      async item(id, call) {
        const answer = await readItem(id, call)
        const item = answer.ok ? answer.value : null
        // Its comments follow, which name it.
        if (item !== null && isPost(item) && livenessOf(item) === 'live')
          stories.add(id, storyOf(toPost(item)))
        return answer
      },
      left: pace.left,
      requests_per_minute,
      offset_ms: firebase.clock_offset_ms,
      copy_ms: firebase.copy_ms,
      updates: (call) => get('updates', call, '$.items[]'),
      stories,
    }),
    place_examples: ['story', 'ask', 'show', 'job'],
    isPlace: (place) => asPlace(place) !== null,
    targetOf({ hostname, pathname, searchParams }) {
      const id = searchParams.get('id') ?? ''
      const is_item = hostname === new URL(SITE).hostname && pathname === '/item'
      return is_item && /^\d{1,10}$/.test(id) ? { post_id: id, comment_id: null } : null
    },
    clock_offset_ms: firebase.clock_offset_ms,
    isDown: firebase.isDown,
    async probe(call) {
      const newest = await maxItem(call)
      if (!newest.ok) return newest
      return ok({ title: 'Hacker News', version: null, notes: [`newest item: ${newest.value}`] })
    },
  }
}

const TAGS: Readonly<Record<Place, string>> = {
  story: '(story,poll)',
  ask: 'ask_hn',
  show: 'show_hn',
  job: 'job',
}

/** Unknown ids are answered with null. */
const isItem = (value: unknown): boolean => value === null || hasShape(value, '$')

const unreadableOr = (answer: Outcome<unknown>) =>
  answer.ok ? fail({ kind: 'unreadable', path: '$' }) : answer

const asPlace = (name: string): Place | null =>
  PLACES.find((it) => it === name.toLowerCase()) ?? null

/** Epoch seconds at which a span such as `week` begins; null: no limit. */
const sinceOf = (span: string | null, now: number): number | null => {
  const span_s = span === null ? undefined : SPANS_S[span]
  return span_s === undefined ? null : Math.floor(now / 1000) - span_s
}

/** The index answers 200 with a message where it refuses to go on: never "nothing found". */
function searchFault({ status, value }: HttpAnswer): Fault | null {
  const { hits, message } = fieldsOf(value)
  if (status === 200 && Array.isArray(hits) && hits.length === 0 && typeof message === 'string')
    return { kind: 'rejected', status: 400 }
  return status === 403 && textAt(fieldsOf(value), 'message') !== null
    ? { kind: 'throttled', retry_after_s: 60, estimated: true }
    : null
}
