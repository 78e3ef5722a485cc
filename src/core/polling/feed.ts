import { HOME } from '../forum/items.ts'

export const FEED_KINDS = [
  'posts',
  'comments',
  'search',
  'thread',
  'user_posts',
  'user_comments',
  'all',
] as const
export type FeedKind = (typeof FEED_KINDS)[number]

/**
 * The subject of a poll: a listing of a place of a source, or all items of a source. In the second case `place` is the name of
 * the source; sources that poll each feed alone append a slash and the name of the feed. Source absent: the first.
 */
export type WatchedFeed = { source?: string | undefined; kind: FeedKind; place: string }

export const sourceOf = ({ source = HOME, kind, place }: WatchedFeed): string =>
  kind === 'all' ? (place.split('/')[0] ?? place) : source

/** One key for all monitors that watch the same feed. */
export function feedKey({ source = HOME, kind, place }: WatchedFeed): string {
  const key = `${kind}:${kind === 'search' ? place : place.toLowerCase()}`
  return source === HOME || kind === 'all' ? key : `${source}/${key}`
}

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
