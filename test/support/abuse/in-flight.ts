import { connect, type Socket } from 'node:net'

import { call, each, type Outcome, type Target } from './target.ts'

const MIB = 1024 * 1024
/** As large as a picture's body may be, nearly. */
const BODY_BYTES = Math.floor(7.9 * MIB)

/** A batch that asks for the list of tools so many times. */
const batchOf = (lists: number): string =>
  JSON.stringify(
    Array.from({ length: lists }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/list',
      params: {},
    })),
  )

/** Opens a connection that sends `text` and never reads an answer. */
function openUnread(url: string, text: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.on('error', () => {})
  socket.on('connect', () => socket.write(text))
  return socket
}

async function holdUnread(url: string, texts: readonly string[], for_ms: number): Promise<Outcome> {
  const sockets = texts.map((text) => openUnread(url, text))
  await Bun.sleep(for_ms)
  for (const socket of sockets) socket.destroy()
  return { requests: texts.length, wrong: [] }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

/** Requests for the document, without a key, sent at once over one connection that never reads. */
export async function pipelineUnread(
  { url }: Target,
  count: number,
  for_ms: number,
): Promise<Outcome> {
  // Only a document that is there already is answered with at once.
  await (await fetch(`${url}/openapi.json`)).arrayBuffer()
  return holdUnread(url, [get('/openapi.json').repeat(count)], for_ms)
}

/** The same over connections of their own. */
export const openUnreadDocuments = (
  { url }: Target,
  count: number,
  for_ms: number,
): Promise<Outcome> =>
  holdUnread(
    url,
    Array.from({ length: count }, () => get('/openapi.json')),
    for_ms,
  )

/** MCP clients that ask for lists of tools, all in one batch, and read none. */
export function leaveMcpUnread(
  { url, key }: Target,
  { clients, lists, for_ms }: { clients: number; lists: number; for_ms: number },
): Promise<Outcome> {
  const body = batchOf(lists)
  const text = [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
  return holdUnread(
    url,
    Array.from({ length: clients }, () => text),
    for_ms,
  )
}

/** MCP clients that each ask for lists of tools, one batch after another, and read every answer. */
export async function sendMcpBatches(
  target: Target,
  {
    clients,
    lists,
    rounds,
    allowed,
  }: {
    clients: number
    lists: number
    rounds: number
    /** The statuses that are right. */
    allowed: readonly number[]
  },
): Promise<Outcome> {
  const body = batchOf(lists)
  const wrong: string[] = []
  const calls = Array.from({ length: clients * rounds }, (_, n) => n)
  await each(calls, { width: clients }, async () => {
    const { status } = await call(target, '/mcp', body, {
      accept: 'application/json, text/event-stream',
    })
    if (!allowed.includes(status)) wrong.push(`${lists} lists: ${status}`)
  })
  return { requests: calls.length, wrong }
}

/** Bodies as large as a picture's, of which none is a picture: refused, by the key or by what they hold. */
export async function sendRefusedBodies(
  target: Target,
  {
    width,
    rounds,
    allowed,
  }: {
    width: number
    rounds: number
    /** The statuses that are right. */
    allowed: readonly number[]
  },
): Promise<Outcome> {
  const body = JSON.stringify({ image: 'x'.repeat(BODY_BYTES) })
  const wrong: string[] = []
  const calls = Array.from({ length: width * rounds }, (_, n) => n)
  await each(calls, { width }, async () => {
    const { status } = await call(target, '/api/forum/profile/avatar', body)
    if (!allowed.includes(status)) wrong.push(`a refused body: ${status}`)
  })
  return { requests: calls.length, wrong }
}
