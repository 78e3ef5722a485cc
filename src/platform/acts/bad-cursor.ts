import type { Acted } from '../../core/native-refusals.ts'

/** What is said of a cursor that no page of `what` gave. */
export const badCursor = (what: string): Acted<never> => ({
  ok: false,
  fault: {
    kind: 'refused',
    code: 'BAD_CURSOR',
    message: `after must be a cursor that a page of ${what} gave`,
    field: 'after',
    retry_after_s: null,
    meaning: 'INVALID_REQUEST',
    terminal: true,
  },
})
