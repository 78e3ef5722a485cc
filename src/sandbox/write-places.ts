import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode } from './json.ts'
import type { Subforum, User, World } from './model.ts'
import { userThing } from './native-user.ts'

/** `/api/subscribe`: several at once, by fullname or by name; null when done. */
export function subscribe({ query, world }: Ask, user: User): Answer | null {
  const action = query.get('action')
  if (action !== 'sub' && action !== 'unsub') return refusal(400)
  const named = (field: string) => (query.get(field) ?? '').split(',').filter((it) => it !== '')
  const wanted = [
    ...named('sr_name').map((name) => world.subforums.get(name.toLowerCase())),
    ...named('sr').map((fullname) => byFullname(world, fullname)),
  ]
  const found = wanted.filter((it): it is Subforum => it !== undefined)
  if (found.length === 0 || found.length < wanted.length) return refusal(404)
  for (const subforum of found)
    if (action === 'sub') user.subscribed.add(subforum)
    else user.subscribed.delete(subforum)
  world.version++
  return null
}

const byFullname = ({ subforums }: World, fullname: string): Subforum | undefined =>
  [...subforums.values()].find(({ id }) => `t5_${id}` === fullname)

/** `/api/quarantine_optin` and `optout`: leads to the place. Without a confirmed address nobody may. */
export function optIn({ query, world, origin }: Ask, user: User, agrees: boolean): Answer {
  const subforum = world.subforums.get(query.get('sr_name')?.toLowerCase() ?? '')
  if (subforum === undefined) return refusal(404)
  if (!user.verified) return refusal(403)
  if (agrees) user.opted_in.add(subforum)
  else user.opted_in.delete(subforum)
  world.version++
  const answer = json('{}', 302)
  const location = `${origin}/r/${subforum.name}.json`
  return { ...answer, headers: { ...answer.headers, location } }
}

/** `/api/block_user`: by name or by fullname. */
export function block({ query, world, viewer }: Ask, user: User): Answer {
  const name = query.get('name')?.toLowerCase()
  const other =
    name === undefined
      ? [...world.users.values()].find(({ id }) => `t2_${id}` === query.get('account_id'))
      : world.users.get(name)
  if (other === undefined || other === user) return refusal(400)
  user.blocked.add(other)
  const { data } = userThing(other, world)
  const icon_img = 'icon_img' in data ? data.icon_img : ''
  return json(encode({ date: viewer.now_s, icon_img, id: `t2_${other.id}`, name: other.name }))
}
