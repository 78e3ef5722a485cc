import type { AccountResult, StateReason } from '../core/accounts/status.ts'
import type { Outcome } from '../core/base/result.ts'
import type { Me } from '../core/forum/items.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type {
  CookieJar,
  CookieJars,
  Identity,
  Login,
  LoginCode,
  Payer,
  Use,
} from '../platforms/port.ts'
import type { Forum } from '../platforms/reddit/adapter.ts'
import type { OAuthTokens } from '../platforms/reddit/login/oauth.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { AccountSecrets } from '../store/accounts/accounts.ts'

export type OpenJar = Omit<CookieJar, 'cookies'>

/** An application's access token; times are epoch ms. */
export type Token = { value: string; renew_at: number; expires_at: number }

/** Result of a sign-in. `final`: a retry with the same credentials fails too. */
export type AccountLogin =
  | { ok: true; jar: OpenJar; username: string }
  | { ok: false; reason: StateReason | null; final: boolean; retry_after_s?: number }

/** Result of renewing a token. `revoked`: the platform refuses the application itself. */
export type Renewed =
  | { ok: true; token: Token; refresh_token: string | null }
  | { ok: false; final: boolean; revoked?: true }

export type AccountClient = {
  /** A stored jar; null if the text is none. */
  openJar(text: string): OpenJar | null
  me(identity: Identity): Promise<Outcome<Me | null>>
  /** Names of users whom the account has blocked. */
  blocked(identity: Identity): Promise<Outcome<string[]>>
  signIn(who: {
    username: string
    password: string
    totp_secret: string | null
    proxy: Proxy | null
  }): Promise<AccountLogin>
  renew(who: {
    client_id: string
    client_secret: string
    refresh_token: string | null
    proxy: Proxy | null
  }): Promise<Renewed>
  /** One read that any application may make; a fault if it is refused too. */
  readPublic(identity: Identity): Promise<Outcome<unknown>>
  /** Requests that this identity may send at once; if none, ms until the next one. */
  headroom(payer: Payer, use: Use): { requests: number; until_ms: number }
  /** Rate budget of this identity for display; null before the first request of it. */
  budget(payer: Payer): ReturnType<Forum['budget']>
}

/** True for an application without a user: it can read, and the platform treats it as anonymous. */
const isAnonymous = (secrets: AccountSecrets): boolean =>
  secrets.kind === 'oauth' && secrets.refresh_token === null

export function toAccountResult(me: Outcome<Me | null>, secrets: AccountSecrets): AccountResult {
  const anonymous: AccountResult = { kind: isAnonymous(secrets) ? 'alive' : 'logged_out' }
  if (me.ok) {
    if (me.value === null) return anonymous
    if (me.value.is_locked) return { kind: 'locked' }
    return { kind: me.value.is_suspended ? 'suspended' : 'alive' }
  }
  const { fault } = me
  switch (fault.kind) {
    case 'throttled':
      return { kind: 'throttled', retry_after_s: fault.retry_after_s }
    case 'blocked':
      return { kind: 'blocked' }
    case 'login_required':
      return anonymous
    case 'forbidden':
      // A 403 without a reason means the same as "not signed in".
      return isAnonymous(secrets) ? anonymous : { kind: 'unclear' }
    case 'not_found':
    case 'timeout':
    case 'unavailable':
    case 'unreadable':
    case 'rejected':
    case 'unsupported':
    case 'proxy':
      return { kind: 'unclear' }
  }
}

const REQUEST_TIMEOUT_MS = 30_000
const SIGN_IN_TIMEOUT_MS = 60_000

/** Account state after each failed sign-in; the platform's own verdicts are final. */
const LOGIN_ENDS: Readonly<Record<LoginCode, { reason: StateReason | null; final: boolean }>> = {
  AUTH_FAILED: { reason: 'wrong_credentials', final: true },
  TWO_FACTOR_REQUIRED: { reason: 'second_factor_required', final: true },
  TWO_FACTOR_INVALID: { reason: 'second_factor_refused', final: true },
  UPSTREAM_BLOCKED: { reason: 'human_check', final: false },
  UPSTREAM_ERROR: { reason: null, final: false },
  UNKNOWN: { reason: null, final: false },
}

export function createAccountClient(deps: {
  forum: Pick<Forum, 'me' | 'blocked' | 'communities' | 'headroom' | 'budget'>
  jars: CookieJars
  login: Login
  tokens: OAuthTokens
  clock: Clock
  signal: AbortSignal
}): AccountClient {
  const { forum, jars, login, tokens, clock, signal } = deps
  const within = (ms: number) => ({ deadline_at: clock.now() + ms, signal })

  return {
    openJar: jars.open,
    me: (identity) => forum.me({ identity, ...within(REQUEST_TIMEOUT_MS) }),
    blocked: (identity) => forum.blocked({ identity, ...within(REQUEST_TIMEOUT_MS) }),
    async signIn(who) {
      const ended = await login({ ...who, whose: 'pool', ...within(SIGN_IN_TIMEOUT_MS) })
      if (ended.ok) return { ok: true, jar: ended.jar, username: ended.name }
      const { code, retry_after_s } = ended
      return {
        ok: false,
        ...LOGIN_ENDS[code],
        ...(retry_after_s !== undefined && { retry_after_s }),
      }
    },
    async renew({ proxy, ...grant }) {
      const got = await tokens(grant, { proxy, whose: 'pool', ...within(REQUEST_TIMEOUT_MS) })
      if (!got.ok) {
        const final = got.fault.kind === 'login_required'
        const revoked = got.fault.kind === 'login_required' && got.fault.revoked === true
        return { ok: false, final, ...(revoked && { revoked }) }
      }
      const { refresh_token, ...token } = got.value
      return { ok: true, token, refresh_token }
    },
    readPublic: (identity) =>
      forum.communities(
        { which: 'popular', limit: 1, after: null },
        { identity, ...within(REQUEST_TIMEOUT_MS) },
      ),
    headroom: forum.headroom,
    budget: forum.budget,
  }
}
