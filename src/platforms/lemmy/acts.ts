import { totp } from '../../core/accounts/totp.ts'
import { fail, ok, type Outcome } from '../../core/base/result.ts'
import {
  type Acted,
  final,
  type Meaning,
  type NativeRefusal,
  passing,
  REJECTED,
} from '../../core/forum/native-refusals.ts'
import type { Direction, Posted, SentMessage } from '../../core/forum/writes.ts'
import type { CallerClient, HttpAnswer, HttpCall } from '../http.ts'
import type { LoginCode } from '../port.ts'
import type { ActCall, CredentialActs, SourceSignIn } from '../source.ts'
import { fieldsOf, idAt, textAt } from '../values.ts'
import type { Api } from './api.ts'
import { toComment } from './readers.ts'

/** Verdicts on credentials; every other answer is none. */
const VERDICTS: Readonly<Record<string, LoginCode>> = {
  incorrect_login: 'AUTH_FAILED',
  missing_totp_token: 'TWO_FACTOR_REQUIRED',
  incorrect_totp_token: 'TWO_FACTOR_INVALID',
  // Another try of an account that may not sign in would only use up the few that servers allow.
  site_ban: 'AUTH_FAILED',
  deleted: 'AUTH_FAILED',
  email_not_verified: 'AUTH_FAILED',
  registration_denied: 'AUTH_FAILED',
  registration_application_is_pending: 'AUTH_FAILED',
}

/**
 * Signs in once: servers allow about three attempts an hour. `totp_secret` is base32; null: no
 * second factor. `now` is epoch ms by the server's clock.
 */
export async function signIn(
  api: Api,
  account: { username: string; password: string; totp_secret: string | null },
  now: number,
  call: HttpCall,
): Promise<SourceSignIn> {
  const server = await api.server(call)
  if (!server.ok) return unsigned(server.fault)
  const { base, login, generation } = server.value.dialect
  const code = account.totp_secret === null ? null : totp(account.totp_secret, now)
  const body = {
    [login.name]: account.username,
    password: account.password,
    ...(code !== null && { totp_2fa_token: code }),
    // Without it the token ends after a week.
    ...(generation === 'v4' && { stay_logged_in: true }),
  }
  // A limit of sign-ins must not stop the reads of the source.
  const answer = await api.client
    .as({})
    .write({ path: `${base}${login.path}`, method: 'POST', body }, call)
  if (!answer.ok) return unsigned(answer.fault)
  const value = fieldsOf(answer.value.value)
  const token = textAt(value, 'jwt')
  if (answer.value.status < 300 && token !== null) return { ok: true, credential: token }
  if (answer.value.status === 429)
    return unsigned({ kind: 'throttled', retry_after_s: answer.value.retry_after_s })
  return { ok: false, code: VERDICTS[codeOf(answer.value)] ?? 'UNKNOWN' }
}

function unsigned(fault: { kind: string; retry_after_s?: number | null }): SourceSignIn {
  if (fault.kind === 'blocked') return { ok: false, code: 'UPSTREAM_BLOCKED' }
  return fault.kind === 'throttled' && fault.retry_after_s != null
    ? { ok: false, code: 'UPSTREAM_ERROR', retry_after_s: fault.retry_after_s }
    : { ok: false, code: 'UPSTREAM_ERROR' }
}

/**
 * Actions of the account of a call. Each request that changes something is sent once; fullnames have this server's ids.
 * `now` is epoch ms by the server's clock.
 */
export function lemmyActs(api: Api, site_url: string, now: () => number) {
  const clientOf = ({ credential }: ActCall): CallerClient =>
    api.client.as({ authorization: `Bearer ${credential}` })

  async function write(path: string, body: unknown, call: ActCall): Promise<Acted<unknown>> {
    const server = await api.server(call)
    if (!server.ok) return server
    const at = `${server.value.dialect.base}${path}`
    const answer = await clientOf(call).write({ path: at, method: 'POST', body }, call)
    if (!answer.ok) return answer
    const { status, value } = answer.value
    return status < 300 ? ok(value) : { ok: false, fault: refusalOf(answer.value) }
  }

  /** The post of a fullname, and the comment that is replied to. */
  async function parentOf(
    fullname: string,
    call: ActCall,
  ): Promise<Outcome<{ post_id: number; parent_id?: number }>> {
    const id = Number(fullname.slice(3))
    if (fullname.startsWith('t3_')) return ok({ post_id: id })
    const view = await api.byId('comment', id, call, clientOf(call))
    if (!view.ok) return view
    const post_id = idAt(fieldsOf(view.value?.['comment']), 'post_id')
    return post_id === null
      ? fail({ kind: 'not_found', reason: 'absent' })
      : ok({ post_id, parent_id: id })
  }

  return {
    login: (account, call) => signIn(api, account, now(), call),
    /** Replies to a post or a comment; `text` is Markdown. */
    async comment(
      { parent, text }: { parent: string; text: string },
      call: ActCall,
    ): Promise<Acted<Posted>> {
      const place = await parentOf(parent, call)
      if (!place.ok) return place
      const done = await write('/comment', { content: text, body: text, ...place.value }, call)
      if (!done.ok) return done
      const comment = toComment(fieldsOf(fieldsOf(done.value)['comment_view']), site_url)
      if (comment === null) return UNKNOWN
      return ok({ name: comment.name, permalink: comment.url, comment })
    },

    /** `id` is a fullname. */
    async vote(
      { id, direction }: { id: string; direction: Direction },
      call: ActCall,
    ): Promise<Acted<null>> {
      const server = await api.server(call)
      if (!server.ok) return server
      const kind = id.startsWith('t3_') ? 'post' : 'comment'
      const target = { [`${kind}_id`]: Number(id.slice(3)) }
      const value =
        server.value.dialect.generation === 'v4'
          ? { is_upvote: { up: true, down: false, none: null }[direction] }
          : { score: { up: 1, down: -1, none: 0 }[direction] }
      const done = await write(`/${kind}/like`, { ...target, ...value }, call)
      return done.ok ? ok(null) : done
    },

    /** Sends a private message. The platform has no subjects: it becomes the first line. */
    async message(
      { to, subject, text }: { to: string; subject: string; text: string },
      call: ActCall,
    ): Promise<Acted<SentMessage>> {
      const server = await api.server(call)
      if (!server.ok) return server
      const answer = await api.get(
        server.value.dialect.person,
        { username: to },
        call,
        clientOf(call),
      )
      if (!answer.ok) return answer
      const person = fieldsOf(fieldsOf(fieldsOf(answer.value)['person_view'])['person'])
      const recipient_id = idAt(person, 'id')
      if (recipient_id === null)
        return fail({ kind: 'unreadable', path: '$.person_view.person.id' })
      const content = subject === '' ? text : `**${subject}**\n\n${text}`
      const done = await write('/private_message', { content, recipient_id }, call)
      if (!done.ok) return done
      const view = fieldsOf(fieldsOf(done.value)['private_message_view'])
      const id = idAt(fieldsOf(view['private_message']), 'id')
      if (id === null) return UNKNOWN
      return ok({ id: String(id), thread_id: String(recipient_id), channel: 'mail' })
    },
  } satisfies CredentialActs
}

const UNKNOWN = { ok: false, fault: { kind: 'unknown' } } as const

const codeOf = ({ status, value }: HttpAnswer): string =>
  textAt(fieldsOf(value), 'error') ?? textAt(fieldsOf(value), 'message') ?? `HTTP_${status}`

/** The platform's codes for a refused write. */
const MEANINGS: readonly (readonly [RegExp, Meaning])[] = [
  [/^(not_logged_in|incorrect_login)$/, final('REAUTH_REQUIRED')],
  [/^person_is_banned_from_community$/, final('BANNED_FROM_SUBFORUM')],
  [
    /^(site_ban|person_is_banned_from_site|person_is_blocked|only_\w+|not_an?_\w+)$/,
    final('PERMISSION_DENIED'),
  ],
  [/^locked$/, final('THREAD_LOCKED')],
  [/^(deleted|not_found|couldnt_find_\w+|\w+_not_found)$/, final('NOT_FOUND')],
  [/^(invalid_\w+|language_not_allowed|slurs|content_\w+|\w+_too_long)$/, final('INVALID_REQUEST')],
  [/rate_limit|too_many_requests/, passing('FORUM_RATELIMIT')],
]

function refusalOf(answer: HttpAnswer): NativeRefusal {
  const code = codeOf(answer)
  const meaning = MEANINGS.find(([pattern]) => pattern.test(code))?.[1] ?? REJECTED
  const message = textAt(fieldsOf(answer.value), 'message')
  const { retry_after_s } = answer
  return { kind: 'refused', code, message, field: null, retry_after_s, ...meaning }
}
