import { inForm } from '../core/base/form.ts'
import { isObject } from '../core/base/object.ts'
import { peerUrl } from '../core/base/url.ts'
import { MORE_PLACES } from '../core/forum/items.ts'
import { isBeyond } from '../core/limits/json-bounds.ts'

// The one gate for values of a peer: what an adapter takes out of an answer, and every row that it gives, passes here.

/** A JSON object with unchecked fields. */
export type Row = Record<string, unknown>

/** Only escapes can write them in JSON: U+0000, and one half of a surrogate pair. */
const MAY_BE_BROKEN = /\\u(?:0000|d[89a-f])/i

/** A reply in a tree has a few levels, and the largest trees have fewer values. Beyond them a text takes long to parse. */
const ANSWER_BOUNDS = { depth: 2000, values: 250_000 }

/** The value of a JSON text, its texts well-formed and without U+0000; undefined if it is none, or beyond its bounds. */
export function parseJson(text: string): unknown {
  if (isBeyond(text, ANSWER_BOUNDS)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return MAY_BE_BROKEN.test(text) ? repaired(value) : value
  } catch {
    return undefined
  }
}

/** A text that is well-formed and has no U+0000. */
const wellFormed = (text: string): string =>
  text.includes('\0') || !text.isWellFormed()
    ? text.toWellFormed().replaceAll('\0', '\ufffd')
    : text

/** Repairs every text in place. Never recurses: the depth is set by others. */
function repaired(root: unknown): unknown {
  if (typeof root === 'string') return wellFormed(root)
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const at = waiting.pop()
    if (typeof at !== 'object' || at === null) continue
    for (const [name, value] of Object.entries(at)) {
      const key = wellFormed(name)
      if (key !== name || name === '__proto__') Reflect.deleteProperty(at, name)
      if (typeof value === 'object') waiting.push(value)
      Reflect.set(at, key, typeof value === 'string' ? wellFormed(value) : value)
    }
  }
  return root
}

/** A list at a path of names, as `$.topics[]`; an object, as `$.user`; or any other test of an answer. */
export type Shape = string | ((value: unknown) => boolean)

/** True if a value has what was asked for. */
export function hasShape(value: unknown, shape: Shape): boolean {
  if (typeof shape === 'function') return shape(value)
  const found = partAt(value, shape)
  return shape.endsWith('[]') ? Array.isArray(found) : isObject(found)
}

/** Parts of a row that have its id, in answers whose rows have several parts. */
const ID_PARTS = ['comment', 'post', 'data', 'person', 'community']

/** Text that names a row of an answer, the same each time that it is listed: by its id, or by all that it has. */
export function identityOf(row: unknown): string {
  if (!isObject(row)) return `${typeof row} ${String(row)}`
  const parts = [row, ...ID_PARTS.map((it) => row[it])].filter(isObject)
  const named = parts.find((it) => isScalar(it['name'] ?? it['id']))
  return JSON.stringify(named === undefined ? row : [named['name'], named['id']])
}

const isScalar = (value: unknown): boolean => ['string', 'number'].includes(typeof value)

/**
 * Cuts the lists of an answer in place, wherever they are: those with rows to {@link ROWS_MAX}, all others to {@link IDS_MAX}.
 * Returns what was cut off, and what is no row of a list of rows. Never recurses: the depth is set by others.
 */
export function cutLists(root: unknown): unknown[] {
  const left_out: unknown[] = []
  const waiting = [root]
  while (waiting.length > 0) {
    const at = waiting.pop()
    if (typeof at !== 'object' || at === null) continue
    if (Array.isArray(at)) {
      const most = at.some(isObject) ? ROWS_MAX : IDS_MAX
      if (at.length > most) for (const row of at.splice(most)) left_out.push(row)
      if (most === ROWS_MAX) for (const row of at) if (!isObject(row)) left_out.push(row)
    }
    for (const value of Object.values(at))
      if (typeof value === 'object' && value !== null) waiting.push(value)
  }
  return left_out
}

/** The value at a path of names. */
function partAt(value: unknown, shape: string): unknown {
  const names = shape.replace(/^\$\.?|\[\]$/g, '')
  let found = value
  for (const name of names === '' ? [] : names.split('.'))
    found = isObject(found) ? found[name] : undefined
  return found
}

/** The fields of an object of an answer; none for any other value. */
export const fieldsOf = (value: unknown): Row => (isObject(value) ? value : {})

/** Rows of one list; the others are left out, and counted by {@link cutLists}. */
export const ROWS_MAX = 2000

/** The objects of a list of an answer. */
export const rowsOf = (value: unknown): Row[] =>
  Array.isArray(value) ? value.slice(0, ROWS_MAX).filter(isObject) : []

/** The text of a field; null for any other value. */
export const textAt = (row: Row, field: string): string | null => {
  const value = row[field]
  return typeof value === 'string' ? value : null
}

/** The number of a field; null for any other value. */
export const numberAt = (row: Row, field: string): number | null => {
  const value = row[field]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** Its neighbours, and its sums with the base of a series, are exact too. */
const ID_MAX = 9e15

/** True for an id that is a number: a whole one above zero that is exact. */
export const isId = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= ID_MAX

/** The numeric id of a field; null for any other value. */
export const idAt = (row: Row, field: string): number | null => {
  const value = row[field]
  return isId(value) ? value : null
}

/** The ids of a list of an answer. */
export const idsOf = (value: unknown): number[] =>
  Array.isArray(value) ? value.slice(0, IDS_MAX).filter(isId) : []

/** Ids of one list, such as the posts of a topic. */
export const IDS_MAX = 20_000

/** Latest time of Date, ms. */
const LAST_MS = 8.64e15

/** ISO 8601 of epoch ms; '' for an instant that is none, which no row may have. */
export const isoOf = (ms: number): string =>
  Math.abs(ms) <= LAST_MS ? new Date(ms).toISOString() : ''

/** A whole address with http or https; null for any other text. */
function addressOf(text: string | null): string | null {
  const url = text === null || text.length > ADDRESS_MAX ? null : peerUrl(text)
  if (text === null || url === null || !/^https?:$/.test(url.protocol)) return null
  const address = asSpelt(text, url)
  return address.length <= ADDRESS_MAX ? address : null
}

/** Characters that end an address in a page or a header. WHATWG leaves some of them in a query and in a fragment. */
const UNSAFE = /[\p{C}\p{Z}"<>\\`]/u
/** A scheme with the name of a host and a port, as every reader takes them. */
const ORIGIN = /^https?:\/\/[\p{L}\p{M}\p{N}.-]+(?::\d+)?(?=[/?#]|$)/iu

/**
 * An address as its site or author spells it, if it is safe in a page and in a header; else in the form of WHATWG. That form
 * alone would rewrite each link with letters beyond ASCII, or with the port of its scheme.
 */
function asSpelt(text: string, url: URL): string {
  const [origin] = ORIGIN.exec(text) ?? []
  if (origin === undefined || UNSAFE.test(text))
    return url.href.replace(/["<>\\`]/g, encodeURIComponent)
  const path = text.slice(origin.length)
  return pathAsSpelt(path, url.href.slice(url.origin.length)) === path ? text : url.href
}

/** The same for the part of an address that follows its origin. */
function pathAsSpelt(path: string, parsed: string): string {
  if (UNSAFE.test(path)) return parsed.replace(/["<>\\`]/g, encodeURIComponent)
  const encoded = path.replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
  // A query has its apostrophes encoded by WHATWG alone.
  return [encoded, encoded.replace(/^(?!\/)/, '/')].includes(parsed.replaceAll('%27', "'"))
    ? path
    : parsed
}

const ADDRESS_MAX = 8 * 1024
/** Bytes of a text, as it is and after NFKC. */
const NAME_MAX = 4 * 1024
const BODY_MAX = 256 * 1024
const PLACES_MAX = 100
/** Most bytes that NFKC makes of one: U+FDFA becomes 18 letters. */
const EXPANSION_MAX = 11
/** A server may be dated ahead by its operator, and sends on what others state. */
const AHEAD_MAX_MS = 366 * 86_400_000

const BODIES: ReadonlySet<string> = new Set([
  'text',
  'body',
  'description',
  'content_md',
  'content_html',
])
/** Numbers that may have a fraction. */
const RATIOS: ReadonlySet<string> = new Set(['upvote_ratio', 'duration_s'])
const ITEM_ID = /^[\w-]{1,64}$/

const fits = (text: string, bytes_max: number): boolean =>
  text.length <= bytes_max &&
  Buffer.byteLength(text) <= bytes_max &&
  (Buffer.byteLength(text) * EXPANSION_MAX <= bytes_max ||
    Buffer.byteLength(inForm(text, 'NFKC')) <= bytes_max)

/** True for a text that can be the id of an item. A number has to be exact. */
const isItemId = (id: unknown): boolean =>
  typeof id === 'string' && ITEM_ID.test(id) && (!/^\d+$/.test(id) || isId(Number(id)))

/**
 * Checks a row that an adapter has made, and gives its addresses the form of WHATWG. Returns the name of the first field that
 * is wrong; null: the row may be shown, stored and matched. `now`: epoch ms.
 */
export function wrongField(row: object, now: number): string | null {
  const latest = now + AHEAD_MAX_MS
  for (const [field, value] of Object.entries(row)) {
    if (typeof value === 'string') {
      const kept =
        field === 'permalink' ? pathOf(value) : isAddress(field) ? addressOf(value) : value
      if (kept === null && field === 'url' && value !== '') return field
      if (kept !== value) Reflect.set(row, field, kept === null ? null : wellFormed(kept))
      else if (wellFormed(value) !== value) Reflect.set(row, field, wellFormed(value))
      if (
        !fits(kept ?? '', BODIES.has(field) ? BODY_MAX : isAddress(field) ? ADDRESS_MAX : NAME_MAX)
      )
        return field
      if (isTime(field) && !isWithin(Date.parse(value), latest)) return field
    } else if (typeof value === 'number') {
      if (!(RATIOS.has(field) ? Number.isFinite(value) : Number.isSafeInteger(value))) return field
      if (field === 'created_utc' && !isWithin(value * 1000, latest)) return field
    } else if (typeof value === 'object' && value !== null) {
      const wrong = wrongField(value, now)
      if (wrong !== null) return field
    }
  }
  if (MORE_PLACES in row && Array.isArray(row[MORE_PLACES]))
    row[MORE_PLACES] = row[MORE_PLACES].slice(0, PLACES_MAX).filter((it) => fits(it, NAME_MAX))
  if (!('created_utc' in row && 'permalink' in row && 'id' in row)) return null
  if (!isItemId(row.id)) return 'id'
  return 'post_id' in row && !isItemId(row.post_id) ? 'post_id' : null
}

const isAddress = (field: string): boolean => field === 'url' || field.endsWith('_url')
const isTime = (field: string): boolean => /^(?:created|edited|added|granted)$/.test(field)
const isWithin = (ms: number, latest: number): boolean => ms >= 0 && ms <= latest

/** The path of an item on its site. */
const pathOf = (path: string): string | null => {
  const url = path.length > ADDRESS_MAX ? null : peerUrl(path, 'http://localhost')
  return url === null ? null : pathAsSpelt(path, `${url.pathname}${url.search}${url.hash}`)
}
