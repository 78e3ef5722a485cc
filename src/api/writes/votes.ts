import { Elysia } from 'elysia'
import * as z from 'zod'

import { invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { bareId } from '../../core/forum/permalink.ts'
import { PROXY_SCHEMES } from '../../core/forum/proxy.ts'
import { type Direction, DIRECTIONS } from '../../core/forum/writes.ts'
import type { AccountWrites } from '../../gateway/writes.ts'
import { bodySchema } from '../http/fields.ts'
import { answers, exampleBody, refuses } from '../openapi/route-docs.ts'
import { readAs, sessionShape, type WriteContext } from './context.ts'

const FULLNAME = /^t[13]_[a-z0-9]{1,13}$/

// A Map: an object would find inherited properties such as `constructor`.
const BY_NUMBER = new Map<string, Direction>([
  ['1', 'up'],
  ['0', 'none'],
  ['-1', 'down'],
])
const SENTENCE = `direction must be one of ${DIRECTIONS.join(', ')}, or 1, -1, 0`

const direction = () =>
  z
    .union([z.string(), z.number()], {
      error: ({ input }) => (input === undefined ? 'direction is required' : SENTENCE),
    })
    .transform((given, context) => {
      const found = DIRECTIONS.find((it) => it === given) ?? BY_NUMBER.get(String(given))
      if (found !== undefined) return found
      context.addIssue(SENTENCE)
      return z.NEVER
    })
    .meta({ enum: [...DIRECTIONS, 1, -1, 0] })

type Named<T> = { id?: string | undefined; post_id?: string | undefined; url?: T | undefined }

/** Item to vote on: exactly one of its id, a post's id and its link. */
function thingOf<T>({ id, post_id, url }: Named<T>): string | T {
  if (id !== undefined && post_id !== undefined)
    throw invalid('post_id', 'post_id must be left out where id is given')
  const name = id ?? post_id
  if (name !== undefined && url !== undefined)
    throw invalid(
      'url',
      `url must be left out where ${id === undefined ? 'post_id' : 'id'} is given`,
    )
  const thing = name ?? url
  if (thing === undefined) throw invalid('id', 'id, post_id or url is required')
  return thing
}

export function voteWrites(context: WriteContext, acting: AccountWrites) {
  const { words, keyed, shapes } = context
  const voteFields = once(() => ({
    id: readAs('id', 'the fullname of a post or a comment, such as t3_abc123', (text) =>
      FULLNAME.test(text) && acting.isItem(text) ? text : null,
    ).optional(),
    post_id: readAs('post_id', 'the id of a post, such as abc123 or t3_abc123', (text) => {
      const bare = bareId('t3_', text)
      return bare === null || !acting.isItem(`t3_${bare}`) ? null : `t3_${bare}`
    })
      .optional()
      .describe('A post id, with or without t3_; instead of id.'),
    url: readAs(
      'url',
      'the address of a post or a comment on the platform, or its share link',
      acting.link,
    ).optional(),
    direction: direction(),
  }))
  return new Elysia({ name: 'writes.votes', prefix: words.api }).use(keyed).post(
    '/vote',
    ({ request, holder, set, body: { id, post_id, url, direction: vote } }) => {
      const thing = thingOf({ id, post_id, url })
      if (vote === 'down') context.require('downvote')
      return context.perform(
        { request, holder, set, tier: 'vote', act: 'vote' },
        async (writer) => {
          const input = { thing, direction: vote }
          const name = await writer.run(() => acting.vote(input, writer.session))
          return { success: true, id: name, direction: vote }
        },
      )
    },
    {
      transform: context.reads(voteFields, {
        forwards: false,
        schemes: PROXY_SCHEMES,
        capability: 'vote',
      }),
      body: bodySchema(
        () => ({ ...sessionShape(words, PROXY_SCHEMES), ...voteFields() }),
        exampleBody(words, { id: 't3_1abcde', direction: 'up' }),
      ),
      detail: {
        summary: 'Vote on a post or a comment',
        description:
          'That a vote was taken does not prove that it counts: the platform may leave it out without a word.',
        tags: ['Writes'],
        operationId: 'vote',
        ...answers(() => shapes().vote),
        ...refuses('ARCHIVED'),
      },
    },
  )
}
