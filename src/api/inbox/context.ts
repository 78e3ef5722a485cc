import { Elysia } from 'elysia'
import * as z from 'zod'

import { invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { HOME, type Node, ofItemKey } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { threadOf } from '../../core/inbox/thread.ts'
import { everyNode, repliesOf } from '../../gateway/comments.ts'
import type { Db } from '../../store/db/connection.ts'
import { listInboxMatches } from '../../store/inbox/list.ts'
import type { RouteContext } from '../context.ts'
import type { Holder } from '../http/auth.ts'
import { querySchema, required } from '../http/fields.ts'
import { inboxPaths, sourcePath } from '../http/routes.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { createBodies, requireItem } from './rows.ts'
import { inboxContextShape } from './shapes.ts'

const COMMENTS = 500
/** Headers of the read's answer that are passed on. */
const FORWARDED_HEADERS = ['retry-after', 'x-credits-remaining']

const contextQuery = querySchema(() => ({
  id: required('id', { max: 64 }).describe('Id of an item of the inbox.'),
}))

const treeShape = once(() => {
  const node = z.custom<Node>(
    (it) => z.object({ kind: z.string(), data: z.looseObject({}) }).safeParse(it).success,
  )
  return z.looseObject({ post: z.unknown(), comments: z.array(node) })
})

export const inboxContext = (context: RouteContext, db: Db) =>
  new Elysia({ name: 'inbox context', prefix: inboxPaths(context.words)[0] })
    .use(context.keyed)
    .get(
      '/context',
      async ({ customer, holder, query: { id }, set }) => {
        const post_id = postOf(db, customer.id, id)
        const response = await readTree(context, holder, id, post_id)
        for (const name of FORWARDED_HEADERS) {
          const value = response.headers.get(name)
          if (value !== null) set.headers[name] = value
        }
        set.status = response.status
        const body: unknown = await response.json()
        if (response.status !== 200) return body
        const { post, comments } = treeShape().parse(body)
        const { name } = ofItemKey(id)
        return {
          id,
          ...threadOf({ name, post, top: comments, nodes: everyNode(comments), repliesOf }),
        }
      },
      {
        query: contextQuery,
        detail: {
          summary: 'The thread around an item: post, comments above it, and replies',
          description: `Reads the platform, and is billed as one read; the key needs the scope read too. A comment beyond the first ${COMMENTS} of its thread is not found.`,
          tags: ['Inbox'],
          operationId: 'inboxContext',
          ...answers(inboxContextShape),
          ...refuses(
            'NOT_FOUND',
            'insufficient_credits',
            'upstream_unavailable',
            'upstream_timeout',
            'NOT_SUPPORTED_BY_SOURCE',
          ),
        },
      },
    )

/** The same read as a call of the customer's own, with its limits and its price. */
function readTree(
  { words, internal }: RouteContext,
  holder: Holder,
  item_id: string,
  post_id: string,
): Promise<Response> {
  const is_post = ofItemKey(item_id).name.startsWith('t3_')
  const bounds = is_post ? 'depth=1&limit=50' : `depth=10&limit=${COMMENTS}`
  const path = `${placeOf(words, item_id)}/post/${encodeURIComponent(post_id)}/comments?${bounds}`
  return internal.send(new Request(`http://localhost${path}`), holder)
}

function placeOf(words: Naming, item_id: string): string {
  const { source } = ofItemKey(item_id)
  return source === HOME ? words.api : sourcePath(words, source)
}

/** @throws {ApiError} NOT_FOUND; INVALID_REQUEST if its content is erased */
function postOf(db: Db, customer_id: string, id: string): string {
  const item = requireItem(db, customer_id, id)
  const { name } = ofItemKey(id)
  if (name.startsWith('t3_')) return name.slice('t3_'.length)
  const bodies = createBodies(db)
  for (const { message } of listInboxMatches(db, [item.row])) {
    const post_id = bodies.rowOf(message, id)?.['post_id']
    if (typeof post_id === 'string' && post_id !== '') return post_id
  }
  throw invalid('id', 'id: the stored match does not contain the post of this comment')
}
