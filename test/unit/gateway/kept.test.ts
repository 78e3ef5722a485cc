import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'

import { inOnePiece, lasts } from '../../../src/api/one-piece.ts'
import { createRows } from '../../../src/api/reads/answer.ts'
import { ok } from '../../../src/core/outcome.ts'
import { createWords } from '../../../src/core/wire.ts'
import { createShare } from '../../../src/gateway/cache.ts'
import { fakeClock } from '../../support/clock.ts'
import { aPost } from '../../support/reads.ts'

const MIB = 1024 * 1024
const { posts: dressed } = createRows(createWords({ platform: 'forum', community: 'subforum' }))

/** What is held, once what is no longer needed is gone. */
async function heap(): Promise<number> {
  await Bun.sleep(0)
  Bun.gc(true)
  return heapStats().heapSize
}

test('all that is kept fits into what it may take, with what is made of it to be answered again', async () => {
  // Letters that take most: two bytes here, three in the answer.
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
    const body = read.kept(query)?.().body
    lasts(body)
    inOnePiece(dressed(body), {})
  }
  for (let query = 0; query < 12; query++) await answer(query)

  const grown = (await heap()) - before
  expect([read.kept(3), read.kept(4)]).toEqual([null, expect.any(Function)])
  expect(grown).toBeGreaterThan(32 * MIB)
  expect(grown).toBeLessThan(64 * MIB)
})
