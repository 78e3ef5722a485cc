import type { Outcome } from '../core/outcome.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Egress } from '../net/egress.ts'
import type { Clock } from '../outside.ts'
import type { Answer } from './classify.ts'
import type { Jar } from './cookies.ts'
import { createSend } from './transport.ts'

/** From where somebody comes, and by when it must be over. */
export type Visitor = {
  proxy: Proxy | null
  /** Whether the proxy is one of ours or was named by a caller. */
  whose: 'pool' | 'caller'
  /** Epoch ms. */
  deadline_at: number
  signal?: AbortSignal | undefined
}

/** What is sent with a request of a visit. */
type Sent = { accept: string; form?: Record<string, string>; json?: object }

/** One who comes to the platform with an empty jar and keeps what is put into it. */
export type Visit = {
  ask(path: string, sent: Sent): Promise<Outcome<Answer>>
  /** The platform's time, as its last answer told it; epoch ms. */
  now(): number
}

type Deps = {
  egress: Egress
  clock: Clock
  /** Without a slash at its end. */
  base: string
  user_agent: string
  timeout_ms: number
}

/** Begins a visit. Redirects are answers here too; every answer that is none of refusal fills the jar. */
export function beginVisit(deps: Deps, visitor: Visitor, jar: Jar): Visit {
  const { egress, clock, base, user_agent, timeout_ms } = deps
  const { proxy, whose, deadline_at, signal } = visitor
  const send = createSend(egress)
  let ahead_ms = 0

  return {
    async ask(path, { accept, form, json }) {
      const cookie = jar.header()
      const answer = await send({
        url: base + path,
        eyes: { proxy, whose },
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
      // Dates are cut to the second; in the mean they are half of one late.
      if (!Number.isNaN(date)) ahead_ms = date + 500 - clock.now()
      return answer
    },
    now: () => clock.now() + ahead_ms,
  }
}
