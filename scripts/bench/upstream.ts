/**
 * The platform of the benches, as a process of its own: a page of 25 posts, the same bytes whatever is asked. What is
 * put to `/answer` is what `/answer` answers, with leave to cache it. Prints where it listens.
 */
import { startSandbox } from '../../sandbox/server/sandbox.ts'

const ROWS = 25
/** As much as nobody will ask for: what is measured is not the budget. */
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
