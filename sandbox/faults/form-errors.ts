import { encode, json, type SandboxResponse } from '../server/response.ts'

/** Parts of a request that determine the form of its answer. */
type FormRequest = { query: Pick<URLSearchParams, 'get'> }

export type FormCode = keyof typeof FORM_ERRORS

/** Refusals of the form calls: message and field. */
export const FORM_ERRORS = {
  USER_REQUIRED: ['Please log in to do that.', null],
  VERIFIED_USER_REQUIRED: ['you need to set a valid email address to do that.', null],
  RATELIMIT: ['you are doing that too much. try again in 5 minutes.', 'ratelimit'],
  NO_TEXT: ['we need something here', 'text'],
  TOO_LONG: ['this is too long (max: 10000)', 'text'],
  TOO_OLD: ["that's a piece of history now; it's too late to reply to it", 'parent'],
  THREAD_LOCKED: ['Comments are locked.', 'parent'],
  DELETED_COMMENT: ['that comment has been deleted', 'parent'],
  DELETED_LINK: ['the link you are commenting on has been deleted', 'parent'],
  SOMETHING_IS_BROKEN: ['Something is broken, please try again later.', 'parent'],
  USER_BLOCKED: ["you can't send to a user that you have blocked", 'to'],
  SUBREDDIT_OUTBOUND_LINKING_DISALLOWED: ['Linking to subreddits is not allowed.', 'text'],
  IN_TIMEOUT: ["You can't do that while suspended.", null],
  NOT_AUTHOR: ["you can't do that", 'thing_id'],
  NO_USER: ['please enter a username', 'to'],
  USER_DOESNT_EXIST: ["that user doesn't exist", 'to'],
  NO_SUBJECT: ['please enter a subject', 'subject'],
  RESTRICTED_TO_PM: [
    "User doesn't accept direct messages. Try sending a chat request instead.",
    'to',
  ],
  NOT_WHITELISTED_BY_USER_MESSAGE: ["can't send a message to that user", 'to'],
  USER_MUTED: ['You have been muted from this subreddit.', 'to'],
  MUTED_FROM_SUBREDDIT: ['You have been muted from this subreddit.', 'to'],
  NO_SR_TO_SR_MESSAGE: ["can't send a message from a subreddit to another subreddit", 'from'],
  SUBREDDIT_NOEXIST: ["that subreddit doesn't exist", 'to'],
  BAD_CAPTCHA: ['care to try these again?', 'captcha'],
  WRONG_PASSWORD: ['wrong password', 'passwd'],
  INCORRECT_USERNAME_PASSWORD: ['incorrect username or password', 'passwd'],
  INVALID_OPTION: ['that option is not valid', null],
  BAD_NUMBER: ["that number isn't in the right range", null],
  MOD_REQUIRED: ['You must be a moderator to do that.', 'sr'],
  SUBREDDIT_REQUIRED: ['you must specify a subreddit', 'sr'],
  BANNED_FROM_SUBREDDIT: ['that user is banned from the subreddit', 'parent'],
  SUBREDDIT_NOTALLOWED: ["you aren't allowed to post there.", 'sr'],
  QUOTA_FILLED: ["You've submitted too many links recently. Please try again in an hour.", null],
} as const satisfies Record<string, readonly [string, string | null]>

/** Maximum characters of a comment or a message. */
export const LONGEST_TEXT = 10_000

const isFormCode = (name: string): name is FormCode => Object.hasOwn(FORM_ERRORS, name)

/** All codes of form errors. */
export const FORM_CODES = Object.keys(FORM_ERRORS).filter(isFormCode)
/** Deviations from the table: message, field, and seconds of a throttle. */
type Details = { message?: string; field?: string | null; ratelimit_s?: number }

/** Refusal of a form call: status 200 with the reason in the body. */
export function refuseForm(
  request: FormRequest,
  code: FormCode,
  details: Details = {},
): SandboxResponse {
  const [default_message, default_field] = FORM_ERRORS[code]
  const { message = default_message, field = default_field, ratelimit_s } = details
  if (!wantsJson(request)) return jquery(`.error.${code}.field-${field ?? ''}`, message, false)
  const throttle = ratelimit_s === undefined ? {} : { ratelimit: ratelimit_s }
  return json(encode({ json: { ...throttle, errors: [[code, message, field]] } }))
}

/** Success of a form call. `data` is JSON text. */
export function formDone(request: FormRequest, data?: string): SandboxResponse {
  if (!wantsJson(request)) return jquery('.status', '', true)
  return json(`{"json":{"errors":[]${data === undefined ? '' : `,"data":${data}`}}}`)
}

/** Without `api_type=json`, the answer is a list of actions for a page's script. */
const wantsJson = ({ query }: FormRequest) => query.get('api_type') === 'json'

function jquery(selector: string, text: string, success: boolean): SandboxResponse {
  const calls = [
    [0, 1, 'call', ['body']],
    [1, 2, 'attr', 'find'],
    [2, 3, 'call', [selector]],
    [3, 4, 'attr', 'show'],
    [4, 5, 'call', []],
    [5, 6, 'attr', 'text'],
    [6, 7, 'call', [text]],
  ]
  return json(encode({ jquery: calls, success }))
}

const MODERN_THROTTLE = "Looks like you've been doing that a lot."

/**
 * Throttled form call: seconds beside the sentence or, in the newer form, in the sentence alone.
 */
export function refuseThrottled(
  request: FormRequest,
  wait_s: number,
  sentence_only: boolean,
): SandboxResponse {
  if (sentence_only)
    return refuseForm(request, 'RATELIMIT', {
      message: `${MODERN_THROTTLE} Take a break for ${Math.ceil(wait_s)} seconds before trying again.`,
    })
  const minutes = Math.max(1, Math.round(wait_s / 60))
  const message = `you are doing that too much. try again in ${minutes} minute${minutes === 1 ? '' : 's'}.`
  return refuseForm(request, 'RATELIMIT', { message, ratelimit_s: wait_s })
}
