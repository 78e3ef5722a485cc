import type { CallToolResult } from '@modelcontextprotocol/server'
import * as z from 'zod'

import type { Route, Tool } from './tools.ts'

/** Calls the API, over HTTP or in process. `path` includes the query; `body` is JSON. */
export type ApiCall = (
  path: string,
  call: { method: string; body?: string; signal: AbortSignal },
) => Promise<Response>

/** The platform session of the connection, by the field names of a request body. */
export type ConnectionSession = Readonly<Record<string, string>>

type HttpCall = { path: string; method: string; body?: string }

const bodyShape = z.looseObject({})
const errorShape = z.looseObject({
  code: z.string().default('internal_error'),
  error: z.string().default('the service returned no reason'),
  message: z.string().optional(),
  retry_after: z.number().optional(),
})

/** An invalid argument; `callTool` returns it as an error result. */
class InvalidArgument extends Error {
  override name = 'Misfit'
}

export type Connection = { callApi: ApiCall; session: ConnectionSession; signal: AbortSignal }

/** The result of a call, and the headers of its response; null if no request was made. */
export type Called = { result: CallToolResult; headers: Headers | null }

/** Calls the API route of a tool. The result has the response as JSON and as text. Invalid arguments are an error result. */
export async function callTool(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  connection: Connection,
): Promise<Called> {
  let http_call: HttpCall
  try {
    http_call = toCall(tool, args, connection.session)
  } catch (error) {
    if (!(error instanceof InvalidArgument)) throw error
    const body = { code: 'INVALID_REQUEST', error: error.message }
    return { result: errorResult(body, 400), headers: null }
  }
  return send(http_call, connection)
}

/** Sends one call of the API. An answer other than a JSON object with status 200 is an error result. */
export async function send(
  { path, ...call }: HttpCall,
  { callApi, signal }: Connection,
): Promise<Called> {
  const response = await callApi(path, { ...call, signal })
  const { headers, status } = response
  const text = await response.text()
  const body = read(text)
  if (body === null) {
    const none = { code: 'internal_error', error: 'the service returned no JSON' }
    return { result: errorResult(none, status), headers }
  }
  if (status !== 200) return { result: errorResult(body, status), headers }
  const left = headers.get('x-credits-remaining')
  const result = {
    content: [{ type: 'text' as const, text }],
    structuredContent: body,
    ...(left !== null && { _meta: { 'forumd/credits_remaining': Number(left) } }),
  }
  return { result, headers }
}

function read(text: string): Record<string, unknown> | null {
  try {
    return bodyShape.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** An error that a model can act on: code and message in the first line, the full body in the second. */
function errorResult(body: Readonly<Record<string, unknown>>, status: number): CallToolResult {
  const { code, error, message, retry_after } = errorShape.parse(body)
  const text = message ?? error
  const again = retry_after === undefined ? '' : ` Retry after ${retry_after} seconds.`
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${text}.${again}\n${JSON.stringify(body)}` }],
    _meta: { 'forumd/status': status, 'forumd/error': { ...body } },
  }
}

function toCall(
  { name, route }: Tool,
  args: Readonly<Record<string, unknown>>,
  session: ConnectionSession,
): HttpCall {
  const { fields } = route
  const unknown = Object.keys(args).find((it) => !fields.has(it))
  if (unknown !== undefined)
    throw new InvalidArgument(
      `${unknown.slice(0, 64)} is not an argument of ${name}; allowed: ${[...fields.keys()].join(', ') || 'none'}`,
    )
  if (route.kind === 'draft') {
    // The query of a write names its source, which a draft has beside the fields of the write.
    const given = Object.entries(args)
    const body = Object.fromEntries(given.filter(([field]) => fields.get(field) === 'body'))
    const beside = Object.fromEntries(given.filter(([field]) => fields.get(field) !== 'body'))
    return {
      method: 'POST',
      path: '/drafts',
      body: JSON.stringify({ action: route.action, ...beside, body }),
    }
  }
  return toHttp(route, args, session)
}

function toHttp(
  { method, path, fields, session_in_body }: Extract<Route, { kind: 'call' }>,
  args: Readonly<Record<string, unknown>>,
  session: ConnectionSession,
): HttpCall {
  let to = path
  const query = new URLSearchParams()
  const body: Record<string, unknown> = session_in_body ? { ...session } : {}
  for (const [field, place] of fields) {
    const value = args[field]
    if (place === 'path') to = to.replace(`{${field}}`, segment(field, value))
    else if (value === undefined || value === null) continue
    else if (place === 'query') query.set(field, scalarText(field, value))
    else body[field] = value
  }
  const path_and_query = query.size === 0 ? to : `${to}?${query.toString()}`
  return { method, path: path_and_query, ...(method !== 'GET' && { body: JSON.stringify(body) }) }
}

/** Encodes one path segment. Rejects `.` and `..`, which URL parsers resolve. */
function segment(field: string, value: unknown): string {
  if (value === undefined || value === null || value === '')
    throw new InvalidArgument(`${field} is required`)
  const text = scalarText(field, value)
  if (/^\.{1,2}$/.test(text)) throw new InvalidArgument(`${field} must be a name, not ${text}`)
  return encodeURIComponent(text.toWellFormed())
}

function scalarText(field: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new InvalidArgument(`${field} must be a string, number or boolean`)
}
