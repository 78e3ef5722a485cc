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

/** About 181 days. */
const SESSION_S = 15_638_400
const TOKEN_S = 86_400
/** A page for people renews the bearer that has no more than this left. */
const RENEWED_S = 3_600

/** Opens a session for a user, with every cookie a browser would hold. */
export function addSession(
  world: World,
  user: User,
  { chance = world.chance, lasts_s = SESSION_S }: { chance?: Chance; lasts_s?: number } = {},
): Session {
  const now_s = nowSeconds(world)
  const expires_s = now_s + lasts_s
  const jti = chance.text(22)
  const session: Session = {
    cookie: token(chance, {
      sub: `t2_${user.id}`,
      iat: now_s,
      jti,
      exp: expires_s,
      cid: 'cookie',
    }),
    user,
    modhash: chance.text(50),
    csrf_token: chance.text(32, '0123456789abcdef'),
    loid: `${user.id.padStart(18, '0')}.2.${user.created_s * 1000}.${chance.text(24)}`,
    token_v2: '',
    expires_s,
    revoked: false,
  }
  renew(world, session, chance, jti)
  world.sessions.set(session.cookie, session)
  return session
}

/** Whether the platform still knows a session. */
const alive = ({ revoked, expires_s }: { revoked: boolean; expires_s: number }, now_s: number) =>
  !revoked && now_s < expires_s

/** The living session behind a cookie. */
export function findSession(world: World, cookie: string): Session | null {
  const session = world.sessions.get(cookie)
  return session !== undefined && alive(session, nowSeconds(world)) ? session : null
}

/** Gives a session a fresh bearer where its own is old. */
export function refresh(world: World, session: Session, chance: Chance): void {
  const bearer = world.bearers.get(session.token_v2)
  if (bearer === undefined || bearer.expires_s - nowSeconds(world) <= RENEWED_S)
    renew(world, session, chance, chance.text(22))
}

function renew(world: World, session: Session, chance: Chance, jti: string): void {
  const { user } = session
  const now_s = nowSeconds(world)
  const bearer = openBearer(world, { user, session, chance, jti, lasts_s: TOKEN_S })
  session.token_v2 = bearer.token
  // What a browser was given last week opens nothing any more.
  for (const [text, { expires_s }] of world.bearers)
    if (expires_s <= now_s) world.bearers.delete(text)
}

/** Opens the bearer host for somebody, or for an application alone. */
export function openBearer(
  world: World,
  {
    user,
    session = null,
    chance,
    jti = chance.text(22),
    lasts_s,
  }: {
    user: User | null
    session?: Session | null
    chance: Chance
    jti?: string
    lasts_s: number
  },
): { token: string; expires_s: number } {
  const now_s = nowSeconds(world)
  const who = user === null ? 'loid' : `t2_${user.id}`
  const expires_s = now_s + lasts_s
  const text = token(chance, {
    sub: who,
    iat: now_s,
    jti,
    exp: expires_s,
    lid: who,
  })
  world.bearers.set(text, { token: text, user, expires_s, session, revoked: false })
  return { token: text, expires_s }
}

/** Lets applications act in somebody's name: the token with which they renew theirs. */
export function grant({ grants }: World, user: User, chance: Chance): string {
  const refresh_token = `${chance.whole(10 ** 11, 10 ** 12 - 1)}-${chance.text(24)}`
  grants.set(refresh_token, user)
  return refresh_token
}

/** Whom a bearer lets in: a living one's user, or null for an application's own. Undefined: nobody. */
export function findBearer(world: World, text: string): User | null | undefined {
  const bearer = world.bearers.get(text)
  const now_s = nowSeconds(world)
  if (bearer === undefined || !alive(bearer, now_s)) return undefined
  if (bearer.session !== null && !alive(bearer.session, now_s)) return undefined
  return bearer.user
}

/** Ends every session of a user and all that came with them, as a new password does. */
export function endSessions(world: World, user: User): void {
  for (const session of world.sessions.values()) if (session.user === user) session.revoked = true
  for (const bearer of world.bearers.values()) if (bearer.user === user) bearer.revoked = true
  for (const [text, owner] of world.grants) if (owner === user) world.grants.delete(text)
}

// Shaped like the platform's own, and signed by nobody.
function token(chance: Chance, claims: object): string {
  return `${part({ alg: 'RS256', typ: 'JWT', kid: 'sandbox' })}.${part(claims)}.${chance.text(64)}`
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
