import { type Answer, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { formDone, LONGEST_TEXT, refuseForm } from './form-errors.ts'
import type { Post, Thing, User } from './model.ts'
import { renderComment } from './native-comment.ts'
import { renderPost } from './native-post.ts'
import { mayRead } from './places.ts'
import { nowSeconds, remove, touch } from './world.ts'

/** `/api/vote`; null when it counted. */
export function vote(ask: Ask, user: User): Answer | null {
  const { query } = ask
  const id = query.get('id') ?? ''
  const dir = query.get('dir') ?? ''
  const number = /^[+-]?\d+$/.test(dir)
  const status = castVote(ask, user, id, number ? Math.sign(Number(dir)) : null)
  return status === null ? null : refusal(status)
}

/** Votes up, down or not at all; the status of the refusal, null when it counted. No way to vote is a broken call. */
export function castVote(ask: Ask, user: User, id: string, way: number): null | 400 | 403 | 404
export function castVote(
  ask: Ask,
  user: User,
  id: string,
  way: number | null,
): null | 400 | 403 | 404 | 500
export function castVote({ world }: Ask, user: User, id: string, way: number | null) {
  const thing = world.things.get(id)
  if (thing === undefined || thing.removed === 'author') return 404
  const place = thing.kind === 't3' ? thing.subforum : thing.post.subforum
  if (!mayRead(place, user)) return 403
  if (way === null) return 500
  if (thing.kind === 't3' ? thing.archived : thing.post.archived) return 400
  cast(user, thing, way)
  touch(world, thing)
  return null
}

/** The old vote is taken back before the new one counts. */
function cast(user: User, thing: Thing, way: number): void {
  const before = user.votes.get(thing)
  if (before === 1) thing.ups--
  if (before === -1) thing.downs--
  user.votes.delete(thing)
  if (way === 0) return
  user.votes.set(thing, way > 0 ? 1 : -1)
  if (way > 0) thing.ups++
  else thing.downs++
}

/** `/api/save` and `unsave`; null when done. */
export function save({ query, world }: Ask, user: User, keep: boolean): Answer | null {
  const thing = world.things.get(query.get('id') ?? '')
  if (thing === undefined) return refusal(404)
  user.saved = user.saved.filter((it) => it !== thing)
  if (keep) user.saved.push(thing)
  world.version++
  return null
}

const MOST_HIDDEN = 50

/** `/api/hide` and `unhide`, of several posts at once; null when done. */
export function hide({ query, world }: Ask, user: User, keep: boolean): Answer | null {
  const names = (query.get('id') ?? '').split(',').slice(0, MOST_HIDDEN)
  const posts = names
    .map((name) => world.things.get(name))
    .filter((it): it is Post => it?.kind === 't3')
  if (posts.length === 0) return refusal(404)
  user.hidden = user.hidden.filter((it) => !posts.includes(it))
  if (keep) user.hidden.push(...posts)
  world.version++
  return null
}

/** `/api/del`: what is not one's own stays, and nobody says so. */
export function erase({ query, world }: Ask, user: User): null {
  const thing = world.things.get(query.get('id') ?? '')
  if (thing?.author === user) remove(world, thing, 'author')
  return null
}

const LONGEST_EDIT = { t1: LONGEST_TEXT, t3: 40_000 }

/** `/api/editusertext`: the text of one's own post or comment, answered whole. */
export function edit(ask: Ask, user: User): Answer {
  const { query, world, viewer } = ask
  const thing = world.things.get(query.get('thing_id') ?? '')
  if (thing === undefined) return refusal(403)
  if (thing.author !== user) return refuseForm(ask, 'NOT_AUTHOR')
  const text = query.get('text') ?? ''
  if (thing.kind === 't1' && text.trim() === '') return refuseForm(ask, 'NO_TEXT')
  const longest = LONGEST_EDIT[thing.kind]
  if (text.length > longest)
    return refuseForm(ask, 'TOO_LONG', { message: `this is too long (max: ${longest})` })
  thing.text = text
  thing.edited_s = nowSeconds(world)
  touch(world, thing)
  const row =
    thing.kind === 't3'
      ? renderPost(thing, viewer)
      : renderComment(thing, viewer, { kind: 'alone' })
  return formDone(ask, `{"things":[${row}]}`)
}
