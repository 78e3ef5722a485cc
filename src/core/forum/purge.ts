import { normalise } from '../base/form.ts'
import { type Comment, HOME, itemKey } from './items.ts'

/**
 * Author or item to erase. An item has its id without prefix, and its kind if the id had one. `source` null: of any source.
 */
export type Purged = { source: string | null } & (
  | {
      by: 'author'
      name: string
      /** Ids of this author's posts, whose titles appear on other users' comments. */
      posts: ReadonlySet<string>
    }
  | { by: 'item'; id: string; kind: 'post' | 'comment' | null }
)

type Row = Readonly<Record<string, unknown>>

/**
 * Fields that are not content: ids, kind, subforum and time are retained. `subforum` applies by its
 * configured word, too.
 */
const RETAINED_FIELDS = new Set([
  'id',
  'name',
  'kind',
  'source',
  'created',
  'post_id',
  'parent_id',
  'method',
])
const GONE = '[purged]'

/** Parses `t3_abc`, `t1_abc` or a bare id; null if malformed. */
export function parseItemId(text: string): (Purged & { by: 'item' }) | null {
  const [, prefix, id] = /^(?:t([13])_)?([a-z0-9]{1,13})$/i.exec(text) ?? []
  if (id === undefined) return null
  const kind = prefix === undefined ? null : prefix === '3' ? 'post' : 'comment'
  return { by: 'item', id: id.toLowerCase(), kind, source: null }
}

/**
 * Erased form of an item: unchanged if it is not affected, blanked if it is, and without its
 * thread's title if only that is affected.
 */
export function purgeItem(item: Row, purged: Purged, community: string): Row {
  if (purged.source !== null && purged.source !== (sourceOf(item) ?? HOME)) return item
  if (isMeant(item, purged))
    return { ...blanked(item, community), ...withoutOwnPage(item, community), author: GONE }
  if (!isUnder(item['post_id'], purged)) return item
  return withoutTitle(item)
}

/** Keys of items to erase, and of items of which the author alone is erased. */
export type Erasure = { items: ReadonlySet<string>; authors: ReadonlySet<string> }

/** Erased form of a stored row, in its public form: the same object if it is not affected. */
export function eraseRow(row: Row, { items, authors }: Erasure, community: string): Row {
  const key = keyOfRow(row)
  if (key !== null && items.has(key))
    return { ...blanked(row, community), ...withoutOwnPage(row, community), author: GONE }
  const thread = threadOfRow(row)
  const untitled = thread !== null && items.has(thread) ? withoutTitle(row) : row
  return key !== null && authors.has(key) ? withoutAuthor(untitled, community) : untitled
}

/** True for a row that {@link eraseRow} has erased, or {@link purgeItem}. */
export const isErasedRow = (row: Row): boolean => row['author'] === GONE

const sourceOf = (row: Row): string | undefined => {
  const { source } = row
  return typeof source === 'string' && source !== HOME ? source : undefined
}

/** Key of a stored row; null if it has no name. */
export function keyOfRow(row: Row): string | null {
  const { name } = row
  return typeof name === 'string' ? itemKey({ name, source: sourceOf(row) }) : null
}

/** Key of the post that a stored comment is under; null for a post. */
function threadOfRow(row: Row): string | null {
  const { post_id } = row
  if (typeof post_id !== 'string' || post_id === '') return null
  return itemKey({ name: `t3_${post_id}`, source: sourceOf(row) })
}

/** The page of an account is a place of its own, whose name contains that of the account: without it. */
function withoutOwnPage(row: Row, community: string): Row {
  const { author, [community]: place } = row
  const is_own =
    typeof author === 'string' &&
    typeof place === 'string' &&
    normalise(place) === normalise(`u_${author}`)
  return is_own ? { [community]: '' } : {}
}

function withoutAuthor(row: Row, community: string): Row {
  const own_page = withoutOwnPage(row, community)
  return {
    ...withoutReason(row),
    author: '[deleted]',
    ...('author_info' in row && { author_info: { fullname: null, flair: null, premium: null } }),
    ...own_page,
    ...(community in own_page && { permalink: '', url: '' }),
  }
}

function withoutTitle(row: Row): Row {
  const titled = ['link_title', 'link_url'].filter((name) => row[name] ?? '')
  const addresses = ['permalink', 'url'].filter(
    (name) => name in row && withoutSlug(row[name]) !== row[name],
  )
  if (titled.length + addresses.length === 0) return row
  return {
    ...withoutReason(row),
    ...Object.fromEntries(titled.map((name) => [name, ''])),
    ...Object.fromEntries(addresses.map((name) => [name, withoutSlug(row[name])])),
  }
}

/** Segments of addresses that are made from a title, with what the platforms take in their place. */
const SLUGS: readonly (readonly [RegExp, string])[] = [
  [/(\/comments\/[a-z0-9]+\/)[^/?#]+/i, '$1_'],
  [/(\/t\/)[^/?#]+(\/\d+\/)/, '$1-$2'],
]

/** A comment's address without its thread's title, which still leads to it; empty if it is of another form. */
function withoutSlug(address: unknown): string {
  if (typeof address !== 'string') return ''
  const slug = SLUGS.find(([pattern]) => pattern.test(address))
  return slug === undefined ? '' : address.replace(...slug)
}

/** A comment without the title of its thread, as it is delivered after that was erased. */
export function untitledComment(item: Comment): Comment {
  const { permalink, url } = item
  return {
    ...item,
    link_title: null,
    link_url: null,
    permalink: withoutSlug(permalink),
    url: withoutSlug(url),
  }
}

/** A model's reason may repeat what it has read. */
function withoutReason(row: Row): Row {
  const { judgement } = row
  return typeof judgement === 'object' && judgement !== null
    ? { ...row, judgement: { ...judgement, reason: null } }
    : row
}

function isUnder(post_id: unknown, purged: Purged): boolean {
  if (typeof post_id !== 'string') return false
  if (purged.by === 'author') return purged.posts.has(post_id)
  return purged.kind !== 'comment' && post_id === purged.id
}

function isMeant(item: Row, purged: Purged): boolean {
  return purged.by === 'author'
    ? typeof item['author'] === 'string' && normalise(item['author']) === purged.name
    : isItemRow(item, purged)
}

function isItemRow(item: Row, purged: Purged & { by: 'item' }): boolean {
  if (item['id'] !== purged.id) return false
  if (purged.source !== null && purged.source !== (sourceOf(item) ?? HOME)) return false
  // Only comments have a `post_id`.
  const kind = 'post_id' in item ? 'comment' : 'post'
  return purged.kind === null || purged.kind === kind
}

/** Empties texts and lists, keeps numbers and flags: receivers find every field they expect. */
function blanked(value: Row, community: string): Row {
  return Object.fromEntries(
    Object.entries(value).map(([name, it]) => [
      name,
      RETAINED_FIELDS.has(name) || name === community ? it : blank(it, community),
    ]),
  )
}

function blank(value: unknown, community: string): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  return typeof value === 'object' && value !== null ? blanked({ ...value }, community) : value
}

/** The name, in its compared form, or the id to erase. */
export const nameOf = (purged: Purged): string => (purged.by === 'author' ? purged.name : purged.id)

/**
 * False if the text of a body cannot contain the author or item, as most do not; then it is not
 * parsed.
 */
export function isTraced(text: string, purged: Purged): boolean {
  if (normalise(text).includes(normalise(JSON.stringify(nameOf(purged))))) return true
  if (purged.by === 'item' || purged.posts.size === 0) return false
  return text.matchAll(/"post_id":"([^"]+)"/g).some(([, id = '']) => purged.posts.has(id))
}

/** True for a post by this author; `name` is in its compared form. */
export const isPostBy = (
  item: Row,
  { name, source }: { name: string; source: string | null },
): boolean =>
  !('post_id' in item) &&
  (source === null || source === (sourceOf(item) ?? HOME)) &&
  typeof item['author'] === 'string' &&
  normalise(item['author']) === name
