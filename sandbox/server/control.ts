import { commentPermalink } from '../render/comments.ts'
import { permalink } from '../render/posts.ts'
import type {
  PostKind,
  SandboxSession,
  SandboxUser,
  Subforum,
  Thing,
  World,
} from '../world/model.ts'
import {
  addComment,
  addPost,
  addSubforum,
  addUser,
  invalidate,
  nowSeconds,
  remove,
} from '../world/world.ts'
import {
  BadControl,
  commentSchema,
  type CreatedThing,
  editSchema,
  type OpenedSession,
  parseInput,
  postSchema,
  removeSchema,
  revokeSchema,
  sessionSchema,
  subforumSchema,
  userSchema,
} from './control-routes.ts'
import { addSession, endSessions, issueRefreshToken, SESSION_FIELDS } from './sessions.ts'

/** Account with which tests log in. All data is invented. */
export type AccountInfo = {
  username: string
  password: string
  totp_secret: string | null
  /** By the platform's own names. */
  cookies: Record<string, string>
  /** Refresh token of an application for this user. */
  refresh_token: string | null
  flags: { suspended: boolean; curated: boolean; premium: boolean; verified: boolean }
}

/** Overview of the world: seed, clock, subforums, accounts, counts. */
export function worldOverview(world: World, seed: number, session_cookie: string) {
  return {
    seed,
    now: new Date(world.now()).toISOString(),
    session_cookie,
    subforums: [...world.subforums.values()].map(({ name }) => name),
    application: [...world.applications.values()][0] ?? null,
    accounts: [...world.users.values()].flatMap((user) => accountInfo(world, user)),
    counts: {
      users: world.users.size,
      subforums: world.subforums.size,
      posts: [...world.things.values()].filter(({ kind }) => kind === 't3').length,
      comments: [...world.things.values()].filter(({ kind }) => kind === 't1').length,
    },
  }
}

function accountInfo(world: World, user: SandboxUser): AccountInfo[] {
  const session = [...world.sessions.values()].find((it) => it.user === user && !it.revoked)
  if (user.password === null || session === undefined) return []
  return [
    {
      username: user.name,
      password: user.password,
      totp_secret: user.totp_secret,
      cookies: cookiesOf(session),
      refresh_token: refreshTokenOf(world, user),
      flags: {
        suspended: user.standing === 'suspended',
        curated: user.curated,
        premium: user.premium,
        verified: user.verified,
      },
    },
  ]
}

/** Newest refresh token for a user. */
const refreshTokenOf = ({ grants }: World, user: SandboxUser): string | null =>
  [...grants].findLast(([, owner]) => owner === user)?.[0] ?? null

/** Cookies of a session in a browser, by the platform's own names. */
const cookiesOf = (session: SandboxSession): Record<string, string> =>
  Object.fromEntries(SESSION_FIELDS.map(([cookie, field]) => [cookie, session[field]]))

const DEFAULT_AUTHOR = 'passer_by'

// Unknown users and subforums are created on first use.
const userOf = (world: World, name: string): SandboxUser =>
  world.users.get(name.toLowerCase()) ?? addUser(world, { name })
const subforumOf = (world: World, name: string): Subforum =>
  world.subforums.get(name.toLowerCase()) ?? addSubforum(world, { name })

const seconds = (world: World, ms: number | undefined) =>
  ms === undefined ? nowSeconds(world) : Math.floor(ms / 1000)
const votes = (points = 1) => (points >= 0 ? { ups: points, downs: 0 } : { ups: 0, downs: -points })

function thingOf(world: World, name: string): Thing {
  const thing = world.things.get(name)
  if (thing === undefined) throw new BadControl(`name: no item is called ${name}`)
  return thing
}

/** Kind of post for an address. */
function postKindOf(url: string | undefined): PostKind {
  if (url === undefined) return 'self'
  if (/\.(jpe?g|png|webp)$/i.test(url)) return 'image'
  if (/\.gif$/i.test(url)) return 'gif'
  return url.startsWith('https://v.redd.it/') ? 'video' : 'link'
}

/** Publishes a post now, or at `created_at`. */
export function controlPost(world: World, input: unknown): CreatedThing {
  const plan = parseInput(postSchema, input)
  const subforum = subforumOf(world, plan.subforum)
  const post = addPost(world, {
    subforum,
    author: userOf(world, plan.author ?? DEFAULT_AUTHOR),
    title: plan.title,
    text: plan.text ?? '',
    url: plan.url ?? null,
    shape: postKindOf(plan.url),
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

/**
 * Adds a comment now, or at `created_at`.
 *
 * @throws {BadControl} for invalid input or an unknown parent
 */
export function controlComment(world: World, input: unknown): CreatedThing {
  const plan = parseInput(commentSchema, input)
  const parent = world.things.get(plan.parent)
  if (parent === undefined) throw new BadControl(`parent: no item is called ${plan.parent}`)
  const comment = addComment(world, {
    parent,
    author: userOf(world, plan.author ?? DEFAULT_AUTHOR),
    text: plan.text,
    created_s: seconds(world, plan.created_at),
    ...votes(plan.score),
  })
  return { id: comment.id, name: comment.name, permalink: commentPermalink(comment) }
}

/** Removes a post or a comment as its author, a moderator or the platform. */
export function controlRemove(world: World, input: unknown): void {
  const { name, by } = parseInput(removeSchema, input)
  remove(world, thingOf(world, name), by)
}

/**
 * Edits the text, or sets the fields that users and moderators change.
 *
 * @throws {BadControl} for invalid input or an unknown item
 */
export function controlEdit(world: World, input: unknown): void {
  const { name, text, score: points, locked, stickied, archived } = parseInput(editSchema, input)
  const thing = thingOf(world, name)
  if (text !== undefined) {
    thing.text = text
    thing.edited_s = nowSeconds(world)
  }
  if (points !== undefined) Object.assign(thing, votes(points))
  if (locked !== undefined) thing.locked = locked
  if (stickied !== undefined) thing.stickied = stickied
  if (archived !== undefined) {
    if (thing.kind !== 't3') throw new BadControl('archived: only posts can be archived')
    thing.archived = archived
  }
  invalidate(world, thing)
}

/** Creates or changes a subforum. */
export function controlSubforum(world: World, input: unknown): void {
  const { name, members, moderators, bans, wiki, ...plan } = parseInput(subforumSchema, input)
  const subforum = subforumOf(world, name)
  Object.assign(subforum, plan)
  for (const [page, text] of Object.entries(wiki ?? {})) subforum.wiki.set(page, text)
  if (bans) subforum.bans = new Set(bans.map((each) => userOf(world, each)))
  for (const username of members ?? []) subforum.members.add(userOf(world, username))
  if (moderators) subforum.moderators = moderators.map((each) => userOf(world, each))
  invalidateAll(world)
}

/** Creates or changes a user. */
export function controlUser(world: World, input: unknown): void {
  const { name, blocks, subscribed, ...plan } = parseInput(userSchema, input)
  const user = userOf(world, name)
  Object.assign(user, plan)
  if (blocks) user.blocked = new Set(blocks.map((each) => userOf(world, each)))
  if (subscribed) user.subscribed = new Set(subscribed.map((each) => subforumOf(world, each)))
  invalidateAll(world)
}

/** Opens a session for a user without a password. */
export function controlSession(world: World, input: unknown): OpenedSession {
  const { username, lasts_s } = parseInput(sessionSchema, input)
  const session = addSession(world, userOf(world, username), {
    ...(lasts_s !== undefined && { lifetime_s: lasts_s }),
  })
  return {
    username: session.user.name,
    cookies: cookiesOf(session),
    refresh_token: issueRefreshToken(world, session.user, world.random),
    expires_at: new Date(session.expires_s * 1000).toISOString(),
  }
}

/**
 * Ends all sessions of a user, as a password change does.
 *
 * @throws {BadControl} for invalid input or an unknown user
 */
export function controlRevoke(world: World, input: unknown): void {
  const { username } = parseInput(revokeSchema, input)
  const user = world.users.get(username.toLowerCase())
  if (user === undefined) throw new BadControl(`username: no user is called ${username}`)
  endSessions(world, user)
}

// A user's status or a subforum's access affects how all of their items are rendered.
function invalidateAll(world: World): void {
  for (const thing of world.things.values()) thing.rendered = null
  world.version++
}
