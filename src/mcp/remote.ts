import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

import { version } from '../../package.json'
import { SESSION_PARTS, sessionField, sessionHeader } from '../core/forum/session.ts'
import type { Fetch } from '../runtime/runtime.ts'
import type { ApiCall, ConnectionSession } from './call.ts'
import { createServer } from './server.ts'
import { toolsOf } from './tools.ts'

const MESSAGE_BYTES_MAX = 1024 * 1024

/**
 * Serves MCP over standard input and output until the client closes it or `stopped` resolves. `document` is the OpenAPI
 * document of the service behind `callApi`.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#stdio
 */
export async function serveMcpStdio(it: {
  document: unknown
  callApi: ApiCall
  session: ConnectionSession
  /** Reports unreadable messages on standard error: standard output belongs to the protocol. */
  warn: (line: string) => void
  stopped: Promise<unknown>
}): Promise<void> {
  const { document, callApi, session, warn, stopped } = it
  const { tools } = toolsOf(document)
  const server = createServer({ version, tools, callApi, session })
  const transport = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MESSAGE_BYTES_MAX,
  })
  const closed = Promise.withResolvers<void>()
  Object.assign(server, {
    onclose: closed.resolve,
    onerror: ({ message }: Error) => warn(`forumd mcp: a message could not be read: ${message}`),
  })
  process.stdin.once('end', () => void server.close())
  await server.connect(transport)
  await Promise.race([closed.promise, stopped])
  await server.close()
}

export type RemoteDeps = {
  /** Base URL of the daemon, without a trailing slash. */
  url: string
  key: string
  session: ConnectionSession
  /** Timeout for the daemon's OpenAPI document, in ms. */
  within_ms: number
  warn: (line: string) => void
  stopped: Promise<unknown>
  fetch: Fetch
}

/**
 * Serves MCP on standard input and output for a remote daemon.
 *
 * @throws {Error} no daemon answers at the URL
 */
export async function serveMcpFor(it: RemoteDeps): Promise<void> {
  const { url, key, session, fetch, warn, stopped } = it
  const document = await documentOf(it)
  const { words } = toolsOf(document)
  const headers = new Headers({
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
  })
  for (const part of SESSION_PARTS) {
    const value = session[sessionField(words, part)]
    if (value !== undefined) headers.set(sessionHeader(words, part), value)
  }
  const callApi: ApiCall = (path, call) =>
    fetch(url + path, { ...call, headers, redirect: 'error', proxy: false }).catch(() =>
      unreachable(url),
    )
  await serveMcpStdio({ document, callApi, session, warn, stopped })
}

/** The response to a call while the daemon is unreachable. */
const unreachable = (url: string): Response =>
  Response.json(
    {
      code: 'upstream_unavailable',
      error: 'upstream_unavailable',
      message: `no daemon answers at ${url}; check whether a call that changes something took effect before repeating it`,
    },
    { status: 503 },
  )

async function documentOf({ url, within_ms, fetch }: RemoteDeps): Promise<unknown> {
  const unreachable_message = `no forumd answers at ${url}`
  const signal = AbortSignal.timeout(within_ms)
  const answer = await fetch(`${url}/openapi.json`, {
    signal,
    redirect: 'error',
    proxy: false,
  }).catch(() => null)
  if (answer?.status !== 200) throw new Error(unreachable_message)
  return answer.json().catch(() => {
    throw new Error(unreachable_message)
  })
}
