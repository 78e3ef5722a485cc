/**
 * What a reader sees of a markdown source, and where its links lead. Strangers wrote it: every pattern
 * here takes time linear in the text, because what repeats is bounded or cannot begin twice.
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

// [words](target "title"), an image's exclamation mark before it; the target may hold one pair of parentheses.
const INLINE =
  /!?\[([^[\]]{0,2000})\]\(\s{0,8}<?((?:[^()\s<>]|\([^()\s<>]{0,500}\)){0,2000})>?(?:\s{1,8}"[^"]{0,300}")?\s{0,8}\)/g
// [words][label], and the line that says where a label leads.
const REFERENCE = /!?\[([^[\]]{1,2000})\] ?\[[^[\]]{0,100}\]/g
const DEFINITION =
  /^ {0,3}\[[^[\]]{1,100}\]:[ \t]{1,8}<?([^\s<>]{1,2000})>?(?:[ \t]{1,8}["'(].{0,300})?$/gm
const AUTOLINK = /<(https?:\/\/[^\s<>]{1,2000})>/gi
const BARE = /https?:\/\/[^\s<>[\]"\\]{1,2000}/gi

/** The text of a markdown source as it is read: links as their words, no emphasis, no quote marks, no entities. */
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
      // An underscore inside a word is part of it; at its edge it is emphasis.
      .replace(
        /(?<![\p{L}\p{N}\\_])_{1,8}(?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}])_{1,8}(?![\p{L}\p{N}_])/gu,
        '',
      )
      .replace(/\\([^\p{L}\p{M}\p{N}\s])/gu, '$1')
  )
}

/** Addresses that a markdown source leads to, in no promised order: behind words, by reference, or written out. */
export function linksIn(markdown: string): string[] {
  if (!/https?:|\]\(|\]:/i.test(markdown)) return []
  const source = decoded(markdown)
  const behind = [...source.matchAll(INLINE)].map(([, , target = '']) => target)
  const named = [...source.matchAll(DEFINITION)].map(([, target = '']) => target)
  const rest = source.replace(INLINE, '$1').replace(DEFINITION, '')
  // A full stop behind an address ends the sentence; an asterisk there ends an emphasis.
  const written = [...rest.matchAll(BARE)].map(([whole]) =>
    whole.replace(/[.,;:!?'*_~`)]{1,8}$/, ''),
  )
  return [...new Set([...behind, ...named, ...written])].filter((it) => it !== '')
}

const decoded = (text: string): string =>
  text.includes('&')
    ? text.replace(ENTITY, (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole)
    : text
