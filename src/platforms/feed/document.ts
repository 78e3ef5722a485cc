import { fail, ok, type Outcome } from '../../core/base/result.ts'
import { peerUrl } from '../../core/base/url.ts'
import { fieldsOf, parseJson, type Row, ROWS_MAX, rowsOf, textAt } from '../values.ts'
import { feedDate } from './dates.ts'
import { decoded, decodeDocument, withoutControls } from './decode.ts'
import { type RawEntry, type RawText, readXml } from './xml.ts'

/** One entry as its document states it; '' and null: it does not. Links are absolute. */
export type FeedEntry = {
  /** `guid`, `atom:id`, `rdf:about` or JSON `id`. */
  id: string
  link: string
  /** The page of its discussion, where the link leads elsewhere. */
  discussion: string
  title: string
  author: string
  /** The text as HTML, and the address that its links are relative to. */
  html: string
  base: string
  published: number | null
  updated: number | null
  categories: string[]
  comments: number
}

/** What a document says of when it changes; seconds, hours and days of UTC. */
type FeedHints = { ttl_s: number | null; skip_hours: number[]; skip_days: string[] }

export type FeedDocument = {
  format: 'rss' | 'rdf' | 'atom' | 'json'
  title: string
  /** The page that the document is of. */
  link: string
  generator: string
  /** The next older page (RFC 5005), or ''. */
  next: string
  hints: FeedHints
  entries: FeedEntry[]
  /** It ends within an entry, or has more of them than are read. */
  is_cut: boolean
  /** Tokens that were read. */
  steps: number
}

/** `now`: when the answer was made, epoch ms; `url`: its final address. */
export type ReadContext = { content_type: string | null; url: string; now: number }

const TITLE_MAX = 1000
const TITLE_READ_MAX = 8000
const HTML_MAX = 400_000
const ID_MAX = 2000
const LINK_MAX = 8 * 1024
const NAME_MAX = 200
const CATEGORIES_MAX = 10
const DEPTH_MAX = 200

const TEXT_FIELDS =
  'content:encoded content fullitem xhtml:body summary description dc:description media:description itunes:summary'.split(
    ' ',
  )
const TITLE_FIELDS = ['title', 'dc:title', 'media:title', 'itunes:title']
const PUBLISHED_FIELDS =
  'published pubdate issued dc:date dcterms:issued dcterms:created created date dcterms:date prism:publicationdate'.split(
    ' ',
  )
const UPDATED_FIELDS = ['updated', 'modified', 'dcterms:modified', 'lastbuilddate']

const INLINE =
  /<\/?(?:a|abbr|b|big|br|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|wbr)(?:\s[^<>]*)?\/?>/gi
const ANY_TAG = /<\/?[a-z][^<>]*>|<!--[^<>]*-->/gi
const LOOKS_LIKE_HTML =
  /<(?:a|b|blockquote|br|div|em|h[1-6]|i|img|li|ol|p|pre|span|strong|table|ul)\b[^<>]*>/i
const ESCAPED_HTML =
  /^\s*&lt;\/?(?:a|b|blockquote|br|div|em|h[1-6]|i|img|ol|p|pre|span|strong|table|ul)\b/i

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const cut = (text: string, length_max: number): string =>
  text.length <= length_max ? text : text.slice(0, length_max).toWellFormed()

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Text of a value of HTML, as a title has it. */
const plainOf = (html: string): string => decoded(html.replace(ANY_TAG, ' '))

/** An address with http or https, relative ones by `base`; '' for any other text. */
function absolute(text: string, base: string): string {
  const given = text.trim()
  // What a program prints for a value that it has not.
  if (given === '' || given.length > LINK_MAX || /^(?:undefined|null|none|nan)$/i.test(given))
    return ''
  const url = peerUrl(given, base === '' ? undefined : base)
  if (url === null || !/^https?:$/.test(url.protocol)) return ''
  return /^https?:\/\//i.test(given) && !/\s/.test(given) ? given : url.href
}

function titleOf(raw: RawText | undefined, is_atom: boolean): string {
  if (raw === undefined) return ''
  const text = cut(raw.text, TITLE_READ_MAX)
  const is_html = raw.is_markup || /html/i.test(raw.type)
  const plain = is_html
    ? plainOf(text)
    : is_atom
      ? text
      : decoded(text.replace(INLINE, (tag) => (/^<br/i.test(tag) ? ' ' : '')))
  return cut(oneLine(plain), TITLE_MAX)
}

/** Text of an element as HTML. What an element of plain text has is often HTML all the same. */
function htmlOf({ text, type, is_markup }: RawText, is_atom: boolean): string {
  const given = cut(text, HTML_MAX).replaceAll('<![CDATA[', '').replaceAll(']]>', '')
  const kind = type.toLowerCase()
  if (/^(?:image|audio|video)\//.test(kind)) return ''
  const is_html = is_markup || kind.includes('html') || (!is_atom && kind === '')
  if (!is_html && !LOOKS_LIKE_HTML.test(given)) return escapeHtml(given).replaceAll('\n', '<br>\n')
  return !given.includes('<') && ESCAPED_HTML.test(given) ? decoded(given) : given
}

const MAIL = /[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/

/** A name as a reader writes it: without the mail address, the link or the sign before it. */
function nameOf(text: string): string {
  const given = cut(text, TITLE_READ_MAX)
  const plain = oneLine(LOOKS_LIKE_HTML.test(given) ? plainOf(given) : decoded(given))
  const [, in_parentheses] = /^[^\s()]+@[^\s()]*\s*\(([^()]{1,200})\)$/.exec(plain) ?? []
  const [, before_address] =
    /^([^<>]{1,200}?)\s*[<(](?:https?:|mailto:|[^\s<>()]+@)[^<>()]*[>)]$/i.exec(plain) ?? []
  const name = in_parentheses ?? before_address ?? plain
  const [, of_link] = /^https?:\/\/[^\s/]+\/(?:.*\/)?@?([^\s/?#]+)\/?$/i.exec(name) ?? []
  const bare = (of_link ?? name).replace(/^\/?u\/|^\/user\/|^@/, '')
  return cut(
    MAIL.test(bare) ? oneLine(bare.replace(MAIL, '').replace(/[<>()]|mailto:/g, '')) : bare,
    NAME_MAX,
  )
}

const dateOf = (raw: RawEntry, fields: readonly string[], now: number): number | null => {
  for (const field of fields) {
    const at = feedDate(raw.texts.get(field)?.text ?? '', now)
    if (at !== null) return at
  }
  return null
}

const isElsewhere = (link: string, site: string): boolean =>
  peerUrl(link)?.hostname !== peerUrl(site)?.hostname

/** Links of an entry: the one that is its page, and that of its discussion. */
function linksOf(raw: RawEntry, base: string, site: string): { link: string; discussion: string } {
  const text = (field: string) =>
    absolute(raw.texts.get(field)?.text ?? '', raw.texts.get(field)?.base || base)
  const alternates = raw.links.filter(({ rel }) => rel === 'alternate')
  const alternate =
    alternates.find(({ type }) => type === '' || type.includes('html')) ?? alternates[0]
  const id = raw.texts.get('guid')
  const permalink =
    id !== undefined && raw.guid_is_link && /^https?:/i.test(id.text.trim())
      ? absolute(id.text, base)
      : ''
  const link =
    text('feedburner:origlink') ||
    (alternate === undefined ? '' : absolute(alternate.href, alternate.base || base)) ||
    text('link') ||
    permalink ||
    absolute(raw.about, base) ||
    (/^https?:/i.test(raw.texts.get('id')?.text ?? '') ? text('id') : '')
  const comments = text('comments')
  if (link === '') return { link: permalink || comments, discussion: '' }
  // A picture on the same host, whose discussion has an address of its own.
  if (!isElsewhere(link, site))
    return { link, discussion: comments === permalink && permalink !== link ? permalink : '' }
  const page = [permalink, comments].find(
    (it) => it !== '' && !isElsewhere(it, site) && it !== link,
  )
  return { link, discussion: page ?? '' }
}

function toEntry(
  raw: RawEntry,
  feed: { base: string; site: string; author: string },
  { is_atom, now }: { is_atom: boolean; now: number },
): FeedEntry {
  const base = raw.base || feed.base
  const first = (fields: readonly string[]) =>
    fields.map((it) => raw.texts.get(it)).find((it) => it !== undefined && it.text.trim() !== '')
  const body = first(TEXT_FIELDS)
  const id = oneLine(
    first(['guid', 'id'])?.text || raw.about || first(['dc:identifier'])?.text || '',
  )
  return {
    id: cut(id, ID_MAX),
    ...linksOf(raw, base, feed.site),
    title: titleOf(first(TITLE_FIELDS), is_atom),
    author: nameOf(
      first(['dc:creator', 'dc:author'])?.text ||
        raw.author ||
        first(['author', 'itunes:author', 'media:credit'])?.text ||
        feed.author,
    ),
    html: body === undefined ? '' : htmlOf(body, is_atom),
    base: body?.base || base,
    published: dateOf(raw, PUBLISHED_FIELDS, now),
    updated: dateOf(raw, UPDATED_FIELDS, now),
    categories: raw.categories
      .map((it) => cut(oneLine(decoded(it)), NAME_MAX))
      .filter((it) => it !== '')
      .slice(0, CATEGORIES_MAX),
    comments: raw.comments,
  }
}

/** Seconds between updates by the syndication module; null: it says nothing. */
function updateSeconds(feed: RawEntry): number | null {
  const seconds = {
    hourly: 3600,
    daily: 86_400,
    weekly: 604_800,
    monthly: 2_592_000,
    yearly: 31_536_000,
  }
  const period = Object.entries(seconds).find(
    ([name]) => name === feed.texts.get('sy:updateperiod')?.text.trim().toLowerCase(),
  )?.[1]
  const frequency = Number(feed.texts.get('sy:updatefrequency')?.text ?? 1)
  return period === undefined || !(frequency >= 1) ? null : Math.floor(period / frequency)
}

function hintsOf(feed: RawEntry): FeedHints {
  const minutes = Number(feed.texts.get('ttl')?.text.trim() || NaN)
  const ttl_s = minutes > 0 && minutes <= 525_600 ? Math.floor(minutes * 60) : null
  const update_s = updateSeconds(feed)
  const words = (field: string) =>
    (feed.texts.get(field)?.text ?? '')
      .trim()
      .toLowerCase()
      .split(/[\s,]+/)
  return {
    ttl_s: ttl_s === null ? update_s : Math.max(ttl_s, update_s ?? 0),
    skip_hours: words('skiphours')
      .filter((it) => /^(?:\d|1\d|2[0-4])$/.test(it))
      .map((it) => Number(it) % 24),
    skip_days: words('skipdays').filter((it) =>
      /^(?:sun|mon|tues|wednes|thurs|fri|satur)day$/.test(it),
    ),
  }
}

async function fromXml(text: string, { url, now }: ReadContext): Promise<Outcome<FeedDocument>> {
  const read = await readXml(text)
  if (!read.ok) return read
  const { format, feed, entries, is_cut, steps } = read.value
  const is_atom = format === 'atom'
  const own = linksOf(feed, feed.base === '' ? url : absolute(feed.base, url), url).link
  const base = feed.base === '' ? own || url : absolute(feed.base, own || url) || url
  const of_feed = { base, site: own || url, author: feed.author }
  const next = feed.links.find(({ rel }) => /^(?:next|prev-archive)$/.test(rel))
  const generator = feed.texts.get('generator')
  return ok({
    format,
    title: titleOf(feed.texts.get('title'), is_atom),
    link: own,
    generator: cut(
      oneLine(generator === undefined ? '' : `${generator.text} ${generator.base}`),
      NAME_MAX,
    ),
    next: next === undefined ? '' : absolute(next.href, next.base || base),
    hints: hintsOf(feed),
    // Relative bases of entries are relative to that of the feed.
    entries: entries.map((it) => {
      const entry_base = it.base === '' ? base : absolute(it.base, base) || base
      return toEntry({ ...it, base: entry_base }, of_feed, { is_atom, now })
    }),
    is_cut,
    steps,
  })
}

/** The first level of brackets below which there are more than {@link DEPTH_MAX}; strings are passed over. */
function isDeep(json: string): boolean {
  let depth = 0
  let in_text = false
  for (let at = 0; at < json.length; at++) {
    const c = json.charCodeAt(at)
    if (in_text) {
      if (c === 0x5c) at += 1
      else if (c === 0x22) in_text = false
    } else if (c === 0x22) in_text = true
    else if (c === 0x5b || c === 0x7b) {
      depth += 1
      if (depth > DEPTH_MAX) return true
    } else if (c === 0x5d || c === 0x7d) depth -= 1
  }
  return false
}

/** A row with its names trimmed: MyBB writes `"date_modified "`. */
const trimmed = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name.trim(), value]))

/** Text of a field; ids may be numbers. */
const textIn = (row: Row, field: string): string => {
  const value = row[field]
  return typeof value === 'number' ? String(value) : withoutControls(textAt(row, field) ?? '')
}

function fromJson(text: string, { url, now }: ReadContext): Outcome<FeedDocument> {
  if (isDeep(text)) return fail({ kind: 'unreadable', path: 'depth' })
  const feed = trimmed(fieldsOf(parseJson(text)))
  const { items } = feed
  if (!Array.isArray(items)) return fail({ kind: 'unreadable', path: 'items' })
  const site = absolute(textIn(feed, 'home_page_url'), url)
  const base = site || url
  const authorOf = (row: Row): string => {
    const [first = fieldsOf(row['author'])] = rowsOf(row['authors'])
    return textIn(first, 'name')
  }
  const toJsonEntry = (given: Row): FeedEntry => {
    const row = trimmed(given)
    const own = absolute(textIn(row, 'url'), base)
    const elsewhere = absolute(textIn(row, 'external_url'), base)
    const html = textIn(row, 'content_html')
    const plain = textIn(row, 'content_text') || textIn(row, 'summary')
    const tags: unknown[] = Array.isArray(row['tags']) ? row['tags'] : []
    const id = oneLine(textIn(row, 'id'))
    return {
      id: cut(id, ID_MAX),
      link: elsewhere || own || (/^https?:/i.test(id) ? absolute(id, base) : ''),
      discussion: elsewhere !== '' && own !== elsewhere ? own : '',
      title: cut(oneLine(cut(textIn(row, 'title'), TITLE_READ_MAX)), TITLE_MAX),
      author: nameOf(authorOf(row) || authorOf(feed)),
      html: cut(html || escapeHtml(plain).replaceAll('\n', '<br>\n'), HTML_MAX),
      base: own || base,
      published: feedDate(textIn(row, 'date_published'), now),
      updated: feedDate(textIn(row, 'date_modified'), now),
      categories: tags
        .filter((it) => typeof it === 'string')
        .slice(0, CATEGORIES_MAX)
        .map((it) => cut(oneLine(it), NAME_MAX)),
      comments: 0,
    }
  }
  const rows = rowsOf(items)
  return ok({
    format: 'json',
    title: cut(oneLine(textIn(feed, 'title')), TITLE_MAX),
    link: site,
    generator: '',
    next: absolute(textIn(feed, 'next_url'), url),
    hints: { ttl_s: null, skip_hours: [], skip_days: [] },
    entries: rows.map(toJsonEntry),
    is_cut: items.length > ROWS_MAX,
    steps: text.length,
  })
}

/**
 * Reads a document of any format of feeds. Never throws. `unreadable`: it is none, with the path `html` for a page, and
 * `too_large`, `depth`, `encoding` or `root`.
 */
export async function readFeed(
  bytes: Uint8Array,
  context: ReadContext,
): Promise<Outcome<FeedDocument>> {
  const text = decodeDocument(bytes, context.content_type)
  if (!text.ok) return text
  return text.value.startsWith('{') ? fromJson(text.value, context) : fromXml(text.value, context)
}
