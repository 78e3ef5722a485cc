import { createLru } from '../../core/base/lru.ts'
import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { AccessEnd, AccessEnds } from '../../runtime/access-ends.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Call, Identity, Listing, Listings, SourceReads } from '../port.ts'
import { isAnonymous } from './client.ts'

/**
 * A platform that closes a way in keeps the shape of its answers: an empty page, or a page with a
 * notice. Such a page is checked by requests of another form before it is believed, within the rate
 * budget of the same identity. A page whose check fails is not believed either.
 */

/** Followers from which an empty place is not believed: a new or purged place has fewer. */
const FOLLOWERS_MIN = 10_000
const KARMA_OF_NOTHING = 1
const hasKarma = (karma: number | null) => karma !== null && (karma > KARMA_OF_NOTHING || karma < 0)
/** Time for which the result of a check holds. A place without rows is read again and again. */
const CHECK_TTL_MS = 10 * 60_000
const SUBJECTS_MAX = 5_000
/** Rows of the last page that are looked up when a page has none. */
const ROWS_KEPT = 3

/** Sorts whose first page is empty only where there is nothing at all. */
const SORTS_OF_ALL: ReadonlySet<string> = new Set(['new', 'hot', 'best'])
const showsAll = (sort: string, t: string | null): boolean =>
  SORTS_OF_ALL.has(sort) || ((sort === 'top' || sort === 'controversial') && t === 'all')

/** Names that stand for many places; their rows are from any of them. */
const WHOLE: ReadonlySet<string> = new Set(['all', 'popular'])

type Row = {
  id: string
  name: string
  subforum: string
  permalink: string
  over_18: boolean | null
}
/** Null: the page is believed. */
type Verdict = Fault | null

const refusal = (reason: 'placeholder' | 'profile_hidden' | 'emptied'): Fault => ({
  kind: 'forbidden',
  reason,
})

/** Path of a post or comment of the platform, with the id of the post. */
const ITEM_PATH = /^\/(?:r|u|user)\/[^/]+\/comments\/([a-z0-9]+)(?:\/|$)/i

/** True for a caller's own view, and for a page that another account of the pool will replace. */
const isNoProof = ({ identity: { whose } }: Call, { logged_in }: Listing<unknown>): boolean =>
  whose === 'caller' || (whose === 'pool' && logged_in === false)

/** True for a row that is none of the platform's items. */
function isNotice({ name, id, permalink }: Row): boolean {
  const [, post_id] = ITEM_PATH.exec(permalink) ?? []
  return post_id === undefined || (name.startsWith('t3_') && post_id !== id)
}

/** True for a row that may be a notice with the path of a post: adult, or from another place. */
const isDoubtful = ({ over_18, subforum }: Row, places: readonly string[] | null): boolean =>
  over_18 === true ||
  (places !== null && !places.some((it) => it.toLowerCase() === subforum.toLowerCase()))

/** Creates the listings with their ends recognised. Callers' own sessions keep their view as it is. */
export function recogniseEndings(
  platform: SourceReads,
  { clock, ends }: { clock: Pick<Clock, 'mono'>; ends: AccessEnds },
): Pick<Listings, 'posts' | 'comments' | 'search' | 'userComments' | 'userItems'> {
  const checked = createLru<string, { at: number; fault: Verdict }>(SUBJECTS_MAX)
  const last_rows = createLru<string, readonly Row[]>(SUBJECTS_MAX)

  /** A check within its lifetime, or a new one. A fault of the request itself is not kept. */
  async function once(subject: string, check: () => Promise<Outcome<Verdict>>): Promise<Verdict> {
    const kept = checked.get(subject)
    if (kept !== undefined && clock.mono() - kept.at < CHECK_TTL_MS) return kept.fault
    const found = await check()
    // A platform without such a request, or with another form of it, gives no evidence.
    if (!found.ok) return found.fault.kind === 'unreadable' ? null : found.fault
    checked.set(subject, { at: clock.mono(), fault: found.value })
    return found.value
  }

  /** True if one of the rows that a listing last showed still exists. */
  async function anyLeft(rows: readonly Row[], call: Call): Promise<Outcome<boolean>> {
    const comments = rows.filter(({ name }) => name.startsWith('t1_'))
    if (comments.length > 0) {
      const alive = await platform.liveness(
        comments.map(({ id }) => id),
        call,
      )
      if (!alive.ok) return alive
      if ([...alive.value.values()].includes('live')) return ok(true)
    }
    for (const { id } of rows.filter(({ name }) => name.startsWith('t3_'))) {
      const seen = await platform.visibility(id, call)
      if (!seen.ok) return seen
      if (seen.value.verdict === 'live') return ok(true)
    }
    return ok(false)
  }

  async function checkPlace(subject: string, place: string, call: Call): Promise<Outcome<Verdict>> {
    const left = await anyLeft(last_rows.get(subject) ?? [], call)
    if (!left.ok) return left
    if (left.value) return ok(refusal('emptied'))
    const about = await platform.community(place, call)
    if (!about.ok) return isAbsent(about.fault) ? ok(about.fault) : about
    if ((about.value.subscribers ?? 0) < FOLLOWERS_MIN) return ok(null)
    // Many followers do not make comments, so this needs a post that has some.
    if (!subject.startsWith('comments:')) return ok(refusal('emptied'))
    const query = { subforums: [place], sort: 'new', t: null, limit: 25, after: null }
    const posts = await platform.posts(query, call)
    if (!posts.ok) return posts
    const { rows } = posts.value
    return ok(rows.length === 0 || rows.some((it) => it.comments > 0) ? refusal('emptied') : null)
  }

  async function checkProfile(
    subject: string,
    { name, what }: { name: string; what: 'posts' | 'comments' | 'both' },
    call: Call,
  ): Promise<Outcome<Verdict>> {
    const left = await anyLeft(last_rows.get(subject) ?? [], call)
    if (!left.ok) return left
    if (left.value) return ok(refusal('profile_hidden'))
    const about = await platform.user(name, call)
    if (!about.ok) return isAbsent(about.fault) ? ok(about.fault) : about
    if (about.value.is_suspended) return ok({ kind: 'forbidden', reason: 'user_suspended' })
    const { link_karma, comment_karma } = about.value
    const by_posts = what !== 'comments' && hasKarma(link_karma)
    const by_comments = what !== 'posts' && hasKarma(comment_karma)
    return ok(by_posts || by_comments ? refusal('profile_hidden') : null)
  }

  type Reading = {
    subject: string
    /** Where rows may come from; null: anywhere. */
    places: readonly string[] | null
    /** Decides about a page without rows; null: it is believed. */
    check: (() => Promise<Outcome<Verdict>>) | null
    /** Kind of end that a page with rows disproves. */
    kind: AccessEnd
  }

  /** A first page, unless it only looks like one. */
  async function settle<T extends Row>(
    { subject, places, check }: Reading,
    page: Outcome<Listing<T>>,
    call: Call,
  ): Promise<Outcome<Listing<T>>> {
    if (!page.ok || isNoProof(call, page.value)) return page
    const { rows, after, left_out = 0 } = page.value
    if (after !== null || left_out > 0) return page
    const [only, second] = rows
    if (only === undefined) {
      const fault = check === null ? null : await once(subject, check)
      // An end is over with rows only: a monitor may know rows that this process has not seen.
      if (fault === null) return page
      return refuse(subject, fault)
    }
    if (second === undefined) {
      const notice = isNotice(only) ? refusal('placeholder') : null
      const fault = notice ?? (isDoubtful(only, places) ? await lookUp(only, call) : null)
      if (fault !== null) return refuse(subject, fault)
    }
    return page
  }

  function refuse(subject: string, fault: Fault): { ok: false; fault: Fault } {
    if (fault.kind === 'forbidden' && isEnd(fault.reason)) ends.ended(fault.reason, subject)
    return fail(fault)
  }

  /** A notice with the path of a post has no post of its id. */
  async function lookUp({ id, name }: Row, call: Call): Promise<Verdict> {
    if (!name.startsWith('t3_')) return null
    return once(`row ${name}`, async () => {
      const found = await platform.postsById([id], call)
      if (!found.ok) return found
      return ok(found.value.length === 0 ? refusal('placeholder') : null)
    })
  }

  /** Keeps the rows of a page that is believed, and ends what it disproves. */
  function keep({ subject, kind }: Reading, rows: readonly Row[]): void {
    if (rows.length === 0) return
    last_rows.set(
      subject,
      rows.slice(0, ROWS_KEPT).map(({ id, name, subforum, permalink, over_18 }) => ({
        id,
        name,
        subforum,
        permalink,
        over_18,
      })),
    )
    checked.delete(subject)
    ends.restored(kind, subject)
    ends.restored('placeholder', subject)
  }

  async function read<T extends Row>(
    reading: Reading,
    { after }: { after: string | null },
    call: Call,
    list: () => Promise<Outcome<Listing<T>>>,
  ): Promise<Outcome<Listing<T>>> {
    const page = await list()
    if (after !== null) return page
    const settled = await settle(reading, page, call)
    if (settled.ok && call.identity.whose !== 'caller') keep(reading, settled.value.rows)
    return settled
  }

  const ofPlaces = (
    what: 'posts' | 'comments',
    subforums: readonly string[],
    { all, call }: { all: boolean; call: Call },
  ): Reading => {
    const [place = '', ...others] = subforums
    const subject = `${what}:${subforums.join('+').toLowerCase()}`
    const whole = subforums.length === 0 || subforums.some((it) => WHOLE.has(it.toLowerCase()))
    // A merged listing says nothing of one place: monitors poll its places alone where it is empty.
    const check = all && !whole && others.length === 0
    return {
      subject,
      places: whole ? null : subforums,
      check: check ? () => checkPlace(subject, place, call) : null,
      kind: 'emptied',
    }
  }

  const ofPerson = (
    name: string,
    { what, all, call }: { what: 'posts' | 'comments' | 'both'; all: boolean; call: Call },
  ): Reading => {
    const subject = `user_${what === 'both' ? 'history' : what}:${name.toLowerCase()}`
    return {
      subject,
      places: null,
      check: all ? () => checkProfile(subject, { name, what }, call) : null,
      kind: 'profile_hidden',
    }
  }

  return {
    posts(query, call) {
      const reading = ofPlaces('posts', query.subforums, {
        all: showsAll(query.sort, query.t),
        call,
      })
      return read(reading, query, call, () => platform.posts(query, call))
    },
    comments(query, call) {
      const reading = ofPlaces('comments', query.subforums, { all: true, call })
      return read(reading, query, call, () => platform.comments(query, call))
    },
    async search(query, call) {
      const places = query.subforum === null ? null : [query.subforum]
      const page = await platform.search(query, call)
      if (query.after !== null) return page
      // A search without hits is common, so only a notice is refused.
      return settle({ subject: 'search', places, check: null, kind: 'placeholder' }, page, call)
    },
    userComments(query, call) {
      const all = showsAll(query.sort, query.t ?? 'all')
      const reading = ofPerson(query.name, { what: 'comments', all, call })
      return read(reading, query, call, () => platform.userComments(query, call))
    },
    userItems(query, call) {
      const what = TABS[query.tab]
      if (what === undefined) return platform.userItems(query, call)
      const all = showsAll(query.sort, query.t ?? 'all')
      const reading = ofPerson(query.name, { what, all, call })
      return read(reading, query, call, () => platform.userItems(query, call))
    },
  }
}

const TABS: Readonly<Partial<Record<string, 'posts' | 'comments' | 'both'>>> = {
  submitted: 'posts',
  comments: 'comments',
  overview: 'both',
}

const isAbsent = ({ kind }: Fault): boolean => kind === 'not_found' || kind === 'forbidden'

const isEnd = (reason: string | null): reason is AccessEnd =>
  reason === 'placeholder' || reason === 'profile_hidden' || reason === 'emptied'

/** Login pages in a row, without an answer in between, that make a login wall. */
const WALL_FROM = 3

/** Creates the observer of requests without credentials: a platform may require a login for all. */
export function watchLoginWall(
  ends: AccessEnds,
  subject: string,
): (identity: Identity, fault: Fault | null) => void {
  let refused = 0
  return (identity, fault) => {
    if (!isAnonymous(identity) || identity.whose === 'caller') return
    if (fault === null) {
      refused = 0
      return ends.restored('login_wall', subject)
    }
    if (!asksForLogin(fault)) return
    refused += 1
    if (refused >= WALL_FROM) ends.ended('login_wall', subject)
  }
}

const asksForLogin = (fault: Fault): boolean =>
  fault.kind === 'login_required' || (fault.kind === 'blocked' && fault.login_hint === true)
