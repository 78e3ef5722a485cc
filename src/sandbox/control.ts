import * as z from 'zod'

import { ACCESS, STANDINGS, type Subforum, type Thing, type User, type World } from './model.ts'
import { commentPermalink } from './native-comment.ts'
import { permalink } from './native-post.ts'
import { SUBFORUM_NAME } from './places.ts'
import { addComment, addPost, addSubforum, addUser, nowSeconds, remove, touch } from './world.ts'

/** What was asked of the sandbox cannot be done; the message names the field and what is allowed. */
export class BadControl extends Error {
  override name = 'BadControl'
}

const userName = z.string().regex(/^[A-Za-z0-9_-]{3,20}$/, 'expected 3 to 20 of A-Z a-z 0-9 _ -')
const subforumName = z.string().regex(SUBFORUM_NAME, 'expected 2 to 21 of A-Z a-z 0-9 _')
/** Epoch ms, or ISO 8601. */
const instant = z.union([
  z.number().min(0),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
])
const score = z.int().min(-100_000).max(10_000_000)

export const postSchema = z.strictObject({
  subforum: subforumName,
  author: userName.optional(),
  title: z.string().min(1).max(300),
  text: z.string().max(40_000).optional(),
  /** What a link post points to. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  flair: z.string().min(1).max(64).optional(),
  created_at: instant.optional(),
  score: score.optional(),
  over_18: z.boolean().optional(),
  spoiler: z.boolean().optional(),
  locked: z.boolean().optional(),
  stickied: z.boolean().optional(),
})
export const commentSchema = z.strictObject({
  /** A fullname, `t3_…` or `t1_…`. */
  parent: z.string().regex(/^t[13]_[a-z0-9]+$/, 'expected a fullname, t3_… or t1_…'),
  author: userName.optional(),
  text: z.string().min(1).max(10_000),
  created_at: instant.optional(),
  score: score.optional(),
})
export const removeSchema = z.strictObject({
  name: z.string(),
  by: z.enum(['author', 'moderator', 'platform']),
})
export const editSchema = z.strictObject({
  name: z.string(),
  text: z.string().max(40_000).optional(),
  score: score.optional(),
  locked: z.boolean().optional(),
  stickied: z.boolean().optional(),
})
export const subforumSchema = z.strictObject({
  name: subforumName,
  title: z.string().max(100).optional(),
  description: z.string().max(500).optional(),
  access: z.enum(ACCESS).optional(),
  over_18: z.boolean().optional(),
  subscribers: z.int().min(0).optional(),
  members: z.array(userName).optional(),
  moderators: z.array(userName).optional(),
})
export const userSchema = z.strictObject({
  name: userName,
  standing: z.enum(STANDINGS).optional(),
  curated: z.boolean().optional(),
  premium: z.boolean().optional(),
})

export type PostInput = z.input<typeof postSchema>
export type CommentInput = z.input<typeof commentSchema>
export type RemoveInput = z.input<typeof removeSchema>
export type EditInput = z.input<typeof editSchema>
export type SubforumInput = z.input<typeof subforumSchema>
export type UserInput = z.input<typeof userSchema>

/** What was added: the id, the fullname, the path on the platform. */
export type Added = { id: string; name: string; permalink: string }

/** A value that has the shape asked for. Throws {@link BadControl}, naming the field. */
export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const field = issue?.path.join('.') ?? ''
  throw new BadControl(`${field === '' ? 'body' : field}: ${issue?.message ?? 'not understood'}`)
}

const SOMEBODY = 'passer_by'

// Named for the first time, people and places come into being.
const userOf = (world: World, name: string): User =>
  world.users.get(name.toLowerCase()) ?? addUser(world, { name })
const subforumOf = (world: World, name: string): Subforum =>
  world.subforums.get(name.toLowerCase()) ?? addSubforum(world, { name })

const seconds = (world: World, ms: number | undefined) =>
  ms === undefined ? nowSeconds(world) : Math.floor(ms / 1000)
const votes = (points = 1) => (points >= 0 ? { ups: points, downs: 0 } : { ups: 0, downs: -points })

function thingOf(world: World, name: string): Thing {
  const thing = world.things.get(name)
  if (thing === undefined) throw new BadControl(`name: nothing is called ${name}`)
  return thing
}

/** Publishes a post now, or when `created_at` says. */
export function controlPost(world: World, input: unknown): Added {
  const plan = read(postSchema, input)
  const subforum = subforumOf(world, plan.subforum)
  const post = addPost(world, {
    subforum,
    author: userOf(world, plan.author ?? SOMEBODY),
    title: plan.title,
    text: plan.text ?? '',
    url: plan.url ?? null,
    flair: plan.flair ?? null,
    created_s: seconds(world, plan.created_at),
    over_18: plan.over_18 ?? subforum.over_18,
    spoiler: plan.spoiler ?? false,
    locked: plan.locked ?? false,
    stickied: plan.stickied ?? false,
    ...votes(plan.score),
  })
  return { id: post.id, name: post.name, permalink: permalink(post) }
}

/** Replies now, or when `created_at` says. */
export function controlComment(world: World, input: unknown): Added {
  const plan = read(commentSchema, input)
  const parent = world.things.get(plan.parent)
  if (parent === undefined) throw new BadControl(`parent: nothing is called ${plan.parent}`)
  const comment = addComment(world, {
    parent,
    author: userOf(world, plan.author ?? SOMEBODY),
    text: plan.text,
    created_s: seconds(world, plan.created_at),
    ...votes(plan.score),
  })
  return { id: comment.id, name: comment.name, permalink: commentPermalink(comment) }
}

/** Takes a post or a comment away, as its author, a moderator or the platform would. */
export function controlRemove(world: World, input: unknown): void {
  const { name, by } = read(removeSchema, input)
  remove(world, thingOf(world, name), by)
}

/** Edits the text, or sets what people and moderators change. */
export function controlEdit(world: World, input: unknown): void {
  const { name, text, score: points, locked, stickied } = read(editSchema, input)
  const thing = thingOf(world, name)
  if (text !== undefined) {
    thing.text = text
    thing.edited_s = nowSeconds(world)
  }
  if (points !== undefined) Object.assign(thing, votes(points))
  if (locked !== undefined) thing.locked = locked
  if (stickied !== undefined) thing.stickied = stickied
  touch(world, thing)
}

/** Founds a subforum, or changes one. */
export function controlSubforum(world: World, input: unknown): void {
  const { name, members, moderators, ...plan } = read(subforumSchema, input)
  const subforum = subforumOf(world, name)
  Object.assign(subforum, plan)
  for (const member of members ?? []) subforum.members.add(userOf(world, member))
  if (moderators) subforum.moderators = moderators.map((each) => userOf(world, each))
  changed(world)
}

/** Registers a user, or changes one. */
export function controlUser(world: World, input: unknown): void {
  const { name, ...plan } = read(userSchema, input)
  Object.assign(userOf(world, name), plan)
  changed(world)
}

// Who is deleted or where one may look shows in everything they wrote.
function changed(world: World): void {
  for (const thing of world.things.values()) thing.rendered = null
  world.version++
}
