import type { Db } from '../../src/store/db/connection.ts'
import { insertMessages, reserveMessages } from '../../src/store/delivery/messages.ts'

/** Stores messages for the pull API. Returns their rows. */
export function insertPulled(
  db: Db,
  messages: readonly { monitor_id: string; body: Uint8Array; matched_at: number }[],
): number[] {
  const first = reserveMessages(db, messages.length)
  insertMessages(
    db,
    messages.map((it, at) => ({ ...it, row: first + at, is_pulled: true })),
  )
  return messages.map((_, at) => first + at)
}
