import { isObject } from '../../../../core/base/object.ts'
import { fail, ok, type Outcome } from '../../../../core/base/result.ts'
import { boundedWait, pauseAfterLimit } from '../../../../core/base/wait.ts'
import {
  type Acted,
  final,
  type Meaning,
  passing,
  type WriteFault,
} from '../../../../core/forum/native-refusals.ts'
import type { Clock } from '../../../../runtime/runtime.ts'
import type { Call, Identity } from '../../../port.ts'
import { numberAt, textAt } from '../../../values.ts'
import type { Client, NativeRequest } from '../../client.ts'
import { type NativeRow, unreadable, wordAt } from '../../readers/fields.ts'
import type { NativeResponse } from '../../response.ts'
import type { Done, UnretriedRequestInit } from '../../unretried-request.ts'
import type { Bearers } from '../bearer.ts'
import type { Actor } from '../form.ts'
import { judgeWrite } from '../verdict.ts'

/**
 * Chat of one account (Matrix client-server API).
 * @see https://spec.matrix.org/latest/client-server-api/
 */
export type ChatConnection = {
  /** The account's id in the chat. */
  me: string
  /** The chat id of a user, from the platform's user id. */
  idOf(user_id: string): string
  get(request: Pick<NativeRequest, 'path' | 'query'>): Promise<Outcome<NativeRow>>
  /** Changes something, once. */
  write(method: 'POST' | 'PUT', path: string, body: object): Promise<ChatDone>
}

/** Result of a write; a failure includes the chat's own answer. */
type ChatDone =
  { ok: true; value: NativeRow } | { ok: false; fault: WriteFault; payload: NativeRow }

/** Connects an account; null if this installation or session has no chat. */
export type OpenChat = (actor: Actor, call: Call) => Promise<Outcome<ChatConnection | null>>

const CLIENT = '/_matrix/client/v3'
const LOGIN_TYPE = 'com.reddit.token'
const ERROR_CODE = 'com.reddit.error.code'

/** Refusals with a code of the platform, in addition to the protocol's own. */
const REFUSALS: Readonly<Record<string, Meaning>> = {
  'rate.score_room_creation_limit': passing('FORUM_RATELIMIT'),
  'rate.score_room_creation_limit_ln': passing('FORUM_RATELIMIT'),
  'rate.score_invitation_limit': passing('FORUM_RATELIMIT'),
  'rate.score_invitation_limit_ln': passing('FORUM_RATELIMIT'),
  feature_gated: final('PERMISSION_DENIED'),
  M_FORBIDDEN: final('PERMISSION_DENIED'),
  M_LIMIT_EXCEEDED: passing('FORUM_RATELIMIT'),
  M_TOO_LARGE: final('INVALID_REQUEST'),
}

const PAUSE_S = 60

/**
 * Creates connections to the chat at `chat_url`, each with a token that was verified to belong to
 * the session's account.
 */
export function createOpenChat(deps: {
  client: Client
  bearers: Bearers
  clock: Clock
  chat_url: string
}): OpenChat {
  const { client, bearers, clock, chat_url: host } = deps

  const get = async (request: Pick<NativeRequest, 'path' | 'query'>, token: string, call: Call) => {
    const path = CLIENT + request.path
    const chat_call = { ...call, identity: identityWith(call, token) }
    const answer = await client.get({ ...request, path_kind: 'chat', path, host }, chat_call)
    if (!answer.ok) return answer
    return isObject(answer.value) ? ok(answer.value) : unreadable('')
  }

  const write = (
    what: Pick<UnretriedRequestInit, 'method' | 'path' | 'body'>,
    token: string,
    call: Call,
  ) =>
    client.once(
      {
        ...what,
        path_kind: 'chat',
        path: CLIENT + what.path,
        host,
        headers: { 'content-type': 'application/json' },
      },
      { ...call, identity: identityWith(call, token) },
    )

  /** The chat user of a token; null if the chat does not accept it. */
  async function whoIs(token: string, call: Call): Promise<Outcome<string | null>> {
    const who = await get({ path: '/account/whoami' }, token, call)
    if (who.ok) return ok(wordAt(who.value, 'user_id'))
    return who.fault.kind === 'login_required' ? ok(null) : who
  }

  async function introduce(token: string, call: Call): Promise<string | null> {
    const body = JSON.stringify({ type: LOGIN_TYPE, token, initial_device_display_name: 'forumd' })
    const done = await write({ method: 'POST', path: '/login', body }, token, call)
    const outcome = judgeWrite(done, { now: clock.now() })
    return outcome.ok && isObject(outcome.value) ? wordAt(outcome.value, 'access_token') : null
  }

  async function authenticate(
    token: string,
    call: Call,
  ): Promise<Outcome<{ token: string; me: string } | null>> {
    const me = await whoIs(token, call)
    if (!me.ok) return me
    if (me.value !== null) return ok({ token, me: me.value })
    const other = await introduce(token, call)
    if (other === null) return ok(null)
    const again = await whoIs(other, call)
    if (!again.ok) return again
    return ok(again.value === null ? null : { token: other, me: again.value })
  }

  async function enter(call: Call): Promise<Outcome<{ token: string; me: string } | null>> {
    const current = bearers.current(call)
    if (current !== null) {
      const entered = await authenticate(current, call)
      if (!entered.ok || entered.value !== null) return entered
    }
    const minted = await bearers.fetchToken(call)
    if (!minted.ok) return minted
    return minted.value === null ? ok(null) : authenticate(minted.value, call)
  }

  return async (actor, call) => {
    if (host === '') return ok(null)
    const entered = await enter(call)
    if (!entered.ok) return entered
    // A valid session without a token has no access to the chat.
    if (entered.value === null) return ok(null)
    const { token, me } = entered.value
    const [name, domain] = me.split(/:(.*)/s)
    // The cookies contain another account's token, which must not be used.
    if (name !== `@t2_${actor.id}` || !domain) return fail({ kind: 'login_required' })
    return ok({
      me,
      idOf: (user_id) => `@t2_${user_id}:${domain}`,
      get: (request) => get(request, token, call),
      async write(method, path, body) {
        const done = await write({ method, path, body: JSON.stringify(body) }, token, call)
        return read(done, clock.now())
      },
    })
  }
}

/** The chat gets the token but not the session's cookies, and its cookies are not stored. */
const identityWith = ({ identity }: Call, bearer: string): Identity => ({
  id: identity.id,
  whose: identity.whose,
  cookie: null,
  bearer,
  proxy: identity.proxy,
  ...(identity.pool_proxy && { pool_proxy: identity.pool_proxy }),
})

function read(done: Done, now: number): ChatDone {
  const payload = done.ok ? parsed(done.value) : {}
  const refusal = done.ok && done.value.status >= 400 ? refusalIn(payload, done.value.status) : null
  if (refusal) return { ok: false, fault: refusal, payload }
  const acted: Acted<unknown> = judgeWrite(done, { now })
  if (!acted.ok) return { ...acted, payload }
  return isObject(acted.value)
    ? { ok: true, value: acted.value }
    : { ok: false, fault: { kind: 'unknown' }, payload }
}

/** A refusal by its code; null if only the status is known. */
function refusalIn(payload: NativeRow, status: number): WriteFault | null {
  const code = [wordAt(payload, ERROR_CODE), wordAt(payload, 'errcode')].find(
    (it) => it !== null && Object.hasOwn(REFUSALS, it),
  )
  const entry = code ? REFUSALS[code] : undefined
  if (!code || !entry || status >= 500) return null
  const pause_ms = numberAt(payload, 'retry_after_ms')
  const throttled = entry.meaning === 'FORUM_RATELIMIT'
  return {
    kind: 'refused',
    code,
    message: textAt(payload, 'error'),
    field: entry.meaning === 'INVALID_REQUEST' ? 'text' : null,
    retry_after_s: throttled
      ? pauseAfterLimit(boundedWait(pause_ms === null ? null : pause_ms / 1000), PAUSE_S)
          .retry_after_s
      : null,
    ...entry,
  }
}

function parsed({ body }: NativeResponse): NativeRow {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
