import { temporaryFolder } from './children.ts'
import { makeInstance, startForumd, startUpstream } from './fixture.ts'
import { ifHere, inTurns, type Served } from './load-in-turns.ts'
import { startNginx, startVarnish } from './proxies.ts'
import { type Bench, ratioOf } from './results.ts'

const READ = '/api/forum/posts?subforum=cats'
const [OURS, NGINX, VARNISH] = ['forumd', 'nginx proxy_cache', 'varnish'] as const

export const cached: Bench = {
  name: 'cached',
  title: 'Cached reads',
  about:
    'One cached listing, requested repeatedly through 16 connections (wrk). forumd still authenticates, holds and bills every call durably. The proxies cache and send the bytes of forumd’s answer, without authentication; nginx has one worker.',
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
        ratioOf(variants, 'per_s', [OURS, NGINX], { label: 'requests/s to nginx', least: 1 }),
        ratioOf(variants, 'per_s', [OURS, VARNISH], { label: 'requests/s to varnish' }),
      ].filter(({ value }) => Number.isFinite(value)),
      notes: [...notes, `The answer has ${bytes.byteLength} bytes.`],
    }
  },
}
