import { gzipSync } from 'node:zlib'

import type { Step } from './address-cases.ts'
import type { Certificate } from './certificate.ts'

const MIB = 1024 * 1024

/** Speaks the steps of a sequence, one a connection, byte by byte as they are written. */
export function speaker(
  steps: readonly Step[],
  { key, cert }: Certificate,
  { hostname = '127.0.0.1', port = 0 } = {},
) {
  let requests = 0
  let sent = 0
  const server = Bun.listen<{ rest: Uint8Array; again: Uint8Array | null }>({
    hostname,
    port,
    tls: { key, cert },
    socket: {
      open(socket) {
        socket.data = { rest: new Uint8Array(), again: null }
      },
      data(socket) {
        const step = steps[requests++] ?? { status: 200, headers: {} }
        const { first, again } = bytesOf(step)
        socket.data = { rest: first, again }
        flush(socket)
      },
      drain: (socket) => flush(socket),
    },
  })
  function flush(socket: Bun.Socket<{ rest: Uint8Array; again: Uint8Array | null }>) {
    for (;;) {
      const written = socket.write(socket.data.rest)
      sent += Math.max(0, written)
      socket.data.rest = socket.data.rest.subarray(Math.max(0, written))
      if (socket.data.rest.length > 0 || socket.data.again === null) return
      socket.data.rest = socket.data.again
    }
  }
  return {
    port: server.port,
    requests: () => requests,
    sent: () => sent,
    stop: () => server.stop(true),
  }
}

function bytesOf({ status, headers, body, repeat }: Step): {
  first: Uint8Array
  again: Uint8Array | null
} {
  const extra = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} Scripted\r\n${extra.join('')}`
  if (repeat) {
    const interim = Buffer.from(`${head}\r\n`.repeat(100))
    return { first: interim, again: interim }
  }
  if (body?.endsWith('GiB')) {
    const first = Buffer.from(`${head}content-length: ${1024 * MIB}\r\n\r\n`)
    return { first, again: new Uint8Array(MIB) }
  }
  if (body?.endsWith('gzip')) {
    // A member a MiB: together they inflate to what the case asks for.
    const bomb = Buffer.concat(Array.from({ length: 200 }, () => GZIPPED_MIB))
    const first = Buffer.from(`${head}content-length: ${bomb.length}\r\n\r\n`)
    return { first: Buffer.concat([first, bomb]), again: null }
  }
  const upgrade = status === 101 ? 'upgrade: x\r\nconnection: upgrade\r\n' : 'content-length: 0\r\n'
  return { first: Buffer.from(`${head}${upgrade}\r\n`), again: null }
}
const GZIPPED_MIB = gzipSync(new Uint8Array(MIB))
