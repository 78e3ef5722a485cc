import { connect } from 'node:net'

/** Sends these bytes and reads until the other side closes. What comes back is Latin-1, heads and all. */
export function sendRaw(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<string>()
  let answer = ''
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
  // A side that closes while we still write is an answer too.
  socket.on('error', () => {})
  socket.on('close', () => resolve(answer))
  return promise
}

/** The head lines of a request that ends its connection, ready to be sent. */
export const head = (first: string, ...lines: string[]): string =>
  `${[first, ...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`
