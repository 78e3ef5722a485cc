import type { Cookie } from '../core/cookie.ts'
import type { WriteFault } from '../core/native-refusals.ts'
import type { Place } from '../core/permalink.ts'
import type { Call } from '../platform/platform.ts'

/** What can become of an act besides success; `no_browser`: one is needed, and `why` says to the operator what is amiss. */
export type ActFault = WriteFault | { kind: 'no_browser'; why: string }

/** An act's outcome. A fault other than `unknown` means that nothing was done. */
export type ActOutcome<T> = { ok: true; value: T } | { ok: false; fault: ActFault }

/** A comment as a browser is to make it. */
export type BrowserAsk = {
  place: Place
  text: string
  /** Canonical: see core/locale.ts and core/timezone.ts. */
  locale: string
  timezone: string
  /** The account's, by the platform's names. */
  cookies: readonly Cookie[]
}

/** Comments on a page, once. `name` is the new comment's fullname. */
export type BrowserComment = (
  ask: BrowserAsk,
  call: Call,
) => Promise<ActOutcome<{ name: string; permalink: string | null }>>
