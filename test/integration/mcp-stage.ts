import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import * as z from 'zod'

/** The protocol's own client, connected. */
export async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  return client
}

/** The same over HTTP, as the holder of a key. */
export const connectedTo = (url: string, key: string, headers: Record<string, string> = {}) =>
  connected(
    // The library's own type is not as exact as ours.
    asTransport(
      new StreamableHTTPClientTransport(new URL('/mcp', url), {
        requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
      }),
    ),
  )

const asTransport = (it: StreamableHTTPClientTransport): Transport =>
  z.custom<Transport>((one) => one instanceof StreamableHTTPClientTransport).parse(it)

const resultShape = z.looseObject({
  isError: z.boolean().default(false),
  content: z.array(z.looseObject({ type: z.literal('text'), text: z.string() })),
  structuredContent: z.looseObject({}).optional(),
  _meta: z.looseObject({}).optional(),
})

/** What a tool answers. */
export async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError, content, structuredContent, _meta } = resultShape.parse(
    await client.callTool({ name, arguments: args }),
  )
  return { isError, text: content[0]?.text ?? '', told: structuredContent, meta: _meta ?? {} }
}

export type Body = string | Uint8Array<ArrayBuffer>

/** A message as anybody might post it. */
export async function post(
  url: string,
  key: string | null,
  body: Body,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${url}/mcp`, {
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
  const told: unknown = text === '' ? null : JSON.parse(text)
  return {
    status: answer.status,
    headers: answer.headers,
    told: z.looseObject({}).nullable().parse(told),
  }
}
