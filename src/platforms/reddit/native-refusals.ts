import { isObject } from '../../core/base/object.ts'
import {
  final,
  type Meaning,
  type NativeRefusal,
  passing,
  pauseOf,
  REJECTED,
  type WriteFault,
} from '../../core/forum/native-refusals.ts'
import { numberAt, textAt } from '../values.ts'
import { listAt, type NativeRow } from './readers/fields.ts'

/**
 * Named refusals of the platform's calls and their meaning for the caller. A code
 * that is not listed is passed on as FORUM_REJECTED.
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
  // Returned for an author who has blocked the account: it sounds temporary and is permanent.
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

export type RefusalFields = Readonly<Record<string, string>>

type RawRefusal = {
  code: string
  message: string | null
  field: string | null
  /** Seconds, if the refusal states a number; otherwise null. */
  pause_s: number | null
}

/** Meaning of a refusal. `fields` maps native fields to ours. */
export function refusalOf(
  { code, message, field, pause_s }: RawRefusal,
  fields: RefusalFields,
): WriteFault {
  const entry = Object.hasOwn(NATIVE_REFUSALS, code) ? NATIVE_REFUSALS[code] : REJECTED
  if (entry === 'session_dead') return { kind: 'login_required' }
  const { meaning, terminal } = entry ?? REJECTED
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
  rest: Partial<Pick<NativeRefusal, 'message' | 'retry_after_s'>> = {},
): NativeRefusal => ({
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
 * The refusal in an answer; null if it has none. It can be the form's envelope, the newer calls'
 * reason, an upload's errors or a script for a page.
 */
export function readRefusal(value: unknown, fields: RefusalFields): WriteFault | null {
  if (!isObject(value)) return null
  const raw = enveloped(value) ?? reasoned(value) ?? listed(value) ?? scripted(value)
  return raw && refusalOf(raw, fields)
}

/** `{"json":{"errors":[["CODE","sentence","field"]],"ratelimit":12.5}}`. */
function enveloped({ json }: NativeRow): RawRefusal | null {
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
function reasoned(value: NativeRow): RawRefusal | null {
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
function listed(value: NativeRow): RawRefusal | null {
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
 * `{"jquery":[…],"success":false}`: the code is part of a CSS selector that the script shows. Without
 * `success`, only such a selector is a refusal.
 */
function scripted({ jquery, success }: NativeRow): RawRefusal | null {
  if (success === true || !Array.isArray(jquery)) return null
  const named = /"\.error\.([A-Z_]+)(?:\.field-(\w*))?"/.exec(JSON.stringify(jquery))
  if (named === null && success !== false) return null
  const [, code = 'UNNAMED', field = ''] = named ?? []
  return { code, message: null, field: field || null, pause_s: null }
}

const wordOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise
