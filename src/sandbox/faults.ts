import { type Answer, json, page } from './answer.ts'
import { FAIR, type Twist } from './ask.ts'
import { encode } from './json.ts'
import { blockedPage, challengePage, failurePage, loginPage, shellPage } from './pages.ts'
import { tooMany } from './rate.ts'
import type { Weather, WeatherInput } from './weather.ts'

/** An answer that takes the place of the real one; null when the weather only bends that. */
export function replacement({ input }: Weather): Answer | null {
  switch (input.fault) {
    case 'answer':
      return { status: input.status ?? 200, headers: input.headers ?? {}, body: bodyOf(input) }
    case 'block_403_html':
      return page(blockedPage(), 403)
    case 'challenge_200_html':
      return page(challengePage())
    case 'login_page_200':
      return page(loginPage())
    case 'empty_200':
      return json('')
    case '429_html':
      return tooMany(false, input.retry_after_s ?? null)
    case '429_json':
      return tooMany(true, null)
    case '5xx':
      return failure(input)
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

function failure({ status = 503, retry_after_s }: WeatherInput): Answer {
  const answer = page(failurePage(status), status)
  if (retry_after_s === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retry_after_s) } }
}

const bodyOf = ({ body, body_base64 }: WeatherInput): string | Uint8Array =>
  body_base64 === undefined ? (body ?? '') : Buffer.from(body_base64, 'base64')

/** How the weather bends listings and places. */
export function twist(weather: Weather | null, now: number): Twist {
  if (weather === null) return FAIR
  const { input } = weather
  if (input.fault === 'quarantine') return { ...FAIR, refuse: 'quarantined' }
  if (input.fault === 'private') return { ...FAIR, refuse: 'private' }
  if (input.fault === 'dup_rows') return { ...FAIR, repeated: input.count ?? 3 }
  if (input.fault === 'vanish_anchor') return { ...FAIR, vanished: input.count ?? 1 }
  if (input.fault === 'login_verdict')
    return { ...FAIR, verdict: input.verdict ?? 'captcha', status: input.status ?? null }
  if (input.fault === 'form_error')
    return { ...FAIR, refuse_form: { code: input.code ?? 'SOMETHING_IS_BROKEN' } }
  if (input.fault === 'write_ratelimit')
    return {
      ...FAIR,
      refuse_form: { wait_s: input.wait_s ?? 300, worded: input.worded ?? false },
    }
  if (input.fault === 'shadow_remove_next_comment') return { ...FAIR, filtered: true }
  if (input.fault === 'chat_forbidden') return { ...FAIR, chat: 'forbidden' }
  if (input.fault === 'chat_existing_room') return { ...FAIR, chat: 'existing_room' }
  if (input.fault === 'chat_rate') return { ...FAIR, chat: 'rate' }
  if (input.fault === 'stale') return { ...FAIR, stale: staleness(weather, now) }
  return FAIR
}

function staleness({ input, since }: Weather, now: number): Twist['stale'] {
  if (input.age_s === undefined) return { serials: since.serials, until_s: Infinity }
  return { serials: { post: Infinity, comment: Infinity }, until_s: now / 1000 - input.age_s }
}
