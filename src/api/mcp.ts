import { Elysia } from 'elysia'

import { ApiError } from '../core/base/errors.ts'
import { SESSION_PARTS, sessionField, sessionHeader } from '../core/forum/session.ts'
import type { RouteContext } from './context.ts'
import { render } from './http/errors.ts'

const MESSAGE_MAX = 1024 * 1024
/**
 * JSON-RPC error codes of unreadable messages.
 * @see https://www.jsonrpc.org/specification#error_object
 */
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
/** Memory per byte of an answer: its text and its bytes. */
const HELD_PER_ANSWER_BYTE = 2

type ApiCall = (
  path: string,
  call: { method: string; body?: string; signal: AbortSignal },
) => Promise<Response>

type McpHttp = {
  /** Answers an MCP message or a batch; tools send internal requests. */
  answer(it: {
    request: Request
    message: unknown
    callApi: ApiCall
    session: Readonly<Record<string, string>>
    key_id: string
  }): Promise<Response>
  /** Reason to refuse a message, or the estimated bytes of its answer. */
  assess(it: {
    request: Request
    message: unknown
  }): { refusal: string } | { refusal: null; bytes: number }
}

export type McpDeps = {
  /** Called at the first message: MCP is a large library. */
  open: (document: unknown) => Promise<McpHttp>
}

/**
 * `/mcp`: the calls of this service as tools. Each is made through the API with the key of its
 * message, so that limits, prices and errors equal those over HTTP. Every message of a batch counts
 * for the rate limit.
 */
export function mcpRoute(context: RouteContext, { open }: McpDeps) {
  const { words, keyed, internal, readJson, in_flight, document, paceMessages } = context
  const headers = SESSION_PARTS.map((part) => ({
    header: sessionHeader(words, part),
    field: sessionField(words, part),
  }))
  let opened: Promise<McpHttp> | null = null

  return new Elysia({ name: 'mcp', detail: { hide: true } })
    .use(keyed)
    .post('/mcp', async ({ request, holder, set }) => {
      const id = String(set.headers['x-request-id'])
      const session_headers = headers.flatMap(({ header, field }) => {
        const value = request.headers.get(header)
        return value === null ? [] : [{ header, field, value }]
      })
      const own = {
        'content-type': 'application/json',
        'x-request-id': id,
        ...Object.fromEntries(session_headers.map(({ header, value }) => [header, value])),
      }
      const callApi: ApiCall = (path, call) =>
        internal.send(new Request(`http://localhost${path}`, { ...call, headers: own }), holder)

      let message: unknown
      try {
        message = await readJson(request, MESSAGE_MAX)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        const { status, body } = render(error, words)
        set.status = status
        return {
          jsonrpc: '2.0',
          id: null,
          error: { code: PARSE_ERROR, message: body.error, data: body },
        }
      }

      opened ??= document().then(open)
      const mcp = await opened.catch((error: unknown) => {
        // The next message tries again.
        opened = null
        throw error
      })
      const session = Object.fromEntries(session_headers.map(({ field, value }) => [field, value]))
      const assessment = mcp.assess({ request, message })
      if (assessment.refusal !== null) {
        set.status = 400
        const error = { code: INVALID_REQUEST, message: assessment.refusal }
        return { jsonrpc: '2.0', id: null, error }
      }
      // The first message was counted before the body was read.
      if (Array.isArray(message) && message.length > 1)
        await paceMessages(holder.key.id, { signal: request.signal, count: message.length - 1 })
      in_flight.holdForRequest(request, assessment.bytes * HELD_PER_ANSWER_BYTE)
      const key_id = holder.key.id
      const answered = await mcp.answer({ request, message, callApi, session, key_id })
      const { status, headers: answer_headers } = answered
      set.status = status
      const bytes = new Uint8Array(await answered.arrayBuffer())
      return bytes.byteLength === 0
        ? new Response(null, { status, headers: answer_headers })
        : in_flight.send(request, bytes, { status, headers: answer_headers })
    })
}
