import type { Chance } from './chance.ts'
import type { Session, User, World } from './model.ts'
import { nowSeconds } from './world.ts'

/** What the platform itself calls its session cookie. */
export const SESSION_COOKIE = 'reddit_session'

/** The platform's cookies, and which part of a session each of them carries. */
export const SESSION_FIELDS = [
  [SESSION_COOKIE, 'cookie'],
  ['loid', 'loid'],
  ['csrf_token', 'csrf_token'],
  ['token_v2', 'token_v2'],
] as const

/** Opens a session for a user, with every cookie a browser would hold. */
export function addSession(world: World, user: User): Session {
  const { chance } = world
  const now_s = nowSeconds(world)
  const claims = { sub: `t2_${user.id}`, iat: now_s, jti: chance.text(22) }
  const session: Session = {
    cookie: token(chance, { ...claims, exp: now_s + SESSION_S, cid: 'cookie' }),
    user,
    modhash: chance.text(50),
    csrf_token: chance.text(32, '0123456789abcdef'),
    loid: `${user.id.padStart(18, '0')}.2.${user.created_s * 1000}.${chance.text(24)}`,
    token_v2: token(chance, { ...claims, exp: now_s + 86_400, lid: `t2_${user.id}` }),
    revoked: false,
  }
  world.sessions.set(session.cookie, session)
  return session
}

/** About 181 days. */
const SESSION_S = 15_638_400

// Shaped like the platform's own, and signed by nobody.
function token(chance: Chance, claims: object): string {
  return `${part({ alg: 'RS256', typ: 'JWT', kid: 'sandbox' })}.${part(claims)}.${chance.text(64)}`
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
