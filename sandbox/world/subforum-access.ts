import type { SandboxRequest } from '../server/request.ts'
import {
  encode,
  json,
  redirect,
  refusal,
  type SandboxResponse,
  toHtml,
  unregistered,
} from '../server/response.ts'
import type { SandboxUser, Subforum } from './model.ts'

/** Form of a subforum name. */
export const SUBFORUM_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_]{1,20}$/

const WARNING =
  'This community is dedicated to claims that most people would find doubtful. Are you certain you want to continue?'

/** True if this user may read there; null: an anonymous viewer. */
export function mayRead(subforum: Subforum, user: SandboxUser | null): boolean {
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

/** Reason in the platform's terms why a subforum is not readable; null if it is. */
export function accessError(
  subforum: Subforum,
  { viewer, patch }: SandboxRequest,
): SandboxResponse | null {
  if (patch.refuse) return accessErrorFor(patch.refuse)
  if (mayRead(subforum, viewer.user)) return null
  const { access } = subforum
  return access === 'public' || access === 'restricted' ? null : accessErrorFor(access)
}

function accessErrorFor(
  access: 'private' | 'gold_only' | 'quarantined' | 'gated' | 'banned',
): SandboxResponse {
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

/** Subforums of `/r/a+b+c`, or the refusal to read them together. */
export function findSubforums(
  request: SandboxRequest,
  joined: string,
): Subforum[] | SandboxResponse {
  const names = joined.split('+').filter((name) => name !== '')
  if (names.length === 0 || !names.every((name) => SUBFORUM_NAME_PATTERN.test(name)))
    return unregistered
  const readable: Subforum[] = []
  for (const name of names) {
    const subforum = request.world.subforums.get(name.toLowerCase())
    if (subforum === undefined) {
      if (names.length === 1) return searchRedirect(request, name)
      // Among several, an unknown name is ignored.
      continue
    }
    const access_error = accessError(subforum, request)
    if (access_error === null) readable.push(subforum)
    else if (names.length === 1) return access_error
    else if (subforum.access !== 'banned' && request.private_in_multi === 'refuse')
      return access_error
  }
  return readable.length === 0 ? refusal(404) : readable
}

/** Redirect for a subforum that does not exist. */
export const searchRedirect = ({ origin }: SandboxRequest, name: string): SandboxResponse =>
  redirect(`${origin}/subreddits/search.json?q=${name}`)

/** Subforums that are public and not hidden. */
export const publicSubforums = (request: SandboxRequest): Subforum[] =>
  [...request.world.subforums.values()].filter(
    ({ access }) => access === 'public' || access === 'restricted',
  )
