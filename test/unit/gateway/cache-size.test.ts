import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'

import { jsonResponse, markShared } from '../../../src/api/http/response.ts'
import { createRowMapper } from '../../../src/api/reads/context.ts'
import { ok } from '../../../src/core/base/result.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { createShare } from '../../../src/gateway/cache.ts'
import { fakeClock } from '../../support/clock.ts'
import { aPost } from '../../support/reads.ts'

const MIB = 1024 * 1024
const { posts: mapPosts } = createRowMapper(
  createNaming({ platform: 'forum', community: 'subforum' }),
)

/** Heap in use after garbage collections: one alone leaves what earlier files of this process made. */
async function heap(): Promise<number> {
  for (let times = 0; times < 3; times += 1) {
    await Bun.sleep(0)
    Bun.gc(true)
  }
  return heapStats().heapSize
}

test('all cached answers fit into the cache limit together with their JSON', async () => {
  // Characters with the largest size: two bytes here, three in the answer.
  const posts = Array.from({ length: 25 }, (_, n) => aPost(`${n}`, { text: '猫'.repeat(60_000) }))
  const page = JSON.stringify({ posts })
  const read = createShare(
    fakeClock(() => Promise.resolve()),
    60_000,
  )(
    (query: number) => String(query),
    async () => ok(JSON.parse(page)),
  )
  const before = await heap()

  async function answer(query: number) {
    await read(query)
    const body = read.cached(query)?.().body
    markShared(body)
    jsonResponse(mapPosts(body), {}, (bytes) => new Response(bytes))
  }
  for (let query = 0; query < 12; query++) await answer(query)

  const grown = (await heap()) - before
  expect([read.cached(3), read.cached(4)]).toEqual([null, expect.any(Function)])
  expect(grown).toBeGreaterThan(32 * MIB)
  expect(grown).toBeLessThan(64 * MIB)
})
