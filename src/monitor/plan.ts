import { FULL_PAGE, planConvoys } from '../core/planner.ts'
import { listTravellers, writeConvoys } from '../store/convoys.ts'
import { type Db, transact } from '../store/db.ts'
import type { Report } from './check.ts'

const PLAN_EVERY_MS = 600_000
/** A change is planned for soon, and with those that come right after it. */
const SOON_MS = 5_000

/** Decides who travels together, from what was seen of late. */
export type Planner = {
  /** Plans anew if it is time to; returns when to come again. `mono`: the clock that only grows. */
  turn(mono: number): number
  /** Something has changed that the plan is made of. */
  changed(mono: number): void
  /** A trip has brought so many new rows, and whatever else changes the plan. */
  learn(report: Report, new_items: number, mono: number): void
}

/** Keeps the plan of who travels with whom; the plan itself is in the rows. */
export function createPlanner(db: Db): Planner {
  let due_at = -Infinity

  const changed = (mono: number): void => {
    due_at = Math.min(due_at, mono + SOON_MS)
  }

  return {
    changed,
    turn(mono) {
      if (mono >= due_at) {
        transact(db, () => {
          const travellers = listTravellers(db)
          writeConvoys(db, travellers, planConvoys(travellers))
        })
        due_at = mono + PLAN_EVERY_MS
      }
      return due_at
    },
    learn({ findings }, new_items, mono) {
      const first = findings.some(({ stream }) => stream.last_check_at === null)
      const refused = findings.some(({ ending }) => ending.kind === 'cut')
      if (first || refused || new_items > FULL_PAGE) changed(mono)
    },
  }
}
