import { once } from '../../core/base/lazy.ts'
import { fail, ok, type Outcome } from '../../core/base/result.ts'
import { createTurns } from '../../core/base/turns.ts'
import { peerUrl } from '../../core/base/url.ts'
import { ROWS_MAX } from '../values.ts'
import { decoded } from './decode.ts'

// A tokenizer reads each character once, as it does for the texts of forums; nothing is built of the document but the entries.
// A parser of XML would refuse one feed of eight, and expand the entities that a document declares.

const library = once((): typeof import('htmlparser2') => require('htmlparser2'))

const DEPTH_MAX = 200
const TEXT_MAX = 400_000
const ATTRIBUTE_MAX = 8192
const NAME_MAX = 64
const LINKS_MAX = 50
const CATEGORIES_MAX = 10
const FIELDS_MAX = 100
const NAMESPACES_MAX = 50
const CHUNK = 64 * 1024

/** Modules by their addresses, without scheme, letters of two cases, and the sign at the end. */
const MODULES: Readonly<Record<string, string>> = {
  'www.w3.org/2005/atom': '',
  'purl.org/atom/ns': '',
  'purl.org/rss/1.0': '',
  'my.netscape.com/rdf/simple/0.9': '',
  'channel.netscape.com/rdf/simple/0.9': '',
  'backend.userland.com/rss2': '',
  'purl.org/dc/elements/1.1': 'dc',
  'purl.org/dc/elements/1.0': 'dc',
  'purl.org/dc/terms': 'dcterms',
  'purl.org/rss/1.0/modules/content': 'content',
  'purl.org/rss/1.0/modules/slash': 'slash',
  'purl.org/rss/1.0/modules/syndication': 'sy',
  'purl.org/syndication/thread/1.0': 'thr',
  'search.yahoo.com/mrss': 'media',
  'video.search.yahoo.com/mrss': 'media',
  'www.itunes.com/dtds/podcast-1.0.dtd': 'itunes',
  'rssnamespace.org/feedburner/ext/1.0': 'feedburner',
  'www.w3.org/1999/xhtml': 'xhtml',
  'www.w3.org/1999/02/22-rdf-syntax-ns': 'rdf',
  'prismstandard.org/namespaces/basic/2.0': 'prism',
}
const USUAL = new Set(Object.values(MODULES))

/** Elements whose text may have elements of its own. */
const TEXTS = new Set(
  'title description summary content content:encoded tagline subtitle info fullitem xhtml:body dc:title dc:description media:title media:description itunes:summary itunes:title'.split(
    ' ',
  ),
)
/** Elements that end a text that was left open: no markup of a text has them. */
const SIBLINGS = new Set(
  'item entry guid pubdate published updated category dc:creator dc:date content:encoded slash:comments'.split(
    ' ',
  ),
)
/** Elements with rows or fields of another feed. */
const FOREIGN = new Set(['source', 'image', 'textinput', 'items', 'cloud', 'deleted-entry'])

type Role = 'root' | 'feed' | 'entry' | 'author' | 'group' | 'field' | 'skip'
type Frame = {
  /** As written, without regard to case. */
  name: string
  field: string
  role: Role
  modules: ReadonlyMap<string, string>
  base: string
  text: string
  attributes: ReadonlyMap<string, string>
}

/** An element's text. `type`: that of Atom, '' for none; `is_markup`: it had elements of its own. */
export type RawText = { text: string; type: string; is_markup: boolean; base: string }

/** What the tokens of an element said, before rules for it apply. */
export type RawEntry = {
  texts: Map<string, RawText>
  author: string
  links: { rel: string; type: string; href: string; base: string }[]
  about: string
  guid_is_link: boolean
  categories: string[]
  comments: number
  base: string
}

export type RawDocument = {
  format: 'rss' | 'rdf' | 'atom'
  feed: RawEntry
  entries: RawEntry[]
  is_cut: boolean
  steps: number
}

const emptyEntry = (base: string): RawEntry => ({
  texts: new Map(),
  author: '',
  links: [],
  about: '',
  guid_is_link: false,
  categories: [],
  comments: 0,
  base,
})

/** Where the first match of `/<!--|what/gi` that is not in a comment stands; -1: there is none. */
function outsideComments(what: RegExp, text: string): number {
  for (let found = what.exec(text); found !== null; found = what.exec(text)) {
    if (found[0] !== '<!--') return found.index
    const end = text.indexOf('-->', what.lastIndex)
    if (end === -1) return -1
    what.lastIndex = end
  }
  return -1
}

/** Where the document begins: after its DOCTYPE, whose declarations are not read, and after what a script printed before it. */
function startOf(text: string): number {
  const first = Math.max(outsideComments(/<!--|<[a-z_]/gi, text.slice(0, 64 * 1024)), 0)
  const is_known = /^<(?:[\w-]+:)?(?:rss|rdf|feed|html|channel)\b/i.test(
    text.slice(first, first + 64),
  )
  const doctype = outsideComments(/<!--|<!DOCTYPE/gi, text.slice(0, first))
  if (doctype === -1) {
    const later = is_known ? -1 : text.slice(0, 16 * 1024).search(/<(?:rss|rdf:RDF|feed)\s/)
    return later === -1 ? first : later
  }
  // The end of the declarations: a bracket that stands in no literal.
  let quote = ''
  let depth = 0
  for (let at = doctype; at < text.length; at++) {
    const c = text.charAt(at)
    if (quote !== '') quote = c === quote ? '' : quote
    else if (c === '"' || c === "'") quote = c
    else if (c === '[') depth += 1
    else if (c === ']') depth -= 1
    else if (c === '>' && depth <= 0) return at + 1
  }
  return first
}

const moduleOf = (address: string): string | undefined =>
  MODULES[
    address
      .trim()
      .toLowerCase()
      .replace(/^https?:\/\//, '')
      .replace(/[/#]+$/, '')
  ]

/** Address of an `xml:base` within another; either may be relative. */
function joined(base: string, within: string): string {
  if (base === '' || within === '') return base || within
  return peerUrl(base, within)?.href ?? base
}

/** Name of a field by the module of its prefix: a prefix that is not declared counts as its usual module. */
function fieldOf(name: string, modules: ReadonlyMap<string, string>): string {
  const colon = name.indexOf(':')
  if (colon === -1) return name
  const prefix = name.slice(0, colon)
  const local = name.slice(colon + 1)
  const module =
    modules.get(prefix) ??
    (USUAL.has(prefix) ? prefix : /^(?:atom\d*|rss|a10)$/.test(prefix) ? '' : prefix)
  return module === '' ? local : `${module}:${local}`
}

/** The entries of an RSS, RDF or Atom document. `unreadable` with `html`, `root` or `depth`: it is none. */
export async function readXml(text: string): Promise<Outcome<RawDocument>> {
  const { Tokenizer } = library()
  const frames: Frame[] = []
  const entries: RawEntry[] = []
  let feed = emptyEntry('')
  let entry: RawEntry | null = null
  let format: RawDocument['format'] | null = null
  let fault = ''
  let is_over = false
  let is_cut = false
  let steps = 0
  /** Text since the last tag, as written. */
  let run = ''
  /** An element whose text is taken with its markup. `nested`: elements of its own name within it. */
  let capture: { frame: Frame; from: number; has_markup: boolean; nested: number } | null = null

  let tag = ''
  let tag_at = 0
  let attribute = ''
  let value = ''
  let attributes = new Map<string, string>()
  let declared: [string, string][] = []

  const isOver = (): boolean => is_over

  const stop = (why: string): void => {
    fault ||= why
    is_over = true
    tokens.pause()
  }

  function addText(piece: string): void {
    const frame = capture?.frame ?? frames.at(-1)
    if (frame !== undefined && frame.text.length < TEXT_MAX) frame.text += piece
  }

  function flush(): void {
    if (run === '') return
    const piece = run
    run = ''
    addText(decoded(piece))
  }

  function modulesOf(above: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    if (declared.length === 0) return above
    const modules = new Map(above)
    for (const [prefix, address] of declared) {
      const module = moduleOf(address)
      if (module !== undefined && modules.size < NAMESPACES_MAX) modules.set(prefix, module)
    }
    return modules
  }

  function roleOf(field: string, parent: Frame | undefined): Role {
    if (parent === undefined) {
      const local = field.replace(/^.*:/, '')
      format =
        local === 'rss' || local === 'channel'
          ? 'rss'
          : local === 'rdf'
            ? 'rdf'
            : local === 'feed'
              ? 'atom'
              : null
      if (format === null)
        stop(local === 'html' || local === 'body' || local === 'head' ? 'html' : 'root')
      return format === 'atom' || local === 'channel' ? 'feed' : 'root'
    }
    if (field === 'item' || field === 'entry') return 'entry'
    if (parent.role === 'root') return field === 'channel' ? 'feed' : 'skip'
    if (parent.role === 'author') return field === 'name' ? 'field' : 'skip'
    if (parent.role === 'field' || parent.role === 'skip') {
      const is_list = parent.field === 'skiphours' || parent.field === 'skipdays'
      return is_list ? 'field' : 'skip'
    }
    if (FOREIGN.has(field)) return 'skip'
    if (field === 'author') return 'author'
    return field === 'media:group' || field === 'media:content' ? 'group' : 'field'
  }

  function open(is_closed: boolean, end: number): void {
    steps += 1
    flush()
    if (is_over) return
    const name = tag
    if (capture !== null) {
      const field = fieldOf(name, capture.frame.modules)
      if (!SIBLINGS.has(field) || field === capture.frame.field) {
        capture.has_markup = true
        if (!is_closed && name === capture.frame.name) capture.nested += 1
        return
      }
      closeTo(frames.length - 1, tag_at - 1)
    }
    let parent = frames.at(-1)
    const modules = modulesOf(parent?.modules ?? new Map())
    const field = fieldOf(name, modules)
    if (field === 'item' || field === 'entry') {
      // An entry within another, or within a field, follows one that was left open.
      const at = frames.findLastIndex(({ role }) => role === 'feed' || role === 'root')
      if (at !== -1) closeTo(at + 1, tag_at - 1)
      parent = frames.at(-1)
      if (entries.length >= ROWS_MAX) {
        is_cut = true
        stop('')
        return
      }
    }
    if (frames.length >= DEPTH_MAX) return stop('depth')
    const base = joined(attributes.get('xml:base') ?? '', parent?.base ?? '')
    const role = roleOf(field, parent)
    const frame: Frame = { name, field, role, modules, base, text: '', attributes }
    frames.push(frame)
    if (role === 'entry') entry = { ...emptyEntry(base), about: attributes.get('about') ?? '' }
    if (role === 'feed') feed = { ...feed, base }
    if (is_closed) closeTo(frames.length - 1, end)
    else if (role === 'field' && TEXTS.has(field))
      capture = { frame, from: end + 1, has_markup: false, nested: 0 }
  }

  function close(name: string, at: number): void {
    steps += 1
    flush()
    if (is_over) return
    if (capture !== null) {
      if (name === capture.frame.name) {
        if (capture.nested > 0) capture.nested -= 1
        else closeTo(frames.length - 1, at)
        return
      }
      // Markup ends nothing but itself, and the entry that it is in.
      const above = frames.findLast((it) => it.name === name)
      if (above === undefined || above.role === 'field' || above.role === 'author') {
        capture.has_markup = true
        return
      }
    }
    const index = frames.findLastIndex((it) => it.name === name)
    if (index !== -1) closeTo(index, at)
  }

  /** Ends all frames from `index` on, the innermost first. `at`: where the text of the innermost ends. */
  function closeTo(index: number, at: number): void {
    for (
      let frame = frames.at(-1);
      frame !== undefined && frames.length > index;
      frame = frames.at(-1)
    ) {
      if (capture?.frame === frame) {
        if (capture.has_markup)
          frame.text = text.slice(capture.from, Math.min(at, capture.from + TEXT_MAX))
        finish(frame, capture.has_markup)
        capture = null
      } else finish(frame, false)
      frames.pop()
    }
    if (frames.length === 0) {
      is_over = true
      tokens.pause()
    }
  }

  function finish(frame: Frame, is_markup: boolean): void {
    const { role, base } = frame
    if (role === 'entry') {
      if (entry !== null) entries.push(entry)
      entry = null
      return
    }
    const target = entry ?? (frames.some((it) => it.role === 'feed') ? feed : null)
    if (target === null || role === 'skip' || role === 'feed' || role === 'root') return
    const parent = frames.at(-2)
    if (role === 'author') {
      target.author ||= frame.text.trim()
    } else if (parent?.role === 'author') {
      parent.text = frame.text
    } else if (parent?.field === 'skiphours' || parent?.field === 'skipdays') {
      parent.text += ` ${frame.text}`
    } else take(target, frame, { is_markup, base })
  }

  function take(
    target: RawEntry,
    frame: Frame,
    { is_markup, base }: { is_markup: boolean; base: string },
  ): void {
    const { field, text: written, attributes: of } = frame
    const has_text = written.trim() !== ''
    if (field === 'link' && (of.has('href') || of.has('resource'))) {
      const rel = (of.get('rel') ?? 'alternate').replace(
        /^https?:\/\/www\.iana\.org\/assignments\/relation\//i,
        '',
      )
      const link = {
        rel: rel.trim().toLowerCase() || 'alternate',
        type: (of.get('type') ?? '').toLowerCase(),
        href: of.get('href') ?? of.get('resource') ?? '',
        base,
      }
      if (target.links.length < LINKS_MAX) target.links.push(link)
      target.comments = Math.max(
        target.comments,
        countOf(rel === 'replies' ? of.get('count') : undefined),
      )
      return
    }
    if (field === 'category' || field === 'dc:subject') {
      const term = of.get('term') ?? ''
      const name = /^$|^\d+$|^https?:/i.test(term)
        ? (of.get('label') ?? (has_text ? written : term))
        : term
      const is_kind = (of.get('scheme') ?? '').endsWith('#kind')
      if (!is_kind && name !== '' && target.categories.length < CATEGORIES_MAX)
        target.categories.push(name)
      return
    }
    if (field === 'slash:comments' || field === 'thr:total') {
      target.comments = Math.max(target.comments, countOf(written))
      return
    }
    if (field === 'generator' && !target.texts.has(field)) {
      target.texts.set(field, {
        text: written,
        type: '',
        is_markup: false,
        base: of.get('uri') ?? of.get('url') ?? '',
      })
      return
    }
    const known = target.texts.get(field)
    if (!has_text || (known !== undefined && known.text.trim() !== '')) return
    if (target.texts.size >= FIELDS_MAX) return
    const is_encoded = of.get('mode')?.toLowerCase() === 'base64'
    const taken = is_encoded ? Buffer.from(written, 'base64').toString() : written
    target.texts.set(field, { text: taken, type: of.get('type') ?? '', is_markup, base })
    if (field === 'guid')
      target.guid_is_link = of.get('ispermalink')?.trim().toLowerCase() !== 'false'
  }

  const tokens = new Tokenizer({ xmlMode: true, decodeEntities: false }, {
    ontext: (from, to) => void (run += text.slice(start + from, start + to)),
    ontextentity: () => {},
    oncdata(from, to, offset) {
      flush()
      addText(text.slice(start + from, start + to - offset))
    },
    onopentagname(from, to) {
      tag = text.slice(start + from, start + Math.min(to, from + NAME_MAX)).toLowerCase()
      tag_at = start + from
      attributes = new Map()
      declared = []
    },
    onattribname(from, to) {
      attribute = text.slice(start + from, start + Math.min(to, from + NAME_MAX)).toLowerCase()
      value = ''
    },
    onattribdata: (from, to) =>
      void (value += text.slice(start + from, start + Math.min(to, from + ATTRIBUTE_MAX))),
    onattribentity: () => {},
    onattribend() {
      const [prefix = '', local] = attribute.split(':')
      if (prefix === 'xmlns') {
        if (local !== undefined && declared.length < NAMESPACES_MAX)
          declared.push([local, decoded(value)])
        return
      }
      const name = attribute === 'xml:base' ? attribute : (local ?? prefix)
      if (ATTRIBUTES.has(name) && !attributes.has(name)) attributes.set(name, decoded(value))
    },
    onopentagend: (end) => open(false, start + end),
    onselfclosingtag: (end) => open(true, start + end),
    onclosetag: (from, to) =>
      close(
        text.slice(start + from, start + Math.min(to, from + NAME_MAX)).toLowerCase(),
        start + from - 2,
      ),
    oncomment: () => {},
    ondeclaration: () => {},
    onprocessinginstruction: () => {},
    onend: () => {},
  } satisfies ConstructorParameters<typeof Tokenizer>[1])

  const start = startOf(text)
  const turn = createTurns()
  for (let at = start; at < text.length; at += CHUNK) {
    if (isOver()) break
    const chunk = text.slice(at, at + CHUNK)
    tokens.write(chunk)
    await turn(chunk.length)
  }
  if (!is_over) tokens.end()
  if (fault !== '') return fail({ kind: 'unreadable', path: fault })
  if (format === null) return fail({ kind: 'unreadable', path: 'root' })
  // What stands in an entry that does not end may be half of it.
  if (entry !== null) is_cut = true
  return ok({ format, feed, entries, is_cut, steps })
}

const ATTRIBUTES = new Set(
  'about count href ispermalink label mode rel resource scheme term type uri url xml:base'.split(
    ' ',
  ),
)

const countOf = (text: string | undefined): number =>
  text !== undefined && /^\s*\d{1,9}\s*$/.test(text) ? Number(text) : 0
