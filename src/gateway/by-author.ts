import type { DeepComment } from './deep-search.ts'

/** What one person said among the comments found. */
export type DeepAuthor = {
  author: string
  comment_count: number
  total_score: number
  /** Where, in the order of their best comments. */
  subforums: string[]
  top_comment: DeepComment
}

/** Stands where an account was deleted: no one person, so no row. */
const NOBODY = '[deleted]'

/** The people behind some comments, given highest score first; those with the highest scores together come first. */
export function byAuthor(comments: readonly DeepComment[]): DeepAuthor[] {
  const authors = new Map<string, DeepAuthor>()
  for (const comment of comments) {
    const { author, score, subforum } = comment
    if (author === NOBODY) continue
    const known = authors.get(author)
    if (known === undefined) {
      authors.set(author, {
        author,
        comment_count: 1,
        total_score: score,
        subforums: [subforum],
        top_comment: comment,
      })
      continue
    }
    known.comment_count++
    known.total_score += score
    if (!known.subforums.includes(subforum)) known.subforums.push(subforum)
  }
  return [...authors.values()].toSorted(
    (a, b) => b.total_score - a.total_score || b.comment_count - a.comment_count,
  )
}
