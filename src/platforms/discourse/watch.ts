import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import { type Item, MORE_PLACES } from '../../core/forum/items.ts'
import type { HttpCall } from '../http.ts'
import {
  hasReadEnough,
  type IdRange,
  type IdWatch,
  type PartialReason,
  pollCall,
  type WatchCall,
  type WatchStep,
} from '../source.ts'
import { climb, isAfter, type Summit } from '../summit.ts'
import { isTag, type TopicTags } from './tags.ts'

export type StreamRow = {
  id: number
  name: string
  /** Changes with the text, the title, the place and the version of the post. */
  digest: string
  /** Null: a notice in place of a deleted or hidden text. */
  item: Item | null
}

/** A page of the list, in any order. */
export type StreamPage = {
  rows: StreamRow[]
  /** Ids of all rows, of those too that are neither post nor comment. */
  ids: number[]
  /** Epoch ms by the source's clock: the page shows everything that was visible then. */
  as_of: number
  /** A key was sent, and the answer is that for readers without one. */
  anonymous: boolean
}

/** A page of the list of topics by creation, newest first. */
export type TopicsPage = {
  topics: { id: number; created_ms: number }[]
  as_of: number
  anonymous: boolean
  more: boolean
}

/** Reads of the API that the watch needs. `before` null: the newest page. */
export type PostReader = {
  clock: { now(): number }
  page(before: number | null, call: HttpCall): Promise<Outcome<StreamPage>>
  topics(page: number, call: HttpCall): Promise<Outcome<TopicsPage>>
  /** Posts of a topic, as many as its first page has. */
  topic(id: number, call: HttpCall): Promise<Outcome<StreamRow[]>>
  /** Ms between two reads of the list of topics. */
  topics_every_ms: number
  tags: TopicTags
}

/**
 * Generation of the list. `current`: a page holds the newest rows with an id below `before`. `old`:
 * those of the 50 ids up to `before`, with some or all of them left out. A wrong guess costs requests
 * and proves nothing false: both list all of a page's ids from its lowest row on.
 */
type Generation = 'current' | 'old'

/** A visible row: id, name's topic (0: a comment), digest, since when it is missing (0: not), and its creation (epoch s). */
type Seen = [id: number, topic_id: number, digest: string, missing_since: number, created_s: number]

type State = {
  generation: Generation | null
  first: number
  /** Highest id that was read; null: no page had a row yet. */
  top: number | null
  /** Ranges below `top` that no page has covered yet, in ascending order. */
  holes: IdRange[]
  /** Every visible row from `floor` on, but for the holes; ascending. */
  seen: Seen[]
  floor: number
  tail_at: number
  read_until: number
  summit: Summit | null
  /** Topics of the last read of their list, with their creation (epoch s); null: it was not read yet. */
  listed: [id: number, created_s: number][] | null
  /** The page at which a read of their list goes on, and the time of its first one; null: it was read to its end. */
  listing: { page: number; as_of: number } | null
  /** Time of that read by our clock, and the time that it and the first one prove by the source's. */
  listed_at: number
  listed_until: number
  listed_from: number
  /** A monitor names a tag. */
  tagged: boolean
  /** Posts of topics whose tags could not be read yet. */
  untagged: Untagged[]
}

type Untagged = [id: number, topic_id: number, since: number]

const WINDOW = 50
/** So many pages of posts are read back for monitors that waited for the first step. */
const BEGIN_PAGES = 4
const TAIL_IDS = 200
const TAIL_EVERY_MS = 10 * 60_000
/** Ids below the old head that each step reads again: rows are committed out of order. */
const OVERLAP_IDS = 20
const SEEN_MAX = 400
const HOLES_MAX = 20
const LISTED_MAX = 300
const UNTAGGED_MAX = 1000
/** A topic that its readers may not see for so long is read with its posts, once they are shown again. */
const UNTAGGED_MS = 10 * 60_000
/** An answer for readers without a key may be this old; a row is gone only if two answers say so. */
const CACHE_MS = 60_000
/** A post that a moderator approves, recovers or shows again has the id that it had. */
const RELISTED_MS = 24 * 3_600_000

/**
 * The watch of all posts of a site, by its list in the order of ids. What it proves: every post
 * with an id in the range that was visible to the reader when its page was read.
 * https://docs.discourse.org/#tag/Posts/operation/listPosts
 */
export function createPostWatch(
  reader: PostReader,
): IdWatch & { partialFor(place: string): PartialReason | null } {
  const { clock, tags } = reader
  /**
   * Posts that wait after the last step, and those that waited before it: it may not be recorded yet, with what it gave.
   * Null: no step has read the state since the start.
   */
  let waiting: { before: number; after: number } | null = null
  /** Those of ranges that were read again between two steps. */
  const reread_untagged = new Map<number, Untagged>()

  /** Reads the tags of the topics of what was found, and gives posts that waited for them. */
  async function readTags(
    state: State,
    walk: Walk,
    { call, now }: { call: HttpCall; now: number },
  ): Promise<void> {
    const bounds = { ...walk.requests_of, call }
    for (const it of reread_untagged.values()) state.untagged.push(it)
    reread_untagged.clear()
    const topic_ids = state.untagged.map(([, topic_id]) => topic_id)
    await tags.learn([...walk.topics().values(), ...topic_ids], bounds)
    const known = state.untagged.filter(([, topic_id]) => tags.placesOf(topic_id) !== null)
    const again = await walk.again(known.map(([id]) => id))
    await tags.refresh(bounds)
    const rest = state.untagged.filter(
      ([id, , since]) => !again.has(id) && now - since < UNTAGGED_MS,
    )
    const ids = new Set(rest.map(([id]) => id))
    for (const [id, topic_id] of walk.topics())
      if (tags.placesOf(topic_id) === null && !ids.has(id)) rest.push([id, topic_id, now])
    state.untagged = rest
  }

  async function advance(text: string | null, bounds: WatchCall): Promise<Outcome<WatchStep>> {
    const call = pollCall(bounds)
    const now = clock.now()
    const state = read(text)
    const before_step = state.untagged.length + reread_untagged.size
    waiting = { before: before_step, after: Math.max(before_step, waiting?.after ?? 0) }
    const walk = createWalk(reader, call, bounds.requests, state)
    const newest = await walk.page(null)
    if (newest === null) return fail(walk.fault() ?? OUT_OF_REQUESTS)
    const { ids, as_of } = newest
    const { summit, read_until } = state
    let verified_from: number | null = null
    const is_back = climbed(state, newest, now)
    if (is_back) walk.forget()
    const before = is_back ? 0 : state.top
    const hi = Math.max(...ids)
    const lo = Math.min(...ids)
    if (ids.length > 0 && !newest.anonymous) {
      const { top } = state
      if (top === null) {
        state.first = hi + 1
        state.floor = lo
      } else if (hi > top) state.holes.push({ from_id: top + 1, to_id: hi })
      state.top = Math.max(hi, top ?? 0)
      walk.accept(newest, { from_id: lo, to_id: hi }, top === null ? 'present' : 'newest')
      // Their times decide which are new to the monitors that waited for the first post.
      if (top === null && text !== null && !is_back) walk.include(newest)
      else if (top === null && bounds.since !== undefined)
        verified_from = await walk.begin(newest, bounds.since())
      // Where the higher id was none, what was written before it may be unread.
      if (is_back)
        walk.include(newest, (created) => isAfter(summit, created) || created >= read_until)
      // From this page down across the old head: what is new, and what was committed late.
      const target = top === null ? lo : Math.max(state.floor, top - OVERLAP_IDS)
      const low = lo > target ? await walk.down({ from_id: target, to_id: lo - 1 }) : lo
      for (let rounds = walk.left(); rounds > 0 && walk.left() > 0; rounds--) {
        const [hole] = state.holes
        if (hole === undefined) break
        await walk.down(hole)
      }
      const unlisted = await readTopics(reader, state, walk, { call, now })
      // Without a first list, no later one shows which topics are new.
      if (state.listed === null) return fail(unlisted ?? walk.fault() ?? OUT_OF_REQUESTS)
      if (state.holes.length === 0) await readTail(state, walk, { low, now })
      if (state.holes.length === 0) state.read_until = Math.max(state.read_until, as_of)
    } else if (newest.anonymous) walk.deliverUnproven(newest)
    const names_tag = bounds.places?.some(isTag) === true
    // The first monitor of a tag may be younger than the newest posts, whose tags were not read.
    if (names_tag && !state.tagged && before !== null) walk.include(newest)
    state.tagged = names_tag
    if (names_tag) await readTags(state, walk, { call, now })
    else state.untagged = []
    const skipped = trim(state)
    waiting = { before: before_step, after: state.untagged.length }

    const { first, top, holes } = state
    const [lowest] = holes
    const head = lowest === undefined ? top : lowest.from_id - 1
    return ok({
      items: walk.items(names_tag ? tags.placesOf : null),
      arrived: before === null ? [] : walk.above(before),
      gone: walk.gone(),
      state: JSON.stringify(state),
      proven: head === null || head < first ? null : { from_id: first, to_id: head },
      behind:
        lowest === undefined
          ? null
          : { from_id: lowest.from_id, to_id: holes.at(-1)?.to_id ?? lowest.to_id },
      skipped,
      // An id without a row is no post: one of another list, or a write that was undone.
      unanswered: [],
      answered: [],
      verified_until: Math.min(state.read_until, state.listed_until),
      partial: walk.anonymous() ? 'seen_as_anonymous' : null,
      ...(verified_from !== null && { verified_from }),
      ...(is_back && { went_back: true as const }),
      requests: walk.requests(),
    })
  }

  return {
    proof: 'keyset',
    relisted_ms: RELISTED_MS,
    advance,
    partialFor: (place) =>
      isTag(place) &&
      (waiting === null || waiting.before + waiting.after + reread_untagged.size > 0)
        ? 'places_not_read'
        : null,
    async reread(range, bounds) {
      const call = pollCall(bounds)
      const state: State = { ...read(null), holes: [{ ...range }] }
      const walk = createWalk(reader, call, bounds.requests, state)
      await walk.down(range)
      const fault = walk.fault()
      const names_tag = bounds.places?.some(isTag) === true
      if (names_tag && fault === null) {
        await tags.learn(walk.topics().values(), { ...walk.requests_of, call })
        for (const [id, topic_id] of walk.topics())
          if (tags.placesOf(topic_id) === null && reread_untagged.size < UNTAGGED_MAX)
            reread_untagged.set(id, [id, topic_id, clock.now()])
      }
      const items = walk.items(names_tag ? tags.placesOf : null)
      if (fault !== null && items.length === 0) return fail(fault)
      return ok({
        items,
        gone: walk.gone(),
        unanswered: [],
        behind: state.holes[0] ?? null,
        requests: walk.requests(),
      })
    },
  }
}

/** Notes the highest id of the newest page. True: ids went back, and the state is that of a start. */
function climbed(state: State, newest: StreamPage, now: number): boolean {
  if (newest.anonymous) return false
  const known = new Map(state.seen.map(([id, , , , created_s]) => [id, created_s * 1000]))
  const rows = newest.rows.flatMap(({ id, item }) =>
    item === null
      ? []
      : [{ id, created_ms: item.created_utc * 1000, known_ms: known.get(id) ?? null }],
  )
  // A topic that is published later gets another time, and keeps its id.
  const { summit, is_back } = climb(state.summit, { ...newest, rows }, { now, new_ids: false })
  if (is_back) {
    const { tagged, listed, listed_at, listed_until, listed_from } = state
    // The list of topics is by creation, which does not go back.
    Object.assign(state, { ...read(null), tagged, listed, listed_at, listed_until, listed_from })
  }
  // The rows above a lowered summit are gone: what comes there is new.
  else if (
    summit !== null &&
    state.top !== null &&
    summit.id < Math.min(state.top, state.summit?.id ?? 0)
  )
    Object.assign(state, {
      top: summit.id,
      holes: without(state.holes, { from_id: summit.id + 1, to_id: state.top }),
    })
  state.summit = summit
  return is_back
}

/** Reads the last ids again: hidden posts come back with the id that they had. */
async function readTail(
  state: State,
  walk: Walk,
  { low, now }: { low: number; now: number },
): Promise<void> {
  const { top } = state
  if (top === null || now - state.tail_at < TAIL_EVERY_MS) return
  const from_id = Math.max(1, top - TAIL_IDS + 1)
  // Rows below the floor are recorded and not delivered: they may have been visible all the time.
  const reached = low > from_id ? await walk.down({ from_id, to_id: low - 1 }) : low
  if (reached <= from_id) state.tail_at = now
}

/**
 * Finds topics whose posts have old ids: one that a timer publishes, and a message that becomes a topic, are dated at their
 * publication and keep their ids.
 */
async function readTopics(
  { topics, topic, topics_every_ms }: PostReader,
  state: State,
  walk: Walk,
  { call, now }: { call: HttpCall; now: number },
): Promise<Fault | null> {
  const is_due = now < state.listed_at || now - state.listed_at >= topics_every_ms
  if (state.listing === null && !is_due) return null
  const { left, canSend, sent } = walk.requests_of
  const known = new Map(state.listed)
  let { page, as_of } = state.listing ?? { page: 0, as_of: null }
  /** Keeps what was read for the next step, which goes on there: rows only move to later pages. */
  const pause = <T>(result: T): T => {
    if (state.listed === null || as_of === null) return result
    state.listed = newestOf(known)
    state.listing = { page, as_of }
    return result
  }
  for (let more = true; more; page++) {
    // The first is read, however large the page of posts was: without it nothing is proven.
    if (page === 0 ? !canSend() : left() === 0) return pause(null)
    sent()
    const answer = await topics(page, call)
    if (!answer.ok) return pause(answer.fault)
    if (answer.value.anonymous) return pause(null)
    as_of ??= answer.value.as_of
    const rows = answer.value.topics
    const oldest_ms = Math.min(...rows.map(({ created_ms }) => created_ms))
    more = state.listed !== null && answer.value.more && oldest_ms > state.listed_until
    for (const { id, created_ms } of rows) {
      const is_new =
        state.listed !== null &&
        created_ms > state.listed_from &&
        known.get(id) !== toSeconds(created_ms) &&
        !walk.hasTopic(id, created_ms)
      if (is_new) {
        if (left() === 0) return pause(null)
        sent()
        const posts = await topic(id, call)
        if (posts.ok) walk.offer(posts.value)
        else if (posts.fault.kind !== 'not_found' && posts.fault.kind !== 'forbidden')
          return pause(posts.fault)
      }
      known.set(id, toSeconds(created_ms))
    }
  }
  const until = as_of ?? state.listed_until
  if (state.listed === null) state.listed_from = until
  Object.assign(state, { listed: newestOf(known), listing: null, listed_at: now })
  state.listed_until = until
  return null
}

/** The newest of the topics, as a state keeps them. */
const newestOf = (known: ReadonlyMap<number, number>): [id: number, created_s: number][] =>
  [...known].toSorted((a, b) => b[1] - a[1]).slice(0, LISTED_MAX)

const OUT_OF_REQUESTS = { kind: 'throttled', retry_after_s: 1, not_requested: true } as const

const toSeconds = (ms: number): number => Math.floor(ms / 1000)

type Walk = ReturnType<typeof createWalk>

/** Reads pages within a number of requests, and keeps the state's account of what they cover. */
function createWalk(reader: PostReader, call: HttpCall, requests_max: number, state: State) {
  const found = new Map<number, StreamRow>()
  const gone = new Set<string>()
  const seen = new Map(state.seen.map((it) => [it[0], it]))
  /** Known posts that are given again. */
  const wanted = new Set<number>()
  let sent = 0
  let fault: Fault | null = null
  let anonymous = false

  const canSend = () => fault === null && !anonymous && sent < requests_max
  const left = () => (canSend() && !hasReadEnough(call) ? requests_max - sent : 0)

  async function page(before: number | null): Promise<StreamPage | null> {
    if (left() === 0) return null
    sent += 1
    const outcome = await reader.page(before, call)
    if (!outcome.ok) {
      ;({ fault } = outcome)
      return null
    }
    if (outcome.value.anonymous) anonymous = true
    return outcome.value
  }

  /** The range that an answer to `before` proves; its ids are those below `before`. */
  function coverageOf(before: number, ids: readonly number[], was_row: boolean): IdRange {
    const lowest = Math.min(...ids)
    // A page of the old generation starts with `before` itself, and ends 50 ids below.
    if (ids.some((id) => id >= before)) state.generation = 'old'
    else if (ids.length > 0 && (was_row || lowest <= before - WINDOW)) state.generation = 'current'
    // Without a row, a page proves its window in both generations, and is the end in neither.
    const is_window = ids.length === 0 || state.generation === 'old'
    const from_id = is_window ? Math.min(lowest, before - WINDOW + 1) : lowest
    return { from_id: Math.max(1, from_id), to_id: before - 1 }
  }

  /** Walks down a range, and returns the lowest id that a page covered. */
  async function down({ from_id, to_id }: IdRange): Promise<number> {
    let before = to_id + 1
    while (before > from_id) {
      const answer = await page(before)
      if (answer === null || answer.anonymous) break
      const covered = coverageOf(before, answer.ids, seen.has(before))
      accept(answer, covered)
      before = covered.from_id
    }
    return before
  }

  /**
   * Takes the rows of a page that covers a range, and closes the holes within. `newest`: no row is
   * above the page. `present`: the rows belong to the time before the watch.
   */
  function accept(
    { rows, as_of }: StreamPage,
    covered: IdRange,
    place: 'below' | 'newest' | 'present' = 'below',
  ): void {
    const present = new Set<number>()
    for (const row of rows) {
      const { id, name, digest, item } = row
      present.add(id)
      const known = seen.get(id)
      const in_hole = state.holes.some(({ from_id, to_id }) => id >= from_id && id <= to_id)
      const is_new = place !== 'present' && (in_hole || (known === undefined && id >= state.floor))
      if (item === null) {
        if (known !== undefined) gone.add(name)
        seen.delete(id)
        continue
      }
      const is_edited = known !== undefined && known[2] !== digest
      if ((is_new && known?.[2] !== digest) || is_edited || wanted.has(id)) found.set(id, row)
      seen.set(id, [id, topicIn(name), digest, 0, item.created_utc])
    }
    for (const [id, [, topic_id, digest, missing_since, created_s]] of seen) {
      const is_above = place !== 'newest' && id > covered.to_id
      if (present.has(id) || id < covered.from_id || is_above) continue
      if (missing_since === 0) seen.set(id, [id, topic_id, digest, as_of, created_s])
      else if (as_of - missing_since >= CACHE_MS) {
        gone.add(topic_id === 0 ? `t1_${id}` : `t3_${topic_id}`)
        seen.delete(id)
      }
    }
    for (const id of wanted) if (id >= covered.from_id && id <= covered.to_id) wanted.delete(id)
    if (covered.from_id < state.floor && covered.to_id >= state.floor - 1)
      state.floor = covered.from_id
    state.holes = without(state.holes, covered)
    state.seen = [...seen.values()]
  }

  /** Reads posts, which are given even if they are known. Returns the ids whose pages were read. */
  async function again(ids: readonly number[]): Promise<ReadonlySet<number>> {
    for (const id of ids) if (!found.has(id)) wanted.add(id)
    for (const id of ids.toSorted((a, b) => b - a))
      if (wanted.has(id)) await down({ from_id: id, to_id: id })
    return new Set(ids.filter((id) => !wanted.has(id)))
  }

  return {
    left,
    page,
    down,
    accept,
    again,
    requests_of: { left, canSend, sent: () => void (sent += 1) },
    /** Gives posts of a page, even if they are known; all, or those with such a creation, epoch ms. */
    include({ rows }: StreamPage, isWanted: (created_ms: number) => boolean = () => true): void {
      for (const row of rows)
        if (row.item !== null && isWanted(row.item.created_utc * 1000)) found.set(row.id, row)
    },
    /** Gives posts from the newest page down to one that was created before `since`; null: none was found. */
    async begin(newest: StreamPage, since: number): Promise<number | null> {
      let at: StreamPage | null = newest
      for (let pages = 1; at !== null && !at.anonymous; pages++) {
        const low = Math.min(...at.ids)
        if (low === Infinity) return null
        for (const row of at.rows)
          if (row.item !== null && row.item.created_utc * 1000 >= since) found.set(row.id, row)
        const is_reached = at.rows.some(
          ({ item }) => item !== null && item.created_utc * 1000 < since,
        )
        if (is_reached || low <= 1) return since
        at = pages < BEGIN_PAGES ? await page(low) : null
        if (at !== null && at.ids.length > 0)
          accept(at, { from_id: Math.min(...at.ids), to_id: low - 1 }, 'present')
      }
      return null
    },
    /** True for a topic whose first post is known, with this creation. */
    hasTopic: (topic_id: number, created_ms: number): boolean =>
      [...seen.values()].some((it) => it[1] === topic_id && it[4] === toSeconds(created_ms)),
    /** Gives posts of a topic that are not known as they are. */
    offer(rows: readonly StreamRow[]): void {
      for (const row of rows) if (row.item !== null && !found.has(row.id)) found.set(row.id, row)
    },
    forget: () => seen.clear(),
    /** Topics of what was found, by the id of the post. */
    topics: (): ReadonlyMap<number, number> =>
      new Map([...found].flatMap(([id, { item }]) => (item === null ? [] : [[id, topicOf(item)]]))),
    /** Names of what was found above an id. */
    above: (top: number) => [...found.values()].flatMap(({ id, name }) => (id > top ? [name] : [])),
    /** Delivers rows of an answer that proves nothing. */
    deliverUnproven({ rows }: StreamPage): void {
      for (const row of rows) {
        if (row.item === null || row.id <= (state.top ?? Infinity) || seen.has(row.id)) continue
        found.set(row.id, row)
        seen.set(row.id, [row.id, topicIn(row.name), row.digest, 0, row.item.created_utc])
      }
      state.seen = [...seen.values()]
    },
    requests: () => sent,
    fault: () => fault,
    anonymous: () => anonymous,
    /** `placesOf`: places of topics beside their category; null: they are of no interest. */
    items: (placesOf: TopicTags['placesOf'] | null) =>
      [...found.values()]
        .toSorted((a, b) => a.id - b.id)
        .flatMap(({ item }) => {
          if (item === null) return []
          return [placesOf === null ? item : { ...item, [MORE_PLACES]: placesOf(topicOf(item)) }]
        }),
    gone: () => [...gone],
  }
}

const topicOf = (item: Item): number => Number(item.kind === 'post' ? item.id : item.post_id)

const topicIn = (name: string): number => (name.startsWith('t3_') ? Number(name.slice(3)) : 0)

/** Ranges without the ids of `covered`. */
const without = (ranges: readonly IdRange[], covered: IdRange): IdRange[] =>
  ranges.flatMap(({ from_id, to_id }) =>
    [
      { from_id, to_id: Math.min(to_id, covered.from_id - 1) },
      { from_id: Math.max(from_id, covered.to_id + 1), to_id },
    ].filter((it) => it.from_id <= it.to_id),
  )

/**
 * Bounds the state, and returns posts that no longer wait for their tags. Joined holes are read again between; forgotten
 * rows are of an age that rests.
 */
function trim(state: State): IdRange[] {
  while (state.holes.length > HOLES_MAX) {
    const [low, next, ...rest] = state.holes
    if (low === undefined || next === undefined) break
    state.holes = [{ from_id: low.from_id, to_id: next.to_id }, ...rest]
  }
  const seen = state.seen.toSorted((a, b) => a[0] - b[0])
  const dropped = seen.slice(0, -SEEN_MAX).at(-1)
  if (dropped !== undefined) state.floor = Math.max(state.floor, dropped[0] + 1)
  state.seen = seen.filter(([id]) => id >= state.floor)
  const excess = state.untagged.slice(UNTAGGED_MAX).map(([id]) => id)
  state.untagged = state.untagged.slice(0, UNTAGGED_MAX)
  return excess.length === 0 ? [] : [{ from_id: Math.min(...excess), to_id: Math.max(...excess) }]
}

function read(text: string | null): State {
  const state: State = {
    generation: null,
    first: 1,
    top: null,
    holes: [],
    seen: [],
    floor: Number.MAX_SAFE_INTEGER,
    tail_at: 0,
    read_until: 0,
    summit: null,
    listed: null,
    listing: null,
    listed_at: -Infinity,
    listed_until: 0,
    listed_from: 0,
    tagged: false,
    untagged: [],
  }
  if (text === null) return state
  const stored: Partial<State> = JSON.parse(text)
  return { ...state, ...stored }
}
