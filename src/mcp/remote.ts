import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'

import { SESSION_PARTS, sessionField, sessionHeader } from '../core/forum/session.ts'
import type { Fetch } from '../runtime/runtime.ts'
import { createApprovals } from './approval.ts'
import type { ApiCall, ConnectionSession } from './call.ts'
import { createServer, defaultList } from './server.ts'
import { selectTools, toolsOf } from './tools.ts'

const MESSAGE_BYTES_MAX = 1024 * 1024

/** Identifies the one connection of this process in the states of its approvals. */
const OWNER = 'stdio'

/**
 * Serves MCP over standard input and output until the client closes it or `stopped` resolves. The client's first message
 * selects the revision of the protocol. `document` is the OpenAPI document of the service behind `callApi`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 * @throws {RangeError} a toolset is unknown
 */
export async function serveMcpStdio(it: {
  document: unknown
  callApi: ApiCall
  session: ConnectionSession
  /** Comma-separated; null: the default ones are listed, and all can be called. */
  toolsets: string | null
  /** Reports unreadable messages on standard error: standard output belongs to the protocol. */
  warn: (line: string) => void
  stopped: Promise<unknown>
}): Promise<void> {
  const { document, callApi, session, toolsets, warn, stopped } = it
  const { tools: all } = toolsOf(document)
  const tools = toolsets === null ? all : selectTools(all, toolsets)
  const approval = createApprovals()(OWNER)
  const transport = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MESSAGE_BYTES_MAX,
  })
  const closed = Promise.withResolvers<void>()
  process.stdin.once('end', () => closed.resolve())
  const served = serveStdio(
    () =>
      createServer({
        tools,
        ...(toolsets === null && { listed: defaultList(all) }),
        callApi,
        session,
        approval,
      }),
    {
      transport,
      // A subscription reports changes of lists, of which forumd has none while it runs.
      maxSubscriptions: 0,
      onerror: ({ message }) => warn(`forumd mcp: a message could not be read: ${message}`),
    },
  )
  await Promise.race([closed.promise, stopped])
  await served.close()
}

export type RemoteDeps = {
  /** Base URL of the daemon, without a trailing slash. */
  url: string
  key: string
  session: ConnectionSession
  /** Comma-separated; null: the default ones are listed, and all can be called. */
  toolsets: string | null
  within_ms: number
  warn: (line: string) => void
  stopped: Promise<unknown>
  fetch: Fetch
}

/**
 * Serves MCP on standard input and output for a remote daemon.
 * @throws {Error} no daemon answers at the URL
 * @throws {RangeError} a toolset is unknown
 */
export async function serveMcpFor(it: RemoteDeps): Promise<void> {
  const { url, key, session, toolsets, fetch, warn, stopped } = it
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
  await serveMcpStdio({ document, callApi, session, toolsets, warn, stopped })
}

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
