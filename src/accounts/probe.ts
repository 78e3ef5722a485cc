import { type AccountResult, needsLogin, signedIn, statusOfAdded } from '../core/accounts/status.ts'
import type { Outcome } from '../core/base/result.ts'
import type { Me } from '../core/forum/items.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import { ANONYMOUS, type CookieJars, type Identity } from '../platforms/port.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { AccountSecrets, CredentialsCheck, StoredJar } from '../store/accounts/accounts.ts'
import { type AccountClient, type OpenJar, toAccountResult, type Token } from './client.ts'
import { tokenShape } from './pooled-account.ts'

type Credentials = { secrets: AccountSecrets; jar: string | null; proxy: Proxy | null }

type Tested = {
  finding: AccountResult
  username: string | null
  /** Users whom the account has blocked; absent: none, or not known. */
  blocked?: readonly string[]
  jar?: StoredJar
  secrets?: AccountSecrets
}

type ToVerify = {
  secrets: AccountSecrets
  jar: StoredJar | null
  username: string | null
  proxy: Proxy | null
}

export function createProbe({
  client,
  jars,
  clock,
}: {
  client: AccountClient
  jars: CookieJars
  clock: Clock
}) {
  /** Result of a check, with the block list of an account that works. */
  async function settled(
    me: Outcome<Me | null>,
    secrets: AccountSecrets,
    identity: Identity,
  ): Promise<Tested> {
    const finding = toAccountResult(me, secrets)
    const username = me.ok ? (me.value?.name ?? null) : null
    const list =
      finding.kind === 'alive' && username !== null ? await client.blocked(identity) : null
    const blocked = list?.ok === true ? list.value : []
    return { finding, username, ...(blocked.length > 0 && { blocked }) }
  }

  async function asSession({ jar: stored, proxy, secrets }: Credentials): Promise<Tested> {
    const jar = stored === null ? null : client.openJar(stored)
    if (!jar?.has_session()) return NO_SESSION
    const before = jar.text()
    const identity: Identity = {
      ...through(proxy),
      cookie: jar.header(),
      on_cookies: (lines) => void jar.take(lines),
    }
    const tested = await settled(await client.me(identity), secrets, identity)
    return { ...tested, ...(jar.text() !== before && { jar: toJar(jar) }) }
  }

  async function asApplication(
    { jar, proxy }: Credentials,
    secrets: AccountSecrets & { kind: 'oauth' },
  ): Promise<Tested> {
    const { kind, ...grant } = secrets
    const cached = jar === null ? null : tokenShape().parse(JSON.parse(jar))
    // A valid token is used as it is: a new one would invalidate the daemon's.
    if (cached !== null && cached.renew_at > clock.now()) {
      const identity = { ...through(proxy), bearer: cached.value }
      return settled(await client.me(identity), secrets, identity)
    }
    const renewed = await client.renew({ ...grant, proxy })
    if (!renewed.ok)
      return renewed.final ? NO_SESSION : { finding: { kind: 'unclear' }, username: null }
    const identity = { ...through(proxy), bearer: renewed.token.value }
    return {
      ...(await settled(await client.me(identity), secrets, identity)),
      jar: ofToken(renewed.token),
      secrets: { kind, ...grant, refresh_token: renewed.refresh_token },
    }
  }

  const test = (credentials: Credentials): Promise<Tested> =>
    credentials.secrets.kind === 'oauth'
      ? asApplication(credentials, credentials.secrets)
      : asSession(credentials)

  async function bySignIn(
    { username, proxy }: ToVerify,
    secrets: AccountSecrets & { kind: 'session'; password: string },
  ): Promise<CredentialsCheck> {
    const { password, totp_secret } = secrets
    const ended = await client.signIn({ username: username ?? '', password, totp_secret, proxy })
    const now = clock.now()
    const stored = { ok: true as const, finding: null, secrets }
    if (ended.ok) {
      const cookie = ended.jar.header()
      const list = await client.blocked({ ...through(proxy), cookie })
      const blocked = list.ok && list.value.length > 0 ? { blocked: list.value } : {}
      const signed = { username: ended.username, jar: toJar(ended.jar), status: signedIn(now) }
      return { ...stored, ...signed, ...blocked, reason: null }
    }
    const { reason, final } = ended
    if (final) return { ok: false, reason }
    const status = needsLogin(now, reason ?? 'never_signed_in')
    return { ...stored, username, jar: null, status, reason }
  }

  async function bySession({ secrets, jar, username, proxy }: ToVerify): Promise<CredentialsCheck> {
    const tested = await test({ secrets, jar: jar?.text ?? null, proxy })
    const { finding } = tested
    if (finding.kind === 'logged_out')
      return { ok: false, reason: secrets.kind === 'oauth' ? 'token_refused' : 'logged_out' }
    return {
      ok: true,
      secrets: tested.secrets ?? secrets,
      jar: tested.jar ?? jar,
      username: tested.username ?? username,
      status: statusOfAdded(finding, clock.now()),
      finding: finding.kind,
      ...(tested.blocked && { blocked: tested.blocked }),
      reason: null,
    }
  }

  return {
    /** Checks a session, or signs in if there is a password and no jar. */
    verify(given: ToVerify): Promise<CredentialsCheck> {
      const { secrets, jar } = given
      return secrets.kind === 'session' && secrets.password !== null && jar === null
        ? bySignIn(given, { ...secrets, password: secrets.password })
        : bySession(given)
    },
    readJar(text: string) {
      const read = jars.import(text)
      if (!read.ok) return read
      return { ok: true as const, jar: toJar(read.jar), cookies: read.cookies, others: read.others }
    },
    test,
    tryProxy: (proxy: Proxy): Promise<Outcome<Me | null>> =>
      client.me({ ...ANONYMOUS, ...through(proxy) }),
  }
}

const NO_SESSION: Tested = { finding: { kind: 'logged_out' }, username: null }

const through = (proxy: Proxy | null): Identity => ({
  ...ANONYMOUS,
  id: 'desk',
  whose: 'pool',
  proxy,
})

const toJar = (jar: OpenJar): StoredJar => ({
  text: jar.text(),
  expires_at: jar.expires_at(),
})
const ofToken = (token: Token): StoredJar => ({
  text: JSON.stringify(token),
  expires_at: token.expires_at,
})
