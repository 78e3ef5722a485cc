import { Elysia } from 'elysia'
import * as z from 'zod'

import { type Direction, DIRECTIONS } from '../../core/acting.ts'
import { invalid } from '../../core/errors.ts'
import { once } from '../../core/once.ts'
import { PROXY_SCHEMES } from '../../core/proxy.ts'
import type { Acting } from '../../gateway/act.ts'
import { closed } from '../fields.ts'
import { answers, refuses } from '../openapi.ts'
import type { WriteDesk } from './desk.ts'
import { exampleBody } from './document.ts'
import { readAs, sessionShape } from './fields.ts'

const FULLNAME = /^t[13]_[a-z0-9]{1,13}$/

// No object: it would find what objects have of themselves, such as `constructor`.
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

/** What is voted on: exactly one of its id and its link. */
function thingOf<T>(id: string | undefined, url: T | undefined): string | T {
  if (id !== undefined && url !== undefined)
    throw invalid('url', 'url must be left out where id is given')
  const thing = id ?? url
  if (thing === undefined) throw invalid('id', 'id or url is required')
  return thing
}

/** Votes on posts and comments. */
export function votes(desk: WriteDesk, acting: Acting) {
  const { words, keyed, shapes } = desk
  const voted = once(() => ({
    id: readAs('id', 'the fullname of a post or a comment, such as t3_abc123', (text) =>
      FULLNAME.test(text) ? text : null,
    ).optional(),
    url: readAs(
      'url',
      'the address of a post or a comment on the platform, or its share link',
      acting.link,
    ).optional(),
    direction: direction(),
  }))
  return new Elysia({ name: 'writes.votes', prefix: words.api }).use(keyed).post(
    '/vote',
    ({ request, holder, set, body: { id, url, direction: way } }) => {
      const thing = thingOf(id, url)
      return desk.perform({ request, holder, set, tier: 'vote', act: 'vote' }, async (hands) => {
        const ask = { thing, direction: way }
        const name = await hands.ask(() => acting.vote(ask, hands.session))
        return { success: true, id: name, direction: way }
      })
    },
    {
      transform: desk.reads(voted, { forwards: false, schemes: PROXY_SCHEMES }),
      body: closed(
        () => ({ ...sessionShape(words, PROXY_SCHEMES), ...voted() }),
        exampleBody(words, { id: 't3_1abcde', direction: 'up' }),
      ),
      detail: {
        summary: 'Vote on a post or a comment',
        description:
          'That a vote was taken does not prove that it counts: the platform may leave it out without a word.',
        tags: ['Writes'],
        operationId: 'vote',
        ...answers(() => shapes().vote, { success: true, id: 't3_1abcde', direction: 'up' }),
        ...refuses('ARCHIVED'),
      },
    },
  )
}
