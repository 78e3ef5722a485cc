import type { Config } from '../config/schema.ts'
import {
  afterProbe,
  type Finding,
  needsLogin,
  newStanding,
  signedIn,
  type Standing,
} from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { AccountSecrets, Jar } from '../store/accounts.ts'
import { explainSignIn } from './account-words.ts'
import { Refusal, UsageError } from './command.ts'
import type { Desk } from './desk.ts'

/** What is known of an account after the platform was asked, or after it was not. */
export type Proven = {
  secrets: AccountSecrets
  jar: Jar | null
  username: string | null
  standing: Standing
  /** What the operator should know of it; null when all is well. */
  remark: string | null
}

/** How an account is to prove itself. */
export type Claim = {
  secrets: AccountSecrets
  jar: Jar | null
  username: string | null
  proxy: Proxy | null
  now: number
}

const LATER = 'the daemon will ask again'

/** Takes the cookies or the credentials to the platform. Throws Refusal where it plainly says no. */
export async function prove(desk: Desk, claim: Claim): Promise<Proven> {
  return claim.secrets.kind === 'session' && claim.jar === null
    ? bySigningIn(desk, claim, claim.secrets)
    : byAsking(desk, claim)
}

async function bySigningIn(
  desk: Desk,
  { username, proxy, now }: Claim,
  secrets: AccountSecrets & { kind: 'session' },
): Promise<Proven> {
  const { password, totp_secret } = secrets
  if (username === null || password === null)
    throw new UsageError(
      '--password-file, or --jar with the cookies of your own browser, is needed',
    )
  const ended = await desk.signIn({ username, password, totp_secret, proxy })
  if (ended.ok)
    return {
      secrets,
      jar: ended.jar,
      username: ended.username,
      standing: signedIn(now),
      remark: null,
    }
  const why = explainSignIn(ended.reason)
  if (ended.final) throw new Refusal(`${username} cannot be signed in: ${why}`)
  const standing = needsLogin(now, ended.reason ?? 'never_signed_in')
  return { secrets, jar: null, username, standing, remark: `not signed in yet: ${why}` }
}

async function byAsking(
  desk: Desk,
  { secrets, jar, username, proxy, now }: Claim,
): Promise<Proven> {
  const asked = await desk.test({ secrets, jar: jar?.text ?? null, proxy })
  const { finding } = asked
  if (finding.kind === 'nobody')
    throw new Refusal(
      secrets.kind === 'oauth'
        ? 'the platform does not accept this application or its refresh token'
        : 'the platform takes these cookies for nobody: sign in with your browser and export them anew',
    )
  return {
    secrets: asked.secrets ?? secrets,
    jar: asked.jar ?? jar,
    username: asked.username ?? username,
    standing: standingAfter(finding, now),
    remark: REMARKS[finding.kind] ?? null,
  }
}

const REMARKS: Readonly<Partial<Record<Finding['kind'], string>>> = {
  suspended: 'the platform has suspended it, and nothing is asked through it',
  locked: 'the platform wants a new password for it, and nothing is asked through it',
  blocked: `the platform answers with a block page; ${LATER}`,
  throttled: `the platform wants to be left alone for a while; ${LATER}`,
  unclear: `the platform gave no readable answer; ${LATER}`,
}

// What could not be found out is asked again at once by the daemon.
const standingAfter = (finding: Finding, now: number): Standing =>
  finding.kind === 'blocked' || finding.kind === 'unclear'
    ? newStanding(now)
    : afterProbe(newStanding(now), finding, now)

/** An application needs to know where to ask. Throws UsageError naming the key. */
export function checkOauth({ platform }: Config): void {
  for (const key of ['token_url', 'api_url'] as const)
    if (platform[key] === '')
      throw new UsageError(`--kind oauth needs [platform].${key} in the configuration`)
}
