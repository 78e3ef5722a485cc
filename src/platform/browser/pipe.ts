import type { Readable, Writable } from 'node:stream'

import type { ConnectionTransport } from 'puppeteer-core'

const END = 0

/** The browser's own pipe as what puppeteer speaks through: messages of JSON, a zero byte after each. */
export function overPipe(write: Writable, read: Readable): ConnectionTransport {
  let held: Uint8Array[] = []
  const decoder = new TextDecoder()

  const transport: ConnectionTransport = {
    send(message) {
      write.write(`${message}\0`)
    },
    close() {
      write.destroy()
      read.destroy()
    },
  }

  function take(chunk: Uint8Array) {
    let from = 0
    for (let end = chunk.indexOf(END); end !== -1; end = chunk.indexOf(END, from)) {
      held.push(chunk.subarray(from, end))
      const message = decoder.decode(held.length === 1 ? held[0] : Buffer.concat(held))
      held = []
      from = end + 1
      // A turn of its own for each: what handles one may be the first to ask for the next.
      setImmediate(() => transport.onmessage?.(message))
    }
    if (from < chunk.length) held.push(chunk.subarray(from))
  }

  let over = false
  const end = () => {
    if (over) return
    over = true
    setImmediate(() => transport.onclose?.())
  }
  read.on('data', take)
  for (const stream of [write, read]) {
    stream.on('close', end)
    // A browser that died is told by its end, not by what became of a write to it.
    stream.on('error', end)
  }
  return transport
}
