import * as z from 'zod'

import { type Attempt, isSuccess, retryAfter } from '../core/ladder.ts'
import { once } from '../core/once.ts'
import type { WebhookKind } from '../core/webhook-kind.ts'
import type { Answer } from '../net/transport.ts'

const discordLimit = once(() => z.object({ retry_after: z.number().nonnegative() }))

/** Reads an answer as the kind of target means it: Slack says yes with `ok`, Discord says when in JSON. */
export function toAttempt(kind: WebhookKind, answer: Answer, now: number): Attempt {
  if (answer.kind === 'failed') return answer
  const { status, headers } = answer
  const body = () => new TextDecoder().decode(answer.body)
  const accepted = isSuccess(status) && (kind !== 'slack' || body().trim() === 'ok')
  const told_s = kind === 'discord' && status === 429 ? discordRetryAfter(body()) : null
  const retry_after_s = told_s ?? retryAfter(headers.get('retry-after'), now)
  return { kind: 'answered', status, accepted, retry_after_s }
}

function discordRetryAfter(body: string): number | null {
  try {
    const limit = discordLimit().safeParse(JSON.parse(body))
    return limit.success ? limit.data.retry_after : null
  } catch {
    return null
  }
}
