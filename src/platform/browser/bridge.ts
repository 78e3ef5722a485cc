import { createServer, type Socket } from 'node:net'

import type { ProxyTrouble } from '../../core/outcome.ts'
import { type Dial, isHome } from './dial.ts'
import { answerHead, type Asked, isProxyRefusal, readHead, writeHead } from './heads.ts'
import type { Inside } from './inside.ts'

/** The proxy that the browser of one call goes through: ours, on the loopback, for whoever knows its password. */
export type Bridge = {
  port: number
  username: string
  password: string
  /** Hangs up on every open connection: what comes next comes on a new one. */
  drop(): void
  /** What went wrong on the last try to reach the platform; null when it was reached. */
  trouble(): ProxyTrouble | 'unreached' | null
  close(): void
}

type Options = {
  dial: Dial
  password: string
  /** The platform's own address: only its troubles count. */
  home: URL
  /** Set where TLS to the platform ends here. */
  inside: Inside | null
}

const USERNAME = 'forumd'
const HEAD_MAX = 65_536

const ESTABLISHED = 'HTTP/1.1 200 OK\r\n\r\n'
const FORBIDDEN = answerHead('403 Forbidden')
const UNREACHED = answerHead('502 Bad Gateway')

/**
 * Everything a page loads leaves through here, with or without a proxy behind: one place knows the way out and its
 * credentials, checks where a page wants to go, and tells what failed. Chromium itself knows none of it.
 */
export async function openBridge({ dial, password, home, inside }: Options): Promise<Bridge> {
  const open = new Set<Socket>()
  const closing = new AbortController()
  const wanted = `Basic ${Buffer.from(`${USERNAME}:${password}`).toString('base64')}`
  let trouble: ReturnType<Bridge['trouble']> = null

  const keep = (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
  }

  async function carry(near: Socket, asked: Asked) {
    const is_home = isHome(home, asked.far)
    const dialled = await dial(asked.far, asked.plain !== null, closing.signal)
    if (is_home) trouble = dialled.ok || dialled.why === 'forbidden' ? null : dialled.why
    if (!dialled.ok) {
      // An answer to a plain request would be taken for the host's own.
      if (asked.plain !== null) near.destroy()
      else near.end(dialled.why === 'forbidden' ? FORBIDDEN : UNREACHED)
      return
    }
    const { socket, relay } = dialled
    keep(socket)
    near.once('close', () => socket.destroy())
    if (near.destroyed) {
      socket.destroy()
      return
    }
    if (asked.plain === null) {
      near.write(ESTABLISHED)
      await join(near, socket, is_home ? inside : null)
      return
    }
    socket.write(writeHead(asked.plain, relay))
    if (asked.rest.length > 0) socket.write(asked.rest)
    near.pipe(socket)
    if (relay === null) socket.pipe(near)
    else
      socket.once('data', (first: Uint8Array) => {
        socket.pause()
        // The proxy's refusal of our credentials is ours to tell: the browser would take it for our own question.
        if (isProxyRefusal(Buffer.from(first).toString('latin1'))) {
          if (is_home) trouble = 'denied'
          near.destroy()
          socket.destroy()
          return
        }
        near.write(first)
        socket.pipe(near)
      })
    socket.once('close', () => near.end())
  }

  /** What comes on one side goes to the other, until either ends. */
  async function join(near: Socket, far: Socket, within: Inside | null) {
    far.once('close', () => near.end())
    const ends = within === null ? { near, far } : await within.end(near, far)
    if (ends === null) {
      near.destroy()
      return
    }
    if (within !== null) for (const end of [ends.near, ends.far]) keep(end)
    ends.near.pipe(ends.far)
    ends.far.pipe(ends.near)
  }

  const server = createServer({ noDelay: true }, (near) => {
    keep(near)
    let held = Buffer.alloc(0)
    const take = (chunk: Uint8Array) => {
      held = Buffer.concat([held, chunk])
      const end = held.indexOf('\r\n\r\n')
      if (end === -1) {
        if (held.length > HEAD_MAX) near.destroy()
        return
      }
      near.off('data', take)
      near.pause()
      const head = held.subarray(0, end).toString('latin1')
      const asked = readHead(head, held.subarray(end + 4), wanted)
      if (typeof asked === 'string') near.end(asked)
      else void carry(near, asked)
    }
    near.on('data', take)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the bridge has no port')

  const drop = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: address.port,
    username: USERNAME,
    password,
    drop,
    trouble: () => trouble,
    close() {
      closing.abort()
      server.close()
      drop()
    },
  }
}
