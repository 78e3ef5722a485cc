// The platform writes instants and ratios as floats, `1776105848.0`, which JSON.stringify does not.
const FLOATS = /"(created|created_utc|edited|date|upvote_ratio)":(-?\d+)(?=[,}])/g
const UNSAFE = /[<>&]/g
const ESCAPED: Record<string, string> = { '<': '\\u003C', '>': '\\u003E', '&': '\\u0026' }

/** A value as the platform spells it with `raw_json=1`: instants are floats, `<`, `>` and `&` are \u escapes. */
export function encode(value: unknown): string {
  return JSON.stringify(value)
    .replace(FLOATS, '"$1":$2.0')
    .replace(UNSAFE, (character) => ESCAPED[character] ?? character)
}

// A backslash of the text itself is two here; it is stepped over, or the mark it seems to begin would be taken for one.
const MARKS = /\\\\|\\u00(?:3C|3E|26)/g
const ENTITIES: Record<string, string> = {
  '\\u003C': '&lt;',
  '\\u003E': '&gt;',
  '\\u0026': '&amp;',
}

/** The same text as it comes without `raw_json=1`: entities in every string, twice in `*_html`. */
export const withEntities = (encoded: string): string =>
  encoded.replace(MARKS, (mark) => ENTITIES[mark] ?? mark)

const HTML: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }

/** Text made safe to stand in a page. */
export const escapeHtml = (text: string): string =>
  text.replace(/[<>&"]/g, (character) => HTML[character] ?? character)

const inline = (text: string) =>
  escapeHtml(text)
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, '<a href="$2">$1</a>')

/** Markdown as the platform renders it, as far as the sandbox writes any. */
export function toHtml(markdown: string): string {
  const paragraphs = markdown.split(/\n{2,}/).map((each) => `<p>${inline(each)}</p>\n`)
  return `<div class="md">${paragraphs.join('\n')}</div>`
}

/** What an object of JSON holds, by name. */
export type Fields = Record<string, unknown>

/** The fields of a body in JSON; none where it is no JSON, or nothing that has fields. */
export function fieldsOf(body: string): Fields {
  try {
    return innerOf(JSON.parse(body))
  } catch {
    return {}
  }
}

/** The fields of a value; none where it has none. */
export const innerOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? { ...value } : {}
