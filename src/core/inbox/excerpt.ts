/** Part of a text that a term matched, as UTF-16 offsets; `end` is excluded. */
export type TextRange = { start: number; end: number }

const EXCERPT_MAX = 300
/** Characters before the first term in an excerpt. */
const LEAD = 60
const ELLIPSIS = '…'
/** Longer texts are searched up to here. */
const SEARCHED_MAX = 4000
const RANGES_MAX = 50
const MARKS = /\p{M}/u
const WORD = /[\p{L}\p{N}]/u

const ASCII = /^[\t\n\r -~]*$/

/**
 * A text as it is compared: without case and accents. `starts`: offset in the text of each unit of the folded one, and the
 * length of the text at its end; null: the same offsets.
 */
type Folded = { text: string; starts: number[] | null }

const OTHER = /[^\t\n\r -~]/gu
const plain_letters = new Map<string, string>()
const PLAIN_MAX = 5000

/** A letter without case and accents; white space of any kind is a space. */
function plainOf(letter: string): string {
  const known = plain_letters.get(letter)
  if (known !== undefined) return known
  const plain = /\s/u.test(letter)
    ? ' '
    : Array.from(letter.normalize('NFKD'))
        .filter((it) => !MARKS.test(it))
        .join('')
        .toLowerCase()
  if (plain_letters.size >= PLAIN_MAX) plain_letters.clear()
  plain_letters.set(letter, plain)
  return plain
}

const plainRun = (run: string): string => run.toLowerCase().replace(/[\t\n\r]/g, ' ')

function fold(text: string): Folded {
  if (ASCII.test(text)) return { text: plainRun(text), starts: null }
  const parts: string[] = []
  const starts: number[] = []
  const addRun = (from: number, to: number) => {
    parts.push(plainRun(text.slice(from, to)))
    for (let at = from; at < to; at++) starts.push(at)
  }
  let done = 0
  for (const { 0: letter, index } of text.matchAll(OTHER)) {
    addRun(done, index)
    const plain = plainOf(letter)
    parts.push(plain)
    for (let unit = 0; unit < plain.length; unit++) starts.push(index)
    done = index + letter.length
  }
  addRun(done, text.length)
  starts.push(text.length)
  return { text: parts.join(''), starts }
}

/** True if all words of a query occur in a text, also within longer words, without regard to case and accents. */
export function containsWords(text: string, query: string): boolean {
  const folded = fold(text).text
  return query
    .split(/\s+/u)
    .filter(Boolean)
    .every((word) => folded.includes(fold(word).text))
}

const isWordAt = (text: string, at: number): boolean => {
  const letter = text[at]
  return letter !== undefined && WORD.test(letter)
}

/** Ranges of a text in which the terms occur, sorted and without overlaps. A term ends with `*` if words may go on after it. */
export function findTerms(text: string, terms: readonly string[]): TextRange[] {
  if (text === '' || terms.length === 0) return []
  const folded = fold(text.slice(0, SEARCHED_MAX))
  const found: TextRange[] = []
  for (const term of terms) {
    const is_prefix = term.endsWith('*')
    const sought = fold(is_prefix ? term.slice(0, -1) : term).text.trim()
    if (sought === '') continue
    const whole: TextRange[] = []
    const anywhere: TextRange[] = []
    for (let at = folded.text.indexOf(sought); at !== -1;) {
      const end = at + sought.length
      const range = { start: folded.starts?.[at] ?? at, end: folded.starts?.[end] ?? end }
      const begins = !isWordAt(folded.text, at - 1) || !isWordAt(sought, 0)
      const ends = is_prefix || !isWordAt(folded.text, end) || !isWordAt(sought, sought.length - 1)
      if (begins && ends) whole.push(range)
      anywhere.push(range)
      if (anywhere.length >= RANGES_MAX) break
      at = folded.text.indexOf(sought, end)
    }
    // A monitor that matches parts of words, or a script without spaces, has no whole word to show.
    found.push(...(whole.length > 0 ? whole : anywhere))
  }
  return merged(found).slice(0, RANGES_MAX)
}

function merged(ranges: readonly TextRange[]): TextRange[] {
  const result: TextRange[] = []
  for (const it of ranges.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1)
    if (last !== undefined && it.start <= last.end) last.end = Math.max(last.end, it.end)
    else result.push({ ...it })
  }
  return result
}

/** The beginning of a text, or the part around its first term: one line of at most 300 characters. */
export function excerptAround(text: string, terms: readonly string[]): string {
  const line = text.slice(0, SEARCHED_MAX).replace(/\s+/gu, ' ').trim()
  if (line.length <= EXCERPT_MAX) return line
  const [first] = findTerms(line, terms)
  const room = EXCERPT_MAX - 2 * ELLIPSIS.length
  const wanted = first === undefined || first.end <= room ? 0 : first.start - LEAD
  const start = wanted <= 0 ? 0 : wordStart(line, wanted)
  const end = Math.min(line.length, start + room)
  const body = line.slice(start, end === line.length ? end : wordEnd(line, start, end))
  return `${start > 0 ? ELLIPSIS : ''}${body.toWellFormed().trim()}${end < line.length ? ELLIPSIS : ''}`
}

function wordStart(line: string, from: number): number {
  const space = line.indexOf(' ', from)
  return space !== -1 && space - from < LEAD / 2 ? space + 1 : from
}

/** End of the last word before here, if there is one near. */
function wordEnd(line: string, start: number, end: number): number {
  const space = line.lastIndexOf(' ', end)
  return space > start && end - space < LEAD / 2 ? space : end
}
