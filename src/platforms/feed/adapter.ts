import { LRUCache } from 'lru-cache'

import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import type { Post } from '../../core/forum/items.ts'
import { createHosts } from '../hosts.ts'
import { toMarkdown, warm } from '../html.ts'
import { createHttpClient, type HttpCall, type HttpClient } from '../http.ts'
import { fromNode, makePost } from '../items.ts'
import { NOT_FOUND } from '../lists.ts'
import type { Call, Listing, SourceReads } from '../port.ts'
import {
  type FeedAddress,
  pollCall,
  readCapabilities,
  type Source,
  type SourceOptions,
  type WatchCall,
  type WatchStep,
  withUnsupported,
} from '../source.ts'
import { isoOf } from '../values.ts'
import type { FeedDocument } from './document.ts'
import { type Listed, listedOf } from './identity.ts'
import {
  documentOf,
  failed,
  type FeedPosition,
  fetchDocument,
  NEW_POSITION,
  type Polled,
  pollFeed,
  shownAddress,
} from './poll.ts'
import { judge, NEW_FEED, pollEvery } from './walker.ts'

/** Bytes of a body in Markdown, below what a row may have after NFKC. */
const TEXT_MAX = 64 * 1024
const POSTS_MAX = 2000
const POSTS_BYTES_MAX = 16 * 1024 * 1024
/** Feeds that one read of a caller requests. */
const READ_FEEDS_MAX = 10
/** Documents that a source reads at once: each may have 5 MiB. */
const READS_MAX = 4
/** An entry that is older when it is first seen was hidden until then, or its list was polled seldom. */
const LATE_MS = 600_000
const CADENCE_S = 300
/** A feed that is due before long is polled now: the next step may be a minute away. */
const EARLY_MS = 5000

const cutText = (text: string): string => {
  if (Buffer.byteLength(text) <= TEXT_MAX) return text
  return Buffer.from(text)
    .subarray(0, TEXT_MAX)
    .toString()
    .replace(/\ufffd+$/, '')
    .toWellFormed()
}

/** `seen_at`: of an entry without a date, or whose date is that of a reply. */
function toPost(
  { entry, id, at }: Listed,
  feed: FeedAddress,
  {
    document,
    seen_at,
    is_edit,
    has_bumps,
  }: { document: FeedDocument; seen_at: number; is_edit: boolean; has_bumps: boolean },
): Post {
  const { title, author, html, base, link, discussion, categories, comments, updated } = entry
  const text = cutText(toMarkdown(html, base))
  const created_ms = Math.min(has_bumps ? seen_at : (at ?? seen_at), seen_at)
  return {
    ...makePost({
      id,
      title: title || text.replace(/\s+/g, ' ').slice(0, 80).toWellFormed(),
      author,
      subforum: feed.name,
      url: discussion || link || document.link,
      link_url: discussion === '' ? null : link,
      text,
      flair: categories[0] ?? null,
      comments,
      created_ms,
      edited: is_edit
        ? isoOf(updated !== null && updated > created_ms && updated <= seen_at ? updated : seen_at)
        : false,
    }),
    score_hidden: true,
  }
}

/** One page: what a feed had before is not known. */
const page = (
  read: Outcome<Post[]>,
  limit: number,
  isWanted: (post: Post) => boolean = () => true,
): Outcome<Listing<Post>> =>
  read.ok
    ? ok({
        rows: read.value.filter(isWanted).slice(0, limit),
        after: null,
        logged_in: null,
        lacks_some: true,
      })
    : read

/**
 * Sites by the feeds that they publish. It reaches software without an adapter and proves less: that everything was read that
 * the feeds have listed.
 */
export function createFeeds(given: SourceOptions): Source {
  const { clock } = given
  const hosts = given.hosts ?? createHosts(clock)
  const feeds: readonly FeedAddress[] =
    given.feeds !== undefined && given.feeds.length > 0
      ? given.feeds
      : [{ name: 'feed', url: given.base_url, interval_s: 0, user: '', password: '' }]
  const by_name = new Map(feeds.map((it) => [it.name.toLowerCase(), it]))
  const clients = new Map<string, HttpClient>()
  const posts = new LRUCache<string, Post>({
    max: POSTS_MAX,
    maxSize: POSTS_BYTES_MAX,
    sizeCalculation: ({ text, title }) => 2 * (text.length + title.length) + 500,
  })
  const titles = new Map<string, string>()

  function clientOf(origin: string): HttpClient {
    const known = clients.get(origin) ?? createHttpClient({ ...given, hosts, base_url: origin })
    clients.set(origin, known)
    return known
  }
  const deps = { clientOf, now: clock.now }
  let reading = 0
  const waiting: (() => void)[] = []
  /** Feeds with a fault, whose step is recorded as one and leaves the stored position as it was. */
  const faulty = new Map<string, { position: FeedPosition; fault: Fault }>()

  /** Posts of entries; texts are converted before, a few at a time. */
  async function postsFrom(
    listed: readonly Listed[],
    feed: FeedAddress,
    context: Parameters<typeof toPost>[2],
  ): Promise<Post[]> {
    for (const { entry } of listed) await warm([entry.html], entry.base)
    return listed.map((it) => {
      const known = posts.get(it.id)
      // An entry without a date is as old as it was when it was first seen.
      const seen_at =
        known === undefined ? context.seen_at : Math.min(context.seen_at, known.created_utc * 1000)
      const post = toPost(it, feed, {
        ...context,
        seen_at: it.at === null || context.has_bumps ? seen_at : context.seen_at,
      })
      posts.set(it.id, post)
      return post
    })
  }

  function after(feed: FeedAddress, { position }: Polled, interval_s: number): FeedPosition {
    const bounds = { cadence_s: interval_s, own_s: feed.interval_s || null, now: clock.now() }
    // Feeds that were added together do not stay together.
    const jitter = 1 - given.random.fraction() / 10
    return {
      ...position,
      due_at: clock.now() + Math.floor(pollEvery(position.state, position.hosted, bounds) * jitter),
    }
  }

  async function advance(text: string | null, call: WatchCall): Promise<Outcome<WatchStep>> {
    const feed = by_name.get(call.feed?.toLowerCase() ?? '')
    if (feed === undefined) return fail(NOT_FOUND)
    const failing = faulty.get(feed.name)
    const stored: Partial<FeedPosition> = text === null ? {} : JSON.parse(text)
    const since = text === null ? call.since?.() : undefined
    const started =
      since === undefined
        ? NEW_POSITION
        : { ...NEW_POSITION, state: { ...NEW_POSITION.state, since } }
    const position = failing?.position ?? { ...started, ...stored }
    if (position.is_gone || position.due_at > clock.now() + EARLY_MS)
      return failing === undefined ? ok(unchanged(position, 0)) : fail(failing.fault)
    if (reading < READS_MAX) reading += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await poll(feed, position, call)
    } finally {
      const next = waiting.shift()
      if (next === undefined) reading -= 1
      else next()
    }
  }

  async function poll(
    feed: FeedAddress,
    position: FeedPosition,
    call: WatchCall,
  ): Promise<Outcome<WatchStep>> {
    const interval_s = call.interval_s ?? CADENCE_S
    const polled = await pollFeed(feed, position, pollCall(call), deps)
    if (!polled.ok) {
      const { fault } = polled
      // Nothing was asked: the pace or the outage of its host comes first.
      if ('not_requested' in fault && fault.not_requested) return polled
      const has_credential = feed.user !== '' || /[?@]/.test(feed.url)
      const bounds = { now: clock.now(), every_ms: interval_s * 1000, has_credential }
      faulty.set(feed.name, { position: failed(position, fault, bounds), fault })
      given.log('debug', 'feed.unreadable', {
        feed: feed.name,
        address: shownAddress(feed.url),
        fault: fault.kind,
      })
      return polled
    }
    faulty.delete(feed.name)
    const { document, judged, as_of, is_lowered } = polled.value
    const next = after(feed, polled.value, interval_s)
    if (is_lowered)
      next.state = {
        ...next.state,
        verified_until: Math.min(next.state.verified_until ?? as_of, position.plain_at),
      }
    const step = unchanged(next, 1)
    if (document === null || judged === null) return ok(step)
    titles.set(feed.name, document.title)
    const context = { document, seen_at: as_of, has_bumps: judged.state.has_bumps }
    const fresh = await postsFrom(judged.fresh, feed, { ...context, is_edit: false })
    const edited = await postsFrom(judged.edited, feed, { ...context, is_edit: true })
    const late = fresh.filter(({ created_utc }) => as_of - created_utc * 1000 > LATE_MS)
    const { gap } = judged
    return ok({
      ...step,
      items: [...fresh, ...edited].map((post) => ({ ...post, kind: 'post' })),
      published: late.map(({ name }) => name),
      ...(gap !== null && { overran: { from_at: gap.from_at, until_at: gap.until_at } }),
    })
  }

  /** A step that found nothing new. */
  const unchanged = (position: FeedPosition, requests: number): WatchStep => ({
    items: [],
    arrived: [],
    published: [],
    gone: [],
    state: JSON.stringify(position),
    proven: null,
    behind: null,
    skipped: [],
    unanswered: [],
    answered: [],
    verified_until: Math.min(clock.now(), position.state.verified_until ?? Infinity),
    partial: position.is_gone ? 'places_not_read' : position.state.partial,
    next_at: position.due_at,
    requests,
  })

  async function documentAt(
    feed: FeedAddress,
    call: HttpCall,
  ): Promise<Outcome<{ document: FeedDocument; as_of: number }>> {
    const fetched = await fetchDocument(feed, {}, call, deps)
    if (!fetched.ok) return fetched
    const document = await documentOf(fetched.value)
    return document.ok ? ok({ document: document.value, as_of: fetched.value.as_of }) : document
  }

  /** Entries of feeds as they are now, newest first. */
  async function readPosts(names: readonly string[], call: Call): Promise<Outcome<Post[]>> {
    const wanted =
      names.length === 0 ? feeds : names.flatMap((it) => by_name.get(it.toLowerCase()) ?? [])
    if (wanted.length === 0) return fail(NOT_FOUND)
    const found: Post[] = []
    for (const feed of wanted.slice(0, READ_FEEDS_MAX)) {
      const read = await documentAt(feed, call)
      if (!read.ok) return read
      const { document, as_of } = read.value
      titles.set(feed.name, document.title)
      const listed = listedOf(document.entries, new URL(feed.url).host)
      found.push(
        ...(await postsFrom(listed, feed, {
          document,
          seen_at: as_of,
          is_edit: false,
          has_bumps: false,
        })),
      )
    }
    return ok(found.toSorted((a, b) => b.created_utc - a.created_utc))
  }

  const toCommunity = ({ name, url }: FeedAddress) => ({
    id: name,
    name,
    display_name_prefixed: name,
    title: titles.get(name) ?? name,
    description: null,
    subscribers: null,
    active_users: null,
    created: null,
    created_utc: null,
    type: 'public',
    over_18: false,
    quarantined: false,
    url: new URL(url).origin,
    icon_url: null,
    banner_url: null,
    language: '',
  })

  const reads: Partial<SourceReads> = {
    posts: async ({ subforums, limit }, call) => page(await readPosts(subforums, call), limit),
    async search({ q, subforum, limit }, call) {
      const words = q
        .toLowerCase()
        .split(/\s+/)
        .filter((it) => it !== '')
      const has = ({ title, text, author }: Post) => {
        const all = `${title}\n${text}\n${author}`.toLowerCase()
        return words.every((it) => all.includes(it))
      }
      return page(await readPosts(subforum === null ? [] : [subforum], call), limit, has)
    },
    async postsById(ids, call) {
      if (ids.some((id) => !posts.has(id))) {
        const read = await readPosts([], call)
        if (!read.ok) return read
      }
      return ok(ids.flatMap((id) => posts.get(id) ?? []))
    },
    community: async (name) => {
      const feed = by_name.get(name.toLowerCase())
      return feed === undefined ? fail(NOT_FOUND) : ok(toCommunity(feed))
    },
    communities: async ({ limit }) =>
      ok({ rows: feeds.slice(0, limit).map(toCommunity), after: null, logged_in: null }),
  }

  return {
    kind: 'feed',
    url: new URL(feeds[0]?.url ?? given.base_url).origin,
    capabilities: new Set(readCapabilities(reads)),
    reads: withUnsupported(reads, fromNode),
    watch: {
      proof: 'overlap',
      relisted_ms: 0,
      feeds: feeds.map(({ name }) => name),
      advance,
      reread: async (range) => ok({ items: [], unanswered: [], behind: range, requests: 0 }),
    },
    acts: {},
    authorization: null,
    isPlace: (place) => by_name.has(place.toLowerCase()),
    spell: (place) => by_name.get(place.toLowerCase())?.name ?? place,
    place_examples: feeds.slice(0, 3).map(({ name }) => name),
    targetOf: () => null,
    // Times of answers are by our clock already: each host has its own.
    clock_offset_ms: () => 0,
    isDown: () => clients.size > 0 && [...clients.values()].every((it) => it.isDown()),
    async probe(call) {
      const notes: string[] = []
      let title: string | null = null
      for (const feed of feeds.slice(0, call.requests)) {
        const read = await documentAt(feed, call)
        if (!read.ok && feeds.length === 1) return read
        if (!read.ok) notes.push(`${feed.name}: ${read.fault.kind}`)
        if (!read.ok) continue
        title ??= read.value.document.title
        notes.push(`${feed.name}: ${noteOf(read.value.document, feed, read.value.as_of)}`)
      }
      return ok({ title, version: null, notes })
    },
  }
}

/** What one document tells of the proof that a feed allows. */
function noteOf(document: FeedDocument, { url }: Pick<FeedAddress, 'url'>, as_of: number): string {
  const listed = listedOf(document.entries, new URL(url).host)
  const judged = judge(NEW_FEED, { listed, as_of, is_cut: document.is_cut })
  const times = listed.flatMap(({ at }) => at ?? [])
  const hours =
    times.length < 2 ? null : Math.round((Math.max(...times) - Math.min(...times)) / 3_600_000)
  const third = judged?.state.third_ms ?? null
  return [
    `${listed.length} entries`,
    ...(hours === null ? [] : [`of ${hours} hours`]),
    ...(third === null
      ? []
      : [`a third of them came in ${Math.max(1, Math.round(third / 60_000))} minutes`]),
    judged?.partial === null
      ? 'a poll can prove that nothing was missed'
      : 'their order is not that of arrival: no proof',
  ].join(', ')
}
