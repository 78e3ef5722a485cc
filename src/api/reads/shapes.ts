import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { LISTING_STATUSES } from '../../core/forum/listing.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import { rowShapes } from './row-shapes.ts'

/** Response schemas of the reads in the wire's words, created at the first call. */
export const createShapes = (words: Naming) =>
  once(() => {
    const {
      text,
      maybe,
      whole,
      flag,
      post,
      comment,
      user,
      community,
      media,
      deep,
      node,
      turn,
      ...more
    } = rowShapes()
    const origin = post.crosspost_origin.unwrap().shape
    const postFields = {
      ...toWire(words, post),
      crosspost_origin: z.looseObject(toWire(words, origin)).nullable(),
    }
    const postRow = z.looseObject(postFields).meta({ title: 'Post' })
    const commentFields = toWire(words, comment)
    const commentRow = z.looseObject(commentFields).meta({ title: 'Comment' })
    const userRow = z.looseObject(user).meta({ title: 'User' })
    const posts = z.array(postRow)
    const deepRow = z
      .looseObject({ ...toWire(words, deep), post: postRow })
      .meta({ title: 'FoundComment' })
    const deepAuthor = toWire(words, {
      author: text,
      comment_count: whole,
      total_score: whole,
      subforums: z.array(text),
      top_comment: deepRow,
    })
    const communityRow = z.looseObject(community).meta({ title: 'Community' })
    const communities = z.array(communityRow)
    return {
      post: postRow,
      posts: z.looseObject({ posts, ...turn }),
      search: z.looseObject({
        posts,
        ...turn,
        meta: z.looseObject({ scanned: whole, kept: whole }).optional(),
      }),
      media: z.looseObject({
        posts: z.array(
          z
            .looseObject({ ...postFields, media: z.looseObject(media) })
            .meta({ title: 'PostWithMedia' }),
        ),
        scanned: whole,
        ...turn,
      }),
      comments: z.looseObject({
        comments: z.array(commentRow),
        ...turn,
      }),
      deep: z.looseObject({
        comments: z.array(deepRow).optional().describe('Without group_by.'),
        authors: z.array(z.looseObject(deepAuthor)).optional().describe('With group_by=author.'),
        after: maybe,
        meta: z.looseObject({
          truncated: flag,
          capped: flag,
          posts_expanded: whole,
          comments_scanned: whole,
          authors_capped: flag.optional(),
        }),
      }),
      discussions: z.looseObject({
        posts,
        ...turn,
        meta: z.looseObject({ searched: whole, comments_scanned: whole, truncated: flag }),
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
            id: text.describe('As given in the request.'),
            name: maybe,
            status: z.enum(['live', 'deleted', 'removed', 'not_found']),
          }),
        ),
      }),
      user: userRow,
      users: z.looseObject({ users: z.array(userRow), ...turn }),
      community: communityRow,
      communities: z.looseObject({ communities, ...turn }),
      directory: z.looseObject({ ...toWire(words, { subforums: communities }), ...turn }),
      items: z.looseObject({
        items: z.array(
          z.union([
            z.looseObject({ kind: z.literal('post'), ...postFields }).meta({ title: 'ListedPost' }),
            z
              .looseObject({ kind: z.literal('comment'), ...commentFields })
              .meta({ title: 'ListedComment' }),
          ]),
        ),
        ...turn,
      }),
      moderators: z.looseObject({ moderators: z.array(z.looseObject(more.moderator)) }),
      rules: z.looseObject({
        rules: z.array(z.looseObject(more.rule)),
        site_rules: z.array(text),
      }),
      wiki: z.looseObject(more.wiki),
      byId: z.looseObject({
        posts,
        meta: z.looseObject({
          listing_status: z.enum(LISTING_STATUSES),
          truncated: flag,
          missing_fullnames: z.array(text),
        }),
      }),
      visibility: z.looseObject({ id: text, ...more.visibility }),
      achievements: z.looseObject({
        achievements: z.array(z.looseObject(more.achievement)),
        count: whole,
      }),
    }
  })
