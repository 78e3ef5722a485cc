import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Comment, ItemLiveness, ItemState, Node } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import { toNode, toTree } from '../items.ts'
import { inTurn, NOT_FOUND } from '../lists.ts'
import type { ItemStates, SourceReads } from '../port.ts'
import { publicState } from '../public.ts'
import { fieldsOf, idAt, idsOf, numberAt, type Row, rowsOf, textAt } from '../values.ts'
import { isPrivate, livenessOf, type NativePost, toComment, toPost } from './readers.ts'
import type { SiteClient } from './site.ts'

type TopicPage = {
  topic: Record<string, unknown>
  /** Null: the topic's first post is not on its first page. */
  starter: NativePost | null
  posts: NativePost[]
  /** Ids of all visible posts; empty for a topic of more than 10,000. */
  stream: number[]
}

const TOPIC_PAGE = 20
/** Comments of one tree; the others are named by id. */
const TREE_MAX = 100
const AT_ONCE = 4

/** A post; null for one that `fault` keeps from this reader, or of another kind. */
type Found = { id: string; native: NativePost | null; fault: Fault | null }

type TopicsRead = Map<number, Promise<Outcome<TopicPage>>>

type TopicReads = 'tree' | 'more' | 'postsById' | 'nodesById' | 'liveness' | 'visibility'

export function createTopicReads(client: SiteClient): Pick<SourceReads, TopicReads> & {
  states: ItemStates
  /** The posts on a topic's first page. */
  starters(id: number, call: HttpCall): Promise<Outcome<NativePost[]>>
} {
  const { site } = client

  /** A topic with the posts that its first page has. */
  async function readTopic(id: string, call: HttpCall): Promise<Outcome<TopicPage>> {
    const body = await client.get(`/t/${id}.json?include_raw=true`, call, '$.post_stream.posts[]')
    if (!body.ok) return body
    const { value: topic } = body
    const stream = fieldsOf(topic['post_stream'])
    const topic_id = idAt(topic, 'id')
    if (topic_id === null) return fail({ kind: 'unreadable', path: '$.id' })
    if (isPrivate(topic)) return fail(NOT_FOUND)
    const known = await client.prepare([topic], call)
    if (!known.ok) return known
    client.rememberTopic(topic_id, {
      title: textAt(topic, 'title') ?? '',
      link_url: textAt(topic, 'featured_link'),
      category_id: idAt(topic, 'category_id'),
      author_id: numberAt(topic, 'user_id'),
      is_unlisted: topic['visible'] === false,
    })
    const found = await client.natives(within(topic_id, stream['posts']), call)
    if (!found.ok) return found
    return ok({
      topic,
      starter: found.value.find(({ number }) => number === 1) ?? null,
      posts: found.value.filter(({ number }) => number > 1),
      stream: idsOf(stream['stream']),
    })
  }

  /** Posts of a topic by id, a page at a time, in the order of the ids. */
  async function readPosts(
    topic_id: string,
    ids: readonly (string | number)[],
    call: HttpCall,
  ): Promise<Outcome<NativePost[]>> {
    const found: NativePost[] = []
    for (let at = 0; at < ids.length; at += TOPIC_PAGE) {
      const params = new URLSearchParams({ include_raw: 'true' })
      for (const id of ids.slice(at, at + TOPIC_PAGE)) params.append('post_ids[]', String(id))
      const path = `/t/${topic_id}/posts.json?${params.toString()}`
      const body = await client.get(path, call, '$.post_stream.posts[]')
      if (!body.ok) return body
      const rows = fieldsOf(body.value['post_stream'])['posts']
      const page = await client.natives(within(Number(topic_id), rows), call)
      if (!page.ok) return page
      found.push(...page.value)
    }
    return ok(found)
  }

  /**
   * Posts by id alone; those that cannot be read are left out, with the fault that says why. A post does not name the kind of
   * its topic, which may have become a private message since it was read: with a key it is read again, once for `topics`.
   */
  async function readEach(
    ids: readonly string[],
    call: HttpCall,
    topics: TopicsRead = new Map(),
  ): Promise<Outcome<Found[]>> {
    return inTurn(ids, AT_ONCE, async (id): Promise<Outcome<Found>> => {
      const row = await client.get(`/posts/${id}.json`, call)
      if (!row.ok) return isHidden(row.fault) ? ok({ id, native: null, fault: row.fault }) : row
      if (idAt(row.value, 'id') === null) return fail({ kind: 'unreadable', path: '$.id' })
      const found = await client.natives([row.value], call)
      if (!found.ok) return found
      const native = found.value[0] ?? null
      if (native === null || !client.is_signed_in) return ok({ id, native, fault: null })
      const { topic_id } = native
      const reading = topics.get(topic_id) ?? readTopic(String(topic_id), call)
      topics.set(topic_id, reading)
      const topic = await reading
      if (topic.ok) return ok({ id, native, fault: null })
      return isHidden(topic.fault) ? ok({ id, native: null, fault: topic.fault }) : topic
    })
  }

  const nodesOf = (found: readonly NativePost[]): Node[] =>
    found
      .filter((it) => it.number > 1 && livenessOf(it) === 'live')
      .map((it) => toNode(toComment(it, site)))

  return {
    async starters(id, call) {
      const read = await readTopic(String(id), call)
      if (!read.ok) return read
      const { starter, posts } = read.value
      return ok(starter === null ? posts : [starter, ...posts])
    },

    async tree({ post_id, comment_id, sort, limit }, call) {
      const read = await readTopic(post_id, call)
      if (!read.ok) return read
      const { topic, starter, posts, stream } = read.value
      if (starter === null) return fail({ kind: 'unreadable', path: '$.post_stream.posts[0]' })
      const post = toPost(starter, site, topic)
      const known = new Set([starter, ...posts].map(({ id }) => id))
      const from = comment_id === undefined ? 0 : stream.indexOf(Number(comment_id))
      if (from === -1 && stream.length > 0) return fail(NOT_FOUND)
      // The site does not list the ids of a topic with very many posts.
      const wanted = from === -1 ? [Number(comment_id)] : stream.slice(from)
      const rest = wanted.filter((id) => !known.has(id))
      const room = Math.max(0, Math.min(limit ?? TREE_MAX, TREE_MAX) - posts.length)
      const pages_ = Math.ceil(room / TOPIC_PAGE)
      const next = await readPosts(post_id, rest.slice(0, pages_ * TOPIC_PAGE), call)
      if (!next.ok) return next
      const comments = [...posts, ...next.value]
        .filter((it) => livenessOf(it) === 'live')
        .map((it) => toComment(it, site))
      const ids = rest.slice(pages_ * TOPIC_PAGE).map(String)
      if (comment_id !== undefined) {
        const branch = branchOf(comments, `t1_${comment_id}`)
        if (from === -1 && branch.length === 0) return fail(NOT_FOUND)
        return ok({ post, comments: toTree(post.name, branch) })
      }
      const hidden = ids.length === 0 ? [] : [{ parent: post.name, ids }]
      return ok({ post, comments: toTree(post.name, sorted(comments, sort), hidden) })
    },

    async more({ post_id, ids }, call) {
      // It may have become a private message since the tree was read.
      const topic = client.is_signed_in ? await readTopic(post_id, call) : null
      if (topic?.ok === false) return isHidden(topic.fault) ? fail(NOT_FOUND) : topic
      const found = await readPosts(post_id, ids, call)
      return found.ok ? ok(nodesOf(found.value)) : found
    },

    async postsById(ids, call) {
      const read = await inTurn(ids, AT_ONCE, async (id) => {
        const topic = await readTopic(id, call)
        return topic.ok || !isHidden(topic.fault) ? topic : ok(null)
      })
      if (!read.ok) return read
      return ok(
        read.value.flatMap((it) =>
          it === null || it.starter === null || !isListed(it.topic, it.starter)
            ? []
            : [toPost(it.starter, site, it.topic)],
        ),
      )
    },

    async nodesById(ids, call) {
      const read = await readEach(ids, call)
      if (!read.ok) return read
      const found = read.value.map(({ native }) => native).filter((it) => it !== null)
      // A single post names neither category nor title.
      const hidden = new Set<number>()
      for (const id of new Set(found.map((it) => it.topic_id))) {
        const facts = site.topicOf(id)
        if (facts !== null && !facts.is_unlisted) continue
        const topic = await readTopic(String(id), call)
        if (topic.ok && topic.value.topic['visible'] !== false) continue
        if (!topic.ok && !isHidden(topic.fault)) return topic
        hidden.add(id)
      }
      return ok(nodesOf(found.filter((it) => !hidden.has(it.topic_id))))
    },

    async liveness(ids, call) {
      const read = await readEach(ids, call)
      if (!read.ok) return read
      return ok(new Map(read.value.map((it) => [it.id, stateOf(it)])))
    },

    async states(fullnames, call) {
      const found = new Map<string, ItemState>()
      const topics: TopicsRead = new Map()
      for (const name of fullnames) {
        const id = name.slice(3)
        const is_topic = name.startsWith('t3_')
        const read = is_topic ? await readTopic(id, call) : await readEach([id], call, topics)
        if (!read.ok) {
          if (!isHidden(read.fault)) return read
          // A refusal may be about this reader; only an unknown id is a statement.
          if (read.fault.kind === 'not_found') found.set(name, { state: 'absent' })
          continue
        }
        const { value } = read
        const native = 'starter' in value ? value.starter : (value[0]?.native ?? null)
        const fault = 'starter' in value ? null : (value[0]?.fault ?? null)
        if (fault?.kind === 'not_found') found.set(name, { state: 'absent' })
        if (native === null) continue
        const topic = 'starter' in value ? value.topic : null
        if (topic === null && site.topicOf(native.topic_id) === null) {
          const under = await readTopic(String(native.topic_id), call)
          if (!under.ok && !isHidden(under.fault)) return under
        }
        // An unlisted topic was not removed: readers with its address find it, and no list shows it.
        if (topic !== null && topic['visible'] === false) continue
        const is_gone = topic !== null && textAt(topic, 'deleted_at') !== null
        const state = is_gone ? 'removed' : livenessOf(native)
        const item =
          topic === null
            ? ({ ...toComment(native, site), kind: 'comment' } as const)
            : ({ ...toPost(native, site, topic), kind: 'post' } as const)
        // The name of an account that is gone is replaced, which looks like a renamed one.
        found.set(
          name,
          state === 'live'
            ? { state, item, author_gone: false }
            : { state: state === 'not_found' ? 'absent' : state },
        )
      }
      return ok(found)
    },

    async visibility(id, call) {
      const read = await readTopic(id, call)
      if (!read.ok) {
        if (!isHidden(read.fault)) return read
        const reason = read.fault.kind === 'forbidden' ? 'removed' : 'absent'
        return ok({ verdict: 'not_visible', reason, confident: true })
      }
      const { topic, starter } = read.value
      if (textAt(topic, 'deleted_at') !== null)
        return ok({ verdict: 'undecidable', reason: 'seen_by_moderator', confident: true })
      const state = starter === null ? 'live' : livenessOf(starter)
      if (state === 'deleted' || state === 'removed')
        return ok({ verdict: 'not_visible', reason: state, confident: true })
      return ok({ verdict: 'live', reason: null, confident: starter !== null })
    },
  }
}

/** True for a topic that a list of its place shows to readers without a role. */
const isListed = (topic: Row, starter: NativePost): boolean =>
  publicState({
    item: { is_removed: livenessOf(starter) !== 'live' },
    thread: {
      is_removed: textAt(topic, 'deleted_at') !== null,
      is_unlisted: topic['visible'] === false,
    },
    from: 'id',
  }).state === 'public'

/** True for an answer that keeps one post from this reader, and says nothing of others. */
const isHidden = ({ kind }: Fault): boolean => kind === 'not_found' || kind === 'forbidden'

const stateOf = ({ native, fault }: Found): ItemLiveness => {
  if (native !== null) return livenessOf(native)
  return fault?.kind === 'forbidden' ? 'removed' : 'not_found'
}

/** Posts of a topic; one that was moved may still name the topic that it came from. */
const within = (topic_id: number, posts: unknown): Record<string, unknown>[] =>
  rowsOf(posts).map((row) => ({ ...row, topic_id }))

/** Comments in the order of a sort; the platform's own is by time. */
function sorted(comments: readonly Comment[], sort: string): Comment[] {
  if (sort === 'new') return comments.toReversed()
  if (sort === 'top') return comments.toSorted((a, b) => b.upvotes - a.upvotes)
  return [...comments]
}

/** A comment and all below it, top down. Replies come after what they reply to. */
function branchOf(comments: readonly Comment[], root: string): Comment[] {
  const names = new Set([root])
  return comments.filter(({ name, parent_id }) => {
    const is_within = name === root || (parent_id !== null && names.has(parent_id))
    if (is_within) names.add(name)
    return is_within
  })
}
