import type { Me } from '../core/items.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Finding, StateReason } from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Jar } from '../platform/cookies.ts'
import type { Eyes, Use } from '../platform/platform.ts'
import type { AccountSecrets } from '../store/accounts.ts'

/** A session's cookies, opened. */
export type OpenJar = Pick<Jar, 'header' | 'take' | 'has_session' | 'text' | 'expires_at'>

/** An application's access token; epoch ms. */
export type Token = { value: string; renew_at: number; expires_at: number }

/** How a sign-in ended. `final`: trying again with the same would end the same. */
export type SignedIn =
  | { ok: true; jar: OpenJar; username: string }
  | { ok: false; reason: StateReason | null; final: boolean; retry_after_s?: number }

/** What came of renewing a token. */
export type Renewed =
  { ok: true; token: Token; refresh_token: string | null } | { ok: false; final: boolean }

/** What the pool asks of the platform. */
export type Craft = {
  /** A stored jar; null when it is none. */
  openJar(text: string): OpenJar | null
  me(eyes: Eyes): Promise<Outcome<Me | null>>
  signIn(who: {
    username: string
    password: string
    totp_secret: string | null
    proxy: Proxy | null
  }): Promise<SignedIn>
  renew(who: {
    client_id: string
    client_secret: string
    refresh_token: string | null
    proxy: Proxy | null
  }): Promise<Renewed>
  /** How many requests may leave at once through these eyes, and in how many ms the next one may. */
  headroom(eyes_id: string, use: Use): { requests: number; until_ms: number }
}

/** Whether it is an application by itself: it reads, and the platform takes it for nobody. */
const actsForNobody = (secrets: AccountSecrets): boolean =>
  secrets.kind === 'oauth' && secrets.refresh_token === null

/** What the answer to "who am I" shows of whoever proves themselves with these secrets. */
export function findingOf(me: Outcome<Me | null>, secrets: AccountSecrets): Finding {
  const nobody: Finding = { kind: actsForNobody(secrets) ? 'alive' : 'nobody' }
  if (me.ok) {
    if (me.value === null) return nobody
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
      return nobody
    case 'forbidden':
      // In few words, the same.
      return actsForNobody(secrets) ? nobody : { kind: 'unclear' }
    case 'not_found':
    case 'timeout':
    case 'unavailable':
    case 'unreadable':
    case 'rejected':
    case 'proxy':
      return { kind: 'unclear' }
  }
}
