import type { AccountResult } from '../../core/accounts/status.ts'
import type { Outcome } from '../../core/base/result.ts'
import type { WatchableSource } from '../../core/filter/feeds.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import type { Discovered } from '../../platforms/feed/discovery.ts'
import type { AccountSecrets, StoredJar } from '../../store/accounts/accounts.ts'

export type OpenedAccount = {
  secrets: AccountSecrets
  jar: string | null
  proxy: Proxy | null
}

/** Result of a session check; `jar` and `secrets` are set when the check changed them. */
export type Tested = {
  finding: AccountResult
  /** Its name on the platform; null when unknown. */
  username: string | null
  /** Users whom the account has blocked; absent: none, or not known. */
  blocked?: readonly string[]
  jar?: StoredJar
  secrets?: AccountSecrets
}

export type TestedSource = {
  name: string
  kind: string
  url: string
  capabilities: string[]
  /** Lead of its clock over the local one; null if unknown. */
  ahead_ms: number | null
  answer: Outcome<{ title: string | null; version: string | null; notes: string[] }>
}

export type PlatformTools = AsyncDisposable & {
  /** Checks the session of an account at its source. */
  test(account: OpenedAccount, source: string): Promise<Tested>
  /** Requests the platform through an egress; the fault's kind tells proxy failures from platform failures. */
  tryProxy(proxy: Proxy): Promise<Outcome<unknown>>
  /** Requests the platform directly and anonymously; `ahead_ms`: lead of its clock over the local clock, null if unknown. */
  tryPlatform(): Promise<{ answer: Outcome<unknown>; ahead_ms: number | null }>
  /** Requests the named source once, or each of them; null: each. */
  trySources(name: string | null): Promise<TestedSource[]>
  /** Looks for what is at an address that a person has pasted, with at most six requests. */
  discover(address: string): Promise<Discovered>
  /** The configured sources that can be monitored, by name, without a request to them. */
  watchableSources(): Promise<ReadonlyMap<string, WatchableSource>>
  /** Starts the browser and stops it. `bare`: without its own sandbox. */
  tryBrowser(): Promise<{ ok: true; version: string; bare: boolean } | { ok: false; why: string }>
  /** Signs in at the mail server; the error, or null. Throws when no mail server is configured. */
  tryMail(): Promise<string | null>
}
