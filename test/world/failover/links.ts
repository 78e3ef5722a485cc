import { connect, createServer, type Socket } from 'node:net'

import { freePort } from '../../support/port.ts'

/** A TCP link to a port of this machine that delays every byte, and can be cut without either end learning of it. */
export type Link = AsyncDisposable & {
  port: number
  /** Drops all bytes from now on, in both directions. */
  cut(): void
  /** Closes the connections of the cut, and passes new ones. */
  heal(): void
  /**
   * Keeps the answers of connections that begin from now on, so that their handshakes stay half done. `begun`: how many
   * of them have asked for something.
   */
  hold(): { begun(): number; passNew(): void; release(): void }
}

/** Connections whose answers are kept; null once they were released. */
type Held = { begun: number; answers: (() => void)[] | null }

/** Opens a link; `delay_ms` applies in each direction. */
export function openLink(to: number, delay_ms = 0, hostname = '127.0.0.1'): Link {
  let is_cut = false
  let held: Held | null = null
  const open = new Set<Socket>()
  const pass = (from: Socket, into: Socket, keep: Held | null) => {
    from.on('data', (bytes) => {
      if (is_cut) return
      if (keep?.answers != null) return void keep.answers.push(() => into.write(bytes))
      if (delay_ms === 0) into.write(bytes)
      else setTimeout(() => !is_cut && into.writable && into.write(bytes), delay_ms)
    })
    from.on('error', () => into.destroy())
    from.on('close', () => {
      open.delete(from)
      if (!is_cut) setTimeout(() => into.destroy(), delay_ms)
    })
  }
  const server = createServer((near) => {
    open.add(near)
    // A cut network answers no handshake either; here the kernel does, and nothing follows.
    if (is_cut) return void near.on('error', () => {})
    const far = connect({ host: '127.0.0.1', port: to })
    open.add(far)
    const keep = held
    if (keep !== null) near.once('data', () => keep.begun++)
    pass(near, far, null)
    pass(far, near, keep)
  })
  const port = freePort(hostname)
  server.listen(port, hostname)
  const closeAll = () => {
    for (const it of open) it.destroy()
    open.clear()
  }
  return {
    port,
    cut: () => (is_cut = true),
    heal() {
      is_cut = false
      closeAll()
    },
    hold() {
      const kept: Held = { begun: 0, answers: [] }
      held = kept
      const passNew = () => {
        if (held === kept) held = null
      }
      return {
        begun: () => kept.begun,
        passNew,
        release() {
          passNew()
          for (const write of kept.answers ?? []) write()
          kept.answers = null
        },
      }
    },
    async [Symbol.asyncDispose]() {
      closeAll()
      const closed = new Promise((resolve) => server.close(resolve))
      await closed
    },
  }
}
