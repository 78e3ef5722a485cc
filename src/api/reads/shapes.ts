import * as z from 'zod'

import type { Comment, Community, Media, Post, User } from '../../core/items.ts'
import { MEDIA_KINDS } from '../../core/items.ts'
import { LISTING_STATUSES } from '../../core/listing.ts'
import { once } from '../../core/once.ts'
import { worded, type Words } from '../../core/wire.ts'
import type { DeepComment } from '../../gateway/deep-search.ts'

// What the reads answer with, for the document alone: an answer is never refused because of its shape.
// These are hundreds of schemas, so nothing is made before somebody reads the document.

type Fields<T> = Record<keyof T, z.ZodType>

const parts = once(() => {
  const text = z.string()
  const maybe = z.string().nullable()
  const whole = z.int()
  const maybeWhole = z.int().nullable()
  const flag = z.boolean()
  const maybeFlag = z.boolean().nullable()
  const created = text.meta({ format: 'date-time', description: 'ISO 8601, UTC.' })
  const created_utc = z.number().meta({ description: 'Epoch seconds.' })
  const edited = z.union([created, flag]).meta({
    description: 'When it was last edited; false for never, true when the time is not told.',
  })
  const author_info = z.looseObject({ fullname: maybe, flair: maybe, premium: maybeFlag })

  const post = {
    id: text.meta({ description: 'Without prefix.' }),
    name: text.meta({ description: 't3_ and the id.' }),
    title: text,
    author: text,
    subforum: text,
    permalink: text,
    url: text.meta({ description: 'The address of the post on the platform.' }),
    upvotes: whole,
    comments: whole,
    created,
    created_utc,
    text,
    link_url: maybe.meta({ description: 'What a link post points to.' }),
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
  } satisfies Fields<Omit<Post, 'contest_mode'>>

  const comment = {
    id: text.meta({ description: 'Without prefix.' }),
    name: text.meta({ description: 't1_ and the id.' }),
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
  } satisfies Fields<Comment>

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
    .meta({ description: 'As the platform gives it.' })

  const turn = {
    after: maybe.meta({
      description: 'Pass it back as it is for what comes next; null at the end.',
    }),
    listing_status: z.enum(LISTING_STATUSES).optional().meta({
      description: 'There when after is null. Only complete means everything was returned.',
    }),
  }

  return { text, maybe, whole, flag, post, comment, user, community, media, deep, node, turn }
})

/** The bodies of the reads, as zod schemas in the words of the wire; made at the first call. */
export const createShapes = (words: Words) =>
  once(() => {
    const { text, maybe, whole, flag, post, comment, user, community, media, deep, node, turn } =
      parts()
    const origin = post.crosspost_origin.unwrap().shape
    const postFields = {
      ...worded(words, post),
      crosspost_origin: z.looseObject(worded(words, origin)).nullable(),
    }
    const postRow = z.looseObject(postFields)
    const posts = z.array(postRow)
    return {
      post: postRow,
      posts: z.looseObject({ posts, ...turn }),
      search: z.looseObject({
        posts,
        ...turn,
        meta: z.looseObject({ scanned: whole, kept: whole }).optional(),
      }),
      media: z.looseObject({
        posts: z.array(z.looseObject({ ...postFields, media: z.looseObject(media) })),
        scanned: whole,
        ...turn,
      }),
      comments: z.looseObject({
        comments: z.array(z.looseObject(worded(words, comment))),
        ...turn,
      }),
      deep: z.looseObject({
        comments: z.array(z.looseObject({ ...worded(words, deep), post: postRow })),
        after: maybe,
        meta: z.looseObject({
          truncated: flag,
          capped: flag,
          posts_expanded: whole,
          comments_scanned: whole,
        }),
      }),
      tree: z.looseObject({
        post: postRow,
        comments: z.array(node),
        after: z.null(),
        meta: z.looseObject({ truncated: flag, more_count: whole }),
      }),
      comment: z.looseObject({ comment: node }),
      verified: z.looseObject({
        comments: z.array(
          z.looseObject({
            id: text.meta({ description: 'As it was asked.' }),
            name: maybe,
            status: z.enum(['live', 'deleted', 'removed', 'not_found']),
          }),
        ),
      }),
      user: z.looseObject(user),
      users: z.looseObject({ users: z.array(z.looseObject(user)), ...turn }),
      community: z.looseObject(community),
      communities: z.looseObject({
        communities: z.array(z.looseObject(community)),
        ...turn,
      }),
    }
  })
