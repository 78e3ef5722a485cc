import {
  final,
  type Meaning,
  passing,
  pauseOf,
  type Refusal,
  REJECTED,
  type WriteFault,
} from '../core/native-refusals.ts'
import { isObject } from '../core/object.ts'
import { listAt, numberAt, type Row, textAt } from './read.ts'

/**
 * Every refusal that the platform's calls give by name, and what it means to whoever asked (contract 6). A code that
 * is not here is passed on as FORUM_REJECTED.
 */
export const NATIVE_REFUSALS: Readonly<Record<string, Meaning | 'session_dead'>> = {
  USER_REQUIRED: 'session_dead',
  VERIFIED_USER_REQUIRED: final('PERMISSION_DENIED'),
  RATELIMIT: passing('FORUM_RATELIMIT'),
  QUOTA_FILLED: passing('FORUM_RATELIMIT'),
  NO_TEXT: final('INVALID_REQUEST'),
  TOO_LONG: final('INVALID_REQUEST'),
  NO_USER: final('INVALID_REQUEST'),
  NO_SUBJECT: final('INVALID_REQUEST'),
  NO_SR_TO_SR_MESSAGE: final('INVALID_REQUEST'),
  SUBREDDIT_OUTBOUND_LINKING_DISALLOWED: final('INVALID_REQUEST'),
  IMAGE_ERROR: final('INVALID_REQUEST'),
  BAD_IMAGE: final('INVALID_REQUEST'),
  TOO_OLD: final('ARCHIVED'),
  THREAD_LOCKED: final('THREAD_LOCKED'),
  DELETED_COMMENT: final('NOT_FOUND'),
  DELETED_LINK: final('NOT_FOUND'),
  USER_DOESNT_EXIST: final('NOT_FOUND'),
  SUBREDDIT_NOEXIST: final('NOT_FOUND'),
  // Said of an author who has blocked us: it sounds passing and is not.
  SOMETHING_IS_BROKEN: final('PERMISSION_DENIED'),
  USER_BLOCKED: final('PERMISSION_DENIED'),
  IN_TIMEOUT: final('PERMISSION_DENIED'),
  RESTRICTED_TO_PM: final('PERMISSION_DENIED'),
  NOT_WHITELISTED_BY_USER_MESSAGE: final('PERMISSION_DENIED'),
  USER_MUTED: final('PERMISSION_DENIED'),
  MUTED_FROM_SUBREDDIT: final('PERMISSION_DENIED'),
  MOD_REQUIRED: final('PERMISSION_DENIED'),
  SUBREDDIT_NOTALLOWED: final('PERMISSION_DENIED'),
  INVALID_MODHASH: final('PERMISSION_DENIED'),
  BANNED_FROM_SUBREDDIT: final('BANNED_FROM_SUBFORUM'),
  SUBREDDIT_REQUIRED: REJECTED,
  BAD_CAPTCHA: REJECTED,
  INVALID_OPTION: REJECTED,
  BAD_NUMBER: REJECTED,
}

/** What the platform calls our own fields. */
export type Fields = Readonly<Record<string, string>>

type Said = {
  code: string
  message: string | null
  field: string | null
  /** Seconds, where a number tells them. */
  pause_s: number | null
}

/** What a refusal means. `fields` says which of ours a native field is. */
export function refusalOf({ code, message, field, pause_s }: Said, fields: Fields): WriteFault {
  const known = Object.hasOwn(NATIVE_REFUSALS, code) ? NATIVE_REFUSALS[code] : REJECTED
  if (known === 'session_dead') return { kind: 'login_required' }
  const { meaning, terminal } = known ?? REJECTED
  const paused = pause_s !== null || meaning === 'FORUM_RATELIMIT'
  return {
    kind: 'refused',
    code,
    message,
    field: field === null ? null : (fields[field] ?? null),
    retry_after_s: paused ? pauseOf(pause_s, message ?? '') : null,
    meaning,
    terminal,
  }
}

/** A refusal for which the platform gave a status and no code. */
export const refusedBy = (
  status: number,
  { meaning, terminal }: Meaning,
  rest: Partial<Pick<Refusal, 'message' | 'retry_after_s'>> = {},
): Refusal => ({
  kind: 'refused',
  code: `HTTP_${status}`,
  message: null,
  field: null,
  retry_after_s: null,
  ...rest,
  meaning,
  terminal,
})

/**
 * The refusal that an answer holds, in whichever of its shapes; null when it holds none: the form's envelope, the
 * newer calls' reason, an upload's errors, a script for a page.
 */
export function readRefusal(value: unknown, fields: Fields): WriteFault | null {
  if (!isObject(value)) return null
  const said = enveloped(value) ?? reasoned(value) ?? listed(value) ?? scripted(value)
  return said && refusalOf(said, fields)
}

/** `{"json":{"errors":[["CODE","sentence","field"]],"ratelimit":12.5}}`. */
function enveloped({ json }: Row): Said | null {
  if (!isObject(json)) return null
  const first: unknown = listAt(json, 'errors')[0]
  if (first === undefined) return null
  const [code, message, field]: unknown[] = Array.isArray(first) ? first : []
  return {
    code: wordOr(code, 'UNNAMED'),
    message: typeof message === 'string' ? message : null,
    field: typeof field === 'string' ? field : null,
    pause_s: numberAt(json, 'ratelimit'),
  }
}

const CODE = /^[A-Z][A-Z0-9_]{2,63}$/

/** `{"reason":"CODE","explanation":"sentence","fields":["field"]}`. */
function reasoned(value: Row): Said | null {
  const code = textAt(value, 'reason') ?? ''
  if (!CODE.test(code)) return null
  const field: unknown = listAt(value, 'fields')[0]
  return {
    code,
    message: textAt(value, 'explanation') ?? textAt(value, 'message'),
    field: typeof field === 'string' ? field : null,
    pause_s: null,
  }
}

/** `{"errors":["CODE"],"errors_values":["sentence"]}`. */
function listed(value: Row): Said | null {
  const code: unknown = listAt(value, 'errors')[0]
  if (typeof code !== 'string') return null
  const message: unknown = listAt(value, 'errors_values')[0]
  return {
    code: wordOr(code, 'UNNAMED'),
    message: typeof message === 'string' ? message : null,
    field: 'file',
    pause_s: null,
  }
}

/**
 * `{"jquery":[…],"success":false}`: the code stands in the name of what the page shall show. Where nothing is said of a
 * success, only such a name is a refusal.
 */
function scripted({ jquery, success }: Row): Said | null {
  if (success === true || !Array.isArray(jquery)) return null
  const named = /"\.error\.([A-Z_]+)(?:\.field-(\w*))?"/.exec(JSON.stringify(jquery))
  if (named === null && success !== false) return null
  const [, code = 'UNNAMED', field = ''] = named ?? []
  return { code, message: null, field: field || null, pause_s: null }
}

const wordOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise
