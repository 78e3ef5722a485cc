/** Addresses of push services and brokers: their form, and the credentials that are kept apart from them. */
import * as z from 'zod'

import { once } from '../base/lazy.ts'
import type { Ring } from '../base/secrets.ts'
import { isChat, KIND_FORMS, type WebhookKind } from './target.ts'

export const SERVICE_KINDS = [
  'ntfy',
  'telegram',
  'gotify',
  'matrix',
  'mqtt',
] as const satisfies WebhookKind[]
export type ServiceKind = (typeof SERVICE_KINDS)[number]

/** True for a kind whose credentials are stored apart from its address. */
export const isService = (kind: WebhookKind): kind is ServiceKind =>
  SERVICE_KINDS.some((it) => it === kind)

const credentialsShape = once(() =>
  z.object({ username: z.string().nullable(), token: z.string() }),
)
/** Credentials at a service: an access token, or the password of a user. */
export type Credentials = z.infer<ReturnType<typeof credentialsShape>>

const placeOf = (webhook_id: string) => `webhooks.credentials:${webhook_id}`

export const sealCredentials = (
  ring: Pick<Ring, 'seal'>,
  webhook_id: string,
  credentials: Credentials,
): Uint8Array => ring.seal(placeOf(webhook_id), JSON.stringify(credentials))

/** @throws {SealBroken} if they were sealed by a key that is not in the ring */
export const openCredentials = (
  ring: Pick<Ring, 'unseal'>,
  webhook_id: string,
  sealed: Uint8Array,
): Credentials => credentialsShape().parse(JSON.parse(ring.unseal(placeOf(webhook_id), sealed)))

/** Credentials as a caller gives them; absent and null are the same. */
export type GivenCredentials = {
  username?: string | null | undefined
  token?: string | null | undefined
}

/** Address of a service without credentials, and the credentials; or the invalid field with a sentence. */
export type ServiceTarget =
  | { ok: true; url: string; credentials: Credentials | null }
  | { ok: false; field: 'url' | 'token' | 'username'; message: string }

/** Replaces Telegram's token in the path of an address. */
const HIDDEN = '***'

type Found = { url: string; username?: string; token?: string }

// Each takes the place of what a caller might paste, and returns one form; null: not an address of this kind.
const READERS: Record<ServiceKind, (url: URL) => Found | null> = {
  ntfy(url) {
    const path = /^((?:\/[^/]+)*)\/([A-Za-z0-9_-]{1,64})$/.exec(url.pathname)
    return path && url.search === '' ? { url: url.href } : null
  },
  telegram(url) {
    const [, before, token = ''] =
      /^(|\/.*)\/bot([^/]+)(?:\/sendMessage)?\/?$/.exec(url.pathname) ?? []
    const chat = url.searchParams.get('chat_id') ?? ''
    const thread = url.searchParams.get('message_thread_id')
    const named = [...url.searchParams.keys()].every((it) =>
      ['chat_id', 'message_thread_id'].includes(it),
    )
    if (before === undefined || !named || !/^(-?\d{1,20}|@[A-Za-z0-9_]{3,64})$/.test(chat))
      return null
    if (thread !== null && !/^\d{1,20}$/.test(thread)) return null
    const query = thread === null ? '' : `&message_thread_id=${thread}`
    return {
      url: `${url.origin}${before}/bot${HIDDEN}/sendMessage?chat_id=${chat}${query}`,
      ...(token !== HIDDEN && { token: decoded(token) ?? token }),
    }
  },
  gotify(url) {
    if ([...url.searchParams.keys()].some((it) => it !== 'token')) return null
    const token = url.searchParams.get('token')
    const path = url.pathname.replace(/\/+$/, '')
    return {
      url: `${url.origin}${path.endsWith('/message') ? path : `${path}/message`}`,
      ...(token !== null && { token }),
    }
  },
  matrix(url) {
    const [, before, room] =
      /^(|\/.*?)\/(?:_matrix\/client\/v3\/rooms\/)?((?:!|%21)[^/]+)(?:\/send\/m\.room\.message)?\/?$/.exec(
        url.pathname,
      ) ?? []
    const id = room === undefined ? null : decoded(room)
    if (id === null || id.length > 255 || url.search !== '') return null
    return {
      url: `${url.origin}${before}/_matrix/client/v3/rooms/${encodeURIComponent(id)}/send/m.room.message`,
    }
  },
  mqtt(url) {
    const topic = decoded(url.pathname.slice(1))
    // oxlint-disable-next-line no-control-regex -- a topic must not contain U+0000 (MQTT-1.5.4-2)
    if (topic === null || topic === '' || /[+#\x00]/.test(topic) || url.search !== '') return null
    const [username, token] = [decoded(url.username), decoded(url.password)]
    if (username === null || token === null) return null
    url.username = ''
    url.password = ''
    return { url: url.href, ...(username && { username }), ...(token && { token }) }
  },
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const NEEDS_TOKEN: Partial<Record<ServiceKind, string>> = {
  telegram: 'the token of a bot, as BotFather gives it',
  gotify: 'the token of an application',
  matrix: 'the access token of an account that is in the room',
}

const refuse = (field: 'url' | 'token' | 'username', message: string): ServiceTarget => ({
  ok: false,
  field,
  message: `${field} ${message}`,
})

/** Parts of the address of a service, its `url` in the one form that is stored; null: it has another form. */
export function readAddress(kind: ServiceKind, text: string): Found | null {
  const schemes = kind === 'mqtt' ? ['mqtt:', 'mqtts:'] : ['http:', 'https:']
  const url = URL.parse(text)
  if (url === null || !schemes.includes(url.protocol) || url.hash !== '') return null
  if (kind !== 'mqtt' && url.username + url.password !== '') return null
  return READERS[kind](url)
}

/** Credentials within it are taken out, and must not differ from those given beside it. */
export function readService(
  kind: ServiceKind,
  text: string,
  given: GivenCredentials = {},
): ServiceTarget {
  const found = readAddress(kind, text)
  if (found === null) return refuse('url', `must be ${KIND_FORMS[kind]}`)

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
  kind: ServiceKind,
  url: string,
  { token: given_token, username: given_username }: GivenCredentials,
): ServiceTarget {
  const [token, username] = [given_token ?? null, given_username ?? null]
  if (username !== null && kind !== 'mqtt')
    return refuse('username', `is for kind mqtt; kind ${kind} takes a token alone`)
  if (username !== null && token === null)
    return refuse('token', 'is required beside username: its password')
  if (token === null) {
    const needed = NEEDS_TOKEN[kind]
    return needed === undefined
      ? { ok: true, url, credentials: null }
      : refuse('token', `is required: ${needed}`)
  }
  if (kind === 'mqtt' && username === null)
    return refuse('username', 'is required beside token, which is its password')
  if (kind === 'telegram' && !/^\d{1,20}:[A-Za-z0-9_-]{20,100}$/.test(token))
    return refuse('token', 'must be that of a bot: digits, a colon and at least 20 characters')
  // A password goes into no header.
  if (kind !== 'mqtt' && !/^[\x21-\x7e]+$/.test(token))
    return refuse('token', 'must be printable ASCII without spaces')
  return { ok: true, url, credentials: { username, token } }
}

/**
 * Address that the guard checks and the connection goes to: that of a broker with its port and as http or https, any
 * other unchanged.
 */
export function dialable(url: string): string {
  const [, tls, authority, rest] = /^mqtt(s?):\/\/([^/?#]*)(.*)$/i.exec(url) ?? []
  if (authority === undefined) return url
  const port = /:\d+$/.test(authority) ? '' : tls === '' ? ':1883' : ':8883'
  return `http${tls?.toLowerCase()}://${authority}${port}${rest}`
}

/** True for an address that is sufficient to post there: of a chat service, of an open topic, or with a query. */
export const isSecretAddress = (target: {
  kind: WebhookKind
  url: string
  has_credentials: boolean
}): boolean =>
  isService(target.kind)
    ? target.kind === 'ntfy' && !target.has_credentials
    : isChat(target.kind) || target.url.includes('?')
