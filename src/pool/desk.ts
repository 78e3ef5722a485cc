import type { Me } from '../core/items.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Finding } from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Clock } from '../outside.ts'
import type { Jars } from '../platform/cookies.ts'
import { ANONYMOUS, type Eyes } from '../platform/platform.ts'
import type { AccountSecrets, Jar } from '../store/accounts.ts'
import { type Craft, findingOf, type OpenJar, type Token } from './craft.ts'
import { tokenShape } from './member.ts'

type Claim = { secrets: AccountSecrets; jar: string | null; proxy: Proxy | null }

type Tested = { finding: Finding; username: string | null; jar?: Jar; secrets?: AccountSecrets }

/** What the operator asks of the platform for an account while no pool has it in hand. Nothing is kept here. */
export function createDesk({ craft, jars, clock }: { craft: Craft; jars: Jars; clock: Clock }) {
  async function asSession({ jar: stored, proxy, secrets }: Claim): Promise<Tested> {
    const jar = stored === null ? null : craft.openJar(stored)
    if (!jar?.has_session()) return NOBODY
    const before = jar.text()
    const eyes: Eyes = {
      ...through(proxy),
      cookie: jar.header(),
      on_cookies: (lines) => void jar.take(lines),
    }
    const me = await craft.me(eyes)
    return { ...told(me, secrets), ...(jar.text() !== before && { jar: toJar(jar) }) }
  }

  async function asApplication(
    { jar, proxy }: Claim,
    secrets: AccountSecrets & { kind: 'oauth' },
  ): Promise<Tested> {
    const { kind, ...grant } = secrets
    const known = jar === null ? null : tokenShape().parse(JSON.parse(jar))
    // A token that is good is asked with as it is: another one would take the daemon's away.
    if (known !== null && known.renew_at > clock.now())
      return told(await craft.me({ ...through(proxy), bearer: known.value }), secrets)
    const renewed = await craft.renew({ ...grant, proxy })
    if (!renewed.ok)
      return renewed.final ? NOBODY : { finding: { kind: 'unclear' }, username: null }
    const me = await craft.me({ ...through(proxy), bearer: renewed.token.value })
    return {
      ...told(me, secrets),
      jar: ofToken(renewed.token),
      secrets: { kind, ...grant, refresh_token: renewed.refresh_token },
    }
  }

  return {
    readJar(text: string) {
      const read = jars.import(text)
      if (!read.ok) return read
      return { ok: true as const, jar: toJar(read.jar), cookies: read.cookies, others: read.others }
    },
    test: (claim: Claim): Promise<Tested> =>
      claim.secrets.kind === 'oauth' ? asApplication(claim, claim.secrets) : asSession(claim),
    async signIn(who: Parameters<Craft['signIn']>[0]) {
      const ended = await craft.signIn(who)
      return ended.ok ? { ...ended, jar: toJar(ended.jar) } : ended
    },
    tryProxy: (proxy: Proxy): Promise<Outcome<Me | null>> =>
      craft.me({ ...ANONYMOUS, ...through(proxy) }),
  }
}

const NOBODY: Tested = { finding: { kind: 'nobody' }, username: null }

const through = (proxy: Proxy | null): Eyes => ({ ...ANONYMOUS, id: 'desk', whose: 'pool', proxy })

const told = (me: Outcome<Me | null>, secrets: AccountSecrets) => ({
  finding: findingOf(me, secrets),
  username: me.ok ? (me.value?.name ?? null) : null,
})

const toJar = (jar: OpenJar): Jar => ({
  text: jar.text(),
  expires_at: jar.expires_at(),
})
const ofToken = (token: Token): Jar => ({
  text: JSON.stringify(token),
  expires_at: token.expires_at,
})
