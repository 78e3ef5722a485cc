import type { Credentials } from '../../core/delivery/credentials.ts'
import type { DeliveryMessage } from '../../core/delivery/message.ts'
import type { Attempt } from '../../core/delivery/retry.ts'
import type { PublishMqtt } from '../../net/mqtt.ts'
import type { ResponseExcerpt } from '../../store/delivery/outbox.ts'
import type { Addressee } from '../../store/delivery/targets.ts'
import type { EmailSender } from '../email.ts'

/** An address in the one form that is stored, and the credentials that were within it. */
export type Found = { url: string; username?: string; token?: string }

/** A delivery to send. Body and id are the same at every attempt. */
export type Outgoing = {
  to: Addressee
  id: string
  body: Uint8Array
  /** Earlier attempts, and those of them whose outcome is not known. */
  attempts: number
  interrupted: number
  /** True time, epoch ms. */
  started_at: number
  credentials: Credentials | null
  message(): DeliveryMessage
}

export type Sent = { attempt: Attempt; excerpt: ResponseExcerpt | null }

/** A request beside the headers that all deliveries have. `body`: bytes, or a value to send as JSON. */
export type HttpRequest = {
  url: string
  method?: 'POST' | 'PUT'
  headers?: Record<string, string>
  body: Uint8Array | object
}

type Tools = {
  openSecret: (webhook_id: string, sealed: Uint8Array) => string
  /** Sends a request, and reads the answer by the verdict of the kind. */
  post(request: HttpRequest): Promise<Sent>
  publish: PublishMqtt
  /** Redacted text of a peer. */
  redact(text: string): string
  now(): number
  /** Absent without a mail server. */
  email?: EmailSender | undefined
}

/** Everything that the product knows of a kind of target; `../kinds.ts` lists them. */
export type Kind = {
  name: string
  label: string
  example_url: string
  /** Further rules of the address, after the example. */
  note?: string
  /** Schemes of its addresses; http and https unless given. */
  schemes?: readonly string[]
  /** Addresses of this kind alone; the kind may then be left out. */
  infers?: RegExp
  /** Hosts of the service itself and look-alikes, at which only an address of `infers` is of this kind. */
  official?: RegExp
  /** Absent: the kind takes none. */
  credential?: {
    label: string
    hint: string
    /** The credential in words, where it is required. */
    required?: string
    /** The token is the password of a user. */
    with_username?: true
    form?: readonly [RegExp, string]
  }
  /** True if it receives events about items, too: its receivers are programs. */
  takes_events?: true
  /** True for an address that is sufficient to post there. */
  isSecret?(url: string, has_credentials: boolean): boolean
  /** Takes what a caller might paste; null: not an address of this kind. Absent: any address that the guard accepts. */
  check?(url: URL): Found | null
  send(delivery: Outgoing, tools: Tools): Promise<Sent>
  verdict?: {
    /** True if a 2xx has the body of this kind of receiver, and not that of something in between. */
    accepts?(body: string): boolean
    /** Seconds to wait that the body of a 429 names. */
    waitS?(body: unknown): number | null | undefined
    /** What to do, by `last_error`, where it differs from the general advice. */
    hints?: Readonly<Record<string, string>>
  }
}

export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

export const bearer = (credentials: Credentials | null): Record<string, string> =>
  credentials === null ? {} : { authorization: `Bearer ${credentials.token}` }

/** Advice about a token that the service does not accept. */
export const tokenHints = (what: string) => ({
  http_401: `the token is not accepted: it may have been revoked; store a new one, ${what}`,
  http_403: `the token has no right to send there; check it, ${what}`,
})
