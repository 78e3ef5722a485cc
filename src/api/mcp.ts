import { Elysia } from 'elysia'

import { ApiError } from '../core/errors.ts'
import { SESSION_PARTS, sessionField, sessionHeader } from '../core/session.ts'
import { render } from './errors.ts'
import type { Infra } from './infra.ts'

const MESSAGE_MAX = 1024 * 1024
/** JSON-RPC's own numbers for what cannot be read at all. */
const PARSE_ERROR = -32700

type Ask = (
  path: string,
  call: { method: string; body?: string; signal: AbortSignal },
) => Promise<Response>

/** Answers one message of MCP; what it asks for, it asks of the service itself. */
type Answer = (it: {
  request: Request
  message: unknown
  ask: Ask
  session: Readonly<Record<string, string>>
}) => Promise<Response>

export type McpDeps = {
  /** Makes what answers messages, of the service's own document. Called at the first one: MCP is a large library. */
  open: (document: unknown) => Promise<Answer>
}

/**
 * `/mcp`: the calls of this service as tools. Each goes through the front door as the key that the message came with, so
 * that no limit, price or refusal differs from that of the same call over HTTP.
 */
export function mcp({ words, keyed, inside, readJson }: Infra, { open }: McpDeps) {
  const headers = SESSION_PARTS.map((part) => ({
    header: sessionHeader(words, part),
    field: sessionField(words, part),
  }))
  let opened: Promise<Answer> | null = null

  return new Elysia({ name: 'mcp', detail: { hide: true } })
    .use(keyed)
    .post('/mcp', async ({ request, holder, set }) => {
      const id = String(set.headers['x-request-id'])
      const held = headers.flatMap(({ header, field }) => {
        const value = request.headers.get(header)
        return value === null ? [] : [{ header, field, value }]
      })
      const own = {
        'content-type': 'application/json',
        'x-request-id': id,
        ...Object.fromEntries(held.map(({ header, value }) => [header, value])),
      }
      const ask: Ask = (path, call) =>
        inside.ask(new Request(`http://localhost${path}`, { ...call, headers: own }), holder)

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

      async function document(): Promise<unknown> {
        const answer = await ask('/openapi.json', { method: 'GET', signal: request.signal })
        return answer.json()
      }
      opened ??= document().then(open)
      const answer = await opened.catch((error: unknown) => {
        // The next message tries again.
        opened = null
        throw error
      })
      const session = Object.fromEntries(held.map(({ field, value }) => [field, value]))
      const answered = await answer({ request, message, ask, session })
      set.status = answered.status
      return answered
    })
}
