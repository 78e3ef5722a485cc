/** What is sent back, before the wire. Several values of one header make several lines of it. */
export type Answer = {
  status: number
  headers: Record<string, string | readonly string[]>
  body: string | Uint8Array
}

const JSON_TYPE = 'application/json; charset=UTF-8'
const HTML_TYPE = 'text/html; charset=UTF-8'
const PARTIAL_TYPE = 'text/vnd.reddit.partial+html; charset=UTF-8'

/** A body that is JSON already, in the platform's spelling. */
export const json = (body: string, status = 200): Answer => ({
  status,
  headers: { 'content-type': JSON_TYPE },
  body,
})

/** A page for people. */
export const page = (body: string, status = 200): Answer => ({
  status,
  headers: { 'content-type': HTML_TYPE },
  body,
})

/** A piece of a page, for the scripts of the modern one. */
export const partial = (body: string, status = 200): Answer => ({
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

/** The platform's generic refusal. */
export const refusal = (status: number): Answer =>
  json(JSON.stringify({ message: MESSAGES[status] ?? 'Error', error: status }), status)

/** A path the platform has never heard of is answered with nothing at all. */
export const unregistered: Answer = {
  status: 404,
  headers: { 'content-type': HTML_TYPE },
  body: '',
}

/** A redirect, with the page that goes with it. */
export function redirect(location: string): Answer {
  const body = `<html>\n <head>\n  <title>302 Found</title>\n </head>\n <body>\n  <h1>302 Found</h1>\n  The resource was found at <a href="${location}">${location}</a>;\nyou should be redirected automatically.\n </body>\n</html>`
  return { status: 302, headers: { 'content-type': HTML_TYPE, location }, body }
}
