import type { FaultRule } from '../faults/rules.ts'
import type { SandboxSession, SandboxUser, World } from '../world/model.ts'
import type { ParsedRequest } from './request.ts'
import { findBearer, findSession, SESSION_COOKIE } from './sessions.ts'

/** Identity of a request. */
export type SandboxIdentity = {
  user: SandboxUser | null
  session: SandboxSession | null
  modhash: string | null
  /** False: the bearer host refuses the request because it has no valid token. */
  authorized: boolean
  /** Bucket of the rate limit. */
  bucket: string
}

/**
 * Identifies a request by its cookie, or on the bearer host by its token. A dead session counts as
 * anonymous, without an error.
 */
export function identify(
  world: World,
  parsed: ParsedRequest,
  rule: FaultRule | null,
): SandboxIdentity {
  return parsed.host === 'www' ? byCookie(world, parsed, rule) : byBearer(world, parsed, rule)
}

function byCookie(
  world: World,
  { cookies, address }: ParsedRequest,
  rule: FaultRule | null,
): SandboxIdentity {
  const found = dropsSession(rule) ? null : findSession(world, cookies.get(SESSION_COOKIE) ?? '')
  if (found === null)
    return {
      user: null,
      session: null,
      modhash: '',
      authorized: true,
      bucket: `address ${address}`,
    }
  if (revokesSession(rule)) found.revoked = true
  const { user, modhash, cookie } = found
  return { user, session: found, modhash, authorized: true, bucket: `session ${cookie}` }
}

function byBearer(
  world: World,
  { request, address }: ParsedRequest,
  rule: FaultRule | null,
): SandboxIdentity {
  const [, token = ''] = /^bearer (.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  const user = dropsSession(rule) ? undefined : findBearer(world, token)
  if (user === undefined)
    return {
      user: null,
      session: null,
      modhash: null,
      authorized: false,
      bucket: `address ${address}`,
    }
  if (revokesSession(rule)) world.bearers.delete(token)
  return { user, session: null, modhash: null, authorized: true, bucket: `bearer ${token}` }
}

const dropsSession = (rule: FaultRule | null) => rule?.input.fault === 'drop_session'

/** The fault ends the session after this request. */
const revokesSession = (rule: FaultRule | null) =>
  rule?.input.fault === 'revoke_after_n' && rule.uses >= (rule.input.count ?? 1)
