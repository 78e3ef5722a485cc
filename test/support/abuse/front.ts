import type { Socket } from 'bun'

type BufferedData = { bytes: Buffer; rest: Uint8Array }

/** An answer of the front instead of the platform: a raw body and its headers. */
export type Reply = { headers: Record<string, string>; body: Uint8Array; status?: number }

export type Front = AsyncDisposable & {
  url: string
  /** Every request's head, as it stood on the wire, in Latin-1. */
  heads: string[]
  /** Sets the answers by path from now on; null passes the request to the platform. */
  instead: (path: string) => Reply | null
}

const HEAD_END = '\r\n\r\n'

/**
 * Stands before a platform, and keeps what it was sent as bytes, before any parser has made headers of it. One request
 * a connection.
 */
export function startFront(behind: string): Front {
  const heads: string[] = []
  const server = Bun.listen<BufferedData>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => void (socket.data = { bytes: Buffer.alloc(0), rest: new Uint8Array() }),
      data(socket, chunk) {
        socket.data.bytes = Buffer.concat([socket.data.bytes, chunk])
        const request = requestIn(socket.data.bytes)
        if (request === null) return
        heads.push(request.head)
        socket.data.bytes = Buffer.alloc(0)
        void answer(request).then((bytes) => {
          socket.data.rest = bytes
          flush(socket)
        })
      },
      drain: flush,
      error: () => {},
    },
  })

  async function answer({ head, body }: { head: string; body: Buffer }): Promise<Uint8Array> {
    const [first = '', ...lines] = head.split('\r\n')
    const [method = '', path = ''] = first.split(' ')
    const own = front.instead(path)
    if (own !== null) return packed(own.status ?? 200, own.headers, own.body)
    const headers = lines.flatMap((line): [string, string][] => {
      const [name = '', ...value] = line.split(':')
      return /^(host|connection|content-length|accept-encoding)$/i.test(name)
        ? []
        : [[name, value.join(':').trim()]]
    })
    const response = await fetch(behind + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    }).catch(() => null)
    if (response === null) return packed(502, {}, new Uint8Array())
    const forwarded = Object.fromEntries(
      [...response.headers].filter(([name]) => /^(content-type|location|x-ratelimit)/.test(name)),
    )
    return packed(response.status, forwarded, new Uint8Array(await response.arrayBuffer()))
  }

  const front: Front = {
    url: `http://127.0.0.1:${server.port}`,
    heads,
    instead: () => null,
    [Symbol.asyncDispose]: () => {
      server.stop(true)
      return Promise.resolve()
    },
  }
  return front
}

function flush(socket: Socket<BufferedData>) {
  const written = socket.write(socket.data.rest)
  socket.data.rest = socket.data.rest.subarray(Math.max(0, written))
  if (socket.data.rest.length === 0) socket.end()
}

/** A request once all of it is there. */
function requestIn(bytes: Buffer): { head: string; body: Buffer } | null {
  const at = bytes.indexOf(HEAD_END)
  if (at === -1) return null
  const head = bytes.toString('latin1', 0, at)
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  const body = bytes.subarray(at + HEAD_END.length)
  return body.length < length ? null : { head, body }
}

function packed(status: number, headers: Record<string, string>, body: Uint8Array): Uint8Array {
  const lines = Object.entries({
    ...headers,
    'content-length': String(body.length),
    connection: 'close',
  })
  const head = `HTTP/1.1 ${status} Scripted\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}
