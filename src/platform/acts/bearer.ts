import { isObject } from '../../core/object.ts'
import { ok, type Outcome } from '../../core/outcome.ts'
import type { Clock } from '../../outside.ts'
import { type Answer, classify } from '../classify.ts'
import type { Client } from '../client.ts'
import { expiryOf } from '../jwt.ts'
import type { Doing } from '../once.ts'
import type { Call } from '../platform.ts'
import { rowAt, wordAt } from '../read.ts'

/** The token that the newer parts of the platform take, from what a session has. */
export type Bearers = {
  /** The one that lies among the session's cookies, or an application's own; null where there is none that lives. */
  held(call: Call): string | null
  /** A new one, from the platform; null where it gives none to this session. */
  mint(call: Call): Promise<Outcome<string | null>>
}

/** Sooner than this before its end a token is not worth beginning with. */
const SPARE_MS = 120_000
const TOKEN_COOKIE = 'token_v2'
const PAGE_TOKEN = /<rs-app\b[^>]*\stoken="([^"]*)"/

/** Looks for a token where it costs nothing, then asks for one: by the call for it, then as a page of the chat has it. */
export function createBearers({ client, clock }: { client: Client; clock: Clock }): Bearers {
  const { origin } = new URL(client.base)

  async function ask(what: Omit<Doing, 'path_kind'>, call: Call): Promise<Outcome<Answer>> {
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
    const answer = await ask({ method: 'POST', path, headers, body }, call)
    if (!answer.ok) return answer
    const read = classify(answer.value, { now: clock.now() })
    return ok(read.ok && isObject(read.value) ? wordAt(read.value, 'token') : null)
  }

  async function byPage(call: Call): Promise<Outcome<string | null>> {
    // Given the old one, it may only be echoed.
    const cookie = without(call.eyes.cookie ?? '', TOKEN_COOKIE)
    const headers = { accept: 'text/html', cookie }
    const answer = await ask({ method: 'GET', path: '/chat/', headers }, call)
    if (!answer.ok) return answer
    const { status, headers: told, body } = answer.value
    if (status !== 200) return ok(null)
    for (const line of told.getSetCookie()) {
      const value = new RegExp(`^${TOKEN_COOKIE}=([^;]+)`).exec(line)?.[1]
      if (value !== undefined) return ok(value)
    }
    return ok(tokenOfPage(body))
  }

  return {
    held({ eyes, ...call }) {
      if (eyes.bearer !== null) return eyes.bearer
      const token = cookieOf({ eyes, ...call }, TOKEN_COOKIE)
      const ends = token === null ? null : expiryOf(token)
      return ends !== null && ends - clock.now() > SPARE_MS ? token : null
    },
    async mint(call) {
      if (call.eyes.cookie === null) return ok(null)
      const token = await byCall(call)
      return token.ok && token.value === null ? byPage(call) : token
    },
  }
}

/** The value of a cookie that a session sends, or null. */
function cookieOf({ eyes }: Call, name: string): string | null {
  for (const pair of (eyes.cookie ?? '').split(/;\s*/)) {
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

/** The token in the page's own start-up data: JSON, written as an attribute. */
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
