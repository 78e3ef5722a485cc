// The plan that every sender runs, forumd and the peers.
import { createHmac } from 'node:crypto'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

/** Maximum attempts in flight, and number of targets. */
export const CONCURRENCY = 64
export const TARGETS = 16
/** Rows of one page of the platform; a poll commits them together. */
const BATCH = 100

const TEXT = 'The bakery behind the station opens at six, and by seven the good bread is gone. '

/**
 * A matched post in its wire format, about 900 bytes, with its id and the time its commit began.
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
 * The headers of a delivery, signed in forumd's formats.
 *
 * @param {Uint8Array} key
 * @param {string} id
 * @param {string} text
 */
export function signedHeaders(key, id, text) {
  const at = Math.floor(Date.now() / 1000)
  const ours = createHmac('sha256', key).update(`${at}.`).update(text).digest('hex')
  const standard = createHmac('sha256', key).update(`${id}.${at}.`).update(text).digest('base64')
  return {
    'content-type': 'application/json',
    'x-service-signature': `t=${at},v1=${ours}`,
    'x-service-timestamp': String(at),
    'x-service-delivery-id': id,
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,${standard}`,
  }
}

/**
 * The mapping of a post of the platform's page that a hand-written gateway has.
 *
 * @param {string} platform
 */
export const mappingOf =
  (platform) =>
  (/** @type {{ data: any }} */ { data }) => ({
    id: data.id,
    name: data.name,
    title: data.title,
    author: data.author,
    subforum: data.subreddit,
    permalink: data.permalink,
    url: `${platform}${data.permalink}`,
    upvotes: data.score,
    comments: data.num_comments,
    created: new Date(data.created_utc * 1000).toISOString(),
    created_utc: data.created_utc,
    text: data.selftext ?? '',
    link_url: data.is_self ? null : data.url,
    upvote_ratio: data.upvote_ratio,
    over_18: data.over_18 === true,
    spoiler: data.spoiler === true,
    locked: data.locked === true,
    flair: data.link_flair_text ?? null,
    thumbnail: data.thumbnail ?? null,
  })

/**
 * `count` matches as fast as possible (`per_second` 0), or at a fixed rate, one by one.
 *
 * @param {string} json
 */
export function planOf(json) {
  /** @type {{ receiver: string, count: number, per_second: number }} */
  const { receiver, count, per_second } = JSON.parse(json)
  return {
    receiver,
    /**
     * Measures from the start of the first commit to the last record. `commit` makes matches of these numbers
     * durable; `recorded` returns true if none is pending.
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
          // A late commit must not delay the next one.
          void commit([n])
          if (n % 10 === 0) await turn()
        }
      while (!(await recorded())) await sleep(5)
      return { took_ms: now_ms() - began }
    },
  }
}
