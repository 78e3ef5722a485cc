import { useRef } from 'preact/hooks'

import { notify } from '../../../components/base/toast.tsx'
import { type Failure, postJson } from '../../../lib/api.ts'
import { many } from '../../../lib/format.ts'
import { now } from '../../../lib/runtime.ts'
import { leavesList, type ListFilter, toBody } from './filter.ts'
import type { Removed } from './rows.ts'
import type { FilterBody, Match, TriageChange, Updated } from './types.ts'
import type { MatchList } from './use-matches.ts'

const IDS_MAX = 500
/** Calls of one action on all matches of a filter, 5000 rows each. */
const CALLS_MAX = 40
/** Actions that can be undone with the key, newest last. */
const UNDO_MAX = 50

/** An action on matches of the list, of a whole filter (no ids), or on the filter of a monitor. */
type Done = { action_ids: string[]; ids: string[]; removed: Removed[]; is_mute?: boolean }

export type Triage = {
  /** Changes matches, at once on the page. `quiet`: without a confirmation and an undo. */
  act: (ids: readonly string[], set: TriageChange, quiet?: boolean) => Promise<void>
  actOnAll: (set: TriageChange) => Promise<void>
  muted: (action_id: string, text: string) => void
  undo: () => Promise<void>
}

type Options = {
  base: string
  filter: ListFilter
  list: MatchList
  /** Counts the calls without an answer yet. */
  pending: { current: number }
  recount: () => void
  /** Receives the first match that an undoing has put back into the list. */
  onRestored: (id: string) => void
}

function confirmation(set: TriageChange, n: number): string {
  const matches = many(n, 'match', 'matches')
  if (set.state === 'dismissed') return `Dismissed ${matches}.`
  if (set.state === 'answered') return `Marked ${matches} as answered.`
  if (set.state !== undefined) return `Marked ${matches} as ${set.state}.`
  if (set.starred !== undefined) return `${set.starred ? 'Starred' : 'Unstarred'} ${matches}.`
  return set.label === null
    ? `Removed the label of ${matches}.`
    : `Labelled ${matches} “${set.label ?? ''}”.`
}

const refusal = ({ message }: Failure): string => `Not changed: ${message}`

export function useTriage({ base, filter, list, pending, recount, onRestored }: Options): Triage {
  const done = useRef<Done[]>([])
  const { rows } = list

  function record(entry: Done, text: string) {
    if (entry.action_ids.length === 0) return
    done.current = [...done.current, entry].slice(-UNDO_MAX)
    notify(text, { label: 'Undo', key: 'z', run: () => void undo() })
  }

  async function act(ids: readonly string[], set: TriageChange, quiet = false) {
    const before = ids.flatMap((id) => rows.get(id) ?? [])
    const { state } = set
    const leaving = before.filter(
      (it) => state !== undefined && !quiet && leavesList(filter, it.state, state),
    )
    rows.replace(before.map((it): Match => ({ ...it, ...set })))
    const removed = rows.remove(new Set(leaving.map(({ id }) => id)))
    list.changed()
    const action_ids: string[] = []
    let changed = 0
    for (let at = 0; at < ids.length; at += IDS_MAX) {
      pending.current += 1
      const answer = await postJson<Updated>(`${base}/update`, {
        ids: ids.slice(at, at + IDS_MAX),
        set,
      })
      pending.current -= 1
      if (!answer.ok) {
        rows.restore(removed)
        rows.replace(before)
        list.changed()
        if (!quiet) notify(refusal(answer.failure))
        return
      }
      changed += answer.value.changed
      if (answer.value.action_id !== null) action_ids.push(answer.value.action_id)
    }
    recount()
    if (!quiet) record({ action_ids, ids: [...ids], removed }, confirmation(set, changed))
  }

  async function actOnAll(set: TriageChange) {
    const { text: _, ...body }: FilterBody = toBody(filter, now())
    const action_ids: string[] = []
    let changed = 0
    let cursor: string | null = null
    for (let call = 0; call < CALLS_MAX; call++) {
      const after: { cursor?: string } = cursor === null ? {} : { cursor }
      const answer = await postJson<Updated>(`${base}/update`, { filter: body, set, ...after })
      if (!answer.ok) {
        notify(refusal(answer.failure))
        break
      }
      changed += answer.value.changed
      if (answer.value.action_id !== null) action_ids.push(answer.value.action_id)
      cursor = answer.value.next_cursor
      if (!answer.value.has_more) break
    }
    recount()
    record({ action_ids, ids: [], removed: [] }, confirmation(set, changed))
    list.reload()
  }

  async function undo() {
    const last = done.current.pop()
    if (last === undefined) return notify('Nothing to undo.')
    let restored = 0
    for (const action_id of last.action_ids.toReversed()) {
      const answer = await postJson<{ restored: number }>(`${base}/undo`, { action_id })
      if (!answer.ok) return notify(`Not undone: ${answer.failure.message}`)
      restored += answer.value.restored
    }
    if (last.is_mute) return notify('The filter is as it was before.')
    recount()
    notify(`Undone for ${many(restored, 'match', 'matches')}.`)
    if (last.ids.length === 0) return list.reload()
    rows.restore(last.removed)
    rows.replace(await list.byId(last.ids))
    list.changed()
    const [first] = last.removed
    if (first !== undefined) onRestored(first.id)
  }

  const muted = (action_id: string, text: string) =>
    record({ action_ids: [action_id], ids: [], removed: [], is_mute: true }, text)

  return { act, actOnAll, muted, undo }
}
