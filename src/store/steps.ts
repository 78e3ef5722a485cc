import type { ConvoyState } from './convoys.ts'
import type { Db } from './db.ts'
import { findStream, type Stream } from './streams.ts'

/**
 * Whether a member was whole in its convoy's last round, or by itself since then: what stood in that round is as good
 * an anchor for it as a row of its own.
 */
export const isInStep = (
  { in_turn, covered_turn }: Pick<Stream, 'in_turn' | 'covered_turn'>,
  { turn }: Pick<ConvoyState, 'turn'>,
): boolean => in_turn === turn || covered_turn > turn

/** A member that was out of step when the round set out. `in_step`: it no longer is. */
export type Rider = { stream: Stream; in_step: boolean }

/**
 * A rider as it stands when the round has been read: it may have come home from a look of its own meanwhile. Null when
 * it is not the convoy's any more.
 */
export function settleRider(db: Db, stream_id: number, convoy: ConvoyState): Rider | null {
  const stream = findStream(db, stream_id)
  if (stream === null || stream.asleep || stream.convoy_id !== convoy.id) return null
  return { stream, in_step: isInStep(stream, convoy) }
}
