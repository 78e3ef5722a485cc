import type {
  SandboxComment,
  SandboxPost,
  SandboxSession,
  SandboxUser,
  Thing,
} from '../world/model.ts'

/** Perspective of a response: user, time and address. */
export type Viewer = {
  /** Null: anonymous, a dead session, or an application without a user. */
  user: SandboxUser | null
  /** Cookie session, if it is valid. */
  session: SandboxSession | null
  /** Write token of listings: null for a bearer, empty for an anonymous viewer. */
  modhash: string | null
  now_s: number
  /** Base of all links, independent of the requested host: `http://host:port`, without a final slash. */
  origin: string
}

/** Differences of an item for this viewer. */
export type OwnView = {
  author: boolean
  moderator: boolean
  likes: boolean | null
  saved: boolean
  hidden: boolean
}

/** Null if the viewer sees the public form. */
export function ownViewOf({ user }: Viewer, thing: Thing): OwnView | null {
  if (user === null) return null
  const vote = user.votes.get(thing)
  const own = {
    author: thing.author === user,
    moderator: moderates(user, thing),
    likes: vote === undefined ? null : vote > 0,
    saved: user.saved.includes(thing),
    hidden: thing.kind === 't3' && user.hidden.includes(thing),
  }
  return own.author || own.moderator || own.likes !== null || own.saved || own.hidden ? own : null
}

const moderates = (user: SandboxUser, thing: Thing): boolean =>
  (thing.kind === 't3' ? thing.subforum : thing.post.subforum).moderators.includes(user)

/** True if a listing shows the item. Its author, and for comments a moderator, still sees it after its removal. */
export function isVisible(thing: SandboxPost | SandboxComment, user: SandboxUser | null): boolean {
  if (thing.author === user) return thing.removed !== 'author'
  if (user !== null && thing.kind === 't1' && moderates(user, thing))
    return thing.removed !== 'author'
  return thing.removed === null && thing.author.standing !== 'shadowed'
}
