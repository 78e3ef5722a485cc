import { notifyAuthor } from './inbox.ts'
import type {
  Application,
  Remover,
  SandboxComment,
  SandboxPost,
  SandboxUser,
  Subforum,
  Thing,
  World,
} from './model.ts'
import type { SeededRandom } from './random.ts'
import { insert } from './timeline.ts'

// Gaps between ids, as on a busy platform.
const STRIDE = { post: 37, comment: 211, user: 90_001, subforum: 4_001, message: 17 }

/** Next serial of a kind; in base 36 it is also the id. */
export function nextSerial(world: World, kind: keyof World['next']): number {
  const serial = world.next[kind]
  world.next[kind] += world.random.whole(1, STRIDE[kind])
  return serial
}

/** Epoch seconds, by the clock of the world. */
export const nowSeconds = (world: World): number => Math.floor(world.now() / 1000)

/** Subforum to create. */
export type SubforumPlan = { name: string } & Partial<
  Omit<Subforum, 'kind' | 'id' | 'serial' | 'name' | 'posts' | 'comments'>
>

/** Creates a subforum. The caller checks that the name is free. */
export function addSubforum(world: World, plan: SubforumPlan): Subforum {
  const serial = nextSerial(world, 'subforum')
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

/** User to create. */
export type UserPlan = { name: string } & Partial<
  Omit<SandboxUser, 'kind' | 'id' | 'serial' | 'name' | 'posts' | 'comments'>
>

/** Creates a user. The caller checks that the name is free. */
export function addUser(world: World, plan: UserPlan): SandboxUser {
  const serial = nextSerial(world, 'user')
  const user: SandboxUser = {
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

/** Post to create. */
export type PostPlan = { subforum: Subforum; author: SandboxUser; title: string } & Partial<
  Omit<
    SandboxPost,
    'kind' | 'id' | 'name' | 'serial' | 'subforum' | 'author' | 'title' | 'comments' | 'rendered'
  >
>

/** Inserts a post at its time. */
export function addPost(world: World, plan: PostPlan): SandboxPost {
  const serial = nextSerial(world, 'post')
  const id = serial.toString(36)
  const post: SandboxPost = {
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
    invalidate(world, post.origin)
  }
  insert(post.subforum.posts, post)
  insert(post.author.posts, post)
  world.things.set(post.name, post)
  world.version++
  return post
}

/** Comment to create. */
export type CommentPlan = { parent: Thing; author: SandboxUser; text: string } & Partial<
  Pick<
    SandboxComment,
    'created_s' | 'ups' | 'downs' | 'stickied' | 'locked' | 'distinguished' | 'edited_s' | 'removed'
  >
>

/** Adds a reply to a post or a comment. */
export function addComment(world: World, { parent, ...plan }: CommentPlan): SandboxComment {
  const serial = nextSerial(world, 'comment')
  const id = serial.toString(36)
  const post = parent.kind === 't3' ? parent : parent.post
  const comment: SandboxComment = {
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
  notifyAuthor(comment)
  post.comment_count++
  invalidate(world, post)
  return comment
}

/** Drops cached renderings of a changed item. */
export function invalidate(world: World, thing: Thing): void {
  thing.rendered = null
  world.version++
}

/** Hides an item from listings; by id it remains accessible, masked. */
export function remove(world: World, thing: Thing, by: Remover): void {
  thing.removed = by
  invalidate(world, thing)
}

/** Application of every world, which can act for its users and for itself. */
const APPLICATION: Application = {
  client_id: 'sandbox-application',
  client_secret: 'sandbox-application-secret',
}

/** World that contains only an application. */
export function createWorld(random: SeededRandom, now: () => number): World {
  return {
    random,
    now,
    subforums: new Map(),
    users: new Map(),
    things: new Map(),
    sessions: new Map(),
    bearers: new Map(),
    grants: new Map(),
    applications: new Map([[APPLICATION.client_id, APPLICATION]]),
    messages: new Map(),
    rooms: new Map(),
    version: 0,
    next: {
      post: Number.parseInt('1lq4a02', 36),
      comment: Number.parseInt('n3k01ab', 36),
      user: Number.parseInt('kx3f2', 36),
      subforum: Number.parseInt('2xq81', 36),
      message: Number.parseInt('2q5k1c0', 36),
    },
  }
}
