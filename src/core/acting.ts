import type { Comment } from './items.ts'

/**
 * The shapes of what an account does and of its messages (contract 6). `src/platform` maps the platform's own to them.
 */

/** A comment that the platform has taken. */
export type Posted = {
  /** Fullname, t1_…. */
  name: string
  /** Absolute; null where the platform tells neither it nor the post. */
  permalink: string | null
  /** As its author sees it, read back; null where reading back failed. What is there may be hidden from others. */
  comment: Comment | null
}

/** The ways to vote. */
export const DIRECTIONS = ['up', 'down', 'none'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** Which of the two ways a message takes: mail, or chat. */
export const CHANNELS = ['mail', 'chat'] as const
type Channel = (typeof CHANNELS)[number]

/** A message that was sent. Mail does not say what it became: its ids are looked up, and null where not found. */
export type Sent = { id: string | null; thread_id: string | null; channel: Channel }

/** The folders of messages. */
export const FOLDERS = ['all', 'inbox', 'sent', 'unread'] as const
export type Folder = (typeof FOLDERS)[number]

/** A conversation. `id` begins with t4_ where it is mail and with ! where it is chat. */
export type Thread = {
  id: string
  /** The other side's name, or `#` and a subforum's; null where the platform hides it. */
  with: string | null
  /** Null in chat. */
  subject: string | null
  unread: boolean
  /** As far as the platform shows them. */
  message_count: number
  /** ISO 8601; null for an invitation that does not tell. */
  last_message_at: string | null
  last_message: string
  channel: Channel
}

/** `after` is opaque; null ends the list. `missing` names the ways that could not be looked into just now. */
export type Threads = { threads: Thread[]; after: string | null; missing: Channel[] }

/** One message, of mail or of chat. */
export type Message = {
  id: string
  thread_id: string
  from: string | null
  to: string | null
  /** Null in chat. */
  subject: string | null
  body: string
  /** ISO 8601. */
  created: string
  unread: boolean
}

/** Newest first. `after` is opaque; null ends the list. */
export type Messages = { messages: Message[]; after: string | null }
