import { envelope } from '../core/envelope.ts'
import { worded, type Words } from '../core/wire.ts'

/** The monitor that test deliveries name. */
const TEST_MONITOR_ID = 'mon_test'

/** The body of a test delivery: one invented post, complete with enrichment, marked `test`. */
export function sampleBody(delivery_id: string, words: Words, now: number): Uint8Array {
  const created_at = Math.floor(now / 1000) * 1000
  const permalink = '/test/comments/sample1/a_sample_post/'
  const item = worded(words, {
    id: 'sample1',
    name: 't3_sample1',
    title: 'A sample post: if you can read this, your target works',
    author: 'sample_author',
    subforum: 'test',
    permalink,
    url: `https://example.com${permalink}`,
    upvotes: 1,
    comments: 0,
    created: new Date(created_at).toISOString(),
    created_utc: created_at / 1000,
    text: 'This delivery was made by a test. Nothing matched, and nobody wrote this.',
    link_url: null,
    upvote_ratio: 1,
    over_18: false,
    spoiler: false,
    locked: false,
    stickied: false,
    is_self: true,
    is_video: false,
    is_crosspost: false,
    crosspost_origin: null,
    flair: null,
    domain: null,
    media_kind: null,
    thumbnail_url: null,
    edited: false,
    author_info: { fullname: null, flair: null, premium: null },
    kind: 'post',
    enrichment: {
      relevance: {
        score: 1,
        matched_terms: [],
        considered_terms: 0,
        method: 'no_keyword_criteria',
      },
      sentiment: {
        polarity: 0,
        label: 'neutral',
        positive_terms: [],
        negative_terms: [],
        method: 'lexicon_heuristic',
      },
      intent: { tag: 'discussion', method: 'rule_based_heuristic' },
    },
  })
  return envelope({
    delivery_id,
    monitor_id: TEST_MONITOR_ID,
    items: [item],
    grouped: false,
    test: true,
  })
}
