/** Response before it is sent. A header with several values becomes several lines. */
export type SandboxResponse = {
  status: number
  headers: Record<string, string | readonly string[]>
  body: string | Uint8Array
}

const JSON_TYPE = 'application/json; charset=UTF-8'
const HTML_TYPE = 'text/html; charset=UTF-8'
const PARTIAL_TYPE = 'text/vnd.reddit.partial+html; charset=UTF-8'

/** Response with JSON text in the platform's notation. */
export const json = (body: string, status = 200): SandboxResponse => ({
  status,
  headers: { 'content-type': JSON_TYPE },
  body,
})

/** HTML page. */
export const page = (body: string, status = 200): SandboxResponse => ({
  status,
  headers: { 'content-type': HTML_TYPE },
  body,
})

/** Fragment of a page for the scripts of the modern pages. */
export const partial = (body: string, status = 200): SandboxResponse => ({
  status,
  headers: { 'content-type': PARTIAL_TYPE },
  body,
})

const MESSAGES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
}

/** Generic refusal of the platform. */
export const refusal = (status: number): SandboxResponse =>
  json(JSON.stringify({ message: MESSAGES[status] ?? 'Error', error: status }), status)

/** An unknown path gets an empty response. */
export const unregistered: SandboxResponse = {
  status: 404,
  headers: { 'content-type': HTML_TYPE },
  body: '',
}

/** Redirect with its page. */
export function redirect(location: string): SandboxResponse {
  const body = `<html>\n <head>\n  <title>302 Found</title>\n </head>\n <body>\n  <h1>302 Found</h1>\n  The resource was found at <a href="${location}">${location}</a>;\nyou should be redirected automatically.\n </body>\n</html>`
  return { status: 302, headers: { 'content-type': HTML_TYPE, location }, body }
}

// The platform writes instants and ratios as floats, `1776105848.0`, which JSON.stringify does not.
const FLOATS = /"(created|created_utc|edited|date|upvote_ratio)":(-?\d+)(?=[,}])/g
const UNSAFE = /[<>&]/g
const ESCAPED: Record<string, string> = { '<': '\\u003C', '>': '\\u003E', '&': '\\u0026' }

/**
 * Serialises as the platform does with `raw_json=1`: instants are floats, `<`, `>` and `&` are \u
 * escapes.
 */
export function encode(value: unknown): string {
  return JSON.stringify(value)
    .replace(FLOATS, '"$1":$2.0')
    .replace(UNSAFE, (character) => ESCAPED[character] ?? character)
}

// An escaped backslash is matched and skipped, so that text after it does not look like an escape.
const MARKS = /\\\\|\\u00(?:3C|3E|26)/g
const ENTITIES: Record<string, string> = {
  '\\u003C': '&lt;',
  '\\u003E': '&gt;',
  '\\u0026': '&amp;',
}

/** Response text without `raw_json=1`: entities in every string, twice in `*_html`. */
export const withEntities = (encoded: string): string =>
  encoded.replace(MARKS, (mark) => ENTITIES[mark] ?? mark)

const HTML: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }

/** Escapes text for HTML. */
export const escapeHtml = (text: string): string =>
  text.replace(/[<>&"]/g, (character) => HTML[character] ?? character)

const inline = (text: string) =>
  escapeHtml(text)
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, '<a href="$2">$1</a>')

/** Renders the markdown that the sandbox uses as the platform does. */
export function toHtml(markdown: string): string {
  const paragraphs = markdown.split(/\n{2,}/).map((each) => `<p>${inline(each)}</p>\n`)
  return `<div class="md">${paragraphs.join('\n')}</div>`
}

/** Fields of a JSON object. */
export type JsonFields = Record<string, unknown>

/** Fields of a JSON body; none if it is malformed or not an object. */
export function parseJsonFields(body: string): JsonFields {
  try {
    return jsonFieldsOf(JSON.parse(body))
  } catch {
    return {}
  }
}

/** Fields of a value; none if it is not an object. */
export const jsonFieldsOf = (value: unknown): JsonFields =>
  typeof value === 'object' && value !== null ? { ...value } : {}
