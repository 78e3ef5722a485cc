import { many, words as inWords } from '../../../lib/format.ts'
import type { HistoryAction } from './types.ts'

export function actionText({ kind, set, mute, items }: HistoryAction): string {
  if (mute !== null) {
    // An exclusion is added, and a watched name removed. An undoing that does the same makes an undone mute again.
    const is_mute = mute.field.startsWith('exclude_') === (mute.added !== null)
    const name = mute.added ?? mute.removed
    if (kind === 'undo') return is_mute ? `muted ${name} again` : `took back the mute of ${name}`
    return `muted ${name}`
  }
  const matches = many(items, 'match', 'matches')
  if (kind === 'undo') return `took back a change of ${matches}`
  if (kind === 'answered') return `answered ${matches} with a comment`
  const parts = [
    ...(set?.state
      ? [set.state === 'dismissed' ? 'dismissed' : `marked as ${inWords(set.state).toLowerCase()}`]
      : []),
    ...(set?.starred === undefined ? [] : [set.starred ? 'starred' : 'unstarred']),
    ...(set?.label === undefined
      ? []
      : [set.label === null ? 'removed the label of' : `labelled ${set.label}:`]),
  ]
  return `${parts.join(' and ')} ${matches}`
}
