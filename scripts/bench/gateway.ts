import { type Bench, ratioOf } from './figures/results.ts'
import { temporaryFolder } from './load/children.ts'
import {
  installPeers,
  makeInstance,
  startFloor,
  startForumd,
  startPeer,
  startUpstream,
} from './load/fixture.ts'
import { ifHere, inTurns, loopRatio, type Served } from './load/load-in-turns.ts'
import { startNginx } from './load/proxies.ts'

/** A subforum for each number, so that no two reads in flight are identical. */
const PATH = '/api/forum/posts?subforum=place{n}'
const [OURS, FLOOR, NGINX, FASTIFY] = [
  'forumd',
  'smallest Bun server',
  'nginx proxy_pass',
  'Fastify + undici',
] as const

export const gateway: Bench = {
  name: 'gateway',
  title: 'Gateway: a listing of 25 posts that is not cached',
  about:
    'Through 16 connections (wrk), the upstream on the loopback, every read of another subforum. forumd authenticates, holds the price durably, fetches, maps, bills durably and answers. nginx proxies the bytes with one worker. Fastify and undici under Node are a typical hand-written service: a key lookup, one durable transaction for the price, the same mapping. The smallest Bun server shows the floor: the work of the Fastify server, with the price committed for all calls of an iteration of the event loop.',
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
    const floor = stack.use(await startFloor('fetched', [upstream.url, folder(), key]))
    served.push({ name: FLOOR, url: floor.ready_line, path: PATH, key, pid: floor.pid })
    served.push({ name: FASTIFY, url: fastify.ready_line, path: PATH, key, pid: fastify.pid })

    const { figures, variants } = await inTurns(served, options)
    return {
      figures,
      variants,
      ratios: [
        ratioOf(variants, 'per_s', [OURS, FASTIFY], { label: 'requests/s to Fastify', least: 2 }),
        ratioOf(variants, 'p99_ms', [OURS, FASTIFY], { label: 'p99 to Fastify', most: 1 }),
        ratioOf(variants, 'per_s', [FLOOR, FASTIFY], { label: 'of the floor to Fastify' }),
        ratioOf(variants, 'per_s', [OURS, FLOOR], { label: 'requests/s to the floor' }),
        ratioOf(variants, 'per_s', [OURS, NGINX], { label: 'requests/s to nginx' }),
        ratioOf(variants, 'p99_ms', [OURS, NGINX], { label: 'p99 to nginx' }),
        await loopRatio(forumd.url),
      ].filter(({ value }) => Number.isFinite(value)),
      notes: [...notes, `A page of the upstream has ${upstream.bytes} bytes.`],
    }
  },
}
