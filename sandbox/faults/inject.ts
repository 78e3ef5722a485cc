import { blockedPage, challengePage, failurePage, loginPage, shellPage } from '../render/pages.ts'
import { NO_PATCH, type ResponsePatch } from '../server/request.ts'
import { encode, json, page, redirect, refusal, type SandboxResponse } from '../server/response.ts'
import { tooManyRequests } from './rate-limit.ts'
import type { FaultRule, FaultRuleInput } from './rules.ts'

/** Path of the token requests of applications. */
const TOKEN_PATH = '/api/v1/access_token'

/** Response that replaces the real one at `path`; null if the fault only modifies it. */
export function replacementFor({ input }: FaultRule, path: string): SandboxResponse | null {
  switch (input.fault) {
    case 'answer':
      return { status: input.status ?? 200, headers: input.headers ?? {}, body: bodyOf(input) }
    case 'block_403_html':
      return page(blockedPage(), 403)
    case 'challenge_200_html':
      return page(challengePage())
    case 'login_page_200':
      return page(loginPage())
    case 'login_redirect':
      return redirect(`/login/?dest=${encodeURIComponent(path)}`)
    case 'client_revoked':
      // The token endpoint no longer knows the application; tokens that it has are refused.
      return refusal(path === TOKEN_PATH ? 401 : 403)
    case 'empty_200':
      return json('')
    case '429_html':
      return tooManyRequests(false, input.retry_after_s ?? null)
    case '429_json':
      return tooManyRequests(true, null)
    case '5xx':
      return serverError(input)
    case 'html': {
      const body = bodyOf(input)
      return page(
        typeof body === 'string' && body !== '' ? body : shellPage('Reddit'),
        input.status,
      )
    }
    case 'json_message_200': {
      const error = input.status ?? 403
      return json(encode({ message: error === 404 ? 'Not Found' : 'Forbidden', error }))
    }
    case 'slow':
    case 'reset':
    case 'truncated':
    case 'drop_session':
    case 'revoke_after_n':
    case 'quarantine':
    case 'private':
    case 'placeholder':
    case 'emptied':
    case 'dup_rows':
    case 'vanish_anchor':
    case 'stale':
    case 'login_verdict':
    case 'form_error':
    case 'write_ratelimit':
    case 'shadow_remove_next_comment':
    case 'lost_answer':
    case 'chat_forbidden':
    case 'chat_existing_room':
    case 'chat_rate':
      return null
  }
}

function serverError({ status = 503, retry_after_s }: FaultRuleInput): SandboxResponse {
  const answer = page(failurePage(status), status)
  if (retry_after_s === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retry_after_s) } }
}

const bodyOf = ({ body, body_base64 }: FaultRuleInput): string | Uint8Array =>
  body_base64 === undefined ? (body ?? '') : Buffer.from(body_base64, 'base64')

/** Changes that a fault makes to listings and subforums. */
export function patchFor(rule: FaultRule | null, now: number): ResponsePatch {
  if (rule === null) return NO_PATCH
  const { input } = rule
  if (input.fault === 'quarantine') return { ...NO_PATCH, refuse: 'quarantined' }
  if (input.fault === 'private') return { ...NO_PATCH, refuse: 'private' }
  if (input.fault === 'placeholder' || input.fault === 'emptied')
    return { ...NO_PATCH, instead: input.fault }
  if (input.fault === 'dup_rows') return { ...NO_PATCH, repeat_last: input.count ?? 3 }
  if (input.fault === 'vanish_anchor') return { ...NO_PATCH, drop_newest: input.count ?? 1 }
  if (input.fault === 'login_verdict')
    return { ...NO_PATCH, verdict: input.verdict ?? 'captcha', status: input.status ?? null }
  if (input.fault === 'form_error')
    return { ...NO_PATCH, refuse_form: { code: input.code ?? 'SOMETHING_IS_BROKEN' } }
  if (input.fault === 'write_ratelimit')
    return {
      ...NO_PATCH,
      refuse_form: { wait_s: input.wait_s ?? 300, sentence_only: input.worded ?? false },
    }
  if (input.fault === 'shadow_remove_next_comment') return { ...NO_PATCH, remove_comment: true }
  if (input.fault === 'chat_forbidden') return { ...NO_PATCH, chat: 'forbidden' }
  if (input.fault === 'chat_existing_room') return { ...NO_PATCH, chat: 'existing_room' }
  if (input.fault === 'chat_rate') return { ...NO_PATCH, chat: 'rate' }
  if (input.fault === 'stale') return { ...NO_PATCH, stale: stalePatch(rule, now) }
  return NO_PATCH
}

function stalePatch({ input, since }: FaultRule, now: number): ResponsePatch['stale'] {
  if (input.age_s === undefined) return { serials: since.serials, until_s: Infinity }
  return { serials: { post: Infinity, comment: Infinity }, until_s: now / 1000 - input.age_s }
}
