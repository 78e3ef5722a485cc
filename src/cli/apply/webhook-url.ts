import {
  type AddressRefusal,
  type Allowed,
  guardLines,
  judgeAddresses,
  parseTarget,
  REFUSALS,
} from '../../core/base/address.ts'
import {
  KIND_FORMS,
  kindOfUrl,
  MAILTO_FORM,
  parseMailto,
  type WebhookKind,
} from '../../core/delivery/target.ts'
import type { SetWebhook } from '../../store/delivery/webhooks.ts'
import type { DeclaredWebhook } from './document.ts'

/** Rules for the addresses of webhooks. */
export type AddressRules = {
  /** Rules for addresses of targets. */
  allowed: Allowed
  /** True when targets of kind email are possible. */
  mails: boolean
  /** Resolves a reference such as `env:NAME` to an address; returns an address unchanged. */
  readUrl: (text: string) => string | { found: string; allowed: string }
}

type Refuse = (field: 'url' | 'kind', why: string, allowed: string) => void

/** The address and kind of a declared webhook; null when one of them is invalid. */
export function settleUrl(
  { url: text, kind }: DeclaredWebhook,
  before: SetWebhook | null,
  { readUrl, allowed, mails }: AddressRules,
  refuse: Refuse,
): { url: string; kind: WebhookKind } | null {
  if (before !== null && kind !== undefined && kind !== before.kind) {
    refuse('kind', `found "${kind}", but its kind is ${before.kind}`, ANOTHER)
    return null
  }
  if (text === undefined) {
    if (before !== null) return { url: before.url, kind: before.kind }
    refuse(
      'url',
      'missing',
      'needed: its address, or "env:NAME" or "file:/path" to keep it out of the file',
    )
    return null
  }
  const url = readUrl(text)
  if (typeof url !== 'string') {
    // An existing webhook keeps its address, so its reference need not resolve on this machine.
    if (before !== null) return { url: before.url, kind: before.kind }
    refuse('url', url.found, url.allowed)
    return null
  }
  if (before !== null) {
    if (before.url === url || before.url === canonical(url))
      return { url: before.url, kind: before.kind }
    refuse('url', 'found an address that differs from its current one', ANOTHER)
    return null
  }
  return settleNew(url, kind, { allowed, mails }, refuse)
}

const ANOTHER =
  'allowed: its current value; to change it, declare a new webhook without this id and with another name'

const canonical = (url: string): string => {
  const address = parseMailto(url)
  return address === null ? url : `mailto:${address}`
}

function settleNew(
  url: string,
  kind: WebhookKind | undefined,
  { allowed, mails }: Pick<AddressRules, 'allowed' | 'mails'>,
  refuse: Refuse,
): { url: string; kind: WebhookKind } | null {
  if (/^mailto:/i.test(url)) {
    if (kind !== undefined && kind !== 'email')
      refuse('kind', `found "${kind}"`, `it takes ${KIND_FORMS[kind]}`)
    else if (parseMailto(url) === null) refuse('url', 'found this address', `it ${MAILTO_FORM}`)
    else if (!mails) refuse('url', 'found a mail address', 'needed: [smtp] in the configuration')
    else return { url: canonical(url), kind: 'email' }
    return null
  }
  const parsed = parseTarget(url, allowed)
  if (!parsed.ok) {
    refuse('url', 'found this address', refusalOf(url, parsed.refusal))
    return null
  }
  const { literal } = parsed.target
  // A host name is checked at every delivery, by the addresses that it resolves to.
  const refusal = literal === null ? null : judgeAddresses(parsed.target, [literal], allowed)
  if (refusal !== null) {
    refuse('url', 'found this address', refusalOf(url, refusal))
    return null
  }
  const of_url = kindOfUrl(parsed.target.url)
  if (kind === undefined || kind === of_url) return { url, kind: of_url }
  refuse('kind', `found "${kind}"`, `it takes ${KIND_FORMS[kind]}`)
  return null
}

/** The reason of a refusal, and the lines of the configuration that would allow the address. */
function refusalOf(url: string, refusal: AddressRefusal): string {
  const lines = guardLines(url, refusal)
  const reason = `it ${REFUSALS[refusal]}`
  return lines === null ? reason : `${reason}; or add to the configuration: ${lines.join(' ')}`
}
