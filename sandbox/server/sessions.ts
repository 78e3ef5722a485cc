import type { SandboxSession, SandboxUser, World } from '../world/model.ts'
import type { SeededRandom } from '../world/random.ts'
import { nowSeconds } from '../world/world.ts'

/** The platform's name of its session cookie. */
export const SESSION_COOKIE = 'reddit_session'

/** The platform's cookies, and the field of a session that each contains. */
export const SESSION_FIELDS = [
  [SESSION_COOKIE, 'cookie'],
  ['loid', 'loid'],
  ['csrf_token', 'csrf_token'],
  ['token_v2', 'token_v2'],
] as const

/** About 181 days. */
const SESSION_S = 15_638_400
const TOKEN_S = 86_400
/** An HTML page renews a bearer with less than this remaining. */
const RENEW_BEFORE_S = 3_600

/** Opens a session for a user, with every cookie of a browser. */
export function addSession(
  world: World,
  user: SandboxUser,
  {
    random = world.random,
    lifetime_s = SESSION_S,
  }: { random?: SeededRandom; lifetime_s?: number } = {},
): SandboxSession {
  const now_s = nowSeconds(world)
  const expires_s = now_s + lifetime_s
  const jti = random.text(22)
  const session: SandboxSession = {
    cookie: unsignedJwt(random, {
      sub: `t2_${user.id}`,
      iat: now_s,
      jti,
      exp: expires_s,
      cid: 'cookie',
    }),
    user,
    modhash: random.text(50),
    csrf_token: random.text(32, '0123456789abcdef'),
    loid: `${user.id.padStart(18, '0')}.2.${user.created_s * 1000}.${random.text(24)}`,
    token_v2: '',
    expires_s,
    revoked: false,
  }
  renewBearer(world, session, random, jti)
  world.sessions.set(session.cookie, session)
  return session
}

/** True for a session or token that is neither revoked nor expired. */
const isAlive = ({ revoked, expires_s }: { revoked: boolean; expires_s: number }, now_s: number) =>
  !revoked && now_s < expires_s

/** Valid session of a cookie. */
export function findSession(world: World, cookie: string): SandboxSession | null {
  const session = world.sessions.get(cookie)
  return session !== undefined && isAlive(session, nowSeconds(world)) ? session : null
}

/** Renews the bearer of a session if it is about to expire. */
export function refreshBearer(world: World, session: SandboxSession, random: SeededRandom): void {
  const bearer = world.bearers.get(session.token_v2)
  if (bearer === undefined || bearer.expires_s - nowSeconds(world) <= RENEW_BEFORE_S)
    renewBearer(world, session, random, random.text(22))
}

function renewBearer(
  world: World,
  session: SandboxSession,
  random: SeededRandom,
  jti: string,
): void {
  const { user } = session
  const now_s = nowSeconds(world)
  const bearer = openBearer(world, { user, session, random, jti, lifetime_s: TOKEN_S })
  session.token_v2 = bearer.token
  // Expired bearers are deleted.
  for (const [text, { expires_s }] of world.bearers)
    if (expires_s <= now_s) world.bearers.delete(text)
}

/** Issues a bearer for a user, or for an application alone. */
export function openBearer(
  world: World,
  {
    user,
    session = null,
    random,
    jti = random.text(22),
    lifetime_s,
  }: {
    user: SandboxUser | null
    session?: SandboxSession | null
    random: SeededRandom
    jti?: string
    lifetime_s: number
  },
): { token: string; expires_s: number } {
  const now_s = nowSeconds(world)
  const subject = user === null ? 'loid' : `t2_${user.id}`
  const expires_s = now_s + lifetime_s
  const text = unsignedJwt(random, {
    sub: subject,
    iat: now_s,
    jti,
    exp: expires_s,
    lid: subject,
  })
  world.bearers.set(text, { token: text, user, expires_s, session, revoked: false })
  return { token: text, expires_s }
}

/** Issues a refresh token, with which an application acts on behalf of a user. */
export function issueRefreshToken(
  { grants }: World,
  user: SandboxUser,
  random: SeededRandom,
): string {
  const refresh_token = `${random.whole(10 ** 11, 10 ** 12 - 1)}-${random.text(24)}`
  grants.set(refresh_token, user)
  return refresh_token
}

/** User of a valid bearer; null for an application's own; undefined for an invalid one. */
export function findBearer(world: World, text: string): SandboxUser | null | undefined {
  const bearer = world.bearers.get(text)
  const now_s = nowSeconds(world)
  if (bearer === undefined || !isAlive(bearer, now_s)) return undefined
  if (bearer.session !== null && !isAlive(bearer.session, now_s)) return undefined
  return bearer.user
}

/** Ends every session of a user with its tokens, as a password change does. */
export function endSessions(world: World, user: SandboxUser): void {
  for (const session of world.sessions.values()) if (session.user === user) session.revoked = true
  for (const bearer of world.bearers.values()) if (bearer.user === user) bearer.revoked = true
  for (const [text, owner] of world.grants) if (owner === user) world.grants.delete(text)
}

// Has the form of the platform's tokens, with a random signature.
function unsignedJwt(random: SeededRandom, claims: object): string {
  return `${encodePart({ alg: 'RS256', typ: 'JWT', kid: 'sandbox' })}.${encodePart(claims)}.${random.text(64)}`
}

const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
