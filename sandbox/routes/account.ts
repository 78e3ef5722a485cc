import { PREFERENCES } from '../data/preferences.ts'
import { meFields } from '../render/users.ts'
import type { SandboxRequest } from '../server/request.ts'
import { encode, json, refusal, type SandboxResponse, unregistered } from '../server/response.ts'
import type { SandboxUser, Thing } from '../world/model.ts'

/**
 * `/api/v1/…`: data of the token's own account. With cookies, everything but the trophies is
 * refused.
 */
export function v1(
  request: SandboxRequest,
  [first, second, third]: readonly string[],
): SandboxResponse {
  if (first === 'user' && third === 'trophies') return trophiesOf(request, second ?? '')
  const { user } = request.viewer
  if (first !== 'me') return request.host === 'www' ? refusal(403) : refusal(404)
  if (user === null || request.host === 'www') return loginRequired
  switch (second) {
    case undefined:
      return json(encode(meFields(user, request.world)))
    case 'karma':
      return json(encode({ kind: 'KarmaList', data: karma(user) }))
    case 'prefs':
      return json(encode({ ...PREFERENCES, hide_from_robots: user.curated }))
    case 'friends':
      return json(encode(userList([])))
    case 'blocked':
      return json(encode(userList([...user.blocked])))
    case 'trophies':
      return json(encode(trophies(request, user)))
    default:
      return refusal(404)
  }
}

const loginRequired: SandboxResponse = json(
  '{"explanation": "Please log in to do that.", "message": "Forbidden", "reason": "USER_REQUIRED"}',
  403,
)

/** `/prefs/blocked`, `/prefs/friends` and so on: lists without pages. */
export function preferences(
  { viewer }: SandboxRequest,
  which: string | undefined,
): SandboxResponse {
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

const userList = (users: readonly SandboxUser[]) => ({
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

/** Karma by subforum, highest first. */
function karma({ posts, comments }: SandboxUser) {
  const by_subforum = new Map<string, Points>()
  const add = (things: readonly Thing[], kind: 'comment_karma' | 'link_karma') => {
    for (const thing of things) {
      const { name: sr } = thing.kind === 't3' ? thing.subforum : thing.post.subforum
      const row = by_subforum.get(sr) ?? { sr, comment_karma: 0, link_karma: 0 }
      row[kind] += thing.ups - thing.downs
      by_subforum.set(sr, row)
    }
  }
  add(posts, 'link_karma')
  add(comments, 'comment_karma')
  return [...by_subforum.values()].toSorted((one, other) => points(other) - points(one))
}

/** `/user/<name>/trophies`, also under `/api/v1`: public. */
export function trophiesOf(request: SandboxRequest, name: string): SandboxResponse {
  const user = request.world.users.get(name.toLowerCase())
  const gone = user === undefined || user.standing === 'deleted' || user.standing === 'shadowed'
  return gone ? refusal(404) : json(encode(trophies(request, user)))
}

const YEAR_S = 365 * 86_400
const AWARDS = 'https://www.redditstatic.com/awards2/'

/** One trophy per year of membership, and the others of the account. */
function trophies({ viewer }: SandboxRequest, user: SandboxUser) {
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
