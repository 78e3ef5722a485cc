import { once } from '../base/lazy.ts'

// Loaded with the first text that has a character reference: a start needs none.
const entities = once((): typeof import('entities/decode') => require('entities/decode'))

/**
 * Visible text and links of a markdown source. The input is untrusted: every pattern takes time
 * linear in the text, because repetitions are bounded or cannot begin twice.
 */

const MARKED = /[[\]*_~`\\&<>#^]/
// An escaped character, or a reference (CommonMark 2.5).
const REFERENCE_TO = /\\[!-/:-@[-`{-~]|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});/gi
/** Decoded, they are what was escaped; others that Markdown would read as its own stay text. */
const PLAIN = /^(?:&|<|>|"|'|[^!-/:-@[-`{-~])*$/

// [words](target "title"), with an exclamation mark before an image; the target may contain one
// pair of parentheses.
const INLINE =
  /!?\[([^[\]]{0,2000})\]\(\s{0,8}<?((?:[^()\s<>]|\([^()\s<>]{0,500}\)){0,2000})>?(?:\s{1,8}"[^"]{0,300}")?\s{0,8}\)/g
// [words][label], and the line that defines the label.
const REFERENCE = /!?\[([^[\]]{1,2000})\] ?\[[^[\]]{0,100}\]/g
const DEFINITION =
  /^ {0,3}\[[^[\]]{1,100}\]:[ \t]{1,8}<?([^\s<>]{1,2000})>?(?:[ \t]{1,8}["'(].{0,300})?$/gm
const AUTOLINK = /<(https?:\/\/[^\s<>]{1,2000})>/gi
const BARE = /https?:\/\/[^\s<>[\]"\\]{1,2000}/gi

/**
 * Visible text of a markdown source: link texts without targets, no emphasis, no quote marks,
 * decoded entities.
 */
export function visibleText(markdown: string): string {
  if (!MARKED.test(markdown)) return markdown
  return (
    decoded(markdown)
      .replace(DEFINITION, '')
      .replace(INLINE, '$1')
      .replace(REFERENCE, '$1')
      .replace(AUTOLINK, '$1')
      .replace(/^[ \t]{0,16}(?:(?:>(?!!)[ \t]?|#{1,6}[ \t]{1,8}){1,32})/gm, '')
      .replace(/^[ \t]{0,3}(?:```|~~~)[\w+-]{0,20}[ \t]{0,8}$/gm, '')
      .replace(/>!|!</g, '')
      .replace(
        /(?<![\\*~`])(?:\*{1,3}|~~|`{1,3})([^*~`\s](?:[^*~`]{0,2000}[^*~`\s])?)(?:\*{1,3}|~~|`{1,3})/g,
        '$1',
      )
      .replace(/\^\(([^()]{1,500})\)/g, ' $1')
      // An underscore inside a word belongs to it; at its edge it is emphasis.
      .replace(
        /(?<![\p{L}\p{N}\\_])_{1,8}(?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}])_{1,8}(?![\p{L}\p{N}_])/gu,
        '',
      )
      .replace(/\\([^\p{L}\p{M}\p{N}\s])/gu, '$1')
  )
}

/** Links of a markdown source in no particular order: inline, by reference, or bare. */
export function linksIn(markdown: string): string[] {
  if (!/https?:|\]\(|\]:/i.test(markdown)) return []
  const source = decoded(markdown)
  const behind = [...source.matchAll(INLINE)].map(([, , target = '']) => target)
  const named = [...source.matchAll(DEFINITION)].map(([, target = '']) => target)
  const rest = source.replace(INLINE, '$1').replace(DEFINITION, '')
  // A full stop after an address ends the sentence; an asterisk ends an emphasis.
  const written = [...rest.matchAll(BARE)].map(([whole]) =>
    whole.replace(/[.,;:!?'*_~`)]{1,8}$/, ''),
  )
  return [...new Set([...behind, ...named, ...written])].filter((it) => it !== '')
}

/** Where the code spans and blocks of a source lie, as pairs of offsets. Linear: each run of backticks is looked at twice. */
function codeIn(text: string): [from: number, to: number][] {
  const runs = [...text.matchAll(/`+/g)].filter(({ index }) => text[index - 1] !== '\\')
  const by_length = Map.groupBy(runs, ([run]) => run.length)
  const next = new Map<number, number>()
  const found: [number, number][] = []
  let end = 0
  for (const { 0: run, index } of runs) {
    if (index < end) continue
    const alike = by_length.get(run.length) ?? []
    let at = next.get(run.length) ?? 0
    while (at < alike.length && (alike[at]?.index ?? 0) <= index) at += 1
    next.set(run.length, at)
    const close = alike[at]
    if (close === undefined) continue
    end = close.index + run.length
    found.push([index, end])
  }
  return found
}

/** A source with its text changed, and its code as it is. */
export function outsideCode(text: string, change: (part: string) => string): string {
  if (!text.includes('`')) return change(text)
  let at = 0
  let changed = ''
  for (const [from, to] of codeIn(text)) {
    changed += change(text.slice(at, from)) + text.slice(from, to)
    at = to
  }
  return changed + change(text.slice(at))
}

/** A source without character references, but in code, where they are literal. */
const decoded = (text: string): string =>
  text.includes('&')
    ? outsideCode(text, (part) =>
        part.replace(REFERENCE_TO, (whole) => {
          if (whole.startsWith('\\')) return whole
          if (/^&#x200b;$/i.test(whole)) return ''
          const character = entities().decodeHTMLStrict(whole).replace('\u00a0', ' ')
          return character === whole || PLAIN.test(character) ? character : `\\${character}`
        }),
      )
    : text
