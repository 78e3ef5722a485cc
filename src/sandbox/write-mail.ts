import { type Answer, refusal } from './answer.ts'
import type { Ask } from './ask.ts'
import { type FormCode, formDone, LONGEST_TEXT, refuseForm } from './form-errors.ts'
import { send } from './mail.ts'
import type { Subforum, User, World } from './model.ts'

const LONGEST_SUBJECT = 100
const MOST_MARKED = 25

/** `/api/compose`: sends mail, and does not say which one it became. */
export function compose(ask: Ask, user: User): Answer {
  const { query, world } = ask
  const [name, subject, text] = ['to', 'subject', 'text'].map(
    (field) => query.get(field)?.trim() ?? '',
  )
  if (!name) return refuseForm(ask, 'NO_USER')
  const to = recipient(world, name)
  if (typeof to === 'string') return refuseForm(ask, to)
  const no = to.kind === 't5' ? refusedBy(to, user) : unwilling(to, user)
  if (no !== null) return refuseForm(ask, no)
  if (!subject) return refuseForm(ask, 'NO_SUBJECT')
  if (subject.length > LONGEST_SUBJECT)
    return refuseForm(ask, 'TOO_LONG', {
      message: `this is too long (max: ${LONGEST_SUBJECT})`,
      field: 'subject',
    })
  if (!text) return refuseForm(ask, 'NO_TEXT')
  if (text.length > LONGEST_TEXT) return refuseForm(ask, 'TOO_LONG')
  send(world, { author: user, to, subject, text })
  return formDone(ask)
}

/** `#name` and `r/name` are places, anything else a person. */
function recipient({ users, subforums }: World, name: string): User | Subforum | FormCode {
  const place = /^(?:#|\/?r\/)(.+)$/.exec(name)?.[1]
  if (place !== undefined) return subforums.get(place.toLowerCase()) ?? 'SUBREDDIT_NOEXIST'
  const user = users.get(name.replace(/^\/?u\//, '').toLowerCase())
  const gone = user === undefined || user.standing === 'deleted' || user.standing === 'shadowed'
  return gone ? 'USER_DOESNT_EXIST' : user
}

const refusedBy = ({ bans }: Subforum, user: User): FormCode | null =>
  bans.has(user) ? 'MUTED_FROM_SUBREDDIT' : null

function unwilling(to: User, user: User): FormCode | null {
  if (user.blocked.has(to)) return 'USER_BLOCKED'
  if (to.blocked.has(user) || to.mail === 'trusted') return 'NOT_WHITELISTED_BY_USER_MESSAGE'
  return to.mail === 'chat' ? 'RESTRICTED_TO_PM' : null
}

/** `/api/read_message` and its opposite; null when done. */
export function markMail({ query }: Ask, user: User, unread: boolean): Answer | null {
  const names = (query.get('id') ?? '').split(',').filter((name) => name !== '')
  if (names.length === 0) return refusal(400)
  if (names.length > MOST_MARKED) return refusal(413)
  for (const letter of user.inbox) if (names.includes(letter.thing.name)) letter.unread = unread
  return null
}
