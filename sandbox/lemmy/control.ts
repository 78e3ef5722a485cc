import * as z from 'zod'

import { BadControl } from '../server/control-routes.ts'
import { instantInput, sourceControl } from '../sources/input.ts'
import {
  addLemmyComment,
  addLemmyPost,
  ban,
  communityNamed,
  type LemmyComment,
  type LemmyPost,
  type LemmyWorld,
  moderate,
  type Person,
  personNamed,
  rollBack,
  sendLemmyMessage,
} from './model.ts'

const id = z.int().min(1)
const name = z
  .string()
  .regex(/^[A-Za-z0-9_]{2,30}(@[a-z0-9.-]{3,100})?$/, 'expected a name, or name@host')
const votes = z.int().min(0).max(1_000_000)
const DEFAULT_AUTHOR = 'passer_by'

const target = { kind: z.enum(['post', 'comment']), id }

function entryOf(
  world: LemmyWorld,
  kind: 'post' | 'comment',
  entry_id: number,
): LemmyPost | LemmyComment {
  const entry = kind === 'post' ? world.posts.get(entry_id) : world.comments.get(entry_id)
  if (entry === undefined) throw new BadControl(`id: no ${kind} has the id ${entry_id}`)
  return entry
}

const author = (world: LemmyWorld, full?: string): Person =>
  personNamed(world, full ?? DEFAULT_AUTHOR)

const bucket = z.strictObject({ requests: z.int().min(1), seconds: z.int().min(1) })

/** Control calls of the instance. */
export const LEMMY_CONTROLS = {
  post: sourceControl(
    z.strictObject({
      community: name,
      author: name.optional(),
      title: z.string().min(1).max(200),
      text: z.string().max(50_000).optional(),
      url: z.url({ protocol: /^https?$/ }).optional(),
      /** A federated post is written long before its arrival. */
      created_at: instantInput.optional(),
      nsfw: z.boolean().optional(),
      featured: z.boolean().optional(),
      pending: z.boolean().optional(),
      scheduled_at: instantInput.optional(),
      upvotes: votes.optional(),
      downvotes: votes.optional(),
    }),
    (world: LemmyWorld, input) => {
      const post = addLemmyPost(world, {
        community: communityNamed(world, input.community),
        creator: author(world, input.author),
        name: input.title,
        body: input.text ?? null,
        url: input.url ?? null,
        created_at: input.created_at ?? world.now(),
        featured_local: input.featured ?? false,
        featured_community: input.featured ?? false,
        pending: input.pending ?? false,
        scheduled_at: input.scheduled_at ?? null,
        ...(input.nsfw !== undefined && { nsfw: input.nsfw }),
        ups: input.upvotes ?? 1,
        downs: input.downvotes ?? 0,
      })
      return { id: post.id, permalink: `/post/${post.id}` }
    },
  ),
  comment: sourceControl(
    z.strictObject({
      post_id: id,
      parent_id: id.optional(),
      author: name.optional(),
      text: z.string().min(1).max(50_000),
      created_at: instantInput.optional(),
      upvotes: votes.optional(),
    }),
    (world: LemmyWorld, input) => {
      const post = world.posts.get(input.post_id)
      const parent = input.parent_id === undefined ? null : world.comments.get(input.parent_id)
      if (post === undefined || parent === undefined)
        throw new BadControl(`post_id: no post or parent has that id`)
      const comment = addLemmyComment(world, {
        post,
        parent,
        creator: author(world, input.author),
        content: input.text,
        created_at: input.created_at ?? world.now(),
        ups: input.upvotes ?? 1,
      })
      return { id: comment.id, permalink: `/comment/${comment.id}` }
    },
  ),
  edit: sourceControl(
    z.strictObject({
      ...target,
      title: z.string().min(1).max(200).optional(),
      text: z.string().max(50_000).optional(),
      upvotes: votes.optional(),
      downvotes: votes.optional(),
      nsfw: z.boolean().optional(),
      locked: z.boolean().optional(),
      pending: z.boolean().optional(),
    }),
    (world: LemmyWorld, { kind, id: entry_id, title, text, upvotes, downvotes, ...flags }) => {
      const entry = entryOf(world, kind, entry_id)
      entry.ups = upvotes ?? entry.ups
      entry.downs = downvotes ?? entry.downs
      if (entry.kind === 'post') Object.assign(entry, { name: title ?? entry.name, ...flags })
      if (text !== undefined || title !== undefined) entry.updated_at = world.now()
      if (text === undefined) return
      if (entry.kind === 'post') entry.body = text
      else entry.content = text
    },
  ),
  remove: sourceControl(
    z.strictObject({ ...target, by: z.enum(['author', 'moderator']) }),
    (world: LemmyWorld, { kind, id: entry_id, by }) => {
      const entry = entryOf(world, kind, entry_id)
      if (by === 'author') entry.deleted = true
      else moderate(world, entry, true)
    },
  ),
  restore: sourceControl(z.strictObject(target), (world: LemmyWorld, { kind, id: entry_id }) => {
    const entry = entryOf(world, kind, entry_id)
    entry.deleted = false
    if (entry.removed) moderate(world, entry, false)
  }),
  /** Removes a post and its id for good; a cursor to it fails. */
  purge: sourceControl(z.strictObject({ id }), (world: LemmyWorld, { id: post_id }) => {
    const post = world.posts.get(post_id)
    for (const comment of post?.comments ?? []) world.comments.delete(comment.id)
    world.posts.delete(post_id)
  }),
  message: sourceControl(
    z.strictObject({ from: name, to: name, text: z.string().min(1) }),
    (world: LemmyWorld, { from, to, text }) => {
      const [creator, recipient] = [personNamed(world, from), personNamed(world, to)]
      return { id: sendLemmyMessage(world, { creator, recipient, content: text }).id }
    },
  ),
  community: sourceControl(
    z.strictObject({
      name,
      title: z.string().max(100).optional(),
      nsfw: z.boolean().optional(),
      hidden: z.boolean().optional(),
      removed: z.boolean().optional(),
      moderators: z.array(name).optional(),
    }),
    (world: LemmyWorld, { name: full, moderators, ...changes }) => {
      const community = communityNamed(world, full)
      Object.assign(community, changes)
      for (const each of moderators ?? []) community.moderators.add(personNamed(world, each))
      return { id: community.id }
    },
  ),
  user: sourceControl(
    z.strictObject({
      name,
      password: z.string().min(1).max(200).nullable().optional(),
      totp_secret: z.string().nullable().optional(),
      admin: z.boolean().optional(),
      banned: z.boolean().optional(),
      deleted: z.boolean().optional(),
    }),
    (world: LemmyWorld, { name: full, ...changes }) => {
      const person = personNamed(world, full)
      Object.assign(person, changes)
      return { id: person.id }
    },
  ),
  session: sourceControl(z.strictObject({ username: name }), (world: LemmyWorld, { username }) => {
    const jwt = `eyJhbGciOiJIUzI1NiJ9.${world.random.text(60)}.${world.random.text(43)}`
    world.tokens.set(jwt, personNamed(world, username))
    return { jwt }
  }),
  /** Ends all tokens of an account: the instance answers them as it answers anyone. */
  session_end: sourceControl(
    z.strictObject({ username: name }),
    (world: LemmyWorld, { username }) => {
      const person = personNamed(world, username)
      const own = [...world.tokens].filter(([, holder]) => holder === person)
      for (const [jwt] of own) world.tokens.delete(jwt)
      return { ended: own.length }
    },
  ),
  /** A ban takes the author's entries with it, which 0.19 names in no log; `banned: false` returns them. */
  ban: sourceControl(
    z.strictObject({ name, banned: z.boolean().optional(), with_content: z.boolean().optional() }),
    (world: LemmyWorld, { name: full, banned = true, with_content = true }) => ({
      entries: ban(world, personNamed(world, full), { banned, with_content }),
    }),
  ),
  rollback: sourceControl(
    z.strictObject({ seconds: z.int().min(1).max(86_400) }),
    (world: LemmyWorld, { seconds }) => ({ lost: rollBack(world, world.now() - seconds * 1000) }),
  ),
  site: sourceControl(
    z.strictObject({
      version: z.enum(['0.19', '1.0']).optional(),
      private_instance: z.boolean().optional(),
      database: z.enum(['up', 'down']).optional(),
      limits: z
        .partialRecord(z.enum(['message', 'post', 'comment', 'search', 'register']), bucket)
        .optional(),
    }),
    (world: LemmyWorld, { limits, ...changes }) => {
      Object.assign(world.settings, changes)
      Object.assign(world.settings.limits, limits)
    },
  ),
}
