import { connect } from 'node:net'

/** A connection on which bytes are sent as they are; `answer` is all that came back once the other side has closed. */
export function openRaw(url: string) {
  const { hostname, port } = new URL(url)
  const { promise: answer, resolve } = Promise.withResolvers<string>()
  let received = ''
  const socket = connect(Number(port), hostname)
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  // A side that closes while we still write is an answer too.
  socket.on('error', () => {})
  socket.on('close', () => resolve(received))
  return { send: (bytes: string | Uint8Array) => void socket.write(bytes), answer }
}

/** Sends these bytes and reads until the other side closes. What comes back is Latin-1, heads and all. */
export function sendRaw(url: string, bytes: string | Uint8Array): Promise<string> {
  const raw = openRaw(url)
  raw.send(bytes)
  return raw.answer
}

/** The head lines of a request that ends its connection, ready to be sent. */
export const head = (first: string, ...lines: string[]): string =>
  `${[first, ...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`
