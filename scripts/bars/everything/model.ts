import * as z from 'zod'

import type { SeededRandom } from '../../../sandbox/world/random.ts'
import { completionOf } from '../../../test/support/fake-model.ts'

/** Word of a title that the model scores high. */
export const WANTED = 'wanted'

const FAILED_SHARE = 0.02
/** Down for a minute of every seven. */
const OUTAGE_MS = 60_000
const OUTAGE_EVERY_MS = 420_000
const THINKING_MS = [20, 200] as const

const asked = z.object({ messages: z.array(z.object({ content: z.string() })) })

/**
 * A service of a model: it takes a while, fails now and then, is down for a minute of every seven, and scores items high that
 * have the word {@link WANTED}. Once `calm()` is called it fails no longer.
 */
export function startModel(random: SeededRandom) {
  let calls = 0
  let failed = 0
  let is_calm = false
  const judged = new Map<string, number>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      calls++
      const item = asked.parse(await request.json()).messages[1]?.content ?? ''
      await Bun.sleep(random.whole(...THINKING_MS))
      const is_down = performance.now() % OUTAGE_EVERY_MS < OUTAGE_MS
      if (!is_calm && (is_down || random.odds(FAILED_SHARE))) {
        failed++
        return new Response('', { status: 503 })
      }
      judged.set(item, (judged.get(item) ?? 0) + 1)
      return completionOf(
        item.includes(WANTED)
          ? { score: 0.9, reason: 'it is wanted' }
          : { score: 0.1, reason: 'it is not wanted' },
      )
    },
  })
  return {
    base_url: `http://127.0.0.1:${server.port}/v1`,
    /** Calls, failed ones, items that got a verdict, and verdicts that an item got beyond its first. */
    counts: () => ({
      calls,
      failed,
      items: judged.size,
      again: [...judged.values()].reduce((sum, it) => sum + it - 1, 0),
    }),
    calm: () => void (is_calm = true),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
