import type { SeededRandom } from './random.ts'

/** Read access of a subforum, or the reason of its refusal. */
export const ACCESS = [
  'public',
  'restricted',
  'private',
  'gold_only',
  'quarantined',
  'gated',
  'banned',
] as const
type Access = (typeof ACCESS)[number]

/** Subforum of the world. */
export type Subforum = {
  kind: 't5'
  /** Base 36, without prefix. */
  id: string
  serial: number
  name: string
  title: string
  description: string
  created_s: number
  access: Access
  over_18: boolean
  subscribers: number
  /** Generated posts per hour at speed 1. */
  rate: number
  /** Key of its phrase table. */
  topic: string
  flairs: readonly string[]
  rules: readonly string[]
  moderators: SandboxUser[]
  members: Set<SandboxUser>
  /** Users who may not write there. */
  bans: Set<SandboxUser>
  /** Pages by name, in markdown. */
  wiki: Map<string, string>
  /** Oldest first. */
  posts: SandboxPost[]
  /** Oldest first. */
  comments: SandboxComment[]
}

/** Account statuses. */
export const USER_STATUSES = ['good', 'suspended', 'shadowed', 'deleted'] as const
type UserStatus = (typeof USER_STATUSES)[number]

/** Chat settings: invitations accepted or refused. */
export const CHATS = ['open', 'closed'] as const

/** Mail settings: from all users, from trusted users, or chat instead. */
export const MAIL = ['open', 'trusted', 'chat'] as const

/** User of the world. */
export type SandboxUser = {
  kind: 't2'
  id: string
  serial: number
  name: string
  created_s: number
  standing: UserStatus
  /** Hides the user's history from others. */
  curated: boolean
  premium: boolean
  employee: boolean
  verified: boolean
  display_name: string
  bio: string
  post_karma: number
  comment_karma: number
  posts: SandboxPost[]
  comments: SandboxComment[]
  /** Password; null: no login. */
  password: string | null
  totp_secret: string | null
  email: string | null
  /** Logs in through a third party, never with a password. */
  sso: boolean
  /** The platform requires a new password first. */
  locked: boolean
  /** Senders whose mail is accepted. */
  mail: (typeof MAIL)[number]
  chats: (typeof CHATS)[number]
  /** Profile settings beside title and description. */
  settings: Map<string, string | boolean>
  /** Address of the profile picture; null: the default. */
  icon: string | null
  banner: string | null
  blocked: Set<SandboxUser>
  /** Oldest first. */
  inbox: InboxItem[]
  /** Oldest first. */
  sent: SandboxMessage[]
  subscribed: Set<Subforum>
  /** Quarantined and gated subforums that this user has opted into. */
  opted_in: Set<Subforum>
  votes: Map<Thing, 1 | -1>
  saved: Thing[]
  hidden: SandboxPost[]
}

/** Kinds of posts. */
export type PostKind = 'self' | 'link' | 'image' | 'gallery' | 'video' | 'gif' | 'crosspost'

/** Removers of an item. */
export type Remover = 'author' | 'moderator' | 'platform'

/** Post of the world. Times are epoch seconds. */
export type SandboxPost = {
  kind: 't3'
  id: string
  name: string
  serial: number
  created_s: number
  subforum: Subforum
  author: SandboxUser
  title: string
  text: string
  shape: PostKind
  /** Target of a link post; null for a text post. */
  url: string | null
  /** Ids of the pictures of a gallery. */
  pictures: readonly string[]
  origin: SandboxPost | null
  flair: string | null
  ups: number
  downs: number
  over_18: boolean
  spoiler: boolean
  locked: boolean
  stickied: boolean
  archived: boolean
  distinguished: 'moderator' | 'admin' | null
  edited_s: number | null
  removed: Remover | null
  comments: SandboxComment[]
  comment_count: number
  crossposts: number
  rendered: RenderedThing | null
}

/** Comment of the world. Times are epoch seconds. */
export type SandboxComment = {
  kind: 't1'
  id: string
  name: string
  serial: number
  created_s: number
  post: SandboxPost
  parent: SandboxComment | null
  depth: number
  author: SandboxUser
  text: string
  ups: number
  downs: number
  stickied: boolean
  locked: boolean
  distinguished: 'moderator' | 'admin' | null
  edited_s: number | null
  removed: Remover | null
  replies: SandboxComment[]
  rendered: RenderedThing | null
}

/** Message from one user to another. */
export type SandboxMessage = {
  kind: 't4'
  id: string
  name: string
  serial: number
  created_s: number
  author: SandboxUser
  to: SandboxUser | Subforum
  subject: string
  text: string
  /** Message that it answers; null for the first of a thread. */
  parent: SandboxMessage | null
  first: SandboxMessage | null
  /** Later messages of a thread, oldest first; empty except for its first message. */
  replies: SandboxMessage[]
}

/** Item of an inbox: mail, or a reply to the user's own item. */
export type InboxItem = { thing: SandboxMessage | SandboxComment; unread: boolean }

/** Event of a room, such as a message. */
export type ChatRoomEvent = {
  id: string
  type: string
  sender: SandboxUser
  /** User whose membership changes; null for a message. */
  about: SandboxUser | null
  /** Epoch ms. */
  at: number
  content: Record<string, unknown>
}

/** Chat of two users. */
export type SandboxChatRoom = {
  id: string
  /** Joined and invited users. */
  members: Map<SandboxUser, 'join' | 'invite'>
  /** Oldest first. */
  events: ChatRoomEvent[]
  /** Events by sender and transaction id, which makes sending idempotent. */
  sent: Map<string, ChatRoomEvent>
  /** Number of events that each user has seen. */
  seen: Map<SandboxUser, number>
}

/** Item of listings, with votes. */
export type Thing = SandboxPost | SandboxComment

/**
 * Public rendering of an item under one address, cached until the item changes or until the given
 * instant.
 */
type RenderedThing = { text: string; until_s: number; origin: string }

/** Session of a user. */
export type SandboxSession = {
  /** Value of the session cookie. */
  cookie: string
  user: SandboxUser
  modhash: string
  csrf_token: string
  loid: string
  /** Bearer for HTML pages; a page renews it when it is about to expire. */
  token_v2: string
  /** Epoch s. */
  expires_s: number
  revoked: boolean
}

/** Token for the bearer host, of an application, usually on behalf of a user. */
type Bearer = {
  token: string
  /** Null: the application's own. */
  user: SandboxUser | null
  /** Epoch s. */
  expires_s: number
  /** Cookie session of the token; both end together. */
  session: SandboxSession | null
  revoked: boolean
}

/** Application registered with the platform. */
export type Application = { client_id: string; client_secret: string }

/** State of the simulated platform. */
export type World = {
  random: SeededRandom
  /** Epoch ms, by the sandbox's own clock. */
  now(): number
  /** By lower-case name. */
  subforums: Map<string, Subforum>
  /** By lower-case name. */
  users: Map<string, SandboxUser>
  /** By fullname. */
  things: Map<string, Thing>
  /** By cookie value. */
  sessions: Map<string, SandboxSession>
  /** By token. */
  bearers: Map<string, Bearer>
  /** By refresh token: the user it acts for. */
  grants: Map<string, SandboxUser>
  /** By client id. */
  applications: Map<string, Application>
  /** By fullname. */
  messages: Map<string, SandboxMessage>
  /** By id. */
  rooms: Map<string, SandboxChatRoom>
  /** Increases with every change; computed listings are cached per version. */
  version: number
  next: { post: number; comment: number; user: number; subforum: number; message: number }
}
