/** Where a list of conversations goes on: in the mail, and in the chat. */
export type ThreadsCursor = {
  /** The platform's own cursor, empty at the beginning; null where all mail has been listed. */
  mail: string | null
  /** The last room that was listed; null where none was. */
  chat: { at: number; id: string } | null
}

/** Before the first page. */
export const FIRST_THREADS: ThreadsCursor = { mail: '', chat: null }

/** The cursor as a caller gets it and gives it back: opaque, and safe in an address. */
export function writeThreadsCursor({ mail, chat }: ThreadsCursor): string {
  return Buffer.from(JSON.stringify([mail, chat?.at ?? null, chat?.id ?? null])).toString(
    'base64url',
  )
}

const LONGEST = 512
const MAIL = /^[\w~-]{0,64}$/

/** Reads a cursor that was given out; null for anything else. */
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
