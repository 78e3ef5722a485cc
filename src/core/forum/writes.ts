import type { Comment } from './items.ts'

/**
 * Shapes of an account's actions and messages. Adapters under `src/platforms` map the platform's
 * objects to them.
 */

export type Posted = {
  /** Fullname, t1_…. */
  name: string
  /** Absolute; null if the platform reports neither it nor the post. */
  permalink: string | null
  /** Read back as its author; null if that failed. The comment may be hidden from others. */
  comment: Comment | null
}

/**
 * Set on a write that the platform has accepted and shows once a moderator has approved it.
 * `pending_id` is its number among those that wait; null if the platform names none.
 */
type Pending = { pending?: true; pending_id?: string | null }

/** {@link Posted}, or a comment without a name that waits for a moderator. */
export type PostedOrPending = Omit<Posted, 'name'> & { name: string | null } & Pending

export const DIRECTIONS = ['up', 'down', 'none'] as const
export type Direction = (typeof DIRECTIONS)[number]

export const CHANNELS = ['mail', 'chat'] as const
type Channel = (typeof CHANNELS)[number]

/** Sent message. Mail does not return its ids: they are looked up, and null if not found. */
export type SentMessage = {
  id: string | null
  thread_id: string | null
  channel: Channel
} & Pending

export const FOLDERS = ['all', 'inbox', 'sent', 'unread'] as const
export type Folder = (typeof FOLDERS)[number]

/** Conversation. `id` begins with t4_ for mail and with ! for chat. */
export type Thread = {
  id: string
  /** Name of the other side, or `#` and a subforum's name; null if the platform hides it. */
  with: string | null
  /** Null in chat. */
  subject: string | null
  unread: boolean
  /** Count as far as the platform reports it. */
  message_count: number
  /** ISO 8601; null for an invitation without a time. */
  last_message_at: string | null
  last_message: string
  channel: Channel
}

/** `after` is opaque; null ends the list. `missing` names the channels that could not be read. */
export type Threads = { threads: Thread[]; after: string | null; missing: Channel[] }

export type DirectMessage = {
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
export type Messages = { messages: DirectMessage[]; after: string | null }

export type ThreadsCursor = {
  /** The platform's own cursor, empty at the beginning; null: all mail has been listed. */
  mail: string | null
  /** Last listed room; null: none yet. */
  chat: { at: number; id: string } | null
}

/** Cursor of the first page. */
export const FIRST_THREADS: ThreadsCursor = { mail: '', chat: null }

export function writeThreadsCursor({ mail, chat }: ThreadsCursor): string {
  return Buffer.from(JSON.stringify([mail, chat?.at ?? null, chat?.id ?? null])).toString(
    'base64url',
  )
}

const LONGEST = 512
const MAIL = /^[\w~-]{0,64}$/

/** Parses an issued cursor; null for any other text. */
export function readThreadsCursor(text: string): ThreadsCursor | null {
  if (text.length > LONGEST || !/^[\w-]+$/.test(text)) return null
  const parts = parsed(Buffer.from(text, 'base64url').toString())
  if (!Array.isArray(parts) || parts.length !== 3) return null
  const [mail, at, id]: unknown[] = parts
  if (mail !== null && (typeof mail !== 'string' || !MAIL.test(mail))) return null
  if (at === null && id === null) return { mail, chat: null }
  return typeof at === 'number' && Number.isFinite(at) && typeof id === 'string'
    ? { mail, chat: { at, id } }
    : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Formats of profile pictures, recognised by content, not by name. */
export type ImageKind = 'png' | 'jpeg' | 'webp'

export const IMAGE_MIB_MAX = 5
/** {@link IMAGE_MIB_MAX} in bytes. */
export const IMAGE_BYTES_MAX = IMAGE_MIB_MAX * 1024 * 1024

export const IMAGE_TYPES: Readonly<Record<ImageKind, { type: string; suffix: string }>> = {
  png: { type: 'image/png', suffix: 'png' },
  jpeg: { type: 'image/jpeg', suffix: 'jpg' },
  webp: { type: 'image/webp', suffix: 'webp' },
}

export type ImageRead = { ok: true; kind: ImageKind } | { ok: false; why: string }

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const JPEG = [0xff, 0xd8, 0xff]
const RIFF = [0x52, 0x49, 0x46, 0x46]
const WEBP = [0x57, 0x45, 0x42, 0x50]
/** Offset of the form type in a RIFF file. */
const RIFF_FORM_AT = 8
/** Fewer bytes than any picture: rejects truncated headers. */
const SHORTEST = 16

/** Detects the format from the bytes alone: name and content type are not reliable. */
export function readImage(bytes: Uint8Array): ImageRead {
  if (bytes.length > IMAGE_BYTES_MAX)
    return { ok: false, why: `must have at most ${IMAGE_MIB_MAX} MiB` }
  const kind = bytes.length < SHORTEST ? null : kindOf(bytes)
  return kind === null
    ? { ok: false, why: 'must be a PNG, JPEG or WebP picture' }
    : { ok: true, kind }
}

function kindOf(bytes: Uint8Array): ImageKind | null {
  if (hasAt(bytes, 0, PNG)) return 'png'
  if (hasAt(bytes, 0, JPEG)) return 'jpeg'
  return hasAt(bytes, 0, RIFF) && hasAt(bytes, RIFF_FORM_AT, WEBP) ? 'webp' : null
}

const hasAt = (bytes: Uint8Array, at: number, mark: readonly number[]): boolean =>
  mark.every((byte, index) => bytes[at + index] === byte)
