import type { SandboxPost, Thing } from './model.ts'

/** Sort orders of posts. */
export const POST_SORTS = ['hot', 'new', 'top', 'rising', 'controversial', 'best'] as const
export type PostSort = (typeof POST_SORTS)[number]

const DAY_S = 86_400
const TIME_RANGES_S: Record<string, number> = {
  hour: 3_600,
  day: DAY_S,
  week: 7 * DAY_S,
  month: 30 * DAY_S,
  year: 365 * DAY_S,
  all: Infinity,
}

/** Time range of `t` in seconds; an unknown word means the default, as on the platform. */
export const timeRangeSeconds = (t: string | null, usual: 'day' | 'all' = 'day'): number =>
  TIME_RANGES_S[t ?? usual] ?? TIME_RANGES_S[usual] ?? Infinity

// The platform's own formula: 12.5 hours are worth a tenfold score.
const HOT_EPOCH_S = 1_134_028_003
const HOT_SCALE_S = 45_000

const score = ({ ups, downs }: Thing) => ups - downs

/** Decreases with age, increases with the logarithm of the score. */
export function hot(thing: Thing): number {
  const points = score(thing)
  const order = Math.log10(Math.max(Math.abs(points), 1))
  return Math.sign(points) * order + (thing.created_s - HOT_EPOCH_S) / HOT_SCALE_S
}

/** High for many votes with little agreement. */
export function controversy({ ups, downs }: Thing): number {
  if (ups <= 0 || downs <= 0) return 0
  const balance = ups > downs ? downs / ups : ups / downs
  return (ups + downs) ** balance
}

/** Lower bound of the Wilson interval of a comment's votes. */
export function confidence({ ups, downs }: Thing): number {
  const votes = ups + downs
  if (votes === 0) return 0
  const z = 1.281551565545
  const p = ups / votes
  const left = p + (z * z) / (2 * votes)
  const right = z * Math.sqrt((p * (1 - p)) / votes + (z * z) / (4 * votes * votes))
  return (left - right) / (1 + (z * z) / votes)
}

/** Sorts `things` by a measure, highest first; ties newest first. */
export function rankBy<T extends Thing>(things: readonly T[], measure: (thing: T) => number): T[] {
  return things
    .map((thing): [number, T] => [measure(thing), thing])
    .toSorted(([one, a], [other, b]) => other - one || b.serial - a.serial)
    .map(([, thing]) => thing)
}

/** Posts in the order of a sort other than `new`. */
export function rank(
  posts: readonly SandboxPost[],
  sort: PostSort,
  t: string | null,
  now_s: number,
) {
  const within = (seconds: number) => posts.filter((it) => it.created_s > now_s - seconds)
  switch (sort) {
    case 'new':
      return rankBy(posts, (it) => it.created_s)
    case 'hot':
    case 'best':
      return rankBy(posts, hot)
    case 'top':
      return rankBy(within(timeRangeSeconds(t)), score)
    case 'controversial':
      return rankBy(within(timeRangeSeconds(t)), controversy)
    case 'rising':
      return rankBy(
        within(DAY_S),
        (it) => (score(it) + it.comment_count) / (now_s - it.created_s + 7_200),
      )
  }
}
