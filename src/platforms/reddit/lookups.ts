import { fail, ok, type Outcome } from '../../core/base/result.ts'
import type { Item, ItemLiveness, ItemState, Node, Post } from '../../core/forum/items.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Call, ItemStates, SourceReads } from '../port.ts'
import { textAt } from '../values.ts'
import type { NativeRequest, SessionCheck } from './client.ts'
import { readRules, readWiki } from './readers/community-pages.ts'
import { lacking, unreadable } from './readers/fields.ts'
import {
  childrenOf,
  COMMENT_NEEDS,
  dataOf,
  livenessOf,
  nodesOf,
  POST_NEEDS,
  readMore,
  readNativeTree,
  toComment,
  toPost,
  visibilityOf,
} from './readers/items.ts'
import {
  isNothing,
  type Reader,
  readListing,
  readOne,
  readPeople,
  type RowReaders,
} from './readers/listing.ts'
import { MODERATOR_NEEDS, readAchievements, toModerator } from './readers/people.ts'
import { clearViewer } from './readers/viewer.ts'

type About = Pick<
  SourceReads,
  'user' | 'community' | 'moderators' | 'rules' | 'wiki' | 'achievements'
>

export function createAbout(client: SessionCheck, read: RowReaders): About {
  async function lookUp<T>(
    what: NativeRequest,
    call: Call,
    reading: (value: unknown) => Outcome<T>,
  ) {
    const answer = await client.get(what, call)
    return answer.ok ? reading(answer.value) : answer
  }

  const one = <T>(what: NativeRequest, kind: string, reader: Reader<T>, call: Call) =>
    lookUp(what, call, (value) => readOne(value, kind, reader))

  return {
    user(name, call) {
      const path = `/user/${encodeURIComponent(name)}/about.json`
      return one({ path_kind: 'user', path }, 't2', read.user, call)
    },
    community(name, call) {
      const path = `${placeOf(name)}/about.json`
      return one({ path_kind: 'community', path }, 't5', read.community, call)
    },
    moderators(name, call) {
      const path = `${placeOf(name)}/about/moderators.json`
      return lookUp({ path_kind: 'moderators', path, own: true }, call, (value) =>
        readPeople(value, { needs: MODERATOR_NEEDS, map: toModerator }),
      )
    },
    rules(name, call) {
      const path = `${placeOf(name)}/about/rules.json`
      return lookUp({ path_kind: 'rules', path }, call, readRules)
    },
    wiki({ subforum, page }, call) {
      // A wiki page can lie within another; its path keeps its slashes.
      const inner = page.split('/').map(encodeURIComponent).join('/')
      const path = `${placeOf(subforum)}/wiki/${inner}.json`
      return lookUp({ path_kind: 'wiki', path }, call, readWiki)
    },
    achievements(name, call) {
      const path = `/api/v1/user/${encodeURIComponent(name)}/trophies.json`
      return lookUp({ path_kind: 'achievements', path }, call, (value) =>
        readAchievements(client.base, value),
      )
    },
  }
}

const placeOf = (name: string): string => `/r/${encodeURIComponent(name)}`

/**
 * Runs calls of one identity one after another; null if the call's deadline passed before its turn.
 */
export type KeyedQueue = <T>(call: Call, work: () => Promise<T>) => Promise<T | null>

export function createKeyedQueue(clock: Clock): KeyedQueue {
  const lines = new Map<string, Promise<void>>()

  return async (call, work) => {
    const { id } = call.identity
    const before = lines.get(id)
    const mine = Promise.withResolvers<void>()
    // A call that stops waiting still keeps its place before later ones.
    const line = Promise.all([before, mine.promise]).then(() => undefined)
    lines.set(id, line)
    void line.then(() => {
      if (lines.get(id) === line) lines.delete(id)
    })
    try {
      if (before && !(await inTime(before, call))) return null
      return await work()
    } finally {
      mine.resolve()
    }
  }

  async function inTime(before: Promise<void>, { deadline_at, signal }: Call): Promise<boolean> {
    const given = new AbortController()
    const stop = signal ? AbortSignal.any([signal, given.signal]) : given.signal
    const waited = clock.sleep(Math.max(0, deadline_at - clock.now()), stop).then(() => false)
    const come = await Promise.race([before.then(() => true), waited])
    given.abort()
    return come
  }
}

type ById = Pick<
  SourceReads,
  'tree' | 'more' | 'postsById' | 'nodesById' | 'liveness' | 'visibility'
> & { states: ItemStates }

export function createById(client: SessionCheck, read: RowReaders, clock: Clock): ById {
  const enqueue = createKeyedQueue(clock)

  const info = (
    prefix: '' | 't1_' | 't3_',
    ids: readonly string[],
    native: boolean,
    call: Call,
  ) => {
    const id = ids.map((it) => prefix + it.toLowerCase()).join(',')
    return client.get({ path_kind: 'info', path: '/api/info.json', query: { id }, native }, call)
  }

  /**
   * Rows by id. Those of places that the account moderates are requested from another account, if there is one: what a
   * moderator receives does not show what others receive.
   */
  async function rowsById(fullnames: readonly string[], call: Call): Promise<Outcome<unknown[]>> {
    const rows = await ask(fullnames, call)
    if (!rows.ok) return rows
    const moderated = rows.value.flatMap((row) => {
      const name = isModerated(row) ? nameOf(row) : null
      return name === null ? [] : [name]
    })
    const other = moderated.length > 0 ? (call.another?.() ?? null) : null
    const again = other === null ? null : await ask(moderated, other)
    if (!again?.ok) return rows
    const replaced = new Set(moderated)
    return ok([...rows.value.filter((row) => !replaced.has(nameOf(row) ?? '')), ...again.value])
  }

  async function ask(fullnames: readonly string[], call: Call): Promise<Outcome<unknown[]>> {
    const answer = await info('', fullnames, false, call)
    if (!answer.ok) return answer
    const children = isNothing(answer.value) ? [] : childrenOf(answer.value)
    return children ? ok([...children]) : unreadable('data.children')
  }

  async function postsById(ids: string[], call: Call): Promise<Outcome<Post[]>> {
    if (ids.length === 0) return ok([])
    const answer = await info('t3_', ids, false, call)
    if (!answer.ok) return answer
    const page = readListing(answer.value, { t3: read.post })
    return page.ok ? ok(onlyRequested(ids, page.value.rows, (it) => it.id)) : page
  }

  async function nodesById(ids: string[], call: Call): Promise<Outcome<Node[]>> {
    if (ids.length === 0) return ok([])
    const answer = await info('t1_', ids, true, call)
    if (!answer.ok) return answer
    const children = isNothing(answer.value) ? [] : childrenOf(answer.value)
    if (!children) return unreadable('data.children')
    const nodes = nodesOf(children, 'data.children')
    if (!nodes.ok) return nodes
    return ok(onlyRequested(ids, publicNodes(nodes.value, call), (it) => textAt(it.data, 'id')))
  }

  return {
    async tree({ post_id, comment_id, ...query }, call) {
      const path = `/comments/${encodeURIComponent(post_id)}.json`
      const branch = comment_id === undefined ? {} : { comment: comment_id, context: 0 }
      // Without a limit, the platform uses the number that the account prefers.
      const limit = query.limit ?? (call.identity.whose === 'pool' ? TREE_COMMENTS : null)
      const request = {
        path_kind: 'tree',
        path,
        query: { ...query, limit, ...branch },
        native: true,
      }
      const answer = await client.get(request, call)
      if (!answer.ok) return answer
      const tree = readNativeTree(client.base, answer.value)
      if (tree.ok) publicNodes(tree.value.comments, call)
      return tree
    },
    async more({ post_id, ids, sort }, call) {
      if (ids.length === 0) return ok([])
      const query = {
        api_type: 'json',
        link_id: `t3_${post_id}`,
        children: ids.join(','),
        sort,
        limit_children: 'false',
      }
      const request = { path_kind: 'more', path: '/api/morechildren.json', query, native: true }
      const answer = await enqueue(call, () => client.get(request, call))
      if (answer === null) return fail({ kind: 'timeout' })
      if (!answer.ok) return answer
      const nodes = readMore(answer.value)
      return nodes.ok ? ok(publicNodes(nodes.value, call)) : nodes
    },
    postsById,
    nodesById,
    async liveness(ids, call) {
      if (ids.length === 0) return ok(new Map())
      const rows = await rowsById(
        ids.map((id) => `t1_${id}`),
        call,
      )
      if (!rows.ok) return rows
      const nodes = nodesOf(rows.value, 'data.children')
      if (!nodes.ok) return nodes
      const found = onlyRequested(ids, nodes.value, ({ data }) => textAt(data, 'id'))
      return ok(
        new Map<string, ItemLiveness>(
          found.map(({ data }) => [textAt(data, 'id') ?? '', livenessOf(data)]),
        ),
      )
    },
    async states(fullnames, call) {
      if (fullnames.length === 0) return ok(new Map())
      const rows = await rowsById(fullnames, call)
      if (!rows.ok) return rows
      const found = rows.value
        .map((child) => stateOf(client.base, child))
        .filter((it) => it !== null)
      return ok(new Map(onlyRequested(fullnames, found, ([name]) => name)))
    },
    async visibility(id, call) {
      const rows = await rowsById([`t3_${id}`], call)
      if (!rows.ok) return rows
      const posts = rows.value.map((child) => dataOf(child, 't3'))
      const row = posts.find((it) => it !== null && textAt(it, 'id') === id.toLowerCase())
      return ok(visibilityOf(row ?? null))
    },
  }
}

const dataOfItem = (child: unknown) => dataOf(child, 't1') ?? dataOf(child, 't3')

const isModerated = (child: unknown): boolean => dataOfItem(child)?.['can_mod_post'] === true

/** Fullname of a row. */
function nameOf(child: unknown): string | null {
  const comment = dataOf(child, 't1')
  const id = textAt(comment ?? dataOf(child, 't3') ?? {}, 'id')
  return id === null ? null : `${comment === null ? 't3' : 't1'}_${id}`
}

/** A row's name and state; null for a row that proves nothing. */
function stateOf(base: string, child: unknown): [string, ItemState] | null {
  const comment = dataOf(child, 't1')
  if (comment !== null) {
    const state = livenessOf(comment)
    if (lacking(comment, COMMENT_NEEDS) !== null || state === 'not_found') return null
    const item: Item = { ...toComment(base, comment), kind: 'comment' }
    return [item.name, state === 'live' ? liveItem(item) : { state }]
  }
  const post = dataOf(child, 't3')
  if (post === null || lacking(post, POST_NEEDS) !== null) return null
  const item: Item = { ...toPost(base, post), kind: 'post' }
  const { verdict, reason, confident } = visibilityOf(post)
  if (verdict === 'live') return [item.name, liveItem(item)]
  const is_stated = confident && (reason === 'deleted' || reason === 'removed')
  return is_stated ? [item.name, { state: reason }] : null
}

/** The text of a deleted account stays, without its name. */
const liveItem = (item: Item): ItemState => ({
  state: 'live',
  item,
  author_gone: item.author === '[deleted]' && item.author_info.fullname === null,
})

/** Comments of a tree if the request has no limit. */
const TREE_COMMENTS = 200

/** Nodes as an anonymous visitor sees them, unless a caller reads through their own session. */
function publicNodes(nodes: Node[], { identity }: Call): Node[] {
  if (identity.whose === 'pool') clearViewer(nodes)
  return nodes
}

/** Only the requested rows: for an unacceptable list the platform returns another one. */
function onlyRequested<T>(ids: readonly string[], rows: T[], idOf: (row: T) => string | null): T[] {
  const wanted = new Set(ids.map((it) => it.toLowerCase()))
  return rows.filter((row) => wanted.has(idOf(row) ?? ''))
}
