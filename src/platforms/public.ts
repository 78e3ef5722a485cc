// One rule for every adapter: what a reader without any role finds by opening the place or the thread is public.

/** What a view states of an item, its thread, its place or its author. An absent field: nothing of the kind. */
export type Standing = {
  is_removed?: boolean | undefined
  is_deleted?: boolean | undefined
  /** Written and not published: a draft, in review, or waiting for another server. */
  is_pending?: boolean | undefined
  /** Epoch ms of a publication to come. */
  scheduled_at?: number | null | undefined
  /** For members, or for accounts of the site. */
  is_restricted?: boolean | undefined
  /** No list that a reader can open shows it. */
  is_unlisted?: boolean | undefined
  is_banned?: boolean | undefined
}

export type PublicView = {
  item: Standing
  thread?: Standing
  place?: Standing
  author?: Standing
  /** Where the view is from: a list has left out what its reader may not see, a request by id may not have. */
  from: 'list' | 'id'
  /** False: a view by id looks the same for rows that lists leave out. */
  tells?: boolean
}

/** `unknown`: only a list can tell. */
export type PublicState = 'public' | 'removed' | 'deleted' | 'hidden' | 'unknown'

const isHidden = (it: Standing) =>
  it.is_pending || (it.scheduled_at ?? 0) > 0 || it.is_restricted || it.is_unlisted

/** State of an item for a reader without a role. `until`: epoch ms before which it is not shown; null: not stated. */
export function publicState({ item, thread, place, author, from, tells = true }: PublicView): {
  state: PublicState
  until: number | null
} {
  const around = [thread, place, author].filter((it) => it !== undefined)
  const all = [item, ...around]
  const until = Math.max(0, ...all.map(({ scheduled_at }) => scheduled_at ?? 0)) || null
  const is = (state: PublicState) => ({ state, until })
  if (item.is_removed) return is('removed')
  if (item.is_deleted) return is('deleted')
  if (around.some(({ is_removed }) => is_removed)) return is('removed')
  if (around.some(({ is_deleted, is_banned }) => is_deleted || is_banned)) return is('hidden')
  if (from === 'list') return is('public')
  if (all.some(isHidden)) return is('hidden')
  return is(tells ? 'public' : 'unknown')
}
