import { ApiError } from './errors.ts'
import { wrong } from './filter-fields.ts'
import { wantedBy } from './filter-keywords.ts'
import { searchExpressions } from './filter-places.ts'
import { type FilterSpec, wireName } from './filter-spec.ts'
import { MANY_SUBFORUMS } from './names.ts'
import type { Words } from './wire.ts'

const RESERVED: ReadonlySet<string> = new Set(MANY_SUBFORUMS)

type Shown = () => Record<string, unknown>

/**
 * What must hold between the fields of a spec; `shown` says how it is shown when the whole of it is wrong.
 * @throws ApiError INVALID_REQUEST naming the field, or subforum_reserved
 */
export function checkSpec(spec: FilterSpec, words: Words, shown: Shown): void {
  checkReserved(spec, words)
  checkPairs(spec, words)
  checkSeen(spec)
  checkPlaces(spec, words, shown)
}

function checkReserved(spec: FilterSpec, words: Words): void {
  for (const list of ['subforum', 'exclude_subforums'] as const) {
    const reserved = spec[list].find((it) => RESERVED.has(it.toLowerCase()))
    if (reserved === undefined) continue
    const field = `filter_spec.${wireName(list, words)}`
    const message = `${field} ${reserved} stands for many ${words.communities}; name them, or leave the field out and give a keyword`
    throw new ApiError('subforum_reserved', { field, message })
  }
}

/** Fields that only make sense, or make none, beside another one. */
function checkPairs(spec: FilterSpec, words: Words): void {
  if (spec.exclude_subforums.length > 0 && spec.subforum.length > 0)
    throw wrong(
      { name: words.exclude_communities, value: spec.exclude_subforums },
      `is for monitors of the whole platform; it must be left out beside ${words.community}`,
    )
  if (spec.thread.length > 0 && spec.kind === 'post')
    throw wrong(
      { name: 'kind', value: spec.kind },
      'must be comment, both or left out beside thread, which names posts whose comments are watched',
    )
  if (spec.has_flair === false && spec.flair.length > 0)
    throw wrong({ name: 'has_flair', value: false }, 'must be true or left out beside flair')
  if (spec.group_window_s !== null && spec.group === null)
    throw wrong(
      { name: 'group_window_s', value: spec.group_window_s },
      'must be left out without group, which it makes collect for longer',
    )
}

/** Criteria that no comment can meet, where nothing but comments is watched. */
function checkSeen(spec: FilterSpec): void {
  if (spec.kind !== 'comment') return
  const asked = [
    ...(spec.flair.length > 0 ? ['flair' as const] : []),
    ...(spec.has_flair === true ? ['has_flair' as const] : []),
    ...(spec.post_type.length > 0 ? ['post_type' as const] : []),
    ...(spec.min_comments === null ? [] : ['min_comments' as const]),
  ]
  const [name] = asked
  if (name !== undefined)
    throw wrong(
      { name, value: spec[name] },
      'asks for what only posts have; it must be left out, or kind be post or both',
    )
}

function checkPlaces(spec: FilterSpec, words: Words, shown: Shown): void {
  if (spec.subforum.length > 0 || spec.thread.length > 0) return
  const { community } = words
  const wanted = wantedBy(spec)
  if (wanted.parts.length === 0 && spec.author.length === 0)
    throw wrong(
      { name: '', value: shown() },
      `must name a place (${community}, author, thread) or a keyword (q, include_any, include_all)`,
    )
  if (spec.author.length > 0) return
  const absent = `without ${community}, author and thread the whole platform is watched`
  if (spec.kind !== 'post')
    throw wrong({ name: 'kind', value: spec.kind }, `must be post: ${absent}, posts only`)
  if (searchExpressions(wanted) === null)
    throw wrong(
      { name: 'q', value: spec.q },
      `must look for a term in every alternative: ${absent}, and what only excludes finds everything`,
    )
}
