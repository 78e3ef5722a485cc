import type { Me } from '../core/items.ts'
import type { Outcome } from '../core/outcome.ts'
import type { StateReason } from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Clock } from '../outside.ts'
import type { Jar, Jars } from './cookies.ts'
import type { Forum } from './forum.ts'
import type { Login, LoginCode } from './login.ts'
import type { Tokens } from './oauth.ts'
import type { Eyes } from './platform.ts'

/** Why an account could not be signed in; null where the platform gave no verdict. */
const REASONS: Readonly<Record<LoginCode, StateReason | null>> = {
  AUTH_FAILED: 'wrong_credentials',
  TWO_FACTOR_REQUIRED: 'second_factor_required',
  TWO_FACTOR_INVALID: 'second_factor_refused',
  UPSTREAM_BLOCKED: 'human_check',
  UNKNOWN: null,
  UPSTREAM_ERROR: null,
}

/** What trying again with the same credentials would not change. */
const FINAL: ReadonlySet<LoginCode> = new Set([
  'AUTH_FAILED',
  'TWO_FACTOR_REQUIRED',
  'TWO_FACTOR_INVALID',
])

type Deps = {
  forum: Pick<Forum, 'me' | 'headroom'>
  jars: Jars
  login: Login
  tokens: Tokens
  clock: Clock
  /** For everything that is done about one account at once. */
  deadline_ms: number
}

/** What the pool can do about an account at the platform. */
export function createCraft({ forum, jars, login, tokens, clock, deadline_ms }: Deps) {
  const visitor = (proxy: Proxy | null) => ({
    proxy,
    whose: 'pool' as const,
    deadline_at: clock.now() + deadline_ms,
  })

  return {
    /** A jar as it was stored; what is none has nothing in it, and its account has to sign in. */
    openJar: (text: string): Jar => jars.open(text) ?? jars.empty(),
    me: (eyes: Eyes): Promise<Outcome<Me | null>> =>
      forum.me({ eyes, use: 'poll', deadline_at: clock.now() + deadline_ms }),
    async signIn({ proxy, ...who }: SignInRequest) {
      const done = await login({ ...who, ...visitor(proxy) })
      if (done.ok) return { ok: true, jar: done.jar, username: done.name } as const
      return { ok: false, reason: REASONS[done.code], final: FINAL.has(done.code) } as const
    },
    async renew({ proxy, ...grant }: RenewRequest) {
      const done = await tokens(grant, visitor(proxy))
      if (!done.ok) return { ok: false, final: done.fault.kind === 'login_required' } as const
      const { refresh_token, ...token } = done.value
      return { ok: true, token, refresh_token } as const
    },
    headroom: forum.headroom,
  }
}

type SignInRequest = {
  username: string
  password: string
  totp_secret: string | null
  proxy: Proxy | null
}
type RenewRequest = {
  client_id: string
  client_secret: string
  refresh_token: string | null
  proxy: Proxy | null
}
