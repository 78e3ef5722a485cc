import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'

import { type Ask, callTool, type HeldSession } from './call.ts'
import { INSTRUCTIONS } from './told.ts'
import type { Tool } from './tools.ts'

export type ServerDeps = {
  version: string
  tools: readonly Tool[]
  ask: Ask
  session: HeldSession
}

/** What MCP calls a server: the tools of one connection, each call asked of the service as whoever holds its key. */
export function createServer({ version, tools, ask, session }: ServerDeps): Server {
  const server = new Server(
    { name: 'forumd', title: 'forumd', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  const listed = tools.map((tool) => {
    const { route: _, ...told } = tool
    return told
  })
  const named = new Map(tools.map((tool) => [tool.name, tool]))
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const tool = named.get(params.name)
    if (tool) return callTool(tool, params.arguments ?? {}, { ask, session, signal })
    throw new McpError(
      ErrorCode.InvalidParams,
      `there is no tool ${params.name.slice(0, 128)}: tools/list names those there are`,
    )
  })
  return server
}
