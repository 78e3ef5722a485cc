import { type Answer, json, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { refuseForm, throttled } from './form-errors.ts'
import type { User } from './model.ts'
import { comment } from './write-comment.ts'
import { compose, markMail } from './write-mail.ts'
import { block, optIn, subscribe } from './write-places.ts'
import { edit, erase, hide, save, vote } from './write-things.ts'

/** A form call of somebody who may make it. `asJson`: things are answered whole, not as the old pages draw them. */
type Write = (ask: Ask, user: User, asJson: boolean) => Answer

const NOTHING = json('{}')
const done =
  (run: (ask: Ask, user: User) => Answer | null): Write =>
  (ask, user) =>
    run(ask, user) ?? NOTHING

/** By the path after `/api/`. */
const WRITES: Record<string, Write> = {
  vote: done(vote),
  comment,
  compose,
  read_message: done((ask, user) => markMail(ask, user, false)),
  unread_message: done((ask, user) => markMail(ask, user, true)),
  read_all_messages(_, user) {
    for (const letter of user.inbox) letter.unread = false
    return json('{}', 202)
  },
  save: done((ask, user) => save(ask, user, true)),
  unsave: done((ask, user) => save(ask, user, false)),
  hide: done((ask, user) => hide(ask, user, true)),
  unhide: done((ask, user) => hide(ask, user, false)),
  del: done(erase),
  editusertext: edit,
  subscribe: done(subscribe),
  quarantine_optin: (ask, user) => optIn(ask, user, true),
  quarantine_optout: (ask, user) => optIn(ask, user, false),
  block_user: block,
}

/** `POST /api/<call>`; null where there is no such call. */
export function write(ask: Ask, call: string, asJson: boolean): Answer | null {
  const run = Object.hasOwn(WRITES, call) ? WRITES[call] : undefined
  if (run === undefined) return null
  const allowed = mayWrite(ask)
  return allowed.user === null ? allowed.refusal : run(ask, allowed.user, asJson)
}

type Allowed = { user: User } | { user: null; refusal: Answer }

/** Who writes, or why nothing is written, whatever it is. */
export function mayWrite(ask: Ask): Allowed {
  const { user, session } = ask.viewer
  if (user === null) return refused(refuseForm(ask, 'USER_REQUIRED'))
  // A bearer needs no token of its own to write; cookies alone prove nothing about who made the form.
  if (session !== null && tokenOf(ask) !== session.modhash) return refused(refusal(403))
  if (user.standing === 'suspended') return refused(refusal(403))
  const { refuse_form } = ask.twist
  if (refuse_form === null) return { user }
  return refused(
    'code' in refuse_form
      ? refuseForm(ask, refuse_form.code)
      : throttled(ask, refuse_form.wait_s, refuse_form.worded),
  )
}

const refused = (answer: Answer): Allowed => ({ user: null, refusal: answer })

const tokenOf = ({ query, headers }: Ask) => query.get('uh') ?? headers.get('x-modhash')
