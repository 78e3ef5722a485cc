import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import * as z from 'zod'

import { version as forumd_version } from '../../package.json'
import { type ApiCall, callTool, type ConnectionSession } from './call.ts'
import { INSTRUCTIONS } from './tool-descriptions.ts'
import { type Tool, toolsOf } from './tools.ts'

export type ServerDeps = {
  version: string
  tools: readonly Tool[]
  /** The answer to tools/list; default: `tools` without their routes. */
  listed?: readonly PublicTool[]
  callApi: ApiCall
  session: ConnectionSession
}

/** A tool as clients see it. */
type PublicTool = Omit<Tool, 'route'>

function withoutRoute(tool: Tool): PublicTool {
  const { route: _, ...public_tool } = tool
  return public_tool
}

/** Shared: a server makes one of its own otherwise, which takes half of the time of a small call. */
const validator = new AjvJsonSchemaValidator()

/**
 * Creates the MCP server of one connection. Its tools call the API with the connection's key.
 *
 * @throws {McpError} a request names an unknown tool
 */
export function createServer(deps: ServerDeps): Server {
  const { version, tools, callApi, session } = deps
  const server = new Server(
    { name: 'forumd', title: 'forumd', version },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      jsonSchemaValidator: validator,
    },
  )
  const listed = [...(deps.listed ?? tools.map(withoutRoute))]
  const tools_by_name = new Map(tools.map((tool) => [tool.name, tool]))
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const tool = tools_by_name.get(params.name)
    if (tool) return callTool(tool, params.arguments ?? {}, { callApi, session, signal })
    throw new McpError(
      ErrorCode.InvalidParams,
      `unknown tool ${params.name.slice(0, 128)}; tools/list returns the available tools`,
    )
  })
  return server
}

/** One parsed message received over HTTP, with its API client. */
export type JsonRpcMessage = {
  request: Request
  message: unknown
  callApi: ApiCall
  session: ConnectionSession
}

const cancellation_shape = z.looseObject({ method: z.literal('notifications/cancelled') })

/** Removes cancellations: a stateless request has no earlier call to cancel, and the transport would wait for a reply. */
const dropCancellations = (message: unknown): unknown =>
  Array.isArray(message)
    ? message.filter((it: unknown) => !cancellation_shape.safeParse(it).success)
    : message

const list_shape = z.looseObject({ method: z.literal('tools/list') })
const isList = (message: unknown): boolean => list_shape.safeParse(message).success
/** An empty list in the SDK's answer. No id can contain it: the quotes of a string are escaped. */
const EMPTY_LIST = '"tools":[]'
/** Maximum messages of a batch, which only protocol versions before 2025-06-18 have. */
const BATCH_MAX = 20
/** Upper estimate of a typical result, in bytes. */
const RESULT_BYTES = 64 * 1024

/** The reason to reject a message, or the estimated bytes of its response. */
type Assessment = { refusal: string } | { refusal: null; bytes: number }

type McpHttp = {
  answer(it: JsonRpcMessage): Promise<Response>
  assess(message: unknown): Assessment
}

/**
 * Creates a stateless handler of MCP's streamable HTTP. Without sessions there is none to guess, steal or exhaust, and a
 * restart of the daemon does not interrupt clients. `document` is the service's own OpenAPI document.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http
 */
export function createMcpHttp(document: unknown): McpHttp {
  const { tools } = toolsOf(document)
  const all = tools.map(withoutRoute)
  // Serialised once: the list is the same for all, and far larger than any other answer.
  const list = Buffer.from(`"tools":${JSON.stringify(all)}`)

  async function answer(it: JsonRpcMessage): Promise<Response> {
    if (!isList(it.message)) return send(it, all)
    const answered = await send(it, [])
    const { status, headers } = answered
    const text = await answered.text()
    const [before, after] = text.split(EMPTY_LIST)
    // An error has no list.
    const has_list = before !== undefined && after !== undefined
    const body = has_list ? Buffer.concat([Buffer.from(before), list, Buffer.from(after)]) : text
    return new Response(body, { status, headers })
  }

  async function send(
    { request, message, callApi, session }: JsonRpcMessage,
    listed: readonly PublicTool[],
  ): Promise<Response> {
    const server = createServer({ version: forumd_version, tools, listed, callApi, session })
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    // Cancels the API calls of a client that disconnected.
    const leave = () => void server.close()
    request.signal.addEventListener('abort', leave, { once: true })
    try {
      return await transport.handleRequest(request, { parsedBody: dropCancellations(message) })
    } finally {
      request.signal.removeEventListener('abort', leave)
      await server.close()
    }
  }

  function assess(message: unknown): Assessment {
    const messages: unknown[] = Array.isArray(message) ? message : [message]
    const lists = messages.filter(isList).length
    if (messages.length > BATCH_MAX)
      return {
        refusal: `a batch may have at most ${BATCH_MAX} messages, this one has ${messages.length}`,
      }
    if (lists > 1)
      return { refusal: `a batch may have tools/list once, this one has it ${lists} times` }
    return { refusal: null, bytes: lists * list.length + messages.length * RESULT_BYTES }
  }

  return { answer, assess }
}
