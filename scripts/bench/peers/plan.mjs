// What each sender is put through, the same for all: ours and the peers.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

/** Attempts on their way at once, and targets they are spread over. */
export const CONCURRENCY = 64
export const TARGETS = 16
/** As many as a page of the platform has; a check commits them together. */
const BATCH = 100

const TEXT = 'The bakery behind the station opens at six, and by seven the good bread is gone. '

/**
 * A matched post as it travels, some 900 bytes, with who it is and when its commit began.
 *
 * @param {number} n
 * @param {number} at
 */
export const itemOf = (n, at) => ({
  id: `p${n}`,
  name: `t3_p${n}`,
  title: 'Where do you buy your bread?',
  author: 'ann',
  subforum: 'cats',
  permalink: `/r/cats/comments/p${n}/where_do_you_buy_your_bread/`,
  url: `https://forum.example/r/cats/comments/p${n}/where_do_you_buy_your_bread/`,
  upvotes: 12,
  comments: 3,
  created: '2026-11-20T10:00:00.000Z',
  text: TEXT.repeat(5),
  enrichment: {
    relevance: {
      score: 1,
      matched_terms: ['bread'],
      considered_terms: 1,
      method: 'keyword_match_heuristic',
    },
    intent: { tag: 'question', method: 'rule_based_heuristic' },
  },
  bench_id: `p${n}`,
  bench_at: at,
})

/**
 * `count` matches as fast as they go (`per_second` 0), or so many a second, one by one.
 *
 * @param {string} json
 */
export function planOf(json) {
  /** @type {{ receiver: string, count: number, per_second: number }} */
  const { receiver, count, per_second } = JSON.parse(json)
  return {
    receiver,
    /**
     * Takes from the first commit's beginning to the last record's end. `commit` makes matches of these numbers
     * durable; `recorded` tells whether none waits any more.
     *
     * @param {{
     *   commit: (numbers: number[]) => unknown,
     *   now_ms: () => number,
     *   recorded: () => boolean | Promise<boolean>,
     * }} sender
     */
    async run({ commit, now_ms, recorded }) {
      const began = now_ms()
      if (per_second === 0)
        for (let n = 0; n < count; n += BATCH) {
          await commit(Array.from({ length: Math.min(BATCH, count - n) }, (_, at) => n + at))
          await turn()
        }
      else
        for (let n = 0; n < count; n++) {
          const wait_ms = began + (n * 1000) / per_second - now_ms()
          if (wait_ms > 0.5) await sleep(wait_ms)
          // A commit that is late must not make the next one wait for it.
          void commit([n])
          if (n % 10 === 0) await turn()
        }
      while (!(await recorded())) await sleep(5)
      return { took_ms: now_ms() - began }
    },
  }
}
