import { fail, ok, type Outcome } from '../../core/base/result.ts'
import type { HttpCall } from '../http.ts'
import { NOT_FOUND } from '../lists.ts'
import type { Category } from './readers.ts'
import { encodePath, type SiteClient } from './site.ts'
import { isTag } from './tags.ts'

/** Part of a site that a list covers. */
export type Place =
  { kind: 'all' } | { kind: 'tag'; tag: string } | { kind: 'category'; it: Category }

const PLACE_MAX = 200
const PLACE = /^(?:tag:[^\s/]+|[\p{L}\p{N}_%-]+(?:\/[\p{L}\p{N}_%-]+){0,2})$/u

export const isPlaceName = (place: string): boolean =>
  place.length <= PLACE_MAX && PLACE.test(place)

export function createPlaces({
  readCategories,
  findCategory,
}: Pick<SiteClient, 'readCategories' | 'findCategory'>) {
  async function placeOf(name: string | undefined, call: HttpCall): Promise<Outcome<Place>> {
    if (name === undefined || name.toLowerCase() === 'all') return ok({ kind: 'all' })
    if (isTag(name)) return ok({ kind: 'tag', tag: name.slice('tag:'.length) })
    const categories = await readCategories(call)
    if (!categories.ok) return categories
    const listed = categories.value.find(name)
    const found = listed === null ? await findCategory(name, call) : ok(listed)
    if (!found.ok) return found
    const { value: it } = found
    return it === null ? fail(NOT_FOUND) : ok({ kind: 'category', it })
  }

  /** Ids of the named categories and those below them; null: of the whole site. */
  async function categoryIds(
    names: readonly string[],
    capability: 'posts' | 'comments',
    call: HttpCall,
  ): Promise<Outcome<ReadonlySet<number> | null>> {
    const ids = new Set<number>()
    for (const name of names) {
      const place = await placeOf(name, call)
      if (!place.ok) return place
      if (place.value.kind === 'all') return ok(null)
      // The list of posts does not name tags, and no list has several places.
      if (place.value.kind === 'tag') return fail({ kind: 'unsupported', capability })
      const categories = await readCategories(call)
      if (!categories.ok) return categories
      for (const id of categories.value.within(place.value.it.id)) ids.add(id)
    }
    return ok(names.length === 0 ? null : ids)
  }

  return { placeOf, categoryIds }
}

export function listPath(place: Place): string {
  if (place.kind === 'all') return ''
  if (place.kind === 'tag') return `/tag/${encodeURIComponent(place.tag)}/l`
  return `/c/${encodePath(place.it.path)}/${place.it.id}/l`
}

export function placeTerm(place: Place): string | null {
  if (place.kind === 'all') return null
  return place.kind === 'tag' ? `tags:${place.tag}` : `category:${place.it.id}`
}
