import type { Posted } from '../core/acting.ts'
import type { WriteFault } from '../core/native-refusals.ts'
import type { VisitFault } from '../platform/browser/browser.ts'
import type { BrowserCommentResult } from '../platform/browser/comment.ts'

/** What can become of an act besides success; `no_browser`: one is needed, and `why` says what is amiss. */
export type ActFault = WriteFault | { kind: 'no_browser'; why: string }

/** An act's outcome. A fault other than `unknown` means that nothing was done. */
export type ActOutcome<T> = { ok: true; value: T } | { ok: false; fault: ActFault }

/** Why there is no browser for a call, as a sentence for whoever runs the service. */
export const whyNoBrowser = (
  fault: Extract<VisitFault, { kind: 'unavailable' | 'scheme' }>,
): string =>
  // A caller's own proxy has been looked at before: it is one of the pool's that browsers do not know.
  fault.kind === 'unavailable'
    ? fault.why
    : 'the way out of the pool is of a kind that browsers do not know'

/** The outcome of a comment that a browser was to make. */
export function fromBrowser(result: BrowserCommentResult): ActOutcome<Posted> {
  if (result.ok || !('no_browser' in result)) return result
  return { ok: false, fault: { kind: 'no_browser', why: whyNoBrowser(result.no_browser) } }
}
