import { fail, ok } from '../core/base/result.ts'
import type { Acted, WriteFault } from '../core/forum/native-refusals.ts'
import {
  fullnameOf,
  type LinkHosts,
  parseCommunityName,
  parsePostUrl,
  parseUserName,
  type PermalinkTarget,
  type PostLink,
} from '../core/forum/permalink.ts'
import type { Session } from '../core/forum/session.ts'
import type {
  Direction,
  Folder,
  Messages,
  Posted,
  PostedOrPending,
  SentMessage,
  Threads,
} from '../core/forum/writes.ts'
import type {
  Acts,
  BrowserComment,
  BrowserCommentResult,
  BrowserFault,
  Call,
  ImageFile,
  ProfileChange,
} from '../platforms/port.ts'
import { type ActCall, itemAt, type Source, unsupported } from '../platforms/source.ts'
import type { Clock } from '../runtime/runtime.ts'
import { callerIdentity, type Identities } from './identity.ts'
import type { LoginMethod, LoginSuccess, SignInRequest } from './login.ts'

/** Failures of an action; `no_browser`: the action needs one, and `why` states the cause. */
export type ActFault = WriteFault | { kind: 'no_browser'; why: string }

/** Result of an action. A fault other than `unknown` means that nothing was done. */
export type ActOutcome<T> = { ok: true; value: T } | { ok: false; fault: ActFault }

export const whyNoBrowser = (
  fault: Extract<BrowserFault, { kind: 'unavailable' | 'scheme' }>,
): string =>
  // A caller's own proxy was checked before, so this one belongs to the pool.
  fault.kind === 'unavailable'
    ? fault.why
    : "the pool's proxy uses a scheme that browsers do not support"

function fromBrowser(result: BrowserCommentResult): ActOutcome<Posted> {
  if (result.ok || !('no_browser' in result)) return result
  return { ok: false, fault: { kind: 'no_browser', why: whyNoBrowser(result.no_browser) } }
}

type PageQuery = { limit: number; after: string | null }
type CommentInput = { link: PostLink; text: string }
type VoteInput = { thing: string | PostLink; direction: Direction }

type Action<Input, T> = (input: Input, session: Session) => Promise<ActOutcome<T>>

/** A user name, or a room as `#name`; null if it is neither. */
function recipient(text: string): string | null {
  const marked = text.startsWith('#')
  const person = marked ? null : parseUserName(text)
  if (person !== null) return person
  const place = parseCommunityName(marked ? text.slice(1) : text)
  return place === null ? null : `#${place}`
}

/** Actions of a caller's own account. Each is sent once and never retried. */
export type AccountWrites = {
  /** The item of a link; null if it is not a link to the platform. */
  link(text: string): PostLink | null
  /** True for a fullname that the platform could have. */
  isItem(fullname: string): boolean
  /** The recipient of a message as the platform writes it; null: there can be none of this name. */
  recipient(text: string): string | null
  /** Over plain HTTP. */
  comment: Action<CommentInput, PostedOrPending>
  /** On the page, by `page_method`. */
  commentInBrowser: Action<CommentInput & { locale: string; timezone: string }, PostedOrPending>
  page_method: LoginMethod
  /** Returns the fullname of the item. */
  vote: Action<VoteInput, string>
  send: Action<{ to: string; subject: string; text: string }, SentMessage>
  threads: Action<PageQuery & { folder: Folder }, Threads>
  messages: Action<PageQuery & { thread_id: string }, Messages>
  profile: Action<ProfileChange, null>
  picture: Action<{ place: 'avatar' | 'banner'; picture: ImageFile }, { url: string }>
}

type Deps = {
  acts: Acts
  browser_comment: BrowserComment
  identities: Pick<Identities, 'lease' | 'delegatedIdentity' | 'egress'>
  clock: Clock
  /** Deadline of one action with its preparing requests. */
  deadline_ms: number
  /** The same for an action in a browser. */
  browser_deadline_ms: number
  hosts: LinkHosts
}

/** Creates the actions, each with one session, one egress and one deadline. */
export function createAccountWrites(deps: Deps): AccountWrites {
  const { acts, identities, clock, hosts } = deps

  const callOf = (session: Session, deadline_ms = deps.deadline_ms): Call => ({
    identity: callerIdentity(session, identities),
    deadline_at: clock.now() + deadline_ms,
  })

  const as =
    <Input, T>(act: (input: Input, call: Call) => Promise<Acted<T>>): Action<Input, T> =>
    (input, session) =>
      act(input, callOf(session))

  /** Target of a link. A share link is resolved by the platform and may lead nowhere. */
  async function resolveLink(link: PostLink, call: Call): Promise<Acted<PermalinkTarget>> {
    if (link.kind === 'place') return ok(link.place)
    const found = await acts.resolveShare(link.path, call)
    if (!found.ok) return found
    return found.value === null ? fail({ kind: 'not_found', reason: 'absent' }) : ok(found.value)
  }

  return {
    link: (text) => parsePostUrl(text, hosts),
    isItem: () => true,
    recipient,
    page_method: 'browser',

    comment: as(async ({ link, text }, call) => {
      const place = await resolveLink(link, call)
      return place.ok ? acts.comment({ parent: fullnameOf(place.value), text }, call) : place
    }),

    async commentInBrowser({ link, text, locale, timezone }, session) {
      const call = callOf(session, deps.browser_deadline_ms)
      const place = await resolveLink(link, call)
      if (!place.ok) return place
      const input = { place: place.value, text, locale, timezone }
      const result = fromBrowser(await deps.browser_comment(input, call))
      if (!result.ok) return result
      const { name, permalink } = result.value
      // The comment exists even if it cannot be read back. Same egress: a session keeps it during a
      // call.
      const back = await acts.readBack(name.replace(/^t1_/, ''), {
        ...call,
        deadline_at: clock.now() + deps.deadline_ms,
      })
      const comment = back.ok ? back.value : null
      return ok({ name, permalink: permalink ?? comment?.url ?? null, comment })
    },

    vote: as(async ({ thing, direction }, call) => {
      const place = typeof thing === 'string' ? ok(thing) : await resolveLink(thing, call)
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

type SourceDeps = { source: Source; clock: Clock; deadline_ms: number }

const SOURCE_ITEM = /^t[13]_[1-9]\d{0,14}$/
const SOURCE_NAME = /^[\p{L}\p{N}_.-]{1,100}(?:@[a-z0-9.:-]{1,255})?$/iu

/** The actions of a further source. The session of a call is one credential. */
export function createSourceWrites({ source, clock, deadline_ms }: SourceDeps): AccountWrites {
  const { acts } = source

  const as =
    <Input, T>(
      capability: string,
      act: ((input: Input, call: ActCall) => Promise<Acted<T>>) | undefined,
    ): Action<Input, T> =>
    async (input, { cookies: [{ value: credential }] }) =>
      act === undefined
        ? unsupported(capability)
        : act(input, { credential, deadline_at: clock.now() + deadline_ms })

  /** Fullname of a link's item. Such a source has no share links. */
  async function itemOf(link: string | PostLink, call: ActCall): Promise<Acted<string>> {
    if (typeof link === 'string') return ok(link)
    if (link.kind === 'share') return fail({ kind: 'not_found', reason: 'absent' })
    const { post_id, number } = link.place
    return number === undefined || acts.numbered === undefined
      ? ok(fullnameOf(link.place))
      : acts.numbered({ post_id, number }, call)
  }

  const comment = as<CommentInput, PostedOrPending>('comment', async ({ link, text }, call) => {
    if (acts.comment === undefined) return unsupported('comment')
    const parent = await itemOf(link, call)
    return parent.ok ? acts.comment({ parent: parent.value, text }, call) : parent
  })
  return {
    link(text) {
      const place = itemAt(text, source)
      return place === null ? null : { kind: 'place', place }
    },
    isItem: (name) => SOURCE_ITEM.test(name),
    recipient(text) {
      const name = text.trim().replace(/^@/, '')
      return SOURCE_NAME.test(name) ? name : null
    },
    page_method: 'http',
    comment,
    commentInBrowser: comment,
    vote: as('vote', async ({ thing, direction }, call) => {
      if (acts.vote === undefined) return unsupported('vote')
      const id = await itemOf(thing, call)
      if (!id.ok) return id
      const voted = await acts.vote({ id: id.value, direction }, call)
      return voted.ok ? ok(id.value) : voted
    }),
    send: as('message', acts.message),
    threads: as('inbox', undefined),
    messages: as('inbox', undefined),
    profile: as('profile', undefined),
    picture: as('profile', undefined),
  }
}

/** Signs in at a further source. The jar holds one cookie, `session_cookie`: the credential. */
export const createSourceSignIn =
  ({ source, clock, deadline_ms }: SourceDeps, session_cookie: string) =>
  async ({ username, password, totp_secret }: SignInRequest): Promise<LoginSuccess> => {
    const { login } = source.acts
    if (login === undefined) throw new Error('a sign-in reached a source that has none')
    const deadline_at = clock.now() + deadline_ms
    const signed = await login({ username, password, totp_secret }, { deadline_at })
    const result = signed.ok
      ? {
          ok: true as const,
          jar: {
            cookies: () => [{ name: session_cookie, value: signed.credential, expires_at: null }],
          },
          name: username,
          link_karma: null,
          comment_karma: null,
        }
      : signed
    return { result, method: 'http', whose: 'pool' }
  }
