import { ok } from '../../core/base/result.ts'
import type { Item, ItemState } from '../../core/forum/items.ts'
import type { ItemStates } from '../port.ts'
import { fieldsOf } from '../values.ts'
import type { createApi } from './api.ts'
import { livenessOf, toComment, toPost } from './readers.ts'

/**
 * States of items of a Lemmy or PieFed server, with one request for each. An id that the server does not know may be
 * removed, deleted, private or rolled back: the same answer for all.
 */
export const lemmyStates =
  (api: Pick<ReturnType<typeof createApi>, 'byId' | 'absence'>, site: string): ItemStates =>
  async (fullnames, call) => {
    const found = new Map<string, ItemState>()
    let has_absent = false
    for (const name of fullnames) {
      const kind = name.startsWith('t3_') ? 'post' : 'comment'
      const view = await api.byId(kind, name.slice(3), call)
      if (!view.ok) return view
      if (view.value === null) {
        found.set(name, { state: 'absent' })
        has_absent = true
        continue
      }
      const state = livenessOf(view.value)
      if (state === 'deleted' || state === 'removed') {
        found.set(name, { state })
        continue
      }
      if (state === 'not_found') continue
      const item = itemOf(kind, view.value, site)
      const author_gone = fieldsOf(view.value['creator'])['deleted'] === true
      if (item !== null) found.set(name, { state: 'live', item, author_gone })
    }
    // A server without its database states an absence too.
    const works = has_absent ? await api.absence(call) : ok(null)
    return works.ok ? ok(found) : works
  }

function itemOf(
  kind: 'post' | 'comment',
  view: Record<string, unknown>,
  site: string,
): Item | null {
  if (kind === 'post') {
    const post = toPost(view, site)
    return post && { ...post, kind }
  }
  const comment = toComment(view, site)
  return comment && { ...comment, kind }
}
