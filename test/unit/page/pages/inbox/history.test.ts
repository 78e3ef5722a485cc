import { expect, test } from 'bun:test'

import { actionText } from '../../../../../src/page/pages/inbox/state/history.ts'
import type { HistoryAction } from '../../../../../src/page/pages/inbox/state/types.ts'

type Edit = Pick<NonNullable<HistoryAction['mute']>, 'field' | 'added' | 'removed'>

const EXCLUDED: Edit = { field: 'exclude_authors', added: 'ann', removed: null }
const UNWATCHED: Edit = { field: 'author', added: null, removed: 'ann' }
const reversed = ({ field, added, removed }: Edit): Edit => ({
  field,
  added: removed,
  removed: added,
})

test.each([
  ['mute', EXCLUDED, 'muted ann'],
  ['mute', UNWATCHED, 'muted ann'],
  ['undo', reversed(EXCLUDED), 'took back the mute of ann'],
  ['undo', reversed(UNWATCHED), 'took back the mute of ann'],
  ['undo', EXCLUDED, 'muted ann again'],
  ['undo', UNWATCHED, 'muted ann again'],
] as const)('the history names %s of %j as %s', (kind, edit, text) => {
  const action: HistoryAction = {
    action_id: 'act_1',
    at: '2026-01-01T00:00:00.000Z',
    by: { key_id: 'key_1', name: null },
    kind,
    set: null,
    mute: { monitor_id: 'mon_1', ...edit },
    items: 0,
    ids: [],
    undoes: null,
    undone_by: null,
    can_undo: false,
  }

  expect(actionText(action)).toBe(text)
})
