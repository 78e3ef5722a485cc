import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

import { version } from '../../package.json'
import type { Ask, HeldSession } from './call.ts'
import { createServer } from './server.ts'
import { toolsOf } from './tools.ts'

const MESSAGE_BYTES_MAX = 1024 * 1024

/**
 * Speaks MCP over standard input and output until the other end closes it or `stopped` resolves. `document` is that of
 * the service behind `ask`.
 */
export async function serveMcpStdio(it: {
  document: unknown
  ask: Ask
  session: HeldSession
  /** Hears what could not be read, for standard error: standard output is the protocol's. */
  warn: (line: string) => void
  stopped: Promise<unknown>
}): Promise<void> {
  const { document, ask, session, warn, stopped } = it
  const { tools } = toolsOf(document)
  const server = createServer({ version, tools, ask, session })
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
