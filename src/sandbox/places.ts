import { type Answer, json, redirect, refusal, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { encode, toHtml } from './json.ts'
import type { Subforum, User } from './model.ts'

/** What a subforum may be called. */
export const SUBFORUM_NAME = /^[A-Za-z0-9][A-Za-z0-9_]{1,20}$/

const WARNING =
  'This community is dedicated to claims that most people would find doubtful. Are you certain you want to continue?'

/** Whether this user may read there; null is nobody. */
export function mayRead(subforum: Subforum, user: User | null): boolean {
  switch (subforum.access) {
    case 'public':
    case 'restricted':
      return true
    case 'private':
      return user !== null && (subforum.members.has(user) || subforum.moderators.includes(user))
    case 'gold_only':
      return user?.premium ?? false
    case 'quarantined':
    case 'gated':
      return user?.opted_in.has(subforum) ?? false
    case 'banned':
      return false
  }
}

/** Why a place cannot be read, in the platform's words; null when it can. */
export function refused(subforum: Subforum, { viewer, twist }: Ask): Answer | null {
  if (twist.refuse) return because(twist.refuse)
  if (mayRead(subforum, viewer.user)) return null
  const { access } = subforum
  return access === 'public' || access === 'restricted' ? null : because(access)
}

function because(access: 'private' | 'gold_only' | 'quarantined' | 'gated' | 'banned'): Answer {
  if (access === 'banned')
    return json(encode({ reason: 'banned', message: 'Not Found', error: 404 }), 404)
  const html = `<!-- SC_OFF -->${toHtml(WARNING)}<!-- SC_ON -->`
  const extra =
    access === 'quarantined'
      ? {
          quarantine_message: WARNING,
          quarantine_message_html: html,
          quarantine_requires_email_optin: true,
        }
      : access === 'gated'
        ? { interstitial_warning_message: WARNING, interstitial_warning_message_html: html }
        : {}
  return json(encode({ reason: access, ...extra, message: 'Forbidden', error: 403 }), 403)
}

/** The subforums of `/r/a+b+c`, or why they cannot be read together. */
export function findPlaces(ask: Ask, joined: string): Subforum[] | Answer {
  const names = joined.split('+').filter((name) => name !== '')
  if (names.length === 0 || !names.every((name) => SUBFORUM_NAME.test(name))) return unregistered
  const found: Subforum[] = []
  for (const name of names) {
    const subforum = ask.world.subforums.get(name.toLowerCase())
    if (subforum === undefined) {
      if (names.length === 1) return elsewhere(ask, name)
      // Among several, a name nobody knows is passed over in silence.
      continue
    }
    const refusedBy = refused(subforum, ask)
    if (refusedBy === null) found.push(subforum)
    else if (names.length === 1) return refusedBy
    else if (subforum.access !== 'banned' && ask.private_in_multi === 'refuse') return refusedBy
  }
  return found.length === 0 ? refusal(404) : found
}

/** Where the platform sends those who ask for a subforum that is not there. */
export const elsewhere = ({ origin }: Ask, name: string): Answer =>
  redirect(`${origin}/subreddits/search.json?q=${name}`)

/** Those that everybody may read and that hide nothing. */
export const publicPlaces = (ask: Ask): Subforum[] =>
  [...ask.world.subforums.values()].filter(
    ({ access }) => access === 'public' || access === 'restricted',
  )
