// Bodies of the inbox API, as far as the page reads them. Instants are ISO 8601.

/** The triage state of a match. */
export type MatchState = 'unread' | 'read' | 'answered' | 'dismissed'

/** A part of a title or an excerpt that matched, in UTF-16 units. */
export type Highlight = { in: 'title' | 'excerpt'; start: number; end: number }

/** The key that acted; null: forumd by itself. */
export type Actor = { key_id: string; name: string | null } | null

/** A match of one or more monitors, as the list has it. */
export type Match = {
  id: string
  source: string
  kind: 'post' | 'comment'
  title: string | null
  excerpt: string
  highlights: Highlight[]
  matched_terms: string[]
  url: string | null
  place: string | null
  author: string | null
  score: number | null
  comments: number | null
  created: string | null
  matched_at: string
  sentiment: string | null
  intent: string | null
  relevance: number | null
  enrichment: { judgement?: unknown; [part: string]: unknown } | null
  monitors: {
    id: string
    name: string | null
    matched_terms: string[]
    removed?: boolean
  }[]
  state: MatchState
  starred: boolean
  label: string | null
  changed: { at: string; by: Actor } | null
  erased: boolean
}

/** A page of the list. */
export type MatchPage = {
  items: Match[]
  next_cursor: string | null
  examined_until: string | null
}

/** The fields that an update sets. */
export type Change = { state?: MatchState; starred?: boolean; label?: string | null }

/** A filter as the bodies of update and views have it. */
export type FilterBody = {
  monitor?: string
  state?: string[]
  starred?: boolean
  label?: string
  source?: string
  place?: string
  author?: string
  from?: string
  to?: string
  text?: string
}

/** Numbers of matches by state; `complete` false: minimums. */
export type Counts = Record<MatchState | 'starred' | 'total', number> & {
  complete: boolean
  labels?: { label: string; items: number }[]
  version?: string
}

/** The result of an update. */
export type Updated = {
  action_id: string | null
  changed: number
  unknown_ids: string[]
  has_more: boolean
  next_cursor: string | null
}

/** An event of the inbox's stream. */
export type InboxEvent = {
  version: string
  new: { count: number; ids: string[] }
  changed: { count: number; ids: string[] }
  gone: boolean
  counts: Counts
}

/** A saved view. */
export type View = { id: string; name: string; filter: FilterBody; by: Actor }

/** An action of the history. */
export type HistoryAction = {
  action_id: string
  at: string
  by: Actor
  kind: 'update' | 'undo' | 'answered'
  set: Change | null
  items: number
  ids: string[]
  undone_by: string | null
  undoes?: string
  can_undo: boolean
}
