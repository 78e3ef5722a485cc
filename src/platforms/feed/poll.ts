import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import { boundedWait } from '../../core/base/wait.ts'
import type { HttpAnswer, HttpCall, HttpClient } from '../http.ts'
import type { FeedAddress } from '../source.ts'
import { type FeedDocument, readFeed } from './document.ts'
import { listedOf } from './identity.ts'
import { type FeedState, type Hosted, judge, type Judged, NEW_FEED, seenSame } from './walker.ts'

/** All that is kept of one feed between polls. */
export type FeedPosition = {
  state: FeedState
  /** The address that a permanent redirect has named long enough, in place of the configured one; '' for none. */
  moved_to: string
  /** A permanent redirect, since when it is seen, and how often. */
  moving: { to: string; since: number; polls: number } | null
  etag: string
  modified: string
  /** True: its validators do not change with its entries. */
  is_stale: boolean
  /** Polls without conditions since the start, and conditional ones since the last of them. */
  polls: number
  conditional: number
  plain_at: number
  /** Earliest next poll, epoch ms by our clock. */
  due_at: number
  hosted: Hosted
  faults: number
  fault: string
  /** 410: it is requested no more. */
  is_gone: boolean
}

export const NEW_POSITION: FeedPosition = {
  state: NEW_FEED,
  moved_to: '',
  moving: null,
  etag: '',
  modified: '',
  is_stale: false,
  polls: 0,
  conditional: 0,
  plain_at: 0,
  due_at: 0,
  hosted: { ttl_s: null, fresh_s: 0, skip_hours: [], skip_days: [] },
  faults: 0,
  fault: '',
  is_gone: false,
}

const REDIRECTS_MAX = 5
/** A permanent redirect is believed after this time and so many polls. */
const MOVED_AFTER_MS = 3 * 86_400_000
const MOVED_POLLS = 3
/** A server that says 304 has shown that it means it. */
const TRUSTED_CHANGES = 2
const CONDITIONAL_MAX = 23
const DAY_MS = 86_400_000
const FRESH_MAX_S = 3600
const ACCEPT =
  'application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5'

/** `clientOf`: the client of an origin, which paces all requests to its host. */
type Deps = { clientOf(origin: string): HttpClient; now(): number }

/** An answer, its final address, and where permanent redirects alone lead. `as_of`: by our clock. */
type Fetched = { answer: HttpAnswer; url: string; permanent: string; as_of: number }

/** An address without what may be secret in it: for messages and logs. */
export const shownAddress = (address: string): string => {
  const url = URL.parse(address)
  return url === null
    ? ''
    : `${url.host}${url.pathname === '/' || url.search !== '' ? '' : url.pathname}`
}

/** Requests an address, and those that it redirects to. A credential stays at its origin. */
export async function fetchDocument(
  { url: address, user, password }: Pick<FeedAddress, 'url' | 'user' | 'password'>,
  conditions: Record<string, string>,
  call: HttpCall,
  { clientOf, now }: Deps,
): Promise<Outcome<Fetched>> {
  let url: URL | null = URL.parse(address)
  if (url === null) return fail({ kind: 'unreadable', path: 'address' })
  const given_origin = url.origin
  let permanent = address
  let is_permanent = true
  for (let redirects = 0; ; redirects++) {
    const { origin, username, password: secret } = url
    const is_own = origin === given_origin
    const [name, word] =
      user === '' ? [decodeURIComponent(username), decodeURIComponent(secret)] : [user, password]
    const path = url.pathname + url.search
    const client = clientOf(origin)
    const sent = await client.send(
      {
        path,
        url: origin + path,
        expect: 'text',
        as_document: { guarded: !is_own },
        headers: {
          accept: ACCEPT,
          ...conditions,
          ...(is_own &&
            name !== '' && {
              authorization: `Basic ${Buffer.from(`${name}:${word}`).toString('base64')}`,
            }),
        },
      },
      call,
    )
    if (!sent.ok) return sent
    const { status, headers } = sent.value
    const location = headers.get('location')
    if (status < 300 || status >= 400 || status === 304 || location === null) {
      const as_of = Math.min(sent.value.as_of - client.clock_offset_ms(), now())
      return ok({ answer: sent.value, url: url.href, permanent, as_of })
    }
    const next: URL | null = URL.parse(location, url.href)
    const is_login = /\/(?:login|signin|sign_in|session|sso)\b/i.test(next?.pathname ?? '')
    if (is_login) return fail({ kind: 'login_required' })
    // A feed that was asked for over TLS is not read without it.
    if (
      next === null ||
      !/^https?:$/.test(next.protocol) ||
      (url.protocol === 'https:' && next.protocol === 'http:') ||
      redirects === REDIRECTS_MAX
    )
      return fail({ kind: 'unreadable', path: 'redirect' })
    is_permanent &&= status === 301 || status === 308
    if (is_permanent) permanent = next.href
    url = next
  }
}

/** Reads an answer as a document. */
export async function documentOf({ answer, url, as_of }: Fetched): Promise<Outcome<FeedDocument>> {
  if (answer.status === 404 || answer.status === 410)
    return fail({ kind: 'not_found', reason: null })
  if (answer.status >= 300) return fail({ kind: 'unreadable', path: 'redirect' })
  const bytes = Uint8Array.from(Buffer.from(answer.text, 'latin1'))
  return readFeed(bytes, { content_type: answer.headers.get('content-type'), url, now: as_of })
}

/** Seconds for which an answer is fresh by its headers. */
function freshSeconds(headers: Headers): number {
  const [, text = '0'] =
    /(?:^|[\s,])max-age=(\d{1,9})/i.exec(headers.get('cache-control') ?? '') ?? []
  return Math.min(FRESH_MAX_S, Number(text))
}

/** A document with one entry that is no entry, but a sentence: the list is not shown. */
const isNotice = ({ entries: [first, second], link }: FeedDocument): boolean =>
  first !== undefined &&
  second === undefined &&
  first.id === '' &&
  first.published === null &&
  first.updated === null &&
  (first.link === '' || first.link === link)

/** Result of one poll. `judged` null: the list is as before. */
export type Polled = {
  position: FeedPosition
  document: FeedDocument | null
  judged: Judged | null
  as_of: number
  /** The site's own validators had hidden entries: what was proven with them is not. */
  is_lowered: boolean
}

/** Conditions of the next request; none where the site has not shown that it means its 304. */
function conditionsOf(
  { etag, modified, is_stale, state, polls, conditional, plain_at }: FeedPosition,
  now: number,
): Record<string, string> {
  const is_trusted = state.changes >= TRUSTED_CHANGES
  const is_plain = is_trusted
    ? conditional >= CONDITIONAL_MAX || now - plain_at >= DAY_MS
    : polls % 2 === 1
  if (is_stale || is_plain || state.window === null) return {}
  return {
    ...(etag !== '' && { 'if-none-match': etag }),
    ...(modified !== '' && { 'if-modified-since': modified }),
  }
}

/** Follows permanent redirects that stay. */
function movedOf(
  { moving, moved_to }: FeedPosition,
  { permanent, url }: { permanent: string; url: string },
  now: number,
): Pick<FeedPosition, 'moving' | 'moved_to'> {
  if (permanent === url) return { moving: null, moved_to }
  const seen =
    moving?.to === permanent
      ? { ...moving, polls: moving.polls + 1 }
      : { to: permanent, since: now, polls: 1 }
  return seen.polls >= MOVED_POLLS && now - seen.since >= MOVED_AFTER_MS
    ? { moving: null, moved_to: permanent }
    : { moving: seen, moved_to }
}

/** Polls one feed once. A fault changes nothing but what {@link failed} does. */
export async function pollFeed(
  feed: FeedAddress,
  position: FeedPosition,
  call: HttpCall,
  deps: Deps,
): Promise<Outcome<Polled>> {
  const now = deps.now()
  const url = position.moved_to || feed.url
  const conditions = conditionsOf(position, now)
  const is_plain = Object.keys(conditions).length === 0
  const fetched = await fetchDocument({ ...feed, url }, conditions, call, deps)
  if (!fetched.ok) return fetched
  const { answer, as_of } = fetched.value
  if (answer.status === 410)
    return ok({
      position: { ...position, is_gone: true, fault: 'gone' },
      document: null,
      judged: null,
      as_of,
      is_lowered: false,
    })
  const { headers } = answer
  const counted = {
    ...position,
    ...movedOf(position, { permanent: fetched.value.permanent, url }, now),
    polls: position.polls + 1,
    conditional: is_plain ? 0 : position.conditional + 1,
    plain_at: is_plain ? now : position.plain_at,
    faults: 0,
    fault: '',
    hosted: { ...position.hosted, fresh_s: freshSeconds(headers) },
  }
  if (answer.status === 304) {
    const is_trusted = position.state.changes >= TRUSTED_CHANGES
    const state = is_trusted ? seenSame(position.state, as_of) : position.state
    return ok({
      position: { ...counted, state },
      document: null,
      judged: null,
      as_of,
      is_lowered: false,
    })
  }
  const document = await documentOf(fetched.value)
  if (!document.ok) return document
  if (isNotice(document.value)) return fail({ kind: 'unreadable', path: 'notice' })
  const { host } = new URL(feed.url)
  const { entries, is_cut, hints } = document.value
  const judged = judge(position.state, { listed: listedOf(entries, host), as_of, is_cut })
  if (judged === null) return fail({ kind: 'unreadable', path: 'empty' })
  const [etag, modified] = [headers.get('etag') ?? '', headers.get('last-modified') ?? '']
  const has_same =
    etag === '' ? modified !== '' && modified === position.modified : etag === position.etag
  // Entries have changed, and the validator that said that they had not has stayed.
  const is_stale =
    position.is_stale || (has_same && judged.fresh.length > 0 && position.conditional > 0)
  const usable = is_cut ? { etag: '', modified: '' } : { etag, modified }
  const hosted = { ...counted.hosted, ...hints }
  return ok({
    position: { ...counted, ...usable, is_stale, hosted, state: judged.state },
    document: document.value,
    judged,
    as_of,
    is_lowered: is_stale && !position.is_stale,
  })
}

const MINUTE_MS = 60_000
/** A credential that was refused waits: some sites shut out an address after a few. */
const REFUSED_MS = 6 * 3_600_000
const BLOCKED_MS = 3_600_000

/** The position after a fault: what was not read is asked ever slower. */
export function failed(
  position: FeedPosition,
  fault: Fault,
  { now, every_ms, has_credential }: { now: number; every_ms: number; has_credential: boolean },
): FeedPosition {
  const faults = position.faults + 1
  const slower = Math.min(DAY_MS, every_ms * 2 ** Math.min(faults - 1, 20))
  const stated = 'retry_after_s' in fault ? (boundedWait(fault.retry_after_s) ?? 0) * 1000 : 0
  const is_refused = fault.kind === 'login_required' || fault.kind === 'forbidden'
  const wait =
    is_refused && has_credential
      ? REFUSED_MS
      : fault.kind === 'not_found' || is_refused
        ? slower
        : fault.kind === 'blocked'
          ? BLOCKED_MS
          : Math.max(MINUTE_MS, Math.min(every_ms, slower), stated)
  return {
    ...position,
    faults,
    fault: 'path' in fault ? `${fault.kind}: ${fault.path}` : fault.kind,
    due_at: now + wait,
  }
}
