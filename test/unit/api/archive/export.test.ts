import { expect, test } from 'bun:test'

import { createExports } from '../../../../src/api/archive/export.ts'
import { ApiError } from '../../../../src/core/base/errors.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import { realClock } from '../../../../src/runtime/runtime.ts'
import { words } from '../../../support/archive.ts'

const PAGES = 100
const PAGE_BYTES = 1_000_000

/** A server of exports over an archive of 100 pages with a megabyte each. */
function serve({ fail_at = Infinity } = {}) {
  let pages = 0
  const exports = createExports(
    {
      words,
      clock: realClock,
      in_flight: {
        holdForRequest: () => {},
        holdForStream: () => ({ release() {} }),
        send: () => new Response(),
      },
    },
    {
      async search() {
        pages += 1
        if (pages === fail_at) throw new Error('the disk is gone')
        await Bun.sleep(0)
        const row = { name: 'x', text: 'a'.repeat(PAGE_BYTES) }
        return { rows: [row], after: pages < PAGES ? 1 : null, scanned: 1, scanned_until: null }
      },
    },
  )
  const selected = {
    from_at: 0,
    to_at: 1,
    scopes: [],
    spec: parseFilterSpec({ q: 'cat' }, words),
  }
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      try {
        return exports.start(request, 'ann', selected, 'ndjson')
      } catch (error) {
        return new Response('', { status: error instanceof ApiError ? error.status : 500 })
      }
    },
  })
  return {
    url: server.url,
    port: server.port ?? 0,
    pages: () => pages,
    stop: () => server.stop(true),
  }
}

/** A connection that sends a request and reads nothing until it is resumed. */
async function connectPaused(port: number) {
  let bytes = 0
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_, data) => void (bytes += data.byteLength),
      open(it) {
        it.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
        it.pause()
      },
    },
  })
  return { socket, bytes: () => bytes }
}

async function until(met: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500 && !(await met()); tries++) await Bun.sleep(10)
}

test('an export reads no further than its client, and goes on with it', async () => {
  const server = serve()
  try {
    const { socket, bytes } = await connectPaused(server.port)
    await until(() => server.pages() > 1)
    await Bun.sleep(300)
    const read = server.pages()
    expect(read).toBeLessThan(PAGES / 4)

    socket.resume()
    await until(() => server.pages() === PAGES && bytes() > PAGES * PAGE_BYTES)
    expect(bytes()).toBeGreaterThan(PAGES * PAGE_BYTES)
    socket.end()
  } finally {
    await server.stop()
  }
}, 20_000)

test('a customer has one export at a time, until its client leaves', async () => {
  const server = serve()
  try {
    const { socket } = await connectPaused(server.port)
    await until(() => server.pages() > 0)
    expect((await fetch(server.url)).status).toBe(429)

    socket.terminate()
    let status = 429
    await until(async () => {
      const response = await fetch(server.url)
      status = response.status
      await response.body?.cancel()
      return status !== 429
    })
    expect(status).toBe(200)
  } finally {
    await server.stop()
  }
}, 20_000)

test('an export that fails cuts the connection, because its end would look complete', async () => {
  const server = serve({ fail_at: 3 })
  try {
    const failed = fetch(server.url).then((it) => it.text())

    expect(failed).rejects.toThrow()
    await failed.catch(() => {})
  } finally {
    await server.stop()
  }
})
