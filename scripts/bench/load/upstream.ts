/**
 * The platform of the benches, in its own process: a page of 25 posts, the same bytes for every request. A body
 * PUT to `/answer` is returned by GET `/answer`, with cache headers. Prints its port.
 */
import { startSandbox } from '../../../sandbox/server/sandbox.ts'

const ROWS = 25
/** Never exhausted: the budget is not measured. */
const RATE = {
  'x-ratelimit-used': '1',
  'x-ratelimit-remaining': '100000000',
  'x-ratelimit-reset': '600',
}
const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' }

async function page(): Promise<Uint8Array<ArrayBuffer>> {
  await using sandbox = await startSandbox({
    port: 0,
    seed: 1,
    speed: 0,
    world: 'seeded',
    now: Date.now,
  })
  const answer = await fetch(`${sandbox.url}/r/all/new.json?limit=${ROWS}&raw_json=1`)
  return new Uint8Array(await answer.arrayBuffer())
}

const listing = await page()
let answer = listing
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  routes: {
    '/answer': {
      GET: () =>
        new Response(answer, {
          headers: { ...JSON_TYPE, 'cache-control': 'public, max-age=3600' },
        }),
      PUT: async (request) => {
        answer = new Uint8Array(await request.arrayBuffer())
        return new Response()
      },
    },
  },
  fetch: () => new Response(listing, { headers: { ...JSON_TYPE, ...RATE } }),
})
console.log(JSON.stringify({ url: server.url.origin, bytes: listing.length }))
