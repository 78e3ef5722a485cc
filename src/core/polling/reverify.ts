import { hash } from 'node:crypto'

import type { Item, ItemState } from '../forum/items.ts'

const HOUR_MS = 3_600_000
/** Times after the first copy of an item at which it is read again; then every {@link CHECK_EVERY_MS}. */
const CHECK_AFTER_MS = [HOUR_MS, 24 * HOUR_MS]
export const CHECK_EVERY_MS = 7 * 24 * HOUR_MS
/** Wait after an answer that says nothing of an item, ms. */
export const UNCLEAR_RETRY_MS = 6 * HOUR_MS
/** Least time between two reads that confirm each other, ms. */
export const CONFIRM_AFTER_MS = HOUR_MS
/** Items of one answer from which on a sudden lack of many of them is a fault of the source. */
const SUSPECT_MIN = 10
const SUSPECT_SHARE = 0.5

/** Time of the next check of an item that was just read, epoch ms. */
export const nextCheckAt = (first_kept_at: number, now: number): number =>
  CHECK_AFTER_MS.map((after_ms) => first_kept_at + after_ms).find((at) => at > now) ??
  now + CHECK_EVERY_MS

/**
 * Decision on a kept item. `erase`: its author or the platform has removed it. `alive`: it is shown. `doubt`: the source
 * has no such item, which a later read has to confirm. `unclear`: nothing was learned.
 */
export type Verdict =
  | { kind: 'erase'; reason: 'author' | 'platform' }
  | { kind: 'alive'; item: Item; author_gone: boolean }
  | { kind: 'doubt' }
  | { kind: 'unclear' }

/** Decides on an item by its state, undefined: not in the answer; `absent_at`: the first read without it, or null. */
export function judgeState(
  state: ItemState | undefined,
  absent_at: number | null,
  now: number,
): Verdict {
  switch (state?.state) {
    case undefined:
      return { kind: 'unclear' }
    case 'live':
      return { kind: 'alive', item: state.item, author_gone: state.author_gone }
    case 'deleted':
      return { kind: 'erase', reason: 'author' }
    case 'removed':
      return { kind: 'erase', reason: 'platform' }
    case 'absent':
      return absent_at !== null && now - absent_at >= CONFIRM_AFTER_MS
        ? { kind: 'erase', reason: 'platform' }
        : { kind: 'doubt' }
  }
}

/**
 * The states without those that are absent, if so many are absent at once that the source rather hides or has lost its
 * content. Single deletions never look like that.
 */
export function withoutMassAbsence(
  states: ReadonlyMap<string, ItemState>,
): ReadonlyMap<string, ItemState> {
  const present = new Map([...states].filter(([, { state }]) => state !== 'absent'))
  const absent = states.size - present.size
  return absent >= SUSPECT_MIN && absent > SUSPECT_SHARE * states.size ? present : states
}

const DIGEST_LENGTH = 16

/** Changes with the author and the text of an item. */
export function contentDigest(item: Item): string {
  const text = item.kind === 'post' ? [item.title, item.text] : [item.body]
  return hash('sha256', JSON.stringify([item.author, ...text]), 'base64url').slice(0, DIGEST_LENGTH)
}
