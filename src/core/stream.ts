/** What is watched: a place's posts or comments, a search, the comments of a post, what a person writes. */
export const STREAM_KINDS = [
  'posts',
  'comments',
  'search',
  'thread',
  'user_posts',
  'user_comments',
] as const
export type StreamKind = (typeof STREAM_KINDS)[number]

/** One key for all monitors that watch the same feed. */
export const streamKey = ({ kind, place }: { kind: StreamKind; place: string }): string =>
  `${kind}:${kind === 'search' ? place : place.toLowerCase()}`

/** When a stream is due next. Each has its own phase, so that they do not all ask in the same second. */
export function nextDueAt(key: string, interval_ms: number, now: number): number {
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
