import { type Bench, ratioOf } from './figures/results.ts'
import { temporaryFolder } from './load/children.ts'
import { makeInstance, startFloor, startForumd, startUpstream } from './load/fixture.ts'
import { ifHere, inTurns, loopRatio, type Served } from './load/load-in-turns.ts'
import { startNginx, startVarnish } from './load/proxies.ts'

const READ = '/api/forum/posts?subforum=cats'
const [OURS, FLOOR, NGINX, VARNISH] = [
  'forumd',
  'smallest Bun server',
  'nginx proxy_cache',
  'varnish',
] as const

export const cached: Bench = {
  name: 'cached',
  title: 'Cached reads',
  about:
    'One cached listing, requested repeatedly through 16 connections (wrk). forumd still authenticates, holds and bills every call durably. The proxies cache and send the bytes of forumd’s answer, without authentication; nginx has one worker. The smallest Bun server shows the floor: it finds the key, commits the price with the calls of the same iteration of the event loop, and sends the same bytes.',
  async run(options) {
    await using stack = new AsyncDisposableStack()
    const folder = (): string => stack.use(temporaryFolder()).path
    const notes: string[] = []
    const upstream = stack.use(await startUpstream())
    const dir = folder()
    const key = makeInstance(dir)
    const forumd = stack.use(await startForumd(dir, { platform_url: upstream.url, cache_s: 3600 }))
    const answer = await fetch(forumd.url + READ, { headers: { authorization: `Bearer ${key}` } })
    const bytes = await answer.arrayBuffer()
    await fetch(`${upstream.url}/answer`, { method: 'PUT', body: bytes })

    const served: Served[] = [{ name: OURS, url: forumd.url, path: READ, key, pid: forumd.pid }]
    const floor = stack.use(await startFloor('cached', [upstream.url, folder(), key]))
    served.push({ name: FLOOR, url: floor.ready_line, path: READ, key, pid: floor.pid })
    for (const [name, make] of [
      [NGINX, () => startNginx(folder(), upstream.url, true)],
      [VARNISH, () => startVarnish(folder(), upstream.url)],
    ] as const) {
      const proxy = await ifHere(notes, make)
      if (proxy === null) continue
      stack.use(proxy)
      served.push({ name, url: proxy.url, path: '/answer', pid: proxy.pid })
    }
    const { figures, variants } = await inTurns(served, options)
    return {
      figures,
      variants,
      ratios: [
        ratioOf(variants, 'per_s', [OURS, NGINX], { label: 'requests/s to nginx', least: 0.4 }),
        ratioOf(variants, 'per_s', [FLOOR, NGINX], { label: 'of the floor to nginx' }),
        ratioOf(variants, 'per_s', [OURS, FLOOR], { label: 'requests/s to the floor' }),
        ratioOf(variants, 'per_s', [OURS, VARNISH], { label: 'requests/s to varnish' }),
        await loopRatio(forumd.url),
      ].filter(({ value }) => Number.isFinite(value)),
      notes: [...notes, `The answer has ${bytes.byteLength} bytes.`],
    }
  },
}
