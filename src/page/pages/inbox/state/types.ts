import type { ResponseBody } from '../../../lib/types.ts'

// Bodies of the inbox API, derived from its document. Instants are ISO 8601.

/** A page of the list. */
export type MatchPage = ResponseBody<'/forum/inbox'>

/** A match of one or more monitors, as the list has it. */
export type Match = MatchPage['items'][number]

/** A match with its whole text. */
export type WholeMatch = ResponseBody<'/forum/inbox/item'>

/** The triage state of a match. */
export type MatchState = Match['state']

/** The key that acted; null: forumd by itself. */
export type ActingKey = NonNullable<Match['changed']>['by']

/** The thread around a match: its post, the comments above it and its direct replies. */
export type ThreadAround = ResponseBody<'/forum/inbox/context'>

/** A post or comment of a thread. */
export type ThreadItem = ThreadAround['replies'][number]

/** The fields that an update sets. */
export type TriageChange = { state?: MatchState; starred?: boolean; label?: string | null }

/** A filter as the body of an update has it. */
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

/** The result of an update. */
export type Updated = ResponseBody<'/forum/inbox/update', 'post'>

/** A page of the history. */
export type HistoryPage = ResponseBody<'/forum/inbox/history'>

/** An action of the history. */
export type HistoryAction = HistoryPage['actions'][number]

/** An edit of a filter, and its effect on the matches of the last days. */
export type Muted = ResponseBody<'/forum/inbox/mute', 'post'>
