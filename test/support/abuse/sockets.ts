import { connect, type Socket } from 'node:net'

/** End of a connection that sent without end. */
export type Ended = { answer: string; sent: number }

const CHUNK = Buffer.alloc(64 * 1024, 'x')

/** Sends a head, then up to `bytes` of body as chunks of chunked encoding or plain, until the other side has enough. */
export function pour(url: string, head: string, bytes: number, chunked: boolean): Promise<Ended> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const socket = connect(Number(port), hostname)
  const piece = chunked
    ? Buffer.concat([Buffer.from(`${CHUNK.length.toString(16)}\r\n`), CHUNK, Buffer.from('\r\n')])
    : CHUNK
  let sent = 0
  let answer = ''
  const pump = () => {
    while (sent < bytes && !socket.destroyed) {
      sent += CHUNK.length
      if (!socket.write(piece)) return
    }
  }
  socket.on('connect', () => {
    socket.write(head)
    pump()
  })
  socket.on('drain', pump)
  // Ignores every answer: only the peer can end this.
  socket.on('data', (data) => (answer += data.toString('latin1')))
  socket.on('error', () => {})
  socket.on('close', () => resolve({ answer, sent }))
  return promise
}

export type Slow = {
  /** Connections closed by the peer so far. */
  closed(): number
  /** Connections opened in total. */
  opened(): number
  end(): void
}

/** Opens so many connections, each of which sends one more byte of a head, or of a body, from time to time. */
export function crawl(url: string, count: number, every_ms: number): Slow {
  const { hostname, port } = new URL(url)
  let [closed, opened] = [0, 0]
  const sockets: Socket[] = []
  for (let n = 0; n < count; n++) {
    const socket = connect(Number(port), hostname)
    socket.on('connect', () => {
      opened += 1
      socket.write('POST /forum/monitor/add HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    })
    socket.on('error', () => {})
    socket.on('close', () => (closed += 1))
    sockets.push(socket)
  }
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, every_ms)
  return {
    closed: () => closed,
    opened: () => opened,
    end() {
      clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}
