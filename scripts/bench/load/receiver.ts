/**
 * Receives deliveries of any sender and records the time from commit to arrival. The body contains the commit's
 * time on the monotonic clock, which all processes of a machine share. GET returns the deliveries since the
 * previous GET.
 */
import { monotonicMs } from '../figures/monotonic.ts'

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
    // A repeated delivery counts with its first arrival.
    if (id !== undefined && !ids.has(id)) {
      ids.add(id)
      late_ms.push(now - Number(AT.exec(text)?.[1]))
    }
    return new Response()
  },
})
console.log(server.url.origin)
