import { isObject } from '../../../core/base/object.ts'
import { ok, type Outcome } from '../../../core/base/result.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { Call } from '../../port.ts'
import type { Client } from '../client.ts'
import { expiryOf } from '../login/cookie-jar.ts'
import { rowAt, wordAt } from '../readers/fields.ts'
import { classify, type NativeResponse } from '../response.ts'
import type { UnretriedRequestInit } from '../unretried-request.ts'

export type Bearers = {
  /** The token among the session's cookies, or the application's own; null if none is valid. */
  current(call: Call): string | null
  /** Requests a new token; null if the platform issues none for this session. */
  fetchToken(call: Call): Promise<Outcome<string | null>>
}

/** A token that expires sooner than this is not used. */
const SPARE_MS = 120_000
const TOKEN_COOKIE = 'token_v2'
const PAGE_TOKEN = /<rs-app\b[^>]*\stoken="([^"]*)"/

/**
 * Creates the token source: the session's cookies, then the token call, then the chat page's
 * start-up data.
 */
export function createBearers({ client, clock }: { client: Client; clock: Clock }): Bearers {
  const { origin } = new URL(client.base)

  async function send(
    what: Omit<UnretriedRequestInit, 'path_kind'>,
    call: Call,
  ): Promise<Outcome<NativeResponse>> {
    const done = await client.once({ path_kind: 'token', ...what }, call)
    return done
  }

  async function byCall(call: Call): Promise<Outcome<string | null>> {
    const csrf_token = cookieOf(call, 'csrf_token')
    if (csrf_token === null) return ok(null)
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      origin,
      referer: `${client.base}/`,
    }
    const body = JSON.stringify({ csrf_token })
    const path = '/svc/shreddit/token'
    const answer = await send({ method: 'POST', path, headers, body }, call)
    if (!answer.ok) return answer
    const read = classify(answer.value, { now: clock.now() })
    return ok(read.ok && isObject(read.value) ? wordAt(read.value, 'token') : null)
  }

  async function byPage(call: Call): Promise<Outcome<string | null>> {
    // With the old token, the platform may only return it again.
    const cookie = without(call.identity.cookie ?? '', TOKEN_COOKIE)
    const headers = { accept: 'text/html', cookie }
    const answer = await send({ method: 'GET', path: '/chat/', headers }, call)
    if (!answer.ok) return answer
    const { status, headers: response_headers, body } = answer.value
    if (status !== 200) return ok(null)
    for (const line of response_headers.getSetCookie()) {
      const value = new RegExp(`^${TOKEN_COOKIE}=([^;]+)`).exec(line)?.[1]
      if (value !== undefined) return ok(value)
    }
    return ok(tokenOfPage(body))
  }

  return {
    current({ identity, ...call }) {
      if (identity.bearer !== null) return identity.bearer
      const token = cookieOf({ identity, ...call }, TOKEN_COOKIE)
      const ends = token === null ? null : expiryOf(token)
      return ends !== null && ends - clock.now() > SPARE_MS ? token : null
    },
    async fetchToken(call) {
      if (call.identity.cookie === null) return ok(null)
      const token = await byCall(call)
      return token.ok && token.value === null ? byPage(call) : token
    },
  }
}

/** The value of one of the session's cookies; null if it is absent. */
function cookieOf({ identity }: Call, name: string): string | null {
  for (const pair of (identity.cookie ?? '').split(/;\s*/)) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at) === name) return pair.slice(at + 1) || null
  }
  return null
}

const without = (cookie: string, name: string): string =>
  cookie
    .split(/;\s*/)
    .filter((pair) => !pair.startsWith(`${name}=`))
    .join('; ')

/** The token in the page's start-up data: JSON in an attribute. */
function tokenOfPage(body: string): string | null {
  const text = PAGE_TOKEN.exec(body)?.[1]?.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
  if (text === undefined) return null
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return null
    return wordAt(value, 'token') ?? wordAt(rowAt(value, 'token') ?? {}, 'token')
  } catch {
    return null
  }
}
