import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import {
  type Achievement,
  type Comment,
  type Community,
  type Media,
  MEDIA_KINDS,
  type Moderator,
  type Post,
  type Rules,
  type User,
  type Visibility,
  type WikiPage,
} from '../../core/forum/items.ts'
import { LISTING_STATUSES } from '../../core/forum/listing.ts'
import type { DeepComment } from '../../gateway/deep-search.ts'

// Answers of the reads, used by the OpenAPI document only: an answer is never refused because of
// its shape. These are hundreds of schemas, so they are created with the document.

type Fields<T> = Record<keyof T, z.ZodType>

export const rowShapes = once(() => {
  const text = z.string()
  const maybe = z.string().nullable()
  const whole = z.int()
  const maybeWhole = z.int().nullable()
  const flag = z.boolean()
  const maybeFlag = z.boolean().nullable()
  const created = text.meta({ format: 'date-time', description: 'ISO 8601, UTC.' })
  const created_utc = z.number().describe('Epoch seconds.')
  const edited = z
    .union([created, flag])
    .describe('Time of the last edit; false: never, true: the time is unknown.')
  const author_info = z.looseObject({ fullname: maybe, flair: maybe, premium: maybeFlag })

  const post = {
    id: text.describe('Without prefix.'),
    name: text.describe('t3_ and the id.'),
    title: text,
    author: text,
    subforum: text,
    permalink: text,
    url: text.describe('The address of the post on the platform.'),
    upvotes: whole,
    comments: whole,
    created,
    created_utc,
    text,
    link_url: maybe.describe('What a link post points to.'),
    upvote_ratio: z.number().nullable(),
    over_18: flag,
    spoiler: flag,
    locked: flag,
    stickied: flag,
    is_self: flag,
    is_video: flag,
    is_crosspost: flag,
    crosspost_origin: z.looseObject({ id: text, subforum: text, permalink: text }).nullable(),
    flair: maybe,
    domain: maybe,
    media_kind: z.enum(MEDIA_KINDS).nullable(),
    thumbnail_url: maybe,
    edited,
    author_info,
  } satisfies Fields<Omit<Post, 'contest_mode' | 'score_hidden'>>

  const comment = {
    id: text.describe('Without prefix.'),
    name: text.describe('t1_ and the id.'),
    author: text,
    body: text,
    subforum: text,
    upvotes: whole,
    permalink: text,
    url: text,
    post_id: text,
    link_title: maybe,
    link_url: maybe,
    created,
    created_utc,
    parent_id: maybe,
    is_submitter: flag,
    depth: maybeWhole,
    edited,
    over_18: maybeFlag,
    author_info,
  } satisfies Fields<Omit<Comment, 'score_hidden'>>

  const user = {
    id: maybe,
    name: text,
    url: text,
    created: maybe,
    created_utc: z.number().nullable(),
    link_karma: maybeWhole,
    comment_karma: maybeWhole,
    total_karma: maybeWhole,
    verified: maybeFlag,
    is_employee: maybeFlag,
    is_mod: maybeFlag,
    is_suspended: flag,
    over_18: maybeFlag,
    display_name: maybe,
    description: maybe,
    avatar_url: maybe,
    banner_url: maybe,
  } satisfies Fields<User>

  const community = {
    id: maybe,
    name: text,
    display_name_prefixed: maybe,
    title: maybe,
    description: maybe,
    subscribers: maybeWhole,
    active_users: maybeWhole,
    created: maybe,
    created_utc: z.number().nullable(),
    type: maybe,
    over_18: maybeFlag,
    quarantined: maybeFlag,
    url: maybe,
    icon_url: maybe,
    banner_url: maybe,
    language: maybe,
  } satisfies Fields<Community>

  const moderator = {
    id: text,
    name: text,
    mod_permissions: z.array(text),
    flair_text: maybe,
    added: maybe,
  } satisfies Fields<Moderator>

  const rule = {
    name: text,
    description: text,
    applies_to: z.enum(['post', 'comment', 'all']),
    violation_reason: maybe,
    priority: whole,
    created: maybe,
  } satisfies Fields<Rules['rules'][number]>

  const wiki = {
    content_md: text,
    content_html: maybe,
    revision_id: maybe,
    revision_date: maybe,
    revised_by: maybe,
    reason: maybe,
  } satisfies Fields<WikiPage>

  const achievement = {
    id: maybe,
    name: text,
    description: maybe,
    icon_url: maybe,
    url: maybe,
    granted: maybe,
  } satisfies Fields<Achievement>

  const visibility = {
    verdict: z.enum(['live', 'not_visible', 'undecidable']),
    reason: maybe.describe('A sentence; null when it is live.'),
    reason_code: maybe.describe('absent, deleted, removed or seen_by_moderator.'),
    confident: flag,
  } satisfies Fields<Visibility & { reason_code: string | null }>

  const media = {
    kind: z.enum(MEDIA_KINDS),
    url: maybe,
    width: maybeWhole,
    height: maybeWhole,
    items: z.array(z.looseObject({ url: text, width: maybeWhole, height: maybeWhole })),
    duration_s: z.number().nullable(),
    thumbnail_url: maybe,
  } satisfies Fields<Media>

  const deep = {
    id: text,
    body: text,
    score: whole,
    author: text,
    permalink: text,
    url: text,
    created,
    subforum: text,
  } satisfies Fields<Omit<DeepComment, 'post'>>

  const node = z
    .looseObject({ kind: z.enum(['t1', 'more']), data: z.looseObject({}) })
    .describe('As sent by the platform.')

  const turn = {
    after: maybe.describe('Cursor of the next page, to be sent unchanged; null at the end.'),
    listing_status: z
      .enum(LISTING_STATUSES)
      .optional()
      .describe('Present if after is null. Only complete means that everything was returned.'),
  }

  return {
    text,
    maybe,
    whole,
    flag,
    post,
    comment,
    user,
    community,
    moderator,
    rule,
    wiki,
    achievement,
    visibility,
    media,
    deep,
    node,
    turn,
  }
})
