import type { Chance } from './chance.ts'

/** Who may read a subforum, or why nobody can. */
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

/** A place of the world. */
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
  /** How many posts an hour the clockwork adds at speed 1. */
  rate: number
  /** Which phrase table its people talk from. */
  topic: string
  flairs: readonly string[]
  rules: readonly string[]
  moderators: User[]
  members: Set<User>
  /** Who may not write there. */
  bans: Set<User>
  /** Pages by name, in markdown. */
  wiki: Map<string, string>
  /** Oldest first. */
  posts: Post[]
  /** Oldest first. */
  comments: Comment[]
}

/** How a person may stand. */
export const STANDINGS = ['good', 'suspended', 'shadowed', 'deleted'] as const
type Standing = (typeof STANDINGS)[number]

/** Whether somebody can be asked into a chat. */
export const CHATS = ['open', 'closed'] as const

/** Everybody's mail, only that of people one trusts, or chat instead. */
export const MAIL = ['open', 'trusted', 'chat'] as const

/** A person of the world. */
export type User = {
  kind: 't2'
  id: string
  serial: number
  name: string
  created_s: number
  standing: Standing
  /** Hides the own history from everybody else. */
  curated: boolean
  premium: boolean
  employee: boolean
  verified: boolean
  display_name: string
  bio: string
  post_karma: number
  comment_karma: number
  posts: Post[]
  comments: Comment[]
  /** What signing in takes; null: nobody can. */
  password: string | null
  totp_secret: string | null
  email: string | null
  /** Signs in with a third party, never with a password. */
  sso: boolean
  /** The platform wants a new password first. */
  locked: boolean
  /** From whom mail is taken. */
  mail: (typeof MAIL)[number]
  chats: (typeof CHATS)[number]
  /** What stands in the settings of the own profile beside its title and its description. */
  settings: Map<string, string | boolean>
  /** Addresses of the own pictures; null: what everybody begins with. */
  icon: string | null
  banner: string | null
  blocked: Set<User>
  /** Oldest first. */
  inbox: Letter[]
  /** Oldest first. */
  sent: Message[]
  subscribed: Set<Subforum>
  /** Quarantined and gated places this user has agreed to see. */
  opted_in: Set<Subforum>
  votes: Map<Thing, 1 | -1>
  saved: Thing[]
  hidden: Post[]
}

/** What a post carries. */
export type PostKind = 'self' | 'link' | 'image' | 'gallery' | 'video' | 'gif' | 'crosspost'

/** Who took something away. */
export type Remover = 'author' | 'moderator' | 'platform'

/** A post of the world. Seconds since the epoch. */
export type Post = {
  kind: 't3'
  id: string
  name: string
  serial: number
  created_s: number
  subforum: Subforum
  author: User
  title: string
  text: string
  shape: PostKind
  /** What it points to; null for a text post. */
  url: string | null
  /** Ids of a gallery's pictures. */
  pictures: readonly string[]
  origin: Post | null
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
  comments: Comment[]
  comment_count: number
  crossposts: number
  rendered: Rendered | null
}

/** A comment of the world. Seconds since the epoch. */
export type Comment = {
  kind: 't1'
  id: string
  name: string
  serial: number
  created_s: number
  post: Post
  parent: Comment | null
  depth: number
  author: User
  text: string
  ups: number
  downs: number
  stickied: boolean
  locked: boolean
  distinguished: 'moderator' | 'admin' | null
  edited_s: number | null
  removed: Remover | null
  replies: Comment[]
  rendered: Rendered | null
}

/** A message from one person to another. */
export type Message = {
  kind: 't4'
  id: string
  name: string
  serial: number
  created_s: number
  author: User
  to: User | Subforum
  subject: string
  text: string
  /** What it answers, and what began the thread. */
  parent: Message | null
  first: Message | null
  /** Of what began a thread: all that followed, oldest first. */
  replies: Message[]
}

/** What lies in somebody's inbox: mail, or a comment that answers something of one's own. */
export type Letter = { thing: Message | Comment; unread: boolean }

/** Something that happened in a room; what was said, among it. */
export type RoomEvent = {
  id: string
  type: string
  sender: User
  /** Whose standing it is about; null for what was said. */
  about: User | null
  /** Epoch ms. */
  at: number
  content: Record<string, unknown>
}

/** A chat of two. */
export type Room = {
  id: string
  /** Who is in, and who was asked in. */
  members: Map<User, 'join' | 'invite'>
  /** Oldest first. */
  events: RoomEvent[]
  /** By sender and the name they gave to what they sent: the same again is the same. */
  sent: Map<string, RoomEvent>
  /** How many of the events each has seen. */
  seen: Map<User, number>
}

/** What stands in listings, and has votes. */
export type Thing = Post | Comment

/** A thing as everybody sees it under one address, kept until it changes or the instant given. */
type Rendered = { text: string; until_s: number; origin: string }

/** A sign-in of a person. */
export type Session = {
  /** The value of the session cookie. */
  cookie: string
  user: User
  modhash: string
  csrf_token: string
  loid: string
  /** The bearer of pages for people; a new one comes with a page when this is old. */
  token_v2: string
  /** Epoch s. */
  expires_s: number
  revoked: boolean
}

/** What opens the bearer host: an application, mostly in somebody's name. */
type Bearer = {
  token: string
  /** Null: the application's own. */
  user: User | null
  /** Epoch s. */
  expires_s: number
  /** The cookie session it came with; it dies with that. */
  session: Session | null
  revoked: boolean
}

/** A program that somebody registered with the platform. */
export type Application = { client_id: string; client_secret: string }

/** All there is. */
export type World = {
  chance: Chance
  /** Epoch ms, by the sandbox's own clock. */
  now(): number
  /** By lower-case name. */
  subforums: Map<string, Subforum>
  /** By lower-case name. */
  users: Map<string, User>
  /** By fullname. */
  things: Map<string, Thing>
  /** By cookie value. */
  sessions: Map<string, Session>
  /** By token. */
  bearers: Map<string, Bearer>
  /** By refresh token: in whose name it renews. */
  grants: Map<string, User>
  /** By client id. */
  applications: Map<string, Application>
  /** By fullname. */
  messages: Map<string, Message>
  /** By id. */
  rooms: Map<string, Room>
  /** Changes whenever anything does; what is computed from the world is kept per version. */
  version: number
  next: { post: number; comment: number; user: number; subforum: number; message: number }
}
