import { createHash } from 'node:crypto'

import { LRUCache } from 'lru-cache'

import { createLru } from '../../core/base/lru.ts'
import { isObject } from '../../core/base/object.ts'
import { fail, type Fault, ok, type Outcome } from '../../core/base/result.ts'
import { boundedWait, pauseAfterLimit } from '../../core/base/wait.ts'
import { secondsIn } from '../../core/forum/native-refusals.ts'
import { warm } from '../html.ts'
import { createHttpClient, type HttpAnswer, type HttpCall } from '../http.ts'
import type { Listing } from '../port.ts'
import type { SourceOptions } from '../source.ts'
import {
  fieldsOf,
  idAt,
  identityOf,
  numberAt,
  type Row,
  rowsOf,
  type Shape,
  textAt,
} from '../values.ts'
import {
  type Categories,
  type Category,
  type NativePost,
  type SiteFacts,
  slugOf,
  toCategories,
  toNative,
  type TopicFacts,
} from './readers.ts'
import { isTag } from './tags.ts'

const CATEGORIES_FRESH_MS = 10 * 60_000
/** Categories that are read by id: in all, and for the rows of one answer. */
const UNLISTED_MAX = 1000
const UNLISTED_AT_ONCE = 20
/** Facts of topics in memory, and characters of one. */
const TOPICS_BYTES_MAX = 4 * 1024 * 1024
const FACTS_MAX = 8 * 1024
const NUMBERS_MAX = 50_000
/** Answers for readers without a key come from a cache of this age, on a site under load. */
const CACHE_MS = 60_000
const WORKED_MS = 60_000
const LOOK_EVERY_MS = 3_600_000
const LOOKS_MAX = 3
const UNCATEGORIZED = 'uncategorized'
export const LIMIT_S = 60
const SENTENCE_MAX = 2000

/**
 * A client for one site, with its categories and the facts of topics that single rows leave out. A
 * key is sent with every request.
 */
export function createSiteClient(options: SourceOptions) {
  const { clock, credential } = options
  const base_url = options.base_url.replace(/\/+$/, '')
  const http = createHttpClient({
    ...options,
    base_url,
    headers: () => (credential === null ? {} : { 'user-api-key': credential }),
    verdict,
    isOwnLimit,
  })
  let categories: Categories = toCategories([])
  let read_at = -Infinity
  let worked_at = -Infinity
  /** Categories that the site's list leaves out; the path of one that cannot be read is its id. */
  const unlisted = new Map<number, string>()
  const topics = new LRUCache<number, TopicFacts>({
    maxSize: TOPICS_BYTES_MAX,
    sizeCalculation: ({ title, link_url }) => 2 * (title.length + (link_url?.length ?? 0)) + 100,
  })
  const numbers = createLru<string, number>(NUMBERS_MAX)

  const site: SiteFacts = {
    base_url,
    placeOf: (id) =>
      id === null
        ? UNCATEGORIZED
        : (categories.by_id.get(id)?.path ?? unlisted.get(id) ?? `${id}-category`),
    idOf: (topic_id, number) => numbers.get(`${topic_id}/${number}`) ?? null,
    topicOf: (id) => topics.get(id) ?? null,
  }

  /** Categories of the site, at most ten minutes old; older ones while the site cannot be read. */
  async function readCategories(call: HttpCall): Promise<Outcome<Categories>> {
    if (clock.mono() - read_at < CATEGORIES_FRESH_MS) return ok(categories)
    const answer = await http.get('/site.json', call, '$.categories[]')
    if (!answer.ok) return read_at === -Infinity ? answer : ok(categories)
    categories = toCategories(rowsOf(fieldsOf(answer.value)['categories']))
    read_at = clock.mono()
    unlisted.clear()
    return ok(categories)
  }

  /** Reads the categories of rows before they are mapped; large sites list a part of them. */
  async function prepare(
    rows: readonly Record<string, unknown>[],
    call: HttpCall,
  ): Promise<Outcome<null>> {
    const known = await readCategories(call)
    if (!known.ok) return known
    const html = rows.flatMap((row) => [
      row['raw'] == null && row['cooked'],
      row['excerpt'],
      row['blurb'],
    ])
    await warm(html, new URL(base_url).origin)
    let requests = 0
    for (const id of new Set(rows.map((row) => idAt(row, 'category_id')))) {
      if (id === null || known.value.by_id.has(id) || unlisted.has(id)) continue
      // The others keep their ids until the next rows of them.
      if (++requests > UNLISTED_AT_ONCE || unlisted.size >= UNLISTED_MAX) break
      const answer = await http.get(`/c/${id}/show.json`, call)
      const is_secret =
        !answer.ok && (answer.fault.kind === 'not_found' || answer.fault.kind === 'forbidden')
      if (!answer.ok && !is_secret) return answer
      const row = answer.ok ? fieldsOf(fieldsOf(answer.value)['category']) : {}
      const above = idAt(row, 'parent_category_id')
      const slug = slugOf(row, id)
      unlisted.set(id, above === null ? slug : `${site.placeOf(above)}/${slug}`)
    }
    return ok(null)
  }

  /** Keeps what later rows of the same topic do not state. */
  function remember({ id, topic_id, number, row }: NativePost): void {
    numbers.set(`${topic_id}/${number}`, id)
    const title = textAt(row, 'topic_title')
    const known = topics.get(topic_id)
    if (title === null && known === undefined) return
    rememberTopic(topic_id, {
      title: title ?? known?.title ?? '',
      link_url: known?.link_url ?? null,
      category_id: idAt(row, 'category_id') ?? known?.category_id ?? null,
      author_id: number === 1 ? numberAt(row, 'user_id') : (known?.author_id ?? null),
      is_unlisted: known?.is_unlisted ?? false,
    })
  }

  const rememberTopic = (id: number, topic: TopicFacts): void => {
    // A longer one is no title, and its row is left out.
    if (topic.title.length + (topic.link_url?.length ?? 0) < FACTS_MAX) topics.set(id, topic)
  }

  /** A page's posts, remembered, after their categories were read. */
  async function natives(
    rows: readonly Record<string, unknown>[],
    call: HttpCall,
  ): Promise<Outcome<NativePost[]>> {
    const prepared = await prepare(rows, call)
    if (!prepared.ok) return prepared
    const found = rows.map(toNative).filter((it) => it !== null)
    for (const row of rows) if (isBroken(row)) options.left_out?.('id', identityOf(row))
    for (const native of found) remember(native)
    return ok(found)
  }

  async function get(path: string, call: HttpCall, shape: Shape = '$'): Promise<Outcome<Row>> {
    const answer = await http.get(path, call, shape)
    if (!answer.ok) return answer.fault.kind === 'not_found' ? absence(answer.fault, call) : answer
    worked_at = clock.mono()
    return ok(fieldsOf(answer.value))
  }

  /** An absence counts beside a read of the same minute that works: an outage may be answered so too. */
  async function absence(fault: Fault, call: HttpCall): Promise<{ ok: false; fault: Fault }> {
    if (clock.mono() - worked_at < WORKED_MS) return fail(fault)
    const witness = await http.get('/posts.json', call, '$.latest_posts[]')
    if (!witness.ok)
      return fail({ kind: 'unavailable', status: null, retry_after_s: null, not_requested: true })
    worked_at = clock.mono()
    return fail(fault)
  }

  /** An answer with the time that it proves, epoch ms by the site's clock. */
  async function observe(
    path: string,
    call: HttpCall,
    shape: Shape,
  ): Promise<Outcome<{ value: unknown; as_of: number; anonymous: boolean }>> {
    const answer = await http.send({ path, shape }, call)
    if (!answer.ok) return answer
    worked_at = clock.mono()
    const { headers, value, as_of, age_ms } = answer.value
    const is_signed_in = headers.get('x-discourse-username') !== null
    const is_fresh =
      is_signed_in || /^(?:skip|store)$/.test(headers.get('x-discourse-cached') ?? '')
    return ok({
      value,
      as_of: as_of - (is_fresh ? 0 : Math.max(0, CACHE_MS - age_ms)),
      anonymous: credential !== null && !is_signed_in,
    })
  }

  const is_signed_in = credential !== null
  /** Categories beside those of the list. */
  const found_places = createLru<string, true>(UNLISTED_MAX)
  const isSeen = (place: string): boolean =>
    place.toLowerCase() === 'all' ||
    isTag(place) ||
    categories.find(place) !== null ||
    found_places.get(place.toLowerCase()) === true

  /** A category that the site's list leaves out, as a large one does; null: there is none of this path. */
  async function findCategory(path: string, call: HttpCall): Promise<Outcome<Category | null>> {
    const address = `/c/${encodePath(path)}/find_by_slug.json`
    const answer = await http.get(address, call, '$.category')
    if (!answer.ok) {
      const { kind } = answer.fault
      return kind === 'not_found' || kind === 'forbidden' ? ok(null) : answer
    }
    const row = fieldsOf(fieldsOf(answer.value)['category'])
    const id = idAt(row, 'id')
    if (id === null) return ok(null)
    found_places.set(path.toLowerCase(), true)
    return ok({ id, path, parent: idAt(row, 'parent_category_id'), row })
  }

  const looked_at = createLru<string, number>(UNLISTED_MAX)

  /** Looks for named places that the list leaves out, a few at a time and each once an hour. */
  async function lookFor(places: readonly string[], call: HttpCall): Promise<void> {
    const due = places.filter(
      (it) => !isSeen(it) && clock.mono() - (looked_at.get(it) ?? -Infinity) > LOOK_EVERY_MS,
    )
    for (const place of due.slice(0, LOOKS_MAX)) {
      looked_at.set(place, clock.mono())
      await findCategory(place, call)
    }
  }

  /** A category that the site has never shown proves nothing. */
  const partialFor = (place: string): 'places_not_read' | null =>
    isSeen(place) ? null : 'places_not_read'

  return {
    base_url,
    partialFor,
    findCategory,
    lookFor,
    is_signed_in,
    http,
    site,
    get,
    natives,
    readCategories,
    prepare,
    rememberTopic,
    observe,
  }
}

/** Slugs of other scripts are stored encoded. */
export const encodePath = (path: string): string =>
  path
    .split('/')
    .map((slug) => (slug.includes('%') ? slug : encodeURIComponent(slug)))
    .join('/')

export type SiteClient = ReturnType<typeof createSiteClient>

/** Changes with an edit; other changes of a row move `updated_at` too. */
export const digestOf = ({ topic_id, row }: NativePost): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        topic_id,
        row['version'],
        row['raw'] ?? row['cooked'],
        row['topic_title'],
        row['category_id'],
        row['username'],
      ]),
    )
    .digest('base64url')
    .slice(0, 8)

/** True for a row whose id, or that of its topic, cannot be one. */
const isBroken = (row: Row): boolean =>
  ['id', 'topic_id', 'post_number'].some((field) => row[field] != null && idAt(row, field) === null)

/** Fault that an answer of the site states in words; null: by its status. */
function verdict({ status, text, value, retry_after_s }: HttpAnswer): Fault | null {
  const body = fieldsOf(value)
  if (status === 429) {
    const extras = fieldsOf(body['extras'])
    const stated_s =
      retry_after_s ?? boundedWait(extras['wait_seconds']) ?? secondsIn(text.slice(0, SENTENCE_MAX))
    return { kind: 'throttled', ...pauseAfterLimit(stated_s, LIMIT_S) }
  }
  const error_type = textAt(body, 'error_type')
  if (status === 403 && error_type === 'not_logged_in') return { kind: 'login_required' }
  if (status === 404 && error_type === 'not_found') return { kind: 'not_found', reason: 'absent' }
  return null
}

/** A limit of one action such as the search, which other requests do not share; that of an address is text. */
const isOwnLimit = ({ value }: HttpAnswer): boolean => isObject(value)

/** Pages of one call, so that a filter that keeps little ends. */
export const LIST_PAGES_MAX = 5
export type Paging = { limit: number; after: string | null }
export type NumberedPage<T> = { rows: T[]; more: boolean }

/**
 * Rows of numbered pages, up to a limit. The cursor is the page and the rows of it that were
 * returned.
 */
export async function pages<T>(
  { limit, after }: Paging,
  read: (page: number) => Promise<Outcome<NumberedPage<T>>>,
  { keep = () => true }: { keep?: (row: T) => boolean } = {},
): Promise<Outcome<Listing<T>>> {
  const [, from_page, from_row] = /^p(\d{1,4})-(\d{1,3})$/.exec(after ?? 'p0-0') ?? []
  if (from_page === undefined) return fail({ kind: 'rejected', status: 400 })
  const rows: T[] = []
  let page = Number(from_page)
  let skip = Number(from_row)
  for (let count = 0; count < LIST_PAGES_MAX; count++, page++, skip = 0) {
    const answer = await read(page)
    if (!answer.ok) return answer
    for (const [at, row] of answer.value.rows.entries()) {
      if (at < skip || !keep(row)) continue
      rows.push(row)
      if (rows.length < limit) continue
      const is_last = at === answer.value.rows.length - 1
      if (is_last && !answer.value.more) return ok({ rows, after: null, logged_in: null })
      const next = is_last ? `p${page + 1}-0` : `p${page}-${at + 1}`
      return ok({ rows, after: next, logged_in: null })
    }
    if (!answer.value.more) return ok({ rows, after: null, logged_in: null })
  }
  return ok({ rows, after: `p${page}-0`, logged_in: null })
}
