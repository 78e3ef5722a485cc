/** Whose content goes, or which item's: the id without prefix, and the kind where it was told. */
export type Purged =
  /** `posts`: ids of this author's posts, whose titles stand on what others wrote under them. */
  | { by: 'author'; name: string; posts: ReadonlySet<string> }
  | { by: 'item'; id: string; kind: 'post' | 'comment' | null }

type Row = Readonly<Record<string, unknown>>

/** What is no content: who or what it was stays known by its id, and when. `subforum` goes by the wire's word, too. */
const KEPT = new Set(['id', 'name', 'kind', 'created', 'post_id', 'parent_id', 'method'])
const GONE = '[purged]'

/** Reads `t3_abc`, `t1_abc` or a bare id; null when it is none. */
export function parseItemId(text: string): (Purged & { by: 'item' }) | null {
  const [, prefix, id] = /^(?:t([13])_)?([a-z0-9]{1,13})$/i.exec(text) ?? []
  if (id === undefined) return null
  const kind = prefix === undefined ? null : prefix === '3' ? 'post' : 'comment'
  return { by: 'item', id: id.toLowerCase(), kind }
}

/** The item as it may be kept: the same when it is not meant, blanked when it is, without its thread's title when only that is. */
export function purgeItem(item: Row, purged: Purged, community: string): Row {
  if (isMeant(item, purged)) return { ...blanked(item, community), author: GONE }
  if (!isUnder(item['post_id'], purged)) return item
  // A comment's addresses are made of its thread's title.
  const titled = ['link_title', 'link_url', 'permalink', 'url'].filter((name) => name in item)
  return { ...item, ...Object.fromEntries(titled.map((name) => [name, ''])) }
}

function isUnder(post_id: unknown, purged: Purged): boolean {
  if (typeof post_id !== 'string') return false
  if (purged.by === 'author') return purged.posts.has(post_id)
  return purged.kind !== 'comment' && post_id === purged.id
}

function isMeant(item: Row, purged: Purged): boolean {
  if (purged.by === 'author')
    return typeof item['author'] === 'string' && item['author'].toLowerCase() === purged.name
  if (item['id'] !== purged.id) return false
  // Only comments say under which post they stand.
  const kind = 'post_id' in item ? 'comment' : 'post'
  return purged.kind === null || purged.kind === kind
}

/** Texts and lists become empty, numbers and flags stay: receivers find every field that they know. */
function blanked(value: Row, community: string): Row {
  return Object.fromEntries(
    Object.entries(value).map(([name, it]) => [
      name,
      KEPT.has(name) || name === community ? it : blank(it, community),
    ]),
  )
}

function blank(value: unknown, community: string): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  return typeof value === 'object' && value !== null ? blanked({ ...value }, community) : value
}

/** The name or id that is purged, in lower case. */
export const nameOf = (purged: Purged): string => (purged.by === 'author' ? purged.name : purged.id)

/** Whether the text of a body can have something of it in there: most have not, and are not worth reading. */
export function isTraced(text: string, purged: Purged): boolean {
  if (text.toLowerCase().includes(`"${nameOf(purged)}"`)) return true
  if (purged.by === 'item' || purged.posts.size === 0) return false
  return text.matchAll(/"post_id":"([^"]+)"/g).some(([, id = '']) => purged.posts.has(id))
}

/** Whether an item is a post by this author, whose name is in lower case. */
export const isPostBy = (item: Row, name: string): boolean =>
  !('post_id' in item) &&
  typeof item['author'] === 'string' &&
  item['author'].toLowerCase() === name
