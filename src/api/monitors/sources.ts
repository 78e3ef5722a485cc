import { invalid } from '../../core/base/errors.ts'
import { type FilterSpec, furtherSources, watchesMain, wireName } from '../../core/filter/spec.ts'
import { hasMainSource, type Naming, sourceNames } from '../../core/forum/naming.ts'
import { parseCommunityName } from '../../core/forum/permalink.ts'
import type { StreamSource, StreamSources } from '../../gateway/streams.ts'

/**
 * Checks that the sources of a spec can be monitored, and that they can serve its fields.
 * @throws {ApiError} INVALID_REQUEST naming the field
 */
export function checkSources(spec: FilterSpec, streams: StreamSources, words: Naming): void {
  const configured = [...streams.keys()]
  const named = furtherSources(spec, configured)
  const unknown = named.filter((it) => !streams.has(it))
  if (unknown.length > 0)
    throw invalid(
      'filter_spec.source',
      `filter_spec.source: ${unknown.join(', ')} cannot be monitored; the sources are ${sourceNames(words, configured)}`,
    )
  const sources = named.flatMap((it) => streams.get(it) ?? [])
  if (sources.length === 0) return
  checkPlaceNames(spec, sources, words)
  if (spec.thread.length > 0) requireAll(sources, 'tree', 'thread')
  const lookup = spec.kind === 'comment' ? 'nodesById' : 'postsById'
  if (spec.min_score !== null) requireAll(sources, lookup, 'min_score')
  if (spec.min_comments !== null) requireAll(sources, 'postsById', 'min_comments')
}

function requireAll(
  sources: readonly StreamSource[],
  capability: Parameters<StreamSource['has']>[0],
  field: keyof FilterSpec,
): void {
  const lacking = sources.filter((it) => !it.has(capability)).map(({ name }) => name)
  if (lacking.length === 0) return
  throw invalid(
    `filter_spec.${field}`,
    `filter_spec.${field} is not supported by ${lacking.join(', ')}, which cannot serve ${capability}`,
  )
}

/** Names by which sources list many places; no item is in a place of such a name. */
const MANY: readonly string[] = ['all', 'local']

/** Each name must be one that a watched source could have. */
function checkPlaceNames(spec: FilterSpec, sources: readonly StreamSource[], words: Naming): void {
  for (const list of ['subforum', 'exclude_subforums'] as const) {
    const many = spec[list].find((it) => MANY.includes(it.toLowerCase()))
    const field = `filter_spec.${wireName(list, words)}`
    if (many !== undefined)
      throw invalid(
        field,
        `${field}: ${many} stands for many ${words.communities}; leave the field out`,
      )
    const none = spec[list].find(
      (place) =>
        !sources.some((it) => it.isPlace(place)) &&
        !(hasMainSource(words) && watchesMain(spec) && parseCommunityName(place) !== null),
    )
    if (none === undefined) continue
    throw invalid(
      field,
      `${field}: ${none} is no place of ${sources.map(({ name }) => name).join(', ')}`,
    )
  }
}
