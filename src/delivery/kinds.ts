import { peerUrl } from '../core/base/url.ts'
import type { Credentials } from '../core/delivery/credentials.ts'
import { WEBHOOK_EVENTS } from '../core/delivery/target.ts'
import { discord } from './kinds/discord.ts'
import { email } from './kinds/email.ts'
import { gotify } from './kinds/gotify.ts'
import type { Found, Kind } from './kinds/kind.ts'
import { matrix } from './kinds/matrix.ts'
import { mattermost } from './kinds/mattermost.ts'
import { mqtt } from './kinds/mqtt.ts'
import { ntfy } from './kinds/ntfy.ts'
import { slack } from './kinds/slack.ts'
import { telegram } from './kinds/telegram.ts'
import { webhook } from './kinds/webhook.ts'

/** The kinds of targets. API, document of `apply`, form, metrics and docs/webhooks.md read this list. */
const KINDS: readonly Kind[] = [
  webhook,
  slack,
  discord,
  email,
  ntfy,
  telegram,
  gotify,
  matrix,
  mqtt,
  mattermost,
]

export const WEBHOOK_KINDS: readonly string[] = KINDS.map(({ name }) => name)

/** The kind of this name; that of a program's own webhook if a later version wrote another. */
export const kindOf = (name: string): Kind => KINDS.find((it) => it.name === name) ?? webhook

export const kindOfUrl = (url: string): Kind => {
  const href = peerUrl(url)?.href ?? ''
  return KINDS.find(({ infers }) => infers?.test(href)) ?? webhook
}

const namesOf = (has: (kind: Kind) => unknown): string =>
  KINDS.filter(has)
    .map(({ name }) => name)
    .join(', ')
export const CREDENTIAL_KINDS = namesOf(({ credential }) => credential)
const USER_KINDS = namesOf(({ credential }) => credential?.with_username)
export const EVENTS_FORM = `events must be a list of ${WEBHOOK_EVENTS.join(', ')}, with match; kinds other than ${namesOf(({ takes_events }) => takes_events)} take match alone`

/** True unless an address is one of another kind alone. A kind at a host that is not its own is a service that takes its format. */
export function fits(kind: Kind, url: string): boolean {
  const inferred = kindOfUrl(url)
  if (inferred === kind || kind.name === 'email') return inferred === kind
  return inferred === webhook && !kind.official?.test(peerUrl(url)?.hostname ?? '')
}

export const addressForm = ({ example_url, note }: Kind): string =>
  note === undefined ? example_url : `${example_url}, ${note}`

/** The kinds as the form of the dashboard needs them. */
export const kindForms = () =>
  KINDS.map((kind) => {
    const { name, label, infers, takes_events = false, credential } = kind
    return {
      name,
      label,
      address: addressForm(kind),
      infers: infers?.source ?? null,
      takes_events,
      credential:
        credential === undefined
          ? null
          : {
              label: credential.label,
              hint: credential.hint,
              with_username: credential.with_username ?? false,
            },
    }
  })

/** Credentials as a caller gives them; absent and null are the same. */
export type GivenCredentials = {
  username?: string | null | undefined
  token?: string | null | undefined
}

/** An address without credentials, and the credentials; or the invalid field with a sentence. */
export type ReadTarget =
  | { ok: true; url: string; credentials: Credentials | null }
  | { ok: false; field: 'url' | 'token' | 'username'; message: string }

const refuse = (field: 'url' | 'token' | 'username', message: string): ReadTarget => ({
  ok: false,
  field,
  message: `${field} ${message}`,
})

/** The parts of an address, in the one form that is stored; null: it has another form. */
export function readAddress(
  { schemes = ['http:', 'https:'], check }: Kind,
  text: string,
): Found | null {
  if (check === undefined) return { url: text }
  const url = peerUrl(text)
  if (url === null || !schemes.includes(url.protocol) || url.hash !== '') return null
  if (schemes.includes('https:') && url.username + url.password !== '') return null
  return check(url)
}

/** Credentials within the address are taken out, and must not differ from those given beside it. */
export function readTarget(kind: Kind, text: string, given: GivenCredentials = {}): ReadTarget {
  const found = readAddress(kind, text)
  if (found === null) return refuse('url', `must be ${addressForm(kind)}`)
  for (const field of ['token', 'username'] as const) {
    const [within, beside] = [found[field], given[field] ?? undefined]
    if (within !== undefined && beside !== undefined && within !== beside)
      return refuse(field, 'differs from the one in url; give it once')
  }
  return checkCredentials(kind, found.url, {
    token: found.token ?? given.token,
    username: found.username ?? given.username,
  })
}

export function checkCredentials(
  { name, credential }: Kind,
  url: string,
  { token: given_token, username: given_username }: GivenCredentials,
): ReadTarget {
  const [token, username] = [given_token ?? null, given_username ?? null]
  if (credential === undefined) {
    if (token === null && username === null) return { ok: true, url, credentials: null }
    const field = token === null ? 'username' : 'token'
    return refuse(field, `is for kinds ${CREDENTIAL_KINDS}, and this is ${name}`)
  }
  const { required, with_username, form } = credential
  if (username !== null && !with_username)
    return refuse('username', `is for kind ${USER_KINDS}; kind ${name} takes a token alone`)
  if (username !== null && token === null)
    return refuse('token', 'is required beside username: its password')
  if (token === null)
    return required === undefined
      ? { ok: true, url, credentials: null }
      : refuse('token', `is required: ${required}`)
  if (with_username && username === null)
    return refuse('username', 'is required beside token, which is its password')
  if (form && !form[0].test(token)) return refuse('token', form[1])
  // A password goes into no header.
  if (!with_username && !/^[\x21-\x7e]+$/.test(token))
    return refuse('token', 'must be printable ASCII without spaces')
  return { ok: true, url, credentials: { username, token } }
}

/** True for an address that is sufficient to post there. */
export const isSecretAddress = (target: {
  kind: string
  url: string
  has_credentials: boolean
}): boolean => kindOf(target.kind).isSecret?.(target.url, target.has_credentials) ?? false
