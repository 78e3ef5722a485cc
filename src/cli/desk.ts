import type { Outcome } from '../core/outcome.ts'
import type { Finding, StateReason } from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { AccountSecrets, Jar } from '../store/accounts.ts'

/** An account with everything that is sealed of it, to ask the platform with. */
export type Opened = {
  secrets: AccountSecrets
  jar: string | null
  proxy: Proxy | null
}

/** Cookies as they were read out of somebody's browser, or sentences that say what is wrong with them. */
type JarRead =
  { ok: true; jar: Jar; cookies: number; others: number } | { ok: false; problems: string[] }

/** What asking who an account is has shown; `jar` and `secrets` are set when that has changed them. */
export type Tested = {
  finding: Finding
  /** Its name on the platform, when it told. */
  username: string | null
  jar?: Jar
  secrets?: AccountSecrets
}

type SignIn =
  | { ok: true; username: string; jar: Jar }
  | { ok: false; reason: StateReason | null; final: boolean }

/** What the command line asks of the platform for the operator's accounts. It keeps nothing itself. */
export type Desk = AsyncDisposable & {
  readJar(text: string): JarRead
  test(account: Opened): Promise<Tested>
  signIn(account: {
    username: string
    password: string
    totp_secret: string | null
    proxy: Proxy | null
  }): Promise<SignIn>
  /** Asks the platform through a way out; the fault says whose it is. */
  tryProxy(proxy: Proxy): Promise<Outcome<unknown>>
  /** Asks the platform from here, as nobody; `ahead_ms`: how far its clock is ahead of ours, once it has told. */
  tryPlatform(): Promise<{ answer: Outcome<unknown>; ahead_ms: number | null }>
  /** Starts the browser and ends it again. `bare`: without its own sandbox. */
  tryBrowser(): Promise<{ ok: true; version: string; bare: boolean } | { ok: false; why: string }>
  /** Signs in at the mail server: what kept us out, null when nothing did. Throws when there is none. */
  tryMail(): Promise<string | null>
}
