export const FEED_KINDS = [
  'posts',
  'comments',
  'search',
  'thread',
  'user_posts',
  'user_comments',
  'stream',
] as const
export type FeedKind = (typeof FEED_KINDS)[number]

/** One key for all monitors that watch the same feed. */
export const feedKey = ({ kind, place }: { kind: FeedKind; place: string }): string =>
  `${kind}:${kind === 'search' ? place : place.toLowerCase()}`

/** Next due time of a feed. Each key has its own phase, so that feeds are not all due in the same second. */
export function nextPollAt(key: string, interval_ms: number, now: number): number {
  const phase = hash(key) % interval_ms
  return Math.floor((now - phase) / interval_ms) * interval_ms + phase + interval_ms
}

// FNV-1a: spreads keys that differ in their last letter.
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++)
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0
  return value
}
