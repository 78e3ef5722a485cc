import type { Liveness, Node, Post } from '../core/items.ts'
import { fail, ok, type Outcome } from '../core/outcome.ts'
import type { Clock } from '../outside.ts'
import { dataOf } from './items.ts'
import { isNothing, readListing } from './listing.ts'
import { livenessOf } from './liveness.ts'
import type { Call, Platform } from './platform.ts'
import type { Prover } from './proof.ts'
import { textAt, unreadable } from './read.ts'
import type { RowReaders } from './readers.ts'
import { childrenOf, nodesOf, readMore, readTree } from './tree.ts'
import { createTurns } from './turns.ts'
import { visibilityOf } from './visibility.ts'

type ById = Pick<Platform, 'tree' | 'more' | 'postsById' | 'nodesById' | 'liveness' | 'visibility'>

/** Everything that is asked for by its id. */
export function createById(client: Prover, read: RowReaders, clock: Clock): ById {
  const inTurn = createTurns(clock)

  const info = (prefix: string, ids: readonly string[], native: boolean, call: Call) => {
    const id = ids.map((it) => prefix + it.toLowerCase()).join(',')
    return client.get({ path_kind: 'info', path: '/api/info.json', query: { id }, native }, call)
  }

  async function postsById(ids: string[], call: Call): Promise<Outcome<Post[]>> {
    if (ids.length === 0) return ok([])
    const answer = await info('t3_', ids, false, call)
    if (!answer.ok) return answer
    const page = readListing(answer.value, { t3: read.post })
    return page.ok ? ok(asked(ids, page.value.rows, (it) => it.id)) : page
  }

  async function nodesById(ids: string[], call: Call): Promise<Outcome<Node[]>> {
    if (ids.length === 0) return ok([])
    const answer = await info('t1_', ids, true, call)
    if (!answer.ok) return answer
    const children = isNothing(answer.value) ? [] : childrenOf(answer.value)
    if (!children) return unreadable('data.children')
    const nodes = nodesOf(children, 'data.children')
    if (!nodes.ok) return nodes
    return ok(asked(ids, nodes.value, (it) => textAt(it.data, 'id')))
  }

  return {
    async tree({ post_id, comment_id, ...query }, call) {
      const path = `/comments/${encodeURIComponent(post_id)}.json`
      const branch = comment_id === undefined ? {} : { comment: comment_id, context: 0 }
      const ask = { path_kind: 'tree', path, query: { ...query, ...branch }, native: true }
      const answer = await client.get(ask, call)
      return answer.ok ? readTree(client.base, answer.value) : answer
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
      const ask = { path_kind: 'more', path: '/api/morechildren.json', query, native: true }
      const answer = await inTurn(call, () => client.get(ask, call))
      if (answer === null) return fail({ kind: 'timeout' })
      return answer.ok ? readMore(answer.value) : answer
    },
    postsById,
    nodesById,
    async liveness(ids, call) {
      const nodes = await nodesById(ids, call)
      if (!nodes.ok) return nodes
      const found = new Map<string, Liveness>()
      for (const { data } of nodes.value) found.set(textAt(data, 'id') ?? '', livenessOf(data))
      return ok(found)
    },
    async visibility(id, call) {
      const answer = await info('t3_', [id], false, call)
      if (!answer.ok) return answer
      const children = isNothing(answer.value) ? [] : childrenOf(answer.value)
      if (!children) return unreadable('data.children')
      const rows = children.map((child) => dataOf(child, 't3'))
      const row = rows.find((it) => it !== null && textAt(it, 'id') === id.toLowerCase())
      return ok(visibilityOf(row ?? null))
    },
  }
}

/** The rows that were asked for: given a list it does not like, the platform answers with another. */
function asked<T>(ids: readonly string[], rows: T[], idOf: (row: T) => string | null): T[] {
  const wanted = new Set(ids.map((it) => it.toLowerCase()))
  return rows.filter((row) => wanted.has(idOf(row) ?? ''))
}
