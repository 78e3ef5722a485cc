import type { ResponseBody } from '../../../lib/types.ts'

// Bodies of the inbox API, derived from its document. Instants are ISO 8601.

export type MatchPage = ResponseBody<'/forum/inbox'>

export type Match = MatchPage['items'][number]

export type WholeMatch = ResponseBody<'/forum/inbox/item'>

export type MatchState = Match['state']

/** The key that acted; null: forumd by itself. */
export type ActingKey = NonNullable<Match['changed']>['by']

/** The thread around a match: its post, the comments above it and its direct replies. */
export type ThreadAround = ResponseBody<'/forum/inbox/context'>

export type ThreadItem = ThreadAround['replies'][number]

export type TriageChange = { state?: MatchState; starred?: boolean; label?: string | null }

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
export type TabCounts = ResponseBody<'/forum/inbox/counts'>

export type Updated = ResponseBody<'/forum/inbox/update', 'post'>

export type HistoryPage = ResponseBody<'/forum/inbox/history'>

export type HistoryAction = HistoryPage['actions'][number]

/** An edit of a filter, and its effect on the matches of the last days. */
export type Muted = ResponseBody<'/forum/inbox/mute', 'post'>
