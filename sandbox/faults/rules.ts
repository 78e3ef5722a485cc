import * as z from 'zod'

import { FORM_CODES } from './form-errors.ts'

export type LoginVerdict = (typeof LOGIN_VERDICTS)[number]

/** Kinds of faults. */
export const FAULTS = [
  'answer',
  'block_403_html',
  'challenge_200_html',
  'login_page_200',
  'login_redirect',
  'client_revoked',
  'placeholder',
  'emptied',
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

/** Results of a login. */
const LOGIN_VERDICTS = ['ok', 'wrong', '2fa', '2fa_bad', 'captcha', 'rate', 'html'] as const
const count = z.int().min(1).max(1_000_000)

/** Fault to inject: kind, matching requests, number of times, duration. */
export const faultRuleSchema = z.strictObject({
  /**
   * Path prefix, or a pattern in which `*` matches anything. A `?` extends the match to the query.
   */
  path: z.string().startsWith('/').max(2_000),
  fault: z.enum(FAULTS),
  /** Number of requests to affect; default: all. */
  times: count.optional(),
  /** Number of matching requests to leave unaffected first. */
  skip: z.int().min(0).max(1_000_000).optional(),
  /** Duration of the rule. */
  seconds: z.number().positive().max(31_536_000).optional(),
  /** Result of `login_verdict` for any credentials (captcha). */
  verdict: z.enum(LOGIN_VERDICTS).optional(),
  /** Error code of `form_error` for every form call (SOMETHING_IS_BROKEN). */
  code: z.enum(FORM_CODES).optional(),
  /** Delay named by `write_ratelimit` (300), and whether only its sentence names it. */
  wait_s: z.number().positive().max(86_400).optional(),
  worded: z.boolean().optional(),
  /**
   * Status of `answer` (200), `5xx` (503), `html` (200), `json_message_200` (403 inside 200) and of
   * a `login_verdict`.
   */
  status: z.int().min(200).max(599).optional(),
  /** Retry-After of `429_html` and `5xx`. */
  retry_after_s: z.number().min(0).max(86_400).optional(),
  /** Delay of `slow` (10 s). */
  delay_s: z.number().positive().max(86_400).optional(),
  /** Rows of `dup_rows` (3) and `vanish_anchor` (1), requests of `revoke_after_n` (1). */
  count: count.optional(),
  /** Age of the page of `stale`; default: the age of the rule. */
  age_s: z.number().positive().max(31_536_000).optional(),
  /** Body of `answer` and `html`, byte for byte. */
  body: z
    .union([z.string(), z.custom<Uint8Array>((value) => value instanceof Uint8Array)])
    .optional(),
  /** Binary form of `body`. */
  body_base64: z.base64().optional(),
  /** Headers of `answer`. */
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
})
export type FaultRuleInput = z.input<typeof faultRuleSchema>

/** Fields of a rule that do not depend on the platform. */
export type AnyFaultInput = Omit<FaultRuleInput, 'fault'> & { fault: string }

/** Active rule. */
export type FaultRule<Input extends AnyFaultInput = FaultRuleInput> = {
  id: number
  input: Input
  matches(path: string, search: string): boolean
  /** Matching requests still to leave unaffected. */
  skip: number
  /** Requests still to affect; Infinity: no limit. */
  remaining: number
  /** Requests affected so far. */
  uses: number
  /** Epoch ms. */
  expires_at: number
  since: { at: number; serials: { post: number; comment: number } }
}

function matcher(pattern: string): FaultRule['matches'] {
  const withQuery = pattern.includes('?')
  const target = (path: string, search: string) => (withQuery ? path + search : path)
  if (!pattern.includes('*')) return (path, search) => target(path, search).startsWith(pattern)
  const source = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  const shape = new RegExp(`^${source.join('.*')}$`)
  return (path, search) => shape.test(target(path, search))
}

/** Active rules, and operations on them. */
export type FaultRules<Input extends AnyFaultInput = FaultRuleInput> = {
  add(input: Input, since: FaultRule['since']): FaultRule<Input>
  clear(): void
  list(): readonly FaultRule<Input>[]
  /** Newest rule that affects this request; counts as one use of it. */
  consume(path: string, search: string, now: number): FaultRule<Input> | null
}

const MOST_RULES = 1_000

/** Set of active rules; the newest takes precedence. */
export function createFaultRules<
  Input extends AnyFaultInput = FaultRuleInput,
>(): FaultRules<Input> {
  let rules: FaultRule<Input>[] = []
  let next = 1
  return {
    add(input, since) {
      // The delay of `slow` may also be given in `seconds`.
      const slow = input.fault === 'slow' && input.delay_s === undefined
      const rule: FaultRule<Input> = {
        id: next++,
        input: slow ? { ...input, delay_s: input.seconds ?? 10 } : input,
        matches: matcher(input.path),
        skip: input.skip ?? 0,
        remaining: input.times ?? (input.fault === 'shadow_remove_next_comment' ? 1 : Infinity),
        uses: 0,
        expires_at: input.seconds && !slow ? since.at + input.seconds * 1000 : Infinity,
        since,
      }
      rules = [...rules, rule].slice(-MOST_RULES)
      return rule
    },
    clear() {
      rules = []
    },
    list: () => rules,
    consume(path, search, now) {
      if (rules.length === 0) return null
      rules = rules.filter((rule) => rule.remaining > 0 && rule.expires_at > now)
      for (const rule of rules.toReversed()) {
        if (!rule.matches(path, search)) continue
        if (rule.skip > 0) {
          rule.skip--
          continue
        }
        rule.remaining--
        rule.uses++
        return rule
      }
      return null
    },
  }
}
