import type { Liveness } from '../core/items.ts'
import { type Row, textAt } from './read.ts'

const MASKED_AUTHOR = '[deleted]'
const REMOVED: ReadonlySet<string> = new Set(['[removed]', '[ Removed by Reddit ]'])

/**
 * Whether a comment is still there, from its row as a stranger sees it. A mask is worn by the author and the text
 * together: somebody may really have written "[removed]", and the words of a deleted account stay.
 */
export function livenessOf(row: Row): Liveness {
  const author = textAt(row, 'author') ?? MASKED_AUTHOR
  const body = textAt(row, 'body') ?? ''
  if (author !== MASKED_AUTHOR) return 'live'
  if (REMOVED.has(body)) return 'removed'
  return body === '[deleted]' ? 'deleted' : 'live'
}
