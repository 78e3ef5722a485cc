import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode } from './json.ts'
import { envelope } from './listing.ts'
import type { Subforum, Thing } from './model.ts'
import { renderComment } from './native-comment.ts'
import { renderPost } from './native-post.ts'
import { renderSubforum } from './native-subforum.ts'
import { bareMe, renderMe } from './native-user.ts'
import { mayRead } from './places.ts'

const MOST_IDS = 100

/** `/api/info`: any kinds, masked ones too; what is unknown or out of sight is left out. */
export function info(ask: Ask): Answer {
  const ids = (ask.query.get('id') ?? '').split(',').filter((id) => id !== '')
  if (ids.length > MOST_IDS) return refusal(400)
  const byName = (ask.query.get('sr_name') ?? '').split(',').filter((name) => name !== '')
  const rows = ids.flatMap((id) => byFullname(ask, id))
  for (const name of byName.slice(0, MOST_IDS)) {
    const subforum = ask.world.subforums.get(name.toLowerCase())
    if (subforum) rows.push(renderSubforum(subforum, ask.viewer))
  }
  return json(envelope(ask, rows, { after: null, before: null }))
}

/** `/by_id/t3_a,t3_b`: posts only. */
export function byId(ask: Ask, joined: string): Answer {
  const ids = joined.split(',').filter((id) => id.startsWith('t3_'))
  if (ids.length === 0) return refusal(404)
  const rows = ids.slice(0, MOST_IDS).flatMap((id) => byFullname(ask, id))
  return json(envelope(ask, rows, { after: null, before: null }))
}

function byFullname(ask: Ask, fullname: string): string[] {
  const { world, viewer } = ask
  if (fullname.startsWith('t5_')) {
    const found = [...world.subforums.values()].find(({ id }) => `t5_${id}` === fullname)
    return found && readable(ask, found) ? [renderSubforum(found, viewer)] : []
  }
  const thing = world.things.get(fullname)
  if (thing === undefined || !readable(ask, placeOf(thing)) || shadowed(ask, thing)) return []
  return [
    thing.kind === 't3'
      ? renderPost(thing, viewer)
      : renderComment(thing, viewer, { kind: 'alone' }),
  ]
}

const placeOf = (thing: Thing): Subforum =>
  thing.kind === 't3' ? thing.subforum : thing.post.subforum

const readable = ({ viewer }: Ask, subforum: Subforum) => mayRead(subforum, viewer.user)

// What a shadowed account wrote is not there for anybody else.
const shadowed = ({ viewer }: Ask, thing: Thing) =>
  thing.author.standing === 'shadowed' && thing.author !== viewer.user

/** `/api/me`: a dead session is answered like none, with success and without a name. */
export function me({ viewer, world }: Ask): Answer {
  if (viewer.session) return json(renderMe(viewer.session, world))
  return json(
    viewer.user
      ? encode({ kind: 't2', data: { ...bareMe(viewer.user, world), modhash: null } })
      : '{"data":{"features":{}}}',
  )
}
