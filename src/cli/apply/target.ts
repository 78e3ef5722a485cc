import {
  type AddressRefusal,
  type Allowed,
  guardLines,
  judgeAddresses,
  parseTarget,
  REFUSALS,
} from '../../core/base/address.ts'
import type { Credentials } from '../../core/delivery/credentials.ts'
import { dialable, MAILTO_FORM } from '../../core/delivery/target.ts'
import {
  addressForm,
  fits,
  type GivenCredentials,
  kindOf,
  kindOfUrl,
  readAddress,
  readTarget,
} from '../../delivery/kinds.ts'
import type { SetWebhook } from '../../store/delivery/webhooks.ts'
import type { DeclaredWebhook } from './document.ts'

export type AddressRules = {
  allowed: Allowed
  /** True when targets of kind email are possible. */
  mails: boolean
  /** Resolves a reference such as `env:NAME`; returns any other text unchanged. */
  readUrl: (text: string) => string | { found: string; allowed: string }
}

type Refuse = (field: 'url' | 'kind' | 'token' | 'username', why: string, allowed: string) => void

type Settled = { url: string; kind: string; credentials: Credentials | null }

/**
 * The address, kind and credentials of a declared webhook; null when one of them is invalid. An existing webhook keeps
 * its credentials while its address stays: they cannot be compared with a file that names them by reference. Another
 * address has those of the file, as it is not to receive the former ones.
 */
export function settleTarget(
  { url: text, kind, ...given }: DeclaredWebhook,
  before: SetWebhook | null,
  { readUrl, allowed, mails }: AddressRules,
  refuse: Refuse,
): Settled | null {
  if (before !== null && kind !== undefined && kind !== before.kind) {
    refuse('kind', `found "${kind}", but its kind is ${before.kind}`, ANOTHER)
    return null
  }
  if (text === undefined) {
    if (before !== null) return kept(before)
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
    if (before !== null) return kept(before)
    refuse('url', url.found, url.allowed)
    return null
  }
  if (before !== null) {
    if (before.url === url || before.url === canonical(url, before.kind)) return kept(before)
    if (before.kind === 'email') {
      refuse(
        'url',
        'found an address that differs from its current one, whose owner has agreed',
        ANOTHER,
      )
      return null
    }
  }
  const credentials = readCredentials(given, readUrl, refuse)
  if (credentials === null) return null
  if (before === null) return settleNew(url, kind, credentials, { allowed, mails }, refuse)
  return settleNew(url, before.kind, credentials, { allowed, mails }, (field, why, form) =>
    field === 'kind'
      ? refuse('url', `found an address of another kind than ${before.kind}`, ANOTHER)
      : refuse(field, why, form),
  )
}

const kept = ({ url, kind }: SetWebhook): Settled => ({ url, kind, credentials: null })

/** The credentials of a new webhook, with resolved references; null when one does not resolve. */
function readCredentials(
  { username, token }: Pick<DeclaredWebhook, 'username' | 'token'>,
  readUrl: AddressRules['readUrl'],
  refuse: Refuse,
): GivenCredentials | null {
  const given: GivenCredentials = {}
  for (const [field, text] of [
    ['username', username],
    ['token', token],
  ] as const) {
    if (text === undefined) continue
    const value = readUrl(text)
    if (typeof value !== 'string') {
      refuse(field, value.found, value.allowed)
      return null
    }
    given[field] = value
  }
  return given
}

const ANOTHER =
  'allowed: its current value; to change it, declare a new webhook without this id and with another name'

const canonical = (url: string, kind: string): string => readAddress(kindOf(kind), url)?.url ?? url

function settleNew(
  text: string,
  given_kind: string | undefined,
  given: GivenCredentials,
  { allowed, mails }: Pick<AddressRules, 'allowed' | 'mails'>,
  refuse: Refuse,
): Settled | null {
  const kind = given_kind === undefined ? kindOfUrl(text) : kindOf(given_kind)
  if (!fits(kind, text)) {
    refuse('kind', `found "${kind.name}"`, `it takes ${addressForm(kind)}`)
    return null
  }
  const read = readTarget(kind, text, given)
  if (!read.ok) {
    const is_given = read.field === 'url' || given[read.field] !== undefined
    const message =
      kind.name === 'email' && read.field === 'url'
        ? MAILTO_FORM
        : read.message.replace(/^\w+ /, '')
    refuse(read.field, is_given ? `found this ${read.field}` : 'missing', `it ${message}`)
    return null
  }
  const { url, credentials } = read
  if (kind.name === 'email') {
    if (mails) return { url, kind: 'email', credentials }
    refuse('url', 'found a mail address', 'needed: [smtp] in the configuration')
    return null
  }
  const parsed = parseTarget(dialable(url), allowed)
  if (!parsed.ok) {
    refuse('url', 'found this address', refusalOf(dialable(url), parsed.refusal))
    return null
  }
  const { literal } = parsed.target
  // A host name is checked at every delivery, by the addresses that it resolves to.
  const refusal = literal === null ? null : judgeAddresses(parsed.target, [literal], allowed)
  if (refusal !== null) {
    refuse('url', 'found this address', refusalOf(dialable(url), refusal))
    return null
  }
  return { url, kind: kind.name, credentials }
}

/** The reason of a refusal, and the lines of the configuration that would allow the address. */
function refusalOf(url: string, refusal: AddressRefusal): string {
  const lines = guardLines(url, refusal)
  const reason = `it ${REFUSALS[refusal]}`
  return lines === null ? reason : `${reason}; or add to the configuration: ${lines.join(' ')}`
}
