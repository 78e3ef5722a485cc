import type { Visibility } from '../core/items.ts'
import { type Row, textAt, wordAt } from './read.ts'

const DELETED: ReadonlySet<string> = new Set(['deleted', 'author'])
const MASKED_AUTHOR = '[deleted]'
const REMOVED_TEXT: ReadonlySet<string> = new Set(['[removed]', '[ Removed by Reddit ]'])

const hidden = (reason: string, confident = true): Visibility => ({
  verdict: 'not_visible',
  reason,
  confident,
})

/**
 * Whether others see a post, from its row as we got it; null: we got none. A moderator sees what is removed as if it
 * were there, so through a moderator's eyes nothing can be decided. A post we did not get may stand in a place that
 * we may not enter, so that is not certain.
 */
export function visibilityOf(row: Row | null): Visibility {
  if (!row) return hidden('absent', false)
  if (row['can_mod_post'] === true)
    return { verdict: 'undecidable', reason: 'seen_by_moderator', confident: false }
  const category = wordAt(row, 'removed_by_category')
  if (category !== null) return hidden(DELETED.has(category) ? 'deleted' : 'removed')

  const masked = textAt(row, 'author') === MASKED_AUTHOR
  const text = textAt(row, 'selftext') ?? ''
  if (REMOVED_TEXT.has(text)) {
    if (masked) return hidden('removed')
    // The platform says that nobody removed it; then somebody wrote these words.
    return 'removed_by_category' in row ? live(true) : hidden('removed', false)
  }
  if (masked && text === '[deleted]') return hidden('deleted')
  // Filtered posts look alive; that robots are kept away is the only trace, and it may have other reasons.
  return live(row['is_robot_indexable'] !== false)
}

const live = (confident: boolean): Visibility => ({ verdict: 'live', reason: null, confident })
