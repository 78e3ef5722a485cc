/**
 * Takes what is sent and notes how long after its commit it came, for anybody: the body tells when that was, by the
 * clock that only grows and that all processes of a machine share. GET tells what came since it was last asked.
 */
import { monotonicMs } from './monotonic.ts'

const AT = /"bench_at":([\d.]+)/
const ID = /"bench_id":"([^"]+)"/
let late_ms: number[] = []
let ids = new Set<string>()

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    if (request.method === 'GET') {
      const report = { late_ms, count: ids.size }
      late_ms = []
      ids = new Set()
      return Response.json(report)
    }
    const text = await request.text()
    const now = monotonicMs()
    const id = ID.exec(text)?.[1]
    // What is sent again came when it came first.
    if (id !== undefined && !ids.has(id)) {
      ids.add(id)
      late_ms.push(now - Number(AT.exec(text)?.[1]))
    }
    return new Response()
  },
})
console.log(server.url.origin)
