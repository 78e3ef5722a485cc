import { join } from 'node:path'

import * as z from 'zod'

import { program } from './children.ts'

const summary = z.object({
  requests: z.number(),
  us: z.number(),
  p50_us: z.number(),
  p99_us: z.number(),
  failed: z.number(),
})

export type Load = { per_s: number; p50_ms: number; p99_ms: number; requests: number }

/** wrk script. `{n}` in a path is replaced by another number for each request, from 0 to 999. */
const script = (path: string, key: string | null) => `
local n, headers = 0, {}
${key === null ? '' : `headers["authorization"] = "Bearer ${key}"`}
local requests = {}
init = function()
  for i = 0, 999 do requests[i] = wrk.format("GET", (string.gsub("${path}", "{n}", tostring(i))), headers) end
end
request = function() n = n + 1; return requests[n % 1000] end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"us":%d,"p50_us":%d,"p99_us":%d,"failed":%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end`

/**
 * Requests a path continuously through 16 keep-alive connections.
 *
 * @throws {Error} if a response is not 200
 */
export async function load(
  { url, path, key = null }: { url: string; path: string; key?: string | null },
  { seconds, folder }: { seconds: number; folder: string },
): Promise<Load> {
  const lua = join(folder, 'load.lua')
  await Bun.write(lua, script(path, key))
  const child = Bun.spawn(
    [program('wrk', 'wrk'), '-t1', '-c16', `-d${seconds}s`, '-s', lua, `${url}/`],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const text = await new Response(child.stdout).text()
  const line = text.split('\n').find((it) => it.startsWith('{'))
  if (line === undefined) throw new Error(`wrk printed no result for ${url}${path}:\n${text}`)
  const { requests, us, p50_us, p99_us, failed } = summary.parse(JSON.parse(line))
  if (failed > 0 || requests === 0)
    throw new Error(`${failed} of ${requests} requests to ${url}${path} were not answered by 200`)
  return { requests, per_s: (requests * 1e6) / us, p50_ms: p50_us / 1000, p99_ms: p99_us / 1000 }
}
