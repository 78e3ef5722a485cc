import type { Outcome } from '../../../core/base/result.ts'
import type { Egress } from '../../../net/egress.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { CookieJar, Origin } from '../../port.ts'
import { createRequest } from '../request.ts'
import type { NativeResponse } from '../response.ts'

type Sent = { accept: string; form?: Record<string, string>; json?: object }

/** A sequence of requests that starts with an empty jar and stores the cookies of the answers. */
export type CookieSession = {
  request(path: string, sent: Sent): Promise<Outcome<NativeResponse>>
  /** The platform's time by its last answer; epoch ms. */
  now(): number
}

type Deps = {
  egress: Egress
  clock: Clock
  /** Without a trailing slash. */
  base: string
  user_agent: string
  timeout_ms: number
}

/** Redirects are returned as answers. Every answer that is not a refusal fills the jar. */
export function openCookieSession(deps: Deps, origin: Origin, jar: CookieJar): CookieSession {
  const { egress, clock, base, user_agent, timeout_ms } = deps
  const { proxy, whose, deadline_at, signal } = origin
  const send = createRequest(egress)
  let ahead_ms = 0

  return {
    async request(path, { accept, form, json }) {
      const cookie = jar.header()
      const answer = await send({
        url: base + path,
        identity: { proxy, whose },
        headers: {
          'user-agent': user_agent,
          accept,
          ...(cookie !== null && { cookie }),
          ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...(json && { 'content-type': 'application/json' }),
          ...((form ?? json) && { origin: new URL(base).origin, referer: `${base}/login/` }),
        },
        ...((form ?? json) && { method: 'POST' as const }),
        body: form ? new URLSearchParams(form).toString() : json && JSON.stringify(json),
        timeout_ms: Math.max(0, Math.min(timeout_ms, deadline_at - clock.now())),
        signal,
      })
      if (!answer.ok) return answer
      const { status, headers } = answer.value
      if (status < 400) jar.take(headers.getSetCookie(), 'all')
      const date = Date.parse(headers.get('date') ?? '')
      // Dates are truncated to the second, so they are half a second late on average.
      if (!Number.isNaN(date)) ahead_ms = date + 500 - clock.now()
      return answer
    },
    now: () => clock.now() + ahead_ms,
  }
}
