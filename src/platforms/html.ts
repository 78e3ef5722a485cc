import { createHash } from 'node:crypto'

import { LRUCache } from 'lru-cache'

import { once } from '../core/base/lazy.ts'
import { createTurns } from '../core/base/turns.ts'
import { peerUrl } from '../core/base/url.ts'

// Texts of a forum are written by anybody, and all customers share the thread that reads them. A tokenizer reads each character
// once; what is built from its tokens has a bounded depth, and each token adds a bounded number of steps. A converter that
// builds a tree first takes the square or the cube of unclosed and mismatched tags, and a thread with a deadline would cost a
// copy of every text of every forum to bound the few that are hostile.

// Loaded with the first text that needs them: a start needs neither.
const entities = once((): typeof import('entities/decode') => require('entities/decode'))
const library = once((): typeof import('htmlparser2') => require('htmlparser2'))

/** Elements within elements; deeper ones are read as their text. */
const DEPTH_MAX = 64
/** Quotes and lists within each other that are shown as such: each one is written before every line. */
const PREFIXES_MAX = 8
/** Open elements that an element with an optional end is compared with. */
const IMPLIED_MAX = 8
const ADDRESS_MAX = 2000

const SKIPPED = new Set(['script', 'style', 'head', 'template', 'noembed', 'noframes', 'iframe'])
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
)
const PARAGRAPHS = new Set(
  'address article aside blockquote center details dir div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header main menu nav ol p pre section table ul'.split(
    ' ',
  ),
)
const LINES = new Set('caption dd dt figcaption legend li option summary tr'.split(' '))
const MARKS: Readonly<Record<string, string>> = {
  b: '**',
  strong: '**',
  i: '_',
  em: '_',
  del: '~~',
  s: '~~',
  strike: '~~',
}
/** Elements that end an open one of their group. */
const IMPLIED = new Map(
  [['p'], ['li'], ['dt', 'dd'], ['option'], ['tr'], ['td', 'th']].flatMap((group) =>
    group.map((name) => [name, new Set(group)] as const),
  ),
)
const BARRIERS = new Set(['ul', 'ol', 'table', 'blockquote', 'dl', 'select'])

const SPECIAL = /[\\`*_~[\]]|<(?=[a-z/!?])|&(?=#|[a-z][a-z0-9]{1,31};)/gi
const LINE_START = /^(?:#{1,6}(?= )|[+>=-]|\d{1,9}(?=[.)] ))/
const WHITE = /[ \t\r\n\f]+/g

type Open = {
  name: string
  /** Written before every line within. */
  prefix: string
  /** Mark of emphasis, which is written with the first word. */
  mark: string
  is_marked: boolean
  /** Number of the last entry of an ordered list; 0: it has no numbers. */
  count: number
  /** Address of a link, and the parts before its text. */
  href: string
  at: number
  /** The text is taken as it is: code. */
  raw: string[] | null
}

/** Markdown of a text in HTML, and the steps that it took. Relative links and pictures become absolute. */
export function convert(html: string, base_url: string): { markdown: string; steps: number } {
  const { Tokenizer } = library()
  const parts: string[] = []
  const open: Open[] = []
  const counts = new Map<string, number>()
  let steps = 0
  let prefix = ''
  let marker = ''
  /** Line breaks before the next word, and whether a line has begun. */
  let breaks = 0
  let is_start = true
  let has_space = false
  let run = ''
  let skipped = 0
  let columns = 0
  let cells = 0

  /** The innermost element whose text is taken as it is, and the numbers of marks that are open, and written. */
  let code: Open | null = null
  let marks = 0
  let marked = 0
  const inCell = (): boolean => (counts.get('td') ?? 0) + (counts.get('th') ?? 0) > 0

  function put(text: string): void {
    steps += 1
    if (breaks > 0 && parts.length > 0) {
      const blank = breaks > 1 ? `\n${prefix.trimEnd()}` : ''
      parts.push(`${blank}\n${prefix}${marker}`)
    } else if (parts.length === 0) parts.push(prefix + marker)
    if (marker !== '') marker = ''
    breaks = 0
    is_start = false
    if (marks > marked)
      for (const it of open)
        if (it.mark !== '' && !it.is_marked) {
          it.is_marked = true
          parts.push(it.mark)
        }
    marked = marks
    parts.push(text)
  }

  /** Ends the emphasis that a line break would cut. */
  function unmark(from: number): void {
    for (let at = open.length - 1; at >= from && marked > 0; at--) {
      const it = open[at]
      if (it === undefined || !it.is_marked) continue
      it.is_marked = false
      marked -= 1
      const last = parts.at(-1) ?? ''
      if (last.endsWith(' ') && last !== ' ') parts[parts.length - 1] = last.trimEnd()
      else if (last === ' ') parts.pop()
      else {
        parts.push(it.mark)
        continue
      }
      parts.push(it.mark)
      has_space = true
    }
  }

  function newline(count: number): void {
    flush()
    if (inCell()) {
      has_space = true
      return
    }
    unmark(0)
    if (!is_start || breaks > 0) breaks = Math.max(breaks, count)
    is_start = true
    has_space = false
  }

  function flush(): void {
    if (run === '') return
    const text = run
    run = ''
    if (skipped > 0) return
    if (code?.raw) {
      code.raw.push(text)
      return
    }
    const plain = text.replace(WHITE, ' ')
    const words = plain.trim()
    if (plain.startsWith(' ')) has_space = true
    if (words === '') return
    const escaped = words.replace(SPECIAL, '\\$&')
    const line = is_start ? escaped.replace(LINE_START, lineStart) : escaped
    const space = has_space && !is_start ? ' ' : ''
    if (space !== '' && marks > marked) {
      parts.push(' ')
      put(line)
    } else put(space + line)
    has_space = plain.endsWith(' ')
  }

  function write(text: string): void {
    if (has_space && !is_start) parts.push(' ')
    has_space = false
    put(text)
  }

  function start(name: string, attributes: ReadonlyMap<string, string>): void {
    steps += 1
    flush()
    if (skipped > 0) {
      if (SKIPPED.has(name)) skipped += 1
      return
    }
    if (SKIPPED.has(name)) {
      skipped = 1
      return
    }
    if (VOID.has(name)) return writeVoid(name, attributes)
    endImplied(name)
    if (name === 'a' && counts.get('a')) end('a')
    if (PARAGRAPHS.has(name)) newline(name === 'ul' || name === 'ol' ? listBreaks() : 2)
    else if (LINES.has(name)) newline(1)
    if (open.length >= DEPTH_MAX) return
    const element: Open = {
      name,
      prefix,
      mark: '',
      is_marked: false,
      count: 0,
      href: '',
      at: parts.length,
      raw: null,
    }
    const is_prefixed = prefix.length < PREFIXES_MAX * 2
    const mark = MARKS[name] ?? ''
    if (mark !== '' && code === null && open.every((it) => it.mark !== mark)) {
      element.mark = mark
      marks += 1
    }
    if (/^h[1-6]$/.test(name)) marker = `${'#'.repeat(Number(name[1]))} `
    if (name === 'blockquote' && is_prefixed) prefix += '> '
    if (name === 'ol') element.count = 1
    if (name === 'li') {
      const list = open.findLast((it) => it.name === 'ol' || it.name === 'ul')
      marker = list?.count ? `${list.count++}. ` : '* '
      if (is_prefixed) prefix += '  '
      // The first line has the marker in place of the indent.
      if (is_prefixed) marker = `\b${marker}`
    }
    const is_code = name === 'code' || name === 'tt' || name === 'kbd'
    if (code === null && (name === 'pre' || is_code)) {
      element.raw = []
      code = element
    }
    if (name === 'tr') cells = 0
    if (name === 'td' || name === 'th') {
      write(cells === 0 ? '|' : '')
      cells += 1
      has_space = true
    }
    if (name === 'a') element.href = linkOf(attributes.get('href'), base_url) ?? ''
    open.push(element)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (element.href !== '' && code === null) {
      write('[')
      element.at = parts.length
      is_start = true
    }
  }

  /** Nested lists stand on the lines of their entry. */
  const listBreaks = (): number => ((counts.get('li') ?? 0) > 0 ? 1 : 2)

  function writeVoid(name: string, attributes: ReadonlyMap<string, string>): void {
    if (name === 'br') {
      if (code?.raw) code.raw.push('\n')
      else if (inCell()) has_space = true
      else if (!is_start) {
        unmark(0)
        parts.push('  ')
        breaks = Math.max(breaks, 1)
        is_start = true
        has_space = false
      }
    } else if (name === 'hr') {
      newline(2)
      put('---')
      newline(2)
    } else if (name === 'img') {
      const source = linkOf(attributes.get('src'), base_url)
      const alt = (attributes.get('alt') ?? '').replace(WHITE, ' ').replace(SPECIAL, '\\$&')
      if (source !== null) write(`![${alt}](${source})`)
      else if (alt !== '') write(alt)
    }
  }

  function endImplied(name: string): void {
    const group = IMPLIED.get(name) ?? (PARAGRAPHS.has(name) ? IMPLIED.get('p') : undefined)
    if (group === undefined) return
    for (let n = 1; n <= IMPLIED_MAX; n++) {
      const it = open.at(-n)
      if (it === undefined || BARRIERS.has(it.name)) return
      if (group.has(it.name)) return end(it.name)
    }
  }

  function end(name: string): void {
    steps += 1
    flush()
    if (skipped > 0) {
      if (SKIPPED.has(name)) skipped -= 1
      return
    }
    if (!counts.get(name)) return
    for (let it = open.at(-1); it !== undefined; it = open.at(-1)) {
      close(it)
      if (it.name === name) return
    }
  }

  function close(it: Open): void {
    steps += 1
    const { name, raw } = it
    if (it.mark !== '') {
      unmark(open.length - 1)
      marks -= 1
    }
    open.pop()
    counts.set(name, (counts.get(name) ?? 1) - 1)
    if (raw !== null) {
      code = null
      writeCode(name, raw.join(''))
    }
    if (it.href !== '' && code === null) closeLink(it)
    if (name === 'td' || name === 'th') {
      has_space = true
      write('|')
    }
    if (name === 'tr') endRow()
    if (name === 'table') columns = 0
    if (PARAGRAPHS.has(name)) newline(name === 'ul' || name === 'ol' ? listBreaks() : 2)
    else if (LINES.has(name)) newline(1)
    ;({ prefix } = it)
    if (name === 'li' || /^h[1-6]$/.test(name)) marker = ''
  }

  function endRow(): void {
    if (columns > 0 || cells === 0) return
    columns = cells
    newline(1)
    put(`|${' --- |'.repeat(Math.min(columns, DEPTH_MAX))}`)
  }

  function writeCode(name: string, text: string): void {
    const longest = (text.match(/`+/g) ?? []).reduce((most, it) => Math.max(most, it.length), 0)
    if (name === 'pre') {
      const fence = '`'.repeat(Math.max(3, longest + 1))
      const lines = [fence, ...text.replace(/^\n|\n$/g, '').split('\n'), fence]
      put(lines.join(`\n${prefix}`))
    } else if (text.trim() !== '') {
      const fence = '`'.repeat(longest + 1)
      write(longest === 0 ? fence + text + fence : `${fence} ${text} ${fence}`)
    }
  }

  function closeLink({ at, href }: Open): void {
    const text = parts.slice(at).join('')
    is_start = false
    if (text === '') {
      parts.length = at - 1
      return
    }
    if (text.replaceAll('\\', '') === href) {
      parts.length = at - 1
      parts.push(`<${href}>`)
    } else parts.push(`](${href})`)
  }

  let attributes = new Map<string, string>()
  let tag = ''
  let attribute = ''
  let value = ''
  let at_end = 0
  const tokens = new Tokenizer({ decodeEntities: true }, {
    ontext: (from, to) => void (run += html.slice(from, to)),
    ontextentity: (point) => void (run += String.fromCodePoint(point)),
    onopentagname(from, to) {
      tag = html.slice(from, Math.min(to, from + 20)).toLowerCase()
      attributes = new Map()
    },
    onattribname: (from, to) =>
      void (attribute = html.slice(from, Math.min(to, from + 20)).toLowerCase()),
    onattribdata: (from, to) => void (value += html.slice(from, to)),
    onattribentity: (point) => void (value += String.fromCodePoint(point)),
    onattribend() {
      if (ATTRIBUTES.has(attribute)) attributes.set(attribute, value)
      value = ''
    },
    onopentagend: () => start(tag, attributes),
    onselfclosingtag: () => start(tag, attributes),
    onclosetag: (from, to) => end(html.slice(from, Math.min(to, from + 20)).toLowerCase()),
    oncdata: (from, to, offset) => void (run += html.slice(from, to - offset)),
    oncomment: () => void (steps += 1),
    ondeclaration: () => void (steps += 1),
    onprocessinginstruction: () => void (steps += 1),
    onend: () => void (at_end = html.length),
  } satisfies ConstructorParameters<typeof Tokenizer>[1])
  tokens.write(html)
  tokens.end()
  flush()
  for (let it = open.at(-1); it !== undefined; it = open.at(-1)) close(it)
  // The marker of an entry stands in place of the last indent.
  const markdown = parts.join('').replaceAll('  \b', '').replaceAll('\b', '').trim()
  return { markdown, steps: steps + at_end }
}

const ATTRIBUTES = new Set(['href', 'src', 'alt'])

const lineStart = (mark: string): string => (/^\d/.test(mark) ? mark : `\\${mark}`)

/** Address of a link or a picture; null for one that leads to no page and no mailbox. */
function linkOf(text: string | undefined, base_url: string): string | null {
  if (text === undefined || text.length > ADDRESS_MAX) return null
  const url = peerUrl(text, base_url)
  if (url === null || !/^(?:https?|mailto):$/.test(url.protocol)) return null
  return url.href.replaceAll('(', '%28').replaceAll(')', '%29')
}

/** Texts that were converted last: a list shows the same rows at each poll. */
const CONVERTED_BYTES_MAX = 24 * 1024 * 1024
const SHORT = 200
const HTML_MAX = 512 * 1024
const converted = new LRUCache<string, string>({
  maxSize: CONVERTED_BYTES_MAX,
  sizeCalculation: (text) => 2 * text.length + 100,
})

/** Markdown of a body in HTML; an unchanged one is converted once. */
export function toMarkdown(html: string, base_url: string): string {
  if (html.length < SHORT) return html === '' ? '' : convert(html, base_url).markdown
  const key = createHash('sha256').update(base_url).update('\0').update(html).digest('base64')
  const known = converted.get(key)
  if (known !== undefined) return known
  // Longer than any text that is kept: its row is left out.
  const markdown = html.length > HTML_MAX ? html : convert(html, base_url).markdown
  converted.set(key, markdown)
  return markdown
}

/** Converts texts before they are needed, and lets other work run between them. */
export async function warm(texts: readonly unknown[], base_url: string): Promise<void> {
  const turn = createTurns()
  for (const text of texts) {
    if (typeof text !== 'string' || text.length < SHORT) continue
    await turn(text.length)
    toMarkdown(text, base_url)
  }
}

/** Text of a value of HTML without elements, such as a title. References are decoded once. */
export const plainText = (html: string): string =>
  html.includes('&') ? entities().decodeHTML(html) : html
