import type { StateReason } from '../core/pool.ts'
import type { Clock } from '../outside.ts'
import type { Jars } from '../platform/cookies.ts'
import type { Forum } from '../platform/forum.ts'
import type { LoginCode } from '../platform/login-verdict.ts'
import type { Login } from '../platform/login.ts'
import type { Tokens } from '../platform/oauth.ts'
import type { Craft } from './craft.ts'

/** The longest that the platform may take to say who we are, or to sign us in. */
const ASK_MS = 30_000
const SIGN_IN_MS = 60_000

/** What is said of an account by how its sign-in ended; the platform's own verdicts are final. */
const ENDS: Readonly<Record<LoginCode, { reason: StateReason | null; final: boolean }>> = {
  AUTH_FAILED: { reason: 'wrong_credentials', final: true },
  TWO_FACTOR_REQUIRED: { reason: 'second_factor_required', final: true },
  TWO_FACTOR_INVALID: { reason: 'second_factor_refused', final: true },
  UPSTREAM_BLOCKED: { reason: 'human_check', final: false },
  UPSTREAM_ERROR: { reason: null, final: false },
  UNKNOWN: { reason: null, final: false },
}

/** What the pool asks of the platform, by the platform's own parts. */
export function createCraft(deps: {
  forum: Pick<Forum, 'me' | 'headroom'>
  jars: Jars
  login: Login
  tokens: Tokens
  clock: Clock
  signal: AbortSignal
}): Craft {
  const { forum, jars, login, tokens, clock, signal } = deps
  const within = (ms: number) => ({ deadline_at: clock.now() + ms, signal })

  return {
    openJar: jars.open,
    me: (eyes) => forum.me({ eyes, ...within(ASK_MS) }),
    async signIn(who) {
      const ended = await login({ ...who, whose: 'pool', ...within(SIGN_IN_MS) })
      if (ended.ok) return { ok: true, jar: ended.jar, username: ended.name }
      const { code, retry_after_s } = ended
      return { ok: false, ...ENDS[code], ...(retry_after_s !== undefined && { retry_after_s }) }
    },
    async renew({ proxy, ...grant }) {
      const got = await tokens(grant, { proxy, whose: 'pool', ...within(ASK_MS) })
      if (!got.ok) return { ok: false, final: got.fault.kind === 'login_required' }
      const { refresh_token, ...token } = got.value
      return { ok: true, token, refresh_token }
    },
    headroom: forum.headroom,
  }
}
