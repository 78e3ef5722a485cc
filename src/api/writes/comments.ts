import { Elysia } from 'elysia'
import * as z from 'zod'

import type { Posted } from '../../core/acting.ts'
import { once } from '../../core/once.ts'
import { PROXY_SCHEMES } from '../../core/proxy.ts'
import { worded, type Words } from '../../core/wire.ts'
import type { LoginMethod } from '../../gateway/act-login.ts'
import type { Acting } from '../../gateway/act.ts'
import { closed } from '../fields.ts'
import { late } from '../late.ts'
import { answers, refuses } from '../openapi.ts'
import type { WriteDesk } from './desk.ts'
import { exampleBody } from './document.ts'
import { readAs, sessionShape, standing, textOf } from './fields.ts'

const TEXT_MAX = 10_000
const tags = ['Writes']
const REFUSALS = ['BANNED_FROM_SUBFORUM', 'THREAD_LOCKED', 'ARCHIVED'] as const

/** Comments: on the page in a browser, and over plain HTTP. */
export function comments(desk: WriteDesk, acting: Acting) {
  const { words, keyed, shapes, browser_schemes } = desk
  const said = once(() => ({
    post_url: readAs(
      'post_url',
      'the address of a post or a comment on the platform, or its share link',
      acting.link,
    ).meta({ description: "A post's or a comment's link: a comment's is replied to." }),
    text: textOf('text', { max: TEXT_MAX }),
  }))
  const onPage = once(() => ({ ...said(), ...standing() }))
  const example = exampleOf(words)

  return new Elysia({ name: 'writes.comments', prefix: words.api })
    .use(keyed)
    .post(
      '/comment',
      ({ request, holder, set, body: { post_url, text, locale, timezone } }) =>
        desk.perform({ request, holder, set, tier: 'write', act: 'comment' }, async (hands) => {
          const ask = { link: post_url, text, locale, timezone }
          const posted = await hands.ask(() => acting.commentInBrowser(ask, hands.session))
          return bodyOf(words, posted, 'browser')
        }),
      {
        transform: desk.reads(onPage, { forwards: true, schemes: browser_schemes }),
        body: late(() =>
          z
            .object({ ...sessionShape(words, browser_schemes), ...onPage() })
            .catchall(z.string())
            .meta({
              description: 'Every further text is sent on as a cookie.',
              ...exampleBody(words, { ...asked, locale: 'en-US', timezone: 'America/New_York' }),
            }),
        ),
        detail: {
          summary: 'Comment, on the page in a browser',
          tags,
          operationId: 'comment',
          ...answers(() => shapes().comment, { ...example, transport: 'browser' }),
          ...refuses(...REFUSALS, 'browser_unavailable'),
        },
      },
    )
    .post(
      '/v2/comment',
      ({ request, holder, set, body: { post_url, text } }) =>
        desk.perform({ request, holder, set, tier: 'write', act: 'comment' }, async (hands) => {
          const ask = { link: post_url, text }
          const posted = await hands.ask(() => acting.comment(ask, hands.session))
          return bodyOf(words, posted, 'http')
        }),
      {
        transform: desk.reads(said, { forwards: false, schemes: PROXY_SCHEMES }),
        body: closed(
          () => ({ ...sessionShape(words, PROXY_SCHEMES), ...said() }),
          exampleBody(words, asked),
        ),
        detail: {
          summary: 'Comment, over plain HTTP',
          tags,
          operationId: 'commentV2',
          ...answers(() => shapes().comment, example),
          ...refuses(...REFUSALS),
        },
      },
    )
}

const bodyOf = (words: Words, { name, permalink, comment }: Posted, transport: LoginMethod) => ({
  success: true,
  comment_id: name,
  permalink,
  comment: comment && worded(words, comment),
  transport,
})

const asked = {
  post_url: 'https://www.forum.example/r/coffee/comments/1abcde/a_post/',
  text: 'Thank you, that helped.',
}
const PERMALINK = '/r/coffee/comments/1abcde/a_post/k2xyz/'
const exampleOf = (words: Words) => ({
  success: true,
  comment_id: 't1_k2xyz',
  permalink: `https://www.forum.example${PERMALINK}`,
  comment: worded(words, {
    id: 'k2xyz',
    name: 't1_k2xyz',
    author: 'example_user',
    body: 'Thank you, that helped.',
    subforum: 'coffee',
    upvotes: 1,
    permalink: PERMALINK,
    url: `https://www.forum.example${PERMALINK}`,
    post_id: '1abcde',
    link_title: 'A post',
    link_url: 'https://www.forum.example/r/coffee/comments/1abcde/a_post/',
    created: '2026-11-20T07:30:00.000Z',
    created_utc: 1_795_159_800,
    parent_id: 't3_1abcde',
    is_submitter: false,
    depth: 0,
    edited: false,
    over_18: null,
    author_info: { fullname: 't2_x1y2z', flair: null, premium: null },
  }),
  transport: 'http',
})
