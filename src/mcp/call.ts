import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'

import type { Route, Tool } from './tools.ts'

/** Asks the service: over HTTP, or from inside. `path` has its query; a body is JSON. */
export type Ask = (
  path: string,
  call: { method: string; body?: string; signal: AbortSignal },
) => Promise<Response>

/** The session that the person at the other end has given the connection, by the names of a body's fields. */
export type HeldSession = Readonly<Record<string, string>>

type Asked = { path: string; method: string; body?: string }

const bodyShape = z.looseObject({})
const errorShape = z.looseObject({
  code: z.string().default('internal_error'),
  error: z.string().default('the service gave no reason'),
  message: z.string().optional(),
  retry_after: z.number().optional(),
})

/** What an argument is not; thrown nowhere, told as a result. */
class Misfit extends Error {
  override name = 'Misfit'
}

/** Calls what a tool stands for, and tells its answer: as what it is, and as text. Never throws for what was asked. */
export async function callTool(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  { ask, session, signal }: { ask: Ask; session: HeldSession; signal: AbortSignal },
): Promise<CallToolResult> {
  let asked: Asked
  try {
    asked = toCall(tool, args, session)
  } catch (error) {
    if (!(error instanceof Misfit)) throw error
    return failed({ code: 'INVALID_REQUEST', error: error.message }, 400)
  }
  const { path, ...call } = asked
  const response = await ask(path, { ...call, signal })
  const text = await response.text()
  const body = read(text)
  if (body === null)
    return failed({ code: 'internal_error', error: 'the service gave no JSON' }, response.status)
  if (response.status !== 200) return failed(body, response.status)
  const left = response.headers.get('x-credits-remaining')
  return {
    content: [{ type: 'text', text }],
    structuredContent: body,
    ...(left !== null && { _meta: { 'forumd/credits_remaining': Number(left) } }),
  }
}

function read(text: string): Record<string, unknown> | null {
  try {
    return bodyShape.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** An error as a model can act on it: what is wrong in the first line, the whole of it in the second. */
function failed(body: Readonly<Record<string, unknown>>, status: number): CallToolResult {
  const { code, error, message, retry_after } = errorShape.parse(body)
  const said = message ?? error
  const again = retry_after === undefined ? '' : ` Retry after ${retry_after} seconds.`
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${said}.${again}\n${JSON.stringify(body)}` }],
    _meta: { 'forumd/status': status, 'forumd/error': { ...body } },
  }
}

function toCall(
  { name, route }: Tool,
  args: Readonly<Record<string, unknown>>,
  session: HeldSession,
): Asked {
  const { fields } = route
  const unknown = Object.keys(args).find((it) => !fields.has(it))
  if (unknown !== undefined)
    throw new Misfit(
      `${unknown.slice(0, 64)} is not an argument of ${name}; allowed: ${[...fields.keys()].join(', ') || 'none'}`,
    )
  if (route.kind === 'draft')
    return {
      method: 'POST',
      path: '/drafts',
      body: JSON.stringify({ action: route.action, body: args }),
    }
  return toHttp(route, args, session)
}

function toHttp(
  { method, path, fields, session_in_body }: Extract<Route, { kind: 'call' }>,
  args: Readonly<Record<string, unknown>>,
  session: HeldSession,
): Asked {
  let to = path
  const query = new URLSearchParams()
  const body: Record<string, unknown> = session_in_body ? { ...session } : {}
  for (const [field, place] of fields) {
    const value = args[field]
    if (place === 'path') to = to.replace(`{${field}}`, segment(field, value))
    else if (value === undefined || value === null) continue
    else if (place === 'query') query.set(field, plain(field, value))
    else body[field] = value
  }
  const asked = query.size === 0 ? to : `${to}?${query.toString()}`
  return { method, path: asked, ...(method !== 'GET' && { body: JSON.stringify(body) }) }
}

/** One segment of a path, and never more: a name made of dots would lead elsewhere. */
function segment(field: string, value: unknown): string {
  if (value === undefined || value === null || value === '')
    throw new Misfit(`${field} is required`)
  const text = plain(field, value)
  if (/^\.{1,2}$/.test(text)) throw new Misfit(`${field} must be a name, not ${text}`)
  return encodeURIComponent(text.toWellFormed())
}

function plain(field: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new Misfit(`${field} must be one text, number, true or false`)
}
