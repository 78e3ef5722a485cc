import * as z from 'zod'

import { normalise } from '../base/form.ts'
import { once } from '../base/lazy.ts'
import { compileFilter } from '../filter/compile.ts'
import type { FilterSpec } from '../filter/fields.ts'
import { FILTER_DEFAULTS } from '../filter/spec.ts'
import type { Item } from '../forum/items.ts'
import { isErasedRow } from '../forum/purge.ts'
import type { StoredRow } from './row.ts'

export const MUTES = ['author', 'place', 'phrase'] as const
export type Mute = (typeof MUTES)[number]

type MuteField = 'exclude_authors' | 'exclude_subforums' | 'exclude_terms' | 'author' | 'subforum'

/** One entry that is added to a list of a filter, or removed from it. */
export type FilterEdit = { field: MuteField; added: string | null; removed: string | null }

/** An edit of a filter. A filter that names what it watches loses that name; others get an exclusion. */
export type MuteEdit = FilterEdit & {
  before: readonly string[]
  after: readonly string[]
  spec: FilterSpec
}

/** Reasons for which nothing is proposed. `last`: the filter watches nothing else. */
export type MuteRefusal = 'muted' | 'last'

const FIELDS = {
  author: { watched: 'author', excluded: 'exclude_authors' },
  place: { watched: 'subforum', excluded: 'exclude_subforums' },
  phrase: { watched: null, excluded: 'exclude_terms' },
} as const

const has = (list: readonly string[], value: string): boolean =>
  list.some((it) => normalise(it) === normalise(value))

export function proposeMute(spec: FilterSpec, mute: Mute, value: string): MuteEdit | MuteRefusal {
  const { watched, excluded } = FIELDS[mute]
  if (watched !== null && spec[watched].length > 0) {
    const before = spec[watched]
    const removed = before.find((it) => normalise(it) === normalise(value))
    if (removed === undefined) return 'muted'
    const after = before.filter((it) => normalise(it) !== normalise(value))
    if (after.length === 0) return 'last'
    const edited = { ...spec, [watched]: after }
    return { field: watched, added: null, removed, before, after, spec: edited }
  }
  const before = spec[excluded]
  if (has(before, value)) return 'muted'
  const after = [...before, value]
  return {
    field: excluded,
    added: value,
    removed: null,
    before,
    after,
    spec: { ...spec, [excluded]: after },
  }
}

/** The filter after an edit; null: the entry to add is there already, or the one to remove is not. */
export function applyEdit(
  spec: FilterSpec,
  { field, added, removed }: FilterEdit,
): FilterSpec | null {
  const list = spec[field]
  if (added !== null) return has(list, added) ? null : { ...spec, [field]: [...list, added] }
  const rest = list.filter((it) => normalise(it) !== normalise(removed ?? ''))
  return rest.length === list.length ? null : { ...spec, [field]: rest }
}

/**
 * The items that an edit would not have matched, of those that the filter has matched: only what the edit added is
 * evaluated, with the filter's own rules for text, so that thresholds and patterns are not needed again.
 */
export function mutedBy({ field, added, removed, spec }: MuteEdit): (item: Item) => boolean {
  if (removed !== null) {
    const name = normalise(removed)
    const isMuted = (item: Item) =>
      normalise(field === 'author' ? item.author : item.subforum) === name
    return isMuted
  }
  const { search_in, match, fold_accents, case_sensitive } = spec
  const own = { search_in, match, fold_accents, case_sensitive }
  const only = compileFilter({
    ...FILTER_DEFAULTS,
    ...own,
    kind: 'both',
    [field]: added === null ? [] : [added],
  })
  return (item) => only(item) === null
}

const text = () => z.string().catch('')

// Texts and names that a filter reads; everything else of a stored row is as it was delivered.
const itemShape = once(() =>
  z.looseObject({
    kind: z.enum(['post', 'comment']),
    name: z.string(),
    author: text(),
    subforum: text(),
    permalink: text(),
    url: text(),
    title: text(),
    text: text(),
    body: text(),
    link_url: z.string().nullable().catch(null),
    flair: z.string().nullable().catch(null),
  }),
)

const asItem = once(() => z.custom<Item>((it) => itemShape().safeParse(it).success))

/** The item of a stored row; null if its content is erased. `community`: the API's word for a subforum. */
export function itemOfRow(row: StoredRow, community: string): Item | null {
  if (isErasedRow(row)) return null
  const parsed = itemShape().safeParse({ ...row, subforum: row[community] })
  return parsed.success ? asItem().parse(parsed.data) : null
}
