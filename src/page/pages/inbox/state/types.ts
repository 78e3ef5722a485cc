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

type AllCounts = ResponseBody<'/forum/inbox/counts'>

/** Numbers of matches by state; `complete` false: minimums. An event of the stream has no labels. */
export type TabCounts = Omit<AllCounts, 'labels' | 'version'> & Partial<Pick<AllCounts, 'labels'>>

/** The result of an update. */
export type Updated = ResponseBody<'/forum/inbox/update', 'post'>

/** An event of the inbox's stream. */
export type InboxEvent = {
  version: string
  new: { count: number; ids: string[] }
  changed: { count: number; ids: string[] }
  gone: boolean
  counts: TabCounts
}

/** The saved views. */
export type Views = Omit<ResponseBody<'/forum/inbox/views'>, 'views'> & { views: NamedView[] }

/** A saved view. */
export type NamedView = Omit<ResponseBody<'/forum/inbox/views'>['views'][number], 'filter'> & {
  filter: FilterBody
}

/** A page of the history. */
export type HistoryPage = ResponseBody<'/forum/inbox/history'>

/** An action of the history. */
export type HistoryAction = HistoryPage['actions'][number]

/** A proposed edit of a filter, and its effect on the matches of the last days. */
export type MuteProposal = ResponseBody<'/forum/inbox/mute', 'post'>

/** Figures of matches over a period. */
export type MentionStats = ResponseBody<'/forum/inbox/stats'>
