import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import * as z from 'zod'

import { version } from '../../package.json'
import type { Ask, HeldSession } from './call.ts'
import { createServer } from './server.ts'
import { toolsOf } from './tools.ts'

/** One message that came in over HTTP, read already, and the way to answer what it asks for. */
export type Message = {
  request: Request
  message: unknown
  ask: Ask
  session: HeldSession
}

const calledOff = z.looseObject({ method: z.literal('notifications/cancelled') })

/** Beside the calls of one request there is no other to call off; and the answer to one of these would be waited for. */
const withoutCalledOff = (message: unknown): unknown =>
  Array.isArray(message)
    ? message.filter((it: unknown) => !calledOff.safeParse(it).success)
    : message

/**
 * Answers messages of MCP's streamable HTTP, each for itself: no session is opened, so that there is none to guess, to
 * steal or to run out of, and a restart of the daemon is not noticed. `document` is the service's own.
 */
export function createMcpHttp(document: unknown): (it: Message) => Promise<Response> {
  const { tools } = toolsOf(document)
  return async ({ request, message, ask, session }) => {
    const server = createServer({ version, tools, ask, session })
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    // Whoever has gone does not wait for the rest: what was asked for him is asked no further.
    const leave = () => void server.close()
    request.signal.addEventListener('abort', leave, { once: true })
    try {
      return await transport.handleRequest(request, { parsedBody: withoutCalledOff(message) })
    } finally {
      request.signal.removeEventListener('abort', leave)
      await server.close()
    }
  }
}
