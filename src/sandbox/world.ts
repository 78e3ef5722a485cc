import { announce } from './inbox.ts'
import type { Comment, Post, Remover, Subforum, Thing, User, World } from './model.ts'
import { insert } from './timeline.ts'

// Ids leave holes, as those of a busy platform do.
const STRIDE = { post: 37, comment: 211, user: 90_001, subforum: 4_001, message: 17 }

/** The next serial of its kind, also its id in base 36. */
export function draw(world: World, kind: keyof World['next']): number {
  const serial = world.next[kind]
  world.next[kind] += world.chance.whole(1, STRIDE[kind])
  return serial
}

/** Seconds since the epoch, by the clock of the world. */
export const nowSeconds = (world: World): number => Math.floor(world.now() / 1000)

/** A place to be made. */
export type SubforumPlan = { name: string } & Partial<
  Omit<Subforum, 'kind' | 'id' | 'serial' | 'name' | 'posts' | 'comments'>
>

/** Founds a subforum. The caller has seen to it that the name is free. */
export function addSubforum(world: World, plan: SubforumPlan): Subforum {
  const serial = draw(world, 'subforum')
  const subforum: Subforum = {
    title: plan.name,
    description: '',
    created_s: nowSeconds(world) - 5 * 365 * 86_400,
    access: 'public',
    over_18: false,
    subscribers: 1_000,
    rate: 1,
    topic: 'selfhosting',
    flairs: [],
    rules: [],
    moderators: [],
    members: new Set(),
    bans: new Set(),
    wiki: new Map(),
    ...plan,
    kind: 't5',
    id: serial.toString(36),
    serial,
    posts: [],
    comments: [],
  }
  world.subforums.set(plan.name.toLowerCase(), subforum)
  world.version++
  return subforum
}

/** A person to be made. */
export type UserPlan = { name: string } & Partial<
  Omit<User, 'kind' | 'id' | 'serial' | 'name' | 'posts' | 'comments'>
>

/** Registers a user. The caller has seen to it that the name is free. */
export function addUser(world: World, plan: UserPlan): User {
  const serial = draw(world, 'user')
  const user: User = {
    created_s: nowSeconds(world) - 2 * 365 * 86_400,
    standing: 'good',
    curated: false,
    premium: false,
    employee: false,
    verified: true,
    display_name: '',
    bio: '',
    post_karma: 1,
    comment_karma: 0,
    password: null,
    totp_secret: null,
    email: null,
    sso: false,
    locked: false,
    mail: 'open',
    chats: 'open',
    settings: new Map(),
    icon: null,
    banner: null,
    blocked: new Set(),
    inbox: [],
    sent: [],
    subscribed: new Set(),
    opted_in: new Set(),
    votes: new Map(),
    saved: [],
    hidden: [],
    ...plan,
    kind: 't2',
    id: serial.toString(36),
    serial,
    posts: [],
    comments: [],
  }
  world.users.set(plan.name.toLowerCase(), user)
  world.version++
  return user
}

/** A post to be made. */
export type PostPlan = { subforum: Subforum; author: User; title: string } & Partial<
  Omit<
    Post,
    'kind' | 'id' | 'name' | 'serial' | 'subforum' | 'author' | 'title' | 'comments' | 'rendered'
  >
>

/** Publishes a post, where its time says. */
export function addPost(world: World, plan: PostPlan): Post {
  const serial = draw(world, 'post')
  const id = serial.toString(36)
  const post: Post = {
    created_s: nowSeconds(world),
    text: '',
    shape: plan.url ? 'link' : 'self',
    url: null,
    pictures: [],
    origin: null,
    flair: null,
    ups: 1,
    downs: 0,
    over_18: plan.subforum.over_18,
    spoiler: false,
    locked: false,
    stickied: false,
    archived: false,
    distinguished: null,
    edited_s: null,
    removed: null,
    comment_count: 0,
    crossposts: 0,
    ...plan,
    kind: 't3',
    id,
    name: `t3_${id}`,
    serial,
    comments: [],
    rendered: null,
  }
  if (post.origin) {
    post.origin.crossposts++
    touch(world, post.origin)
  }
  insert(post.subforum.posts, post)
  insert(post.author.posts, post)
  world.things.set(post.name, post)
  world.version++
  return post
}

/** A comment to be made. */
export type CommentPlan = { parent: Thing; author: User; text: string } & Partial<
  Pick<
    Comment,
    'created_s' | 'ups' | 'downs' | 'stickied' | 'locked' | 'distinguished' | 'edited_s' | 'removed'
  >
>

/** Replies to a post or a comment. */
export function addComment(world: World, { parent, ...plan }: CommentPlan): Comment {
  const serial = draw(world, 'comment')
  const id = serial.toString(36)
  const post = parent.kind === 't3' ? parent : parent.post
  const comment: Comment = {
    created_s: nowSeconds(world),
    ups: 1,
    downs: 0,
    stickied: false,
    locked: false,
    distinguished: null,
    edited_s: null,
    removed: null,
    ...plan,
    kind: 't1',
    id,
    name: `t1_${id}`,
    serial,
    post,
    parent: parent.kind === 't3' ? null : parent,
    depth: parent.kind === 't3' ? 0 : parent.depth + 1,
    replies: [],
    rendered: null,
  }
  ;(parent.kind === 't3' ? parent.comments : parent.replies).push(comment)
  insert(post.subforum.comments, comment)
  insert(comment.author.comments, comment)
  world.things.set(comment.name, comment)
  announce(comment)
  post.comment_count++
  touch(world, post)
  return comment
}

/** Forgets what was kept of a thing that has changed. */
export function touch(world: World, thing: Thing): void {
  thing.rendered = null
  world.version++
}

/** Takes a thing out of sight; by id it is still there, masked. */
export function remove(world: World, thing: Thing, by: Remover): void {
  thing.removed = by
  touch(world, thing)
}
