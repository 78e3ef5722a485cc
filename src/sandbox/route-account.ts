import { type Answer, json, refusal, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode } from './json.ts'
import type { Thing, User } from './model.ts'
import { bareMe } from './native-user.ts'
import { PREFERENCES } from './preferences.ts'

/** `/api/v1/…`: whose token it is. With cookies all of it but the trophies is refused. */
export function v1(ask: Ask, [first, second, third]: readonly string[]): Answer {
  if (first === 'user' && third === 'trophies') return trophiesOf(ask, second ?? '')
  const { user } = ask.viewer
  if (first !== 'me') return ask.face === 'www' ? refusal(403) : refusal(404)
  if (user === null || ask.face === 'www') return loginRequired
  switch (second) {
    case undefined:
      return json(encode(bareMe(user, ask.world)))
    case 'karma':
      return json(encode({ kind: 'KarmaList', data: karma(user) }))
    case 'prefs':
      return json(encode({ ...PREFERENCES, hide_from_robots: user.curated }))
    case 'friends':
      return json(encode(userList([])))
    case 'blocked':
      return json(encode(userList([...user.blocked])))
    case 'trophies':
      return json(encode(trophies(ask, user)))
    default:
      return refusal(404)
  }
}

const loginRequired: Answer = json(
  '{"explanation": "Please log in to do that.", "message": "Forbidden", "reason": "USER_REQUIRED"}',
  403,
)

/** `/prefs/blocked`, `/prefs/friends` and so on: lists without pages. */
export function preferences({ viewer }: Ask, which: string | undefined): Answer {
  const { user } = viewer
  if (user === null) return refusal(403)
  switch (which ?? '') {
    case 'blocked':
      return json(encode(userList([...user.blocked])))
    case 'trusted':
      return json(encode(userList([])))
    case 'friends':
    case 'messaging':
      return json(encode([userList([]), userList([...user.blocked])]))
    default:
      return unregistered
  }
}

const userList = (users: readonly User[]) => ({
  kind: 'UserList',
  data: {
    children: users.map(({ name, id, serial, created_s }) => ({
      date: created_s,
      rel_id: `r9_${(serial * 2).toString(36)}`,
      name,
      id: `t2_${id}`,
    })),
  },
})

type Points = { sr: string; comment_karma: number; link_karma: number }
const points = (row: Points) => row.comment_karma + row.link_karma

/** Where the points come from, most first. */
function karma({ posts, comments }: User) {
  const places = new Map<string, Points>()
  const add = (things: readonly Thing[], kind: 'comment_karma' | 'link_karma') => {
    for (const thing of things) {
      const { name: sr } = thing.kind === 't3' ? thing.subforum : thing.post.subforum
      const row = places.get(sr) ?? { sr, comment_karma: 0, link_karma: 0 }
      row[kind] += thing.ups - thing.downs
      places.set(sr, row)
    }
  }
  add(posts, 'link_karma')
  add(comments, 'comment_karma')
  return [...places.values()].toSorted((one, other) => points(other) - points(one))
}

/** `/user/<name>/trophies` and the same under `/api/v1`: anybody may look. */
export function trophiesOf(ask: Ask, name: string): Answer {
  const user = ask.world.users.get(name.toLowerCase())
  const gone = user === undefined || user.standing === 'deleted' || user.standing === 'shadowed'
  return gone ? refusal(404) : json(encode(trophies(ask, user)))
}

const YEAR_S = 365 * 86_400
const AWARDS = 'https://www.redditstatic.com/awards2/'

/** One for every year's standing, as the platform counts them, and what else there is. */
function trophies({ viewer }: Ask, user: User) {
  const years = Math.floor((viewer.now_s - user.created_s) / YEAR_S)
  const won = [
    ...(years > 0
      ? [{ name: `${years}-Year Club`, icon: `${years}_year_club`, award_id: null }]
      : []),
    ...(user.verified ? [{ name: 'Verified Email', icon: 'verified_email', award_id: 'o' }] : []),
    ...(user.premium ? [{ name: 'Premium', icon: 'reddit_premium', award_id: '2u' }] : []),
  ]
  return {
    kind: 'TrophyList',
    data: {
      trophies: won.map(({ name, icon, award_id }) => ({
        kind: 't6',
        data: {
          icon_70: `${AWARDS}${icon}-70.png`,
          granted_at: award_id === null ? user.created_s + years * YEAR_S : null,
          url: null,
          icon_40: `${AWARDS}${icon}-40.png`,
          name,
          award_id,
          id: award_id === null ? null : (user.serial * 5 + award_id.length).toString(36),
          description: null,
        },
      })),
    },
  }
}
