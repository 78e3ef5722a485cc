import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import { fullnameOf, type PostLink } from '../../core/forum/permalink.ts'
import { PROXY_SCHEMES } from '../../core/forum/proxy.ts'
import type { PostedOrPending } from '../../core/forum/writes.ts'
import type { LoginMethod } from '../../gateway/login.ts'
import type { AccountWrites } from '../../gateway/writes.ts'
import type { Holder } from '../http/auth.ts'
import { bodySchema, lazySchema } from '../http/fields.ts'
import { answers, exampleBody, refuses } from '../openapi/route-docs.ts'
import { browserFields, readAs, sessionShape, textField, type WriteContext } from './context.ts'

const TEXT_MAX = 10_000
const tags = ['Writes']
const REFUSALS = ['BANNED_FROM_SUBFORUM', 'THREAD_LOCKED', 'ARCHIVED'] as const

export function commentWrites(context: WriteContext, acting: AccountWrites) {
  const { words, keyed, shapes, browser_schemes } = context
  const commentFields = once(() => ({
    post_url: readAs(
      'post_url',
      'the address of a post or a comment on the platform, or its share link',
      acting.link,
    ).describe("A post's or a comment's link: a comment's is replied to."),
    text: textField('text', { max: TEXT_MAX }),
  }))
  const pageFields = once(() => ({ ...commentFields(), ...browserFields() }))

  /** Notes the answered item: the parent as it was read back, else the one that the link names. */
  function note(holder: Holder, link: PostLink, { comment }: PostedOrPending): void {
    const linked = link.kind === 'place' ? fullnameOf(link.place) : null
    const name = comment?.parent_id ?? linked
    if (name !== null) context.commented(holder, name)
  }

  return new Elysia({ name: 'writes.comments', prefix: words.api })
    .use(keyed)
    .post(
      '/comment',
      ({ request, holder, set, body: { post_url, text, locale, timezone } }) =>
        context.perform({ request, holder, set, tier: 'write', act: 'comment' }, async (writer) => {
          const input = { link: post_url, text, locale, timezone }
          const posted = await writer.run(() => acting.commentInBrowser(input, writer.session))
          note(holder, post_url, posted)
          return bodyOf(words, posted, acting.page_method)
        }),
      {
        transform: context.reads(pageFields, {
          forwards: true,
          schemes: browser_schemes,
          capability: 'comment',
        }),
        body: lazySchema(() =>
          z
            .object({ ...sessionShape(words, browser_schemes), ...pageFields() })
            .catchall(z.string())
            .meta({
              description:
                'Every further text field is sent as a cookie; any other unknown field is refused, as in all writes.',
              ...exampleBody(words, {
                ...example_fields,
                locale: 'en-US',
                timezone: 'America/New_York',
              }),
            }),
        ),
        detail: {
          summary: 'Comment, on the page in a browser',
          tags,
          operationId: 'comment',
          ...answers(() => shapes().comment),
          ...refuses(...REFUSALS, 'browser_unavailable'),
        },
      },
    )
    .post(
      '/v2/comment',
      ({ request, holder, set, body: { post_url, text } }) =>
        context.perform({ request, holder, set, tier: 'write', act: 'comment' }, async (writer) => {
          const input = { link: post_url, text }
          const posted = await writer.run(() => acting.comment(input, writer.session))
          note(holder, post_url, posted)
          return bodyOf(words, posted, 'http')
        }),
      {
        transform: context.reads(commentFields, {
          forwards: false,
          schemes: PROXY_SCHEMES,
          capability: 'comment',
        }),
        body: bodySchema(
          () => ({ ...sessionShape(words, PROXY_SCHEMES), ...commentFields() }),
          exampleBody(words, example_fields),
        ),
        detail: {
          summary: 'Comment, over plain HTTP',
          tags,
          operationId: 'commentV2',
          ...answers(() => shapes().comment),
          ...refuses(...REFUSALS),
        },
      },
    )
}

const bodyOf = (
  words: Naming,
  { name, permalink, comment, ...pending }: PostedOrPending,
  transport: LoginMethod,
) => ({
  success: true,
  comment_id: name,
  permalink,
  comment: comment && toWire(words, comment),
  transport,
  ...pending,
})

const example_fields = {
  post_url: 'https://www.forum.example/r/coffee/comments/1abcde/a_post/',
  text: 'Thank you, that helped.',
}
