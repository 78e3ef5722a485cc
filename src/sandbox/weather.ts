import * as z from 'zod'

import { FORM_CODES } from './form-errors.ts'

/** What can befall a request (platform-protocol.md 15). */
export const FAULTS = [
  'answer',
  'block_403_html',
  'challenge_200_html',
  'login_page_200',
  'empty_200',
  '429_html',
  '429_json',
  '5xx',
  'slow',
  'reset',
  'truncated',
  'html',
  'json_message_200',
  'drop_session',
  'revoke_after_n',
  'quarantine',
  'private',
  'dup_rows',
  'vanish_anchor',
  'stale',
  'login_verdict',
  'form_error',
  'write_ratelimit',
  'shadow_remove_next_comment',
  'lost_answer',
  'chat_forbidden',
  'chat_existing_room',
  'chat_rate',
] as const

/** What signing in can end with. */
const VERDICTS = ['ok', 'wrong', '2fa', '2fa_bad', 'captcha', 'rate', 'html'] as const
export type Verdict = (typeof VERDICTS)[number]

const count = z.int().min(1).max(1_000_000)

/** A kind of trouble: for which requests, how often, how long. */
export const weatherSchema = z.strictObject({
  /** A path prefix, or a pattern in which `*` stands for anything. With `?` the query is looked at too. */
  path: z.string().startsWith('/').max(2_000),
  fault: z.enum(FAULTS),
  /** How many requests it befalls; without it, all. */
  times: count.optional(),
  /** How many matching requests it lets pass first. */
  skip: z.int().min(0).max(1_000_000).optional(),
  /** How long it lasts. */
  seconds: z.number().positive().max(31_536_000).optional(),
  /** What `login_verdict` says, whatever was typed (captcha). */
  verdict: z.enum(VERDICTS).optional(),
  /** With what `form_error` refuses every form call (SOMETHING_IS_BROKEN). */
  code: z.enum(FORM_CODES).optional(),
  /** What `write_ratelimit` says to wait (300), and whether only its sentence says so. */
  wait_s: z.number().positive().max(86_400).optional(),
  worded: z.boolean().optional(),
  /** The status of `answer` (200), `5xx` (503), `html` (200), `json_message_200` (403 inside 200) and of a `login_verdict`. */
  status: z.int().min(200).max(599).optional(),
  /** Retry-After of `429_html` and `5xx`. */
  retry_after_s: z.number().min(0).max(86_400).optional(),
  /** How long `slow` takes (10 s). */
  delay_s: z.number().positive().max(86_400).optional(),
  /** Rows of `dup_rows` (3) and `vanish_anchor` (1), requests of `revoke_after_n` (1). */
  count: count.optional(),
  /** How old the page of `stale` is; without it, as old as the weather. */
  age_s: z.number().positive().max(31_536_000).optional(),
  /** The body of `answer` and `html`, byte for byte. */
  body: z
    .union([z.string(), z.custom<Uint8Array>((value) => value instanceof Uint8Array)])
    .optional(),
  /** The same where it is not text. */
  body_base64: z.base64().optional(),
  /** The headers of `answer`. */
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
})
export type WeatherInput = z.input<typeof weatherSchema>

/** A rule in force. */
export type Weather = {
  id: number
  input: WeatherInput
  matches(path: string, search: string): boolean
  /** Requests yet to be let through. */
  skip: number
  /** Requests yet to befall; Infinity without a bound. */
  left: number
  /** Requests befallen so far. */
  struck: number
  /** Epoch ms. */
  until_at: number
  since: { at: number; serials: { post: number; comment: number } }
}

function matcher(pattern: string): Weather['matches'] {
  const withQuery = pattern.includes('?')
  const target = (path: string, search: string) => (withQuery ? path + search : path)
  if (!pattern.includes('*')) return (path, search) => target(path, search).startsWith(pattern)
  const source = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  const shape = new RegExp(`^${source.join('.*')}$`)
  return (path, search) => shape.test(target(path, search))
}

/** The weather in force, and how it is changed. */
export type Sky = {
  add(input: WeatherInput, since: Weather['since']): Weather
  clear(): void
  list(): readonly Weather[]
  /** The newest rule that befalls this request; it is used up by that. */
  strike(path: string, search: string, now: number): Weather | null
}

const MOST_RULES = 1_000

/** The rules in force, newest first in rank. */
export function createSky(): Sky {
  let rules: Weather[] = []
  let next = 1
  return {
    add(input, since) {
      // The time a slow answer takes may also be said in `seconds`.
      const slow = input.fault === 'slow' && input.delay_s === undefined
      const rule: Weather = {
        id: next++,
        input: slow ? { ...input, delay_s: input.seconds ?? 10 } : input,
        matches: matcher(input.path),
        skip: input.skip ?? 0,
        left: input.times ?? (input.fault === 'shadow_remove_next_comment' ? 1 : Infinity),
        struck: 0,
        until_at: input.seconds && !slow ? since.at + input.seconds * 1000 : Infinity,
        since,
      }
      rules = [...rules, rule].slice(-MOST_RULES)
      return rule
    },
    clear() {
      rules = []
    },
    list: () => rules,
    strike(path, search, now) {
      if (rules.length === 0) return null
      rules = rules.filter((rule) => rule.left > 0 && rule.until_at > now)
      for (const rule of rules.toReversed()) {
        if (!rule.matches(path, search)) continue
        if (rule.skip > 0) {
          rule.skip--
          continue
        }
        rule.left--
        rule.struck++
        return rule
      }
      return null
    },
  }
}
