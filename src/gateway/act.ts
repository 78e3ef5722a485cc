import type { Direction, Folder, Messages, Posted, Sent, Threads } from '../core/acting.ts'
import type { Acted } from '../core/native-refusals.ts'
import { fail, ok } from '../core/outcome.ts'
import type { LinkHosts, Place } from '../core/permalink.ts'
import { fullnameOf, parsePostUrl, type PostLink } from '../core/post-url.ts'
import type { Session } from '../core/session.ts'
import type { Clock } from '../outside.ts'
import type { Acts } from '../platform/acts.ts'
import type { Picture } from '../platform/acts/picture.ts'
import type { ProfileChange } from '../platform/acts/profile.ts'
import type { BrowserComment } from '../platform/browser/comment.ts'
import type { Call } from '../platform/platform.ts'
import { type ActOutcome, fromBrowser } from './act-browser.ts'
import { callersEyes, type EyesOf } from './looking.ts'

type PageAsked = { limit: number; after: string | null }
type Spoken = { link: PostLink; text: string }
/** What is voted on: a thing by its fullname, or what a link names. */
type Voted = { thing: string | PostLink; direction: Direction }

type As<Ask, T> = (ask: Ask, session: Session) => Promise<ActOutcome<T>>

/** What a caller's own account does at the platform. Each is done once: none is tried again by itself. */
export type Acting = {
  /** What a link to answer names; null when it is none of the platform's. */
  link(text: string): PostLink | null
  /** Over plain HTTP. */
  comment: As<Spoken, Posted>
  /** On the page, in a browser. */
  commentInBrowser: As<Spoken & { locale: string; timezone: string }, Posted>
  /** Answers the fullname of what was voted on. */
  vote: As<Voted, string>
  send: As<{ to: string; subject: string; text: string }, Sent>
  threads: As<PageAsked & { folder: Folder }, Threads>
  messages: As<PageAsked & { thread_id: string }, Messages>
  profile: As<ProfileChange, null>
  picture: As<{ place: 'avatar' | 'banner'; picture: Picture }, { url: string }>
}

type Deps = {
  acts: Acts
  browser_comment: BrowserComment
  eyes_of: Pick<EyesOf, 'lease' | 'own' | 'way'>
  clock: Clock
  /** One act with all that it needs to know first. */
  deadline_ms: number
  /** The same where a browser does it. */
  browser_deadline_ms: number
  hosts: LinkHosts
}

/** Acts, each by one session, one way out and one deadline. */
export function createActing(deps: Deps): Acting {
  const { acts, eyes_of, clock, hosts } = deps

  const callOf = (session: Session, deadline_ms = deps.deadline_ms): Call => ({
    eyes: callersEyes(session, eyes_of),
    deadline_at: clock.now() + deadline_ms,
  })

  const as =
    <Ask, T>(act: (ask: Ask, call: Call) => Promise<Acted<T>>): As<Ask, T> =>
    (ask, session) =>
      act(ask, callOf(session))

  /** Where a link leads. A share link is asked about, and may lead nowhere. */
  async function placeOf(link: PostLink, call: Call): Promise<Acted<Place>> {
    if (link.kind === 'place') return ok(link.place)
    const found = await acts.resolveShare(link.path, call)
    if (!found.ok) return found
    return found.value === null ? fail({ kind: 'not_found', reason: 'absent' }) : ok(found.value)
  }

  return {
    link: (text) => parsePostUrl(text, hosts),

    comment: as(async ({ link, text }, call) => {
      const place = await placeOf(link, call)
      return place.ok ? acts.comment({ parent: fullnameOf(place.value), text }, call) : place
    }),

    async commentInBrowser({ link, text, locale, timezone }, session) {
      const call = callOf(session, deps.browser_deadline_ms)
      const place = await placeOf(link, call)
      if (!place.ok) return place
      const ask = { place: place.value, text, locale, timezone }
      const made = fromBrowser(await deps.browser_comment(ask, call))
      if (!made.ok) return made
      const { name, permalink } = made.value
      // It stands there, whether or not it can be read back: by the same way, for a session does not move house in a call.
      const back = await acts.readBack(name.replace(/^t1_/, ''), {
        ...call,
        deadline_at: clock.now() + deps.deadline_ms,
      })
      const comment = back.ok ? back.value : null
      return ok({ name, permalink: permalink ?? comment?.url ?? null, comment })
    },

    vote: as(async ({ thing, direction }, call) => {
      const place = typeof thing === 'string' ? ok(thing) : await placeOf(thing, call)
      if (!place.ok) return place
      const id = typeof place.value === 'string' ? place.value : fullnameOf(place.value)
      const voted = await acts.vote({ id, direction }, call)
      return voted.ok ? ok(id) : voted
    }),

    send: as(acts.send),
    threads: as(acts.threads),
    messages: as(acts.messages),
    profile: as(acts.profile),
    picture: as(acts.picture),
  }
}
