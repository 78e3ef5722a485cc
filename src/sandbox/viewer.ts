import type { Comment, Post, Session, Thing, User } from './model.ts'

/** Through whose eyes, when and under which address an answer is written. */
export type Viewer = {
  /** Null: nobody, a session that is dead, or an application without a user. */
  user: User | null
  /** The cookie session it came with, where it is alive. */
  session: Session | null
  /** The write token that listings carry: null for a bearer, empty for nobody. */
  modhash: string | null
  now_s: number
  /** Where links lead, whatever host was asked: `http://host:port`, without a slash at the end. */
  origin: string
}

/** How a thing differs for this viewer from what everybody sees. */
export type OwnView = { author: boolean; likes: boolean | null; saved: boolean; hidden: boolean }

/** Null where the viewer sees what everybody sees. */
export function viewOf({ user }: Viewer, thing: Thing): OwnView | null {
  if (user === null) return null
  const vote = user.votes.get(thing)
  const own = {
    author: thing.author === user,
    likes: vote === undefined ? null : vote > 0,
    saved: user.saved.includes(thing),
    hidden: thing.kind === 't3' && user.hidden.includes(thing),
  }
  return own.author || own.likes !== null || own.saved || own.hidden ? own : null
}

/** Whether a listing shows it. Its author still sees what others have lost sight of. */
export function visible(thing: Post | Comment, user: User | null): boolean {
  if (thing.author === user) return thing.removed !== 'author'
  return thing.removed === null && thing.author.standing !== 'shadowed'
}
