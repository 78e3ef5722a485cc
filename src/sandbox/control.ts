import {
  type Added,
  BadControl,
  commentSchema,
  editSchema,
  type Opened,
  postSchema,
  read,
  removeSchema,
  revokeSchema,
  sessionSchema,
  subforumSchema,
  userSchema,
} from './control-schemas.ts'
import type { PostKind, Subforum, Thing, User, World } from './model.ts'
import { commentPermalink } from './native-comment.ts'
import { permalink } from './native-post.ts'
import { cookiesOf } from './overview.ts'
import { addSession, endSessions, grant } from './sessions.ts'
import { addComment, addPost, addSubforum, addUser, nowSeconds, remove, touch } from './world.ts'

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

/** What the platform would make of an address. */
function shapeOf(url: string | undefined): PostKind {
  if (url === undefined) return 'self'
  if (/\.(jpe?g|png|webp)$/i.test(url)) return 'image'
  if (/\.gif$/i.test(url)) return 'gif'
  return url.startsWith('https://v.redd.it/') ? 'video' : 'link'
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
    shape: shapeOf(plan.url),
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
  const { name, text, score: points, locked, stickied, archived } = read(editSchema, input)
  const thing = thingOf(world, name)
  if (text !== undefined) {
    thing.text = text
    thing.edited_s = nowSeconds(world)
  }
  if (points !== undefined) Object.assign(thing, votes(points))
  if (locked !== undefined) thing.locked = locked
  if (stickied !== undefined) thing.stickied = stickied
  if (archived !== undefined) {
    if (thing.kind !== 't3') throw new BadControl('archived: only posts are')
    thing.archived = archived
  }
  touch(world, thing)
}

/** Founds a subforum, or changes one. */
export function controlSubforum(world: World, input: unknown): void {
  const { name, members, moderators, bans, wiki, ...plan } = read(subforumSchema, input)
  const subforum = subforumOf(world, name)
  Object.assign(subforum, plan)
  for (const [page, text] of Object.entries(wiki ?? {})) subforum.wiki.set(page, text)
  if (bans) subforum.bans = new Set(bans.map((each) => userOf(world, each)))
  for (const member of members ?? []) subforum.members.add(userOf(world, member))
  if (moderators) subforum.moderators = moderators.map((each) => userOf(world, each))
  changed(world)
}

/** Registers a user, or changes one. */
export function controlUser(world: World, input: unknown): void {
  const { name, blocks, subscribed, ...plan } = read(userSchema, input)
  const user = userOf(world, name)
  Object.assign(user, plan)
  if (blocks) user.blocked = new Set(blocks.map((each) => userOf(world, each)))
  if (subscribed) user.subscribed = new Set(subscribed.map((each) => subforumOf(world, each)))
  changed(world)
}

/** Signs somebody in, without asking for a password. */
export function controlSession(world: World, input: unknown): Opened {
  const { username, lasts_s } = read(sessionSchema, input)
  const session = addSession(world, userOf(world, username), {
    ...(lasts_s !== undefined && { lasts_s }),
  })
  return {
    username: session.user.name,
    cookies: cookiesOf(session),
    refresh_token: grant(world, session.user, world.chance),
    expires_at: new Date(session.expires_s * 1000).toISOString(),
  }
}

/** Ends all of somebody's sessions, as a new password does. */
export function controlRevoke(world: World, input: unknown): void {
  const { username } = read(revokeSchema, input)
  const user = world.users.get(username.toLowerCase())
  if (user === undefined) throw new BadControl(`username: nobody is called ${username}`)
  endSessions(world, user)
}

// Who is deleted or where one may look shows in everything they wrote.
function changed(world: World): void {
  for (const thing of world.things.values()) thing.rendered = null
  world.version++
}
