import {
  Client as ModernClient,
  type ClientOptions,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import * as z from 'zod'

/** The client of the SDK 1.x, of revisions up to 2025-11-25, connected. */
export async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  return client
}

/** Same over HTTP, with a key. */
export const connectedTo = (url: string, key: string, headers: Record<string, string> = {}) =>
  connected(
    // The SDK's own type is less strict.
    asTransport(
      new StreamableHTTPClientTransport(new URL('/mcp?toolsets=all', url), {
        requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
      }),
    ),
  )

const asTransport = (it: StreamableHTTPClientTransport): Transport =>
  z.custom<Transport>((one) => one instanceof StreamableHTTPClientTransport).parse(it)

/** A client of revision 2026-07-28 over HTTP, with a key. `prepare` runs before it connects. */
export async function modernTo(
  url: string,
  key: string,
  {
    headers = {},
    prepare,
    ...options
  }: ClientOptions & {
    headers?: Record<string, string>
    prepare?: (client: ModernClient) => void
  } = {},
): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } }, ...options },
  )
  prepare?.(client)
  await client.connect(
    new ModernTransport(new URL('/mcp?toolsets=all', url), {
      requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
    }),
  )
  return client
}

const resultShape = z.looseObject({
  isError: z.boolean().default(false),
  content: z.array(z.looseObject({ type: z.literal('text'), text: z.string() })),
  structuredContent: z.looseObject({}).optional(),
  _meta: z.looseObject({}).optional(),
})

/** Answer of a tool. */
export async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError, content, structuredContent, _meta } = resultShape.parse(
    await client.callTool({ name, arguments: args }),
  )
  return { isError, text: content[0]?.text ?? '', structured: structuredContent, meta: _meta ?? {} }
}

export type Body = string | Uint8Array<ArrayBuffer>

/** Posts a raw message. */
export async function post(
  url: string,
  key: string | null,
  body: Body,
  headers: Record<string, string> = {},
  query = '',
) {
  const answer = await fetch(`${url}/mcp${query}`, {
    method: 'POST',
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  })
  const text = await answer.text()
  // A subscription is answered as one event.
  const json = text.startsWith('event:') ? text.slice(text.indexOf('{')) : text
  const payload: unknown = json === '' ? null : JSON.parse(json)
  return {
    status: answer.status,
    headers: answer.headers,
    body: z.looseObject({}).nullable().parse(payload),
  }
}
