import { type Bench, ratioOf } from './figures/results.ts'
import { temporaryFolder } from './load/children.ts'
import {
  installPeers,
  makeInstance,
  startForumd,
  startPeer,
  startUpstream,
} from './load/fixture.ts'
import { ifHere, inTurns, loopRatio, type Served } from './load/load-in-turns.ts'
import { startNginx } from './load/proxies.ts'

/** A subforum for each number, so that no two reads in flight are identical. */
const PATH = '/api/forum/posts?subforum=place{n}'
const [OURS, NGINX, FASTIFY] = ['forumd', 'nginx proxy_pass', 'Fastify + undici'] as const

export const gateway: Bench = {
  name: 'gateway',
  title: 'Gateway: a listing of 25 posts that is not cached',
  about:
    'Through 16 connections (wrk), the upstream on the loopback, every read of another subforum. forumd authenticates, holds the price durably, fetches, maps, bills durably and answers. nginx proxies the bytes with one worker. Fastify and undici under Node are a typical hand-written service: a key lookup, one durable transaction for the price, the same mapping.',
  async run(options) {
    await using stack = new AsyncDisposableStack()
    const folder = (): string => stack.use(temporaryFolder()).path
    const notes: string[] = []
    installPeers()
    const upstream = stack.use(await startUpstream())
    const dir = folder()
    const key = makeInstance(dir)
    const forumd = stack.use(await startForumd(dir, { platform_url: upstream.url }))
    const served: Served[] = [{ name: OURS, url: forumd.url, path: PATH, key, pid: forumd.pid }]
    const nginx = await ifHere(notes, () => startNginx(folder(), upstream.url, false))
    if (nginx !== null) {
      stack.use(nginx)
      served.unshift({ name: NGINX, url: nginx.url, path: '/place{n}', pid: nginx.pid })
    }
    const fastify = stack.use(await startPeer('gateway', [upstream.url, folder(), key]))
    served.push({ name: FASTIFY, url: fastify.ready_line, path: PATH, key, pid: fastify.pid })

    const { figures, variants } = await inTurns(served, options)
    return {
      figures,
      variants,
      ratios: [
        ratioOf(variants, 'per_s', [OURS, FASTIFY], { label: 'requests/s to Fastify', least: 2 }),
        ratioOf(variants, 'p99_ms', [OURS, FASTIFY], { label: 'p99 to Fastify', most: 1 }),
        ratioOf(variants, 'per_s', [OURS, NGINX], { label: 'requests/s to nginx' }),
        ratioOf(variants, 'p99_ms', [OURS, NGINX], { label: 'p99 to nginx' }),
        await loopRatio(forumd.url),
      ].filter(({ value }) => Number.isFinite(value)),
      notes: [...notes, `A page of the upstream has ${upstream.bytes} bytes.`],
    }
  },
}
