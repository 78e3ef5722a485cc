import {
  type Acted,
  final,
  type Meaning,
  passing,
  type WriteFault,
} from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import { fail, ok, type Outcome } from '../../core/outcome.ts'
import type { Clock } from '../../outside.ts'
import type { Answer } from '../classify.ts'
import type { Ask, Client } from '../client.ts'
import type { Doing, Done } from '../once.ts'
import type { Call, Eyes } from '../platform.ts'
import { numberAt, type Row, textAt, unreadable, wordAt } from '../read.ts'
import type { Bearers } from './bearer.ts'
import type { Actor } from './form.ts'
import { judge } from './verdict.ts'

/** The chat, as one account. */
export type Line = {
  /** Our own id there. */
  me: string
  /** The id of a person there, by the id that the platform knows them by. */
  idOf(user_id: string): string
  get(ask: Pick<Ask, 'path' | 'query'>): Promise<Outcome<Row>>
  /** Changes something, once. */
  write(method: 'POST' | 'PUT', path: string, body: object): Promise<ChatDone>
}

/** A refusal keeps what the chat said beside it. */
type ChatDone = { ok: true; value: Row } | { ok: false; fault: WriteFault; said: Row }

/** Opens a line; null where this installation, or this session, has no chat. */
export type OpenLine = (actor: Actor, call: Call) => Promise<Outcome<Line | null>>

const CLIENT = '/_matrix/client/v3'
const LOGIN_TYPE = 'com.reddit.token'
const ERROR_CODE = 'com.reddit.error.code'

/** What the chat refuses by a code of the platform's own, which stands beside the protocol's. */
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

/** Lines to the chat at `chat_url`, each with a token that was seen to be the session's own. */
export function createChatLines(deps: {
  client: Client
  bearers: Bearers
  clock: Clock
  chat_url: string
}): OpenLine {
  const { client, bearers, clock, chat_url: host } = deps

  const get = async (ask: Pick<Ask, 'path' | 'query'>, token: string, call: Call) => {
    const path = CLIENT + ask.path
    const asked = { ...call, eyes: eyesWith(call, token) }
    const answer = await client.get({ ...ask, path_kind: 'chat', path, host }, asked)
    if (!answer.ok) return answer
    return isObject(answer.value) ? ok(answer.value) : unreadable('')
  }

  const write = (what: Pick<Doing, 'method' | 'path' | 'body'>, token: string, call: Call) =>
    client.once(
      {
        ...what,
        path_kind: 'chat',
        path: CLIENT + what.path,
        host,
        headers: { 'content-type': 'application/json' },
      },
      { ...call, eyes: eyesWith(call, token) },
    )

  /** Who the chat takes a token for; null when for nobody. */
  async function whoIs(token: string, call: Call): Promise<Outcome<string | null>> {
    const who = await get({ path: '/account/whoami' }, token, call)
    if (who.ok) return ok(wordAt(who.value, 'user_id'))
    return who.fault.kind === 'login_required' ? ok(null) : who
  }

  /** A token that the chat does not know yet is introduced to it. */
  async function introduce(token: string, call: Call): Promise<string | null> {
    const body = JSON.stringify({ type: LOGIN_TYPE, token, initial_device_display_name: 'forumd' })
    const done = await write({ method: 'POST', path: '/login', body }, token, call)
    const told = judge(done, { now: clock.now() })
    return told.ok && isObject(told.value) ? wordAt(told.value, 'access_token') : null
  }

  /** A token the chat takes, with whom it takes it for. */
  async function known(
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
    const held = bearers.held(call)
    if (held !== null) {
      const entered = await known(held, call)
      if (!entered.ok || entered.value !== null) return entered
    }
    const minted = await bearers.mint(call)
    if (!minted.ok) return minted
    return minted.value === null ? ok(null) : known(minted.value, call)
  }

  return async (actor, call) => {
    if (host === '') return ok(null)
    const entered = await enter(call)
    if (!entered.ok) return entered
    // A living session to which no token is given has no way into the chat.
    if (entered.value === null) return ok(null)
    const { token, me } = entered.value
    const [name, domain] = me.split(/:(.*)/s)
    // Somebody else's token among the cookies: nothing may be done with it.
    if (name !== `@t2_${actor.id}` || !domain) return fail({ kind: 'login_required' })
    return ok({
      me,
      idOf: (user_id) => `@t2_${user_id}:${domain}`,
      get: (ask) => get(ask, token, call),
      async write(method, path, body) {
        const done = await write({ method, path, body: JSON.stringify(body) }, token, call)
        return read(done, clock.now())
      },
    })
  }
}

/** Our cookies stay at home, and what is set there is none of our cookies. */
const eyesWith = ({ eyes }: Call, bearer: string): Eyes => ({
  id: eyes.id,
  whose: eyes.whose,
  cookie: null,
  bearer,
  proxy: eyes.proxy,
  ...(eyes.lent && { lent: eyes.lent }),
})

/** What became of a write to the chat. */
function read(done: Done, now: number): ChatDone {
  const said = done.ok ? parsed(done.value) : {}
  const refusal = done.ok && done.value.status >= 400 ? refusalIn(said, done.value.status) : null
  if (refusal) return { ok: false, fault: refusal, said }
  const acted: Acted<unknown> = judge(done, { now })
  if (!acted.ok) return { ...acted, said }
  return isObject(acted.value)
    ? { ok: true, value: acted.value }
    : { ok: false, fault: { kind: 'unknown' }, said }
}

/** A refusal by name; null for what the status alone has to tell. */
function refusalIn(said: Row, status: number): WriteFault | null {
  const code = [wordAt(said, ERROR_CODE), wordAt(said, 'errcode')].find(
    (it) => it !== null && Object.hasOwn(REFUSALS, it),
  )
  const known = code ? REFUSALS[code] : undefined
  if (!code || !known || status >= 500) return null
  const pause_ms = numberAt(said, 'retry_after_ms')
  const throttled = known.meaning === 'FORUM_RATELIMIT'
  return {
    kind: 'refused',
    code,
    message: textAt(said, 'error'),
    field: known.meaning === 'INVALID_REQUEST' ? 'text' : null,
    retry_after_s: throttled ? Math.max(1, Math.ceil((pause_ms ?? PAUSE_S * 1000) / 1000)) : null,
    ...known,
  }
}

function parsed({ body }: Answer): Row {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
