import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { normalise } from '../../core/base/form.ts'
import { parseInstant } from '../../core/base/time.ts'
import { type Naming, sourceOfName } from '../../core/forum/naming.ts'
import {
  INBOX_STATES,
  type InboxFilter,
  type InboxPosition,
  type InboxState,
  NO_FILTER,
  readInboxCursor,
} from '../../core/inbox/filter.ts'
import { maybeFlag, maybeInstant } from '../http/fields.ts'

export const IDS_MAX = 100
export const CHANGED_IDS_MAX = 500
const NAME_MAX = 200
const LABEL_MAX = 64
const TEXT_MAX = 100
const ITEM_ID_MAX = 64

const STATES = `one or several of ${INBOX_STATES.join(', ')}`
const CURSOR = 'cursor must be the next_cursor of an earlier answer'

const isState = (text: string): text is InboxState => INBOX_STATES.some((it) => it === text)

/** Optional text of 1 to `max` characters, trimmed. */
const named = (name: string, max: number) => {
  const sentence = `${name} must be text of 1 to ${max} characters`
  return z.string({ error: sentence }).trim().min(1, sentence).max(max, sentence).optional()
}

/** Texts of a filter, equal in a query and in a body. */
const texts = () => ({
  monitor: named('monitor', 64).describe('Id of a monitor that matched it.'),
  label: named('label', LABEL_MAX).describe('Label of the items.'),
  source: named('source', 64).describe('Name of the source of the items.'),
  place: named('place', NAME_MAX).describe(
    'Place of the items, such as a community; case is ignored.',
  ),
  author: named('author', NAME_MAX).describe('Author of the items; case is ignored.'),
})

/** Fields of a filter in a query, without `text`. */
export const filterQuery = () => ({
  ...texts(),
  state: z
    .string({ error: `state must be ${STATES}, separated by commas` })
    .transform((given, context): InboxState[] => {
      const states = given.split(',').map((it) => it.trim())
      if (states.every(isState)) return [...new Set(states)]
      context.addIssue(`state must be ${STATES}, separated by commas`)
      return z.NEVER
    })
    .optional()
    .meta({
      type: 'string',
      description: `States of the items: ${STATES}, separated by commas. Default: all.`,
    }),
  starred: maybeFlag('starred').describe(
    'true: only starred items; false: only those without a star.',
  ),
  from: maybeInstant('from').describe('Only items first matched at this time or later.'),
  to: maybeInstant('to').describe('Only items first matched before this time.'),
})

/** The same with `text`. */
export const listFilterQuery = () => ({
  ...filterQuery(),
  text: named('text', TEXT_MAX).describe(
    'Words that all occur in title or text, in any case. A page examines a bounded number of items.',
  ),
})

const instantText = (name: string) => {
  const sentence = `${name} must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z`
  return z
    .string({ error: sentence })
    .refine((it) => parseInstant(it) !== null, sentence)
    .optional()
    .meta({ format: 'date-time' })
}

export const filterBody = () => {
  const states = `filter.state must be a list of ${STATES}`
  const fields = {
    ...texts(),
    state: z
      .array(z.enum(INBOX_STATES, { error: states }), { error: states })
      .min(1, states)
      .max(INBOX_STATES.length, states)
      .optional(),
    starred: z.boolean({ error: 'filter.starred must be true or false' }).optional(),
    from: instantText('filter.from'),
    to: instantText('filter.to'),
  }
  return z.strictObject(fields, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${issue.keys.map((it) => `filter.${it}`).join(', ')} is not a known field; allowed: ${Object.keys(fields).join(', ')}`
        : 'filter must be a JSON object',
  })
}

type GivenFilter = {
  [name in Exclude<keyof InboxFilter, 'state' | 'from' | 'to'>]?: InboxFilter[name] | undefined
} & {
  state?: readonly InboxState[] | undefined
  from?: number | string | undefined
  to?: number | string | undefined
}

const atOf = (given: number | string | undefined): number | null =>
  typeof given === 'string' ? parseInstant(given) : (given ?? null)

/** @throws {ApiError} INVALID_REQUEST if it ends before it begins */
export function toFilter(given: GivenFilter, words: Pick<Naming, 'home'>): InboxFilter {
  const from = atOf(given.from)
  const to = atOf(given.to)
  if (from !== null && to !== null && to < from)
    throw new ApiError('INVALID_REQUEST', { field: 'to', message: 'to must not be before from' })
  const { monitor, state, starred, label, source, place, author, text } = given
  return {
    ...NO_FILTER,
    monitor: monitor ?? null,
    state: state ?? [],
    starred: starred ?? null,
    label: label ?? null,
    source: source == null ? null : sourceOfName(words, source),
    place: place == null ? null : normalise(place),
    author: author == null ? null : normalise(author),
    from,
    to,
    text: text ?? null,
  }
}

export const isEmptyFilter = (filter: InboxFilter): boolean =>
  JSON.stringify(filter) === JSON.stringify(NO_FILTER)

/** Cursor of a list, or absent. */
export const inboxCursor = () =>
  z
    .string({ error: CURSOR })
    .transform((given, context): InboxPosition => {
      const position = readInboxCursor(given)
      if (position !== null) return position
      context.addIssue(CURSOR)
      return z.NEVER
    })
    .optional()
    .meta({
      type: 'string',
      description: 'The next_cursor of the last answer; absent: from the newest.',
    })

const ids_sentence = (max: number) => `ids must be 1 to ${max} ids of items, such as t3_abc123`

/** Ids of items in a query, separated by commas, or absent. */
export const idsQuery = () =>
  z
    .string({ error: ids_sentence(IDS_MAX) })
    .transform((given, context): string[] => {
      const ids = given.split(',').map((it) => it.trim())
      if (ids.length <= IDS_MAX && ids.every((it) => it !== '' && it.length <= ITEM_ID_MAX))
        return ids
      context.addIssue(ids_sentence(IDS_MAX))
      return z.NEVER
    })
    .optional()
    .meta({ type: 'string', description: 'Exactly these items, separated by commas.' })

/** Ids of items in a body, or absent. */
export const idsBody = () =>
  z
    .array(
      z
        .string({ error: ids_sentence(CHANGED_IDS_MAX) })
        .min(1, ids_sentence(CHANGED_IDS_MAX))
        .max(ITEM_ID_MAX, ids_sentence(CHANGED_IDS_MAX)),
      { error: ids_sentence(CHANGED_IDS_MAX) },
    )
    .min(1, ids_sentence(CHANGED_IDS_MAX))
    .max(CHANGED_IDS_MAX, ids_sentence(CHANGED_IDS_MAX))
    .optional()

export const itemIdBody = () => {
  const sentence = 'id must be the id of an item of the inbox, such as t3_abc123'
  return z
    .string({ error: ({ input }) => (input === undefined ? 'id is required' : sentence) })
    .min(1, sentence)
    .max(ITEM_ID_MAX, sentence)
}

export const changeFields = () => {
  const label = `set.label must be text of 1 to ${LABEL_MAX} characters, or null`
  return z
    .strictObject(
      {
        state: z
          .enum(INBOX_STATES, { error: `set.state must be one of ${INBOX_STATES.join(', ')}` })
          .optional(),
        starred: z.boolean({ error: 'set.starred must be true or false' }).optional(),
        label: z
          .string({ error: label })
          .trim()
          .min(1, label)
          .max(LABEL_MAX, label)
          .nullable()
          .optional()
          .describe('Whom or what it is assigned to; null removes it.'),
      },
      {
        error: (issue) =>
          issue.code === 'unrecognized_keys'
            ? `${issue.keys.map((it) => `set.${it}`).join(', ')} is not a known field; allowed: state, starred, label`
            : issue.input === undefined
              ? 'set is required'
              : 'set must be a JSON object',
      },
    )
    .refine(
      (set) => Object.values(set).some((it) => it !== undefined),
      'set must have at least one of state, starred, label',
    )
}
