import type { Post } from './items.ts'

/** By what the rows of a page may be sorted. */
export const SORT_TYPES = ['score', 'num_comments', 'created'] as const
type SortType = (typeof SORT_TYPES)[number]

/** What a caller wants to keep of a page of posts, and in which order. What is left out asks for nothing. */
export type PageFilter = {
  min_score?: number | undefined
  max_score?: number | undefined
  min_comments?: number | undefined
  max_comments?: number | undefined
  is_video?: boolean | undefined
  is_self?: boolean | undefined
  over_18?: boolean | undefined
  locked?: boolean | undefined
  stickied?: boolean | undefined
  spoiler?: boolean | undefined
  contest_mode?: boolean | undefined
  sort_type?: SortType | undefined
}

const FLAGS = [
  'is_video',
  'is_self',
  'over_18',
  'locked',
  'stickied',
  'spoiler',
  'contest_mode',
] as const

const RANK: Record<SortType, (post: Post) => number> = {
  score: (post) => post.upvotes,
  num_comments: (post) => post.comments,
  created: (post) => post.created_utc,
}

/** Whether the filter asks for anything at all. */
export const asksForSomething = (filter: PageFilter): boolean =>
  Object.values(filter).some((wish) => wish !== undefined)

/** The posts of a page that the filter keeps; highest first when it names an order, else in the page's own. */
export function filterPage(filter: PageFilter, posts: readonly Post[]): Post[] {
  const kept = posts.filter(
    (post) =>
      within(post.upvotes, filter.min_score, filter.max_score) &&
      within(post.comments, filter.min_comments, filter.max_comments) &&
      FLAGS.every((flag) => filter[flag] === undefined || filter[flag] === (post[flag] ?? false)),
  )
  const rank = filter.sort_type === undefined ? null : RANK[filter.sort_type]
  return rank === null ? kept : kept.toSorted((a, b) => rank(b) - rank(a))
}

const within = (value: number, min: number | undefined, max: number | undefined): boolean =>
  value >= (min ?? -Infinity) && value <= (max ?? Infinity)
