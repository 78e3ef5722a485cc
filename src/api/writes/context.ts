import type { HTTPHeaders } from 'elysia'
import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { DEFAULT_LOCALE, LOCALE_RULE, parseLocale } from '../../core/base/text.ts'
import { DEFAULT_TIMEZONE, parseTimezone, TIMEZONE_RULE } from '../../core/base/time.ts'
import {
  bodyObject,
  readBodySession,
  readSourceSession,
  type Schemes,
  type Sending,
} from '../../core/forum/body-session.ts'
import { itemKey } from '../../core/forum/items.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { Proxy } from '../../core/forum/proxy.ts'
import {
  refuseProxyHeader,
  type Session,
  SESSION_PARTS,
  sessionField,
  type SessionPart,
} from '../../core/forum/session.ts'
import { bodyHash, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../../core/limits/idempotency.ts'
import type { Tier } from '../../core/limits/price.ts'
import type { ActOutcome } from '../../gateway/writes.ts'
import { isStorageError } from '../../store/db/connection.ts'
import type { RouteContext } from '../context.ts'
import type { Holder } from '../http/auth.ts'
import { notSupported } from '../http/errors.ts'
import { documentAs } from '../openapi/route-docs.ts'
import { privateProxy, toActError } from './errors.ts'
import { type Body, createIdempotency, type IdempotencyDeps, type Named } from './idempotency.ts'
import { createWriteShapes } from './shapes.ts'

export type WritesOptions = Pick<IdempotencyDeps, 'db' | 'ring'> & {
  session_cookie: string
  /** The proxy with its name resolved once; null if it must not be dialled. */
  guardProxy: (proxy: Proxy) => Promise<Proxy | null>
  browser_schemes: Schemes
  /** The further source that is acted on; null: `home`, which has every act. */
  source: { name: string; capabilities: ReadonlySet<string>; has_sessions: boolean } | null
  /** Called after a comment was written, with the key of the item that it answers. */
  commented?: (by: { customer_id: string; key_id: string }, item_id: string) => void
}

type Set = { status?: number | string; headers: HTTPHeaders }

type Call = {
  request: Request
  holder: Holder
  set: Set
  tier: Tier
  /** Name of the action for the operator, such as `comment`. */
  act: string
}

type Writer = {
  session: Session
  /** @throws {ApiError} the error of its fault */
  run<T>(act: () => Promise<ActOutcome<T>>): Promise<T>
}

export type WriteContext = Pick<RouteContext, 'words' | 'keyed' | 'log'> &
  Pick<WritesOptions, 'session_cookie' | 'browser_schemes'> & {
    shapes: ReturnType<typeof createWriteShapes>
    /**
     * As `guardProxy` of the options.
     * @throws {ApiError} INVALID_PROXY (400) if it must not be dialled
     */
    guardProxy(proxy: Proxy | null): Promise<Proxy | null>
    /**
     * Refuses a call that the source has no means for.
     * @throws {ApiError} NOT_SUPPORTED_BY_SOURCE (501)
     */
    require(capability: string): void
    /** Notes that a call has answered an item, by its fullname. Never throws: the comment is written. */
    commented(holder: Holder, name: string): void
    /**
     * Hook before validation: reads session and Idempotency-Key before the schema transforms the
     * body. `fields` are the call's own, by name.
     * @throws {ApiError} 400; 501 if the source lacks the capability
     */
    reads(
      fields: () => object,
      sending: Pick<Sending, 'forwards' | 'schemes'> & { capability: string },
    ): (context: { request: Request; body: unknown; route: string }) => void
    /**
     * Runs a write with the session of its body, once per Idempotency-Key. Returns the body that
     * `work` creates.
     */
    perform(call: Call, work: (writer: Writer) => Promise<Body>): Promise<Body>
    /** If its end cannot be recorded, the outcome is reported as unknown. */
    metered<T>(call: Call, act: () => Promise<T>): Promise<T>
  }

type Sent = { session: Session; name: string | null; route: string; body_hash: Uint8Array }

/** Creates the context once: Idempotency-Keys are claimed over all groups. */
export function createWriteContext(context: RouteContext, options: WritesOptions): WriteContext {
  const { words, keyed, meter, faults, internal, groupCommit, clock, log } = context
  const { db, ring, session_cookie, browser_schemes, source } = options
  const runOnce = createIdempotency({ db, ring, groupCommit, clock, log, words })
  const sents = new WeakMap<Request, Sent>()

  function sentWith(request: Request): Sent {
    const sent = sents.get(request)
    if (!sent) throw new Error('a write was reached without its session')
    return sent
  }

  function require(capability: string): void {
    if (source !== null && !source.capabilities.has(capability)) throw notSupported(capability)
  }

  function commented({ customer, key }: Holder, name: string): void {
    const item_id = itemKey({ name, source: source?.name })
    try {
      options.commented?.({ customer_id: customer.id, key_id: key.id }, item_id)
    } catch (error) {
      // The database has reported it. As an error of the call, it would invite a second comment.
      if (!isStorageError(error)) throw error
    }
  }

  async function guardProxy(proxy: Proxy | null): Promise<Proxy | null> {
    if (proxy === null) return null
    const guarded = await options.guardProxy(proxy)
    if (guarded === null) throw privateProxy()
    return guarded
  }

  async function metered<T>({ tier, holder, set }: Call, act: () => Promise<T>): Promise<T> {
    let is_sent = false
    try {
      return await meter(tier, holder, set.headers, async () => {
        is_sent = true
        return { ok: true, value: await act() }
      })
    } catch (error) {
      if (!is_sent || !isStorageError(error)) throw error
      throw new ApiError('OUTCOME_UNKNOWN', {
        message:
          'this has been put to the platform, and what came of it could not be written down: look whether it was done before doing it again',
      })
    }
  }

  function writerFor(call: Call, session: Session, begun: () => void): Writer {
    return {
      session,
      run: (act) =>
        metered(call, async () => {
          begun()
          const acted = await act()
          if (acted.ok) return acted.value
          const { fault } = acted
          if (fault.kind === 'blocked') log('warn', 'act.blocked', { act: call.act })
          if (fault.kind === 'rejected' || fault.kind === 'unreadable')
            faults.failed(call.tier, fault)
          throw toActError(fault)
        }),
    }
  }

  return {
    words,
    keyed,
    log,
    session_cookie,
    browser_schemes,
    shapes: createWriteShapes(words),
    guardProxy,
    metered,
    require,
    commented,

    reads: (fields, { capability, ...sending }) => {
      const whole = () => ({
        ...sending,
        reserved_fields: Object.keys(fields()),
        words,
        session_cookie,
      })
      return ({ request, body, route }) => {
        require(capability)
        refuseProxyHeader(words, request.headers)
        const name = readIdempotencyKey(request.headers.get(IDEMPOTENCY_HEADER))
        const session =
          internal.optionsOf(request).session ??
          (source === null || source.has_sessions
            ? readBodySession(bodyObject(body), whole())
            : readSourceSession(bodyObject(body), { ...whole(), source: source.name }))
        sents.set(request, { session, name, route, body_hash: bodyHash(body) })
      }
    },

    async perform(call, work) {
      if (internal.optionsOf(call.request).dry_run === true) return {}
      const { session, name, route, body_hash } = sentWith(call.request)
      const done = async (begun: () => void) => {
        const proxy = await guardProxy(session.proxy)
        // A pool session is identified by the object, not by its content.
        const own = proxy === session.proxy ? session : { ...session, proxy }
        return work(writerFor(call, own, begun))
      }
      if (name === null) return done(() => {})
      const named: Named = { key_id: call.holder.key.id, route, name, body_hash }
      const answer = await runOnce(named, done)
      if (answer.first) return answer.body
      const { status, headers, body } = answer.given
      call.set.status = status
      Object.assign(call.set.headers, headers, { 'idempotent-replayed': 'true' })
      return body
    },
  }
}

// JSON fields: numbers are numbers here, and every message names its field.

/** Characters as the platform counts them: an emoji is one, not two UTF-16 units. */
const charactersOf = (text: string): number => Array.from(text).length

/** Required text of `min` to `max` characters; white space alone is empty. */
export const textField = (name: string, { min = 1, max }: { min?: number; max: number }) => {
  const sentence = `${name} must be text of ${min} to ${max} characters`
  return z
    .string({ error: ({ input }) => (input === undefined ? `${name} is required` : sentence) })
    .refine((text) => min === 0 || text.trim() !== '', `${name} is required`)
    .refine((text) => charactersOf(text) <= max, sentence)
    .meta({ minLength: min, maxLength: max })
}

/** Text that `read` parses; `form` describes it: 'a cursor'. */
export const readAs = <T>(name: string, form: string, read: (text: string) => T | null) => {
  const sentence = `${name} must be ${form}`
  return z
    .string({ error: ({ input }) => (input === undefined ? `${name} is required` : sentence) })
    .transform((text, context) => {
      const value = text === '' ? null : read(text)
      if (value !== null) return value
      context.addIssue(text === '' ? `${name} is required` : sentence)
      return z.NEVER
    })
}

/** Integer from `min` to `max`, with a default. */
export const count = (
  name: string,
  { min, max, fallback }: { min: number; max: number; fallback: number },
) => {
  const sentence = `${name} must be a whole number from ${min} to ${max}`
  return z.int({ error: sentence }).min(min, sentence).max(max, sentence).default(fallback)
}

const CURSOR_MAX = 1024

/** Cursor of a list; absent, null or empty: its beginning. */
export const cursor = (form: string, reads: (text: string) => boolean) => {
  const sentence = `after must be ${form}, passed back as it was given`
  return z
    .string({ error: sentence })
    .max(CURSOR_MAX, sentence)
    .nullish()
    .transform((text, context) => {
      if (text === undefined || text === null || text === '') return null
      if (reads(text)) return text
      context.addIssue(sentence)
      return z.NEVER
    })
}

/** Locale and time zone of a browser: validated always, with or without a browser. */
export const browserFields = once(() => ({
  locale: canonical('locale', LOCALE_RULE, parseLocale, DEFAULT_LOCALE),
  timezone: canonical('timezone', TIMEZONE_RULE, parseTimezone, DEFAULT_TIMEZONE),
}))

function canonical(
  name: string,
  rule: string,
  parse: (text: string) => string | null,
  fallback: string,
) {
  const sentence = `${name} ${rule}`
  return z
    .string({ error: sentence })
    .nullish()
    .transform((text, context) => {
      if (text === undefined || text === null) return fallback
      const parsed = parse(text)
      if (parsed !== null) return parsed
      context.addIssue(sentence)
      return z.NEVER
    })
    .meta({ default: fallback })
}

const proxyShape = () =>
  z
    .union([
      z.string(),
      z.object({
        server: z.string(),
        username: z.string().nullish(),
        password: z.string().nullish(),
      }),
    ])
    .meta({ title: 'Proxy' })

/** Egress proxy of a call. Its parser describes what is invalid. */
export const proxyField = (schemes: readonly string[]) =>
  z
    .unknown()
    .optional()
    .meta({
      ...documentAs(proxyShape),
      description: `Egress proxy of this call: ${schemes.join(', ')}. An address scheme://user:password@host:port, or an object.`,
    })

export function sessionFieldText(wire: Naming, part: SessionPart): string {
  const cookie = `The cookie ${sessionField(wire, part)} of your own account.`
  if (part === 'session')
    return `${cookie} With a further source, which takes no other field of a session: the credential of your account there.`
  return part === 'loid' ? `${cookie} Required, except with a further source.` : cookie
}

/** Body fields of the session, its proxy and further cookies. They are parsed before validation. */
export function sessionShape(wire: Naming, schemes: readonly string[]): Record<string, z.ZodType> {
  const parts = SESSION_PARTS.map((part) => {
    const text = z.string().describe(sessionFieldText(wire, part))
    return [sessionField(wire, part), part === 'session' ? text : text.nullish()]
  })
  return {
    ...Object.fromEntries(parts),
    cookies: z
      .unknown()
      .optional()
      .meta({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Further cookies of the account, sent on as they are.',
      }),
    proxy: proxyField(schemes),
  }
}
