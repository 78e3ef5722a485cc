/**
 * Visible text and links of a markdown source. The input is untrusted: every pattern takes time
 * linear in the text, because repetitions are bounded or cannot begin twice.
 */

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#39': "'",
  '#x200b': '',
}

const MARKED = /[[\]*_~`\\&<>#^]/
const ENTITY = /&(amp|lt|gt|quot|apos|nbsp|#39|#x200b);/gi

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

const decoded = (text: string): string =>
  text.includes('&')
    ? text.replace(ENTITY, (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole)
    : text
