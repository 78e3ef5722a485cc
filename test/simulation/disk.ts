import { Database } from 'bun:sqlite'

import type { Chance } from '../../src/sandbox/chance.ts'
import type { Db } from '../../src/store/db.ts'
import type { Spell } from './upstream.ts'

/** How full a disk is. All zero: never. */
export type Fullness = {
  /** Of the transactions at any time: those for which there was no room. */
  share: number
  /** How often nothing can be written for a while, each day, and for how long on average. */
  spells_a_day: number
  spell_s: number
}

export type Disk = {
  /** When nothing could be written. Seconds of the platform's clock. */
  fulls: readonly Spell[]
  /** Transactions that failed, and those of them that failed at their commit. */
  counts: { failed: number; commits: number }
  /** Does what has to succeed, such as what the simulation itself writes. */
  spare<T>(work: () => T): T
  /** The same, of what others get their turn in between. */
  spareAll<T>(work: () => Promise<T>): Promise<T>
}

/** A transaction fails at one of so many writes, or at its commit when it has fewer. */
const WRITES_MAX = 40
const DAY_S = 86_400

type Options = { chance: Chance; fullness: Fullness; now_s: () => number; until_s: number }

/** Lets transactions of a database fail as on a full disk: at any write, or at the commit. */
export function fillDisk(db: Db, { chance, fullness, now_s, until_s }: Options): Disk {
  const { share, spells_a_day, spell_s } = fullness
  const fulls: Spell[] = []
  const wait = () => (spells_a_day === 0 ? Infinity : chance.wait(DAY_S / spells_a_day))
  for (let from = now_s() + wait(); from < until_s;) {
    const until = from + chance.wait(spell_s)
    fulls.push({ from, until })
    from = until + wait()
  }
  const isFull = () => fulls.some(({ from, until }) => from <= now_s() && now_s() < until)
  let spared = false
  const counts = limitRoom(db, () =>
    !spared && (isFull() || (share > 0 && chance.odds(share)))
      ? chance.whole(0, WRITES_MAX)
      : Infinity,
  )
  return {
    fulls,
    counts,
    spare(work) {
      spared = true
      try {
        return work()
      } finally {
        spared = false
      }
    },
    async spareAll(work) {
      spared = true
      try {
        return await work()
      } finally {
        spared = false
      }
    },
  }
}

/**
 * Lets a database's transactions have room for so many writes, `roomOf` of each, and not for their commit; Infinity: for
 * all. Nothing of one that finds none is kept. Returns how many have failed, counting on.
 */
export function limitRoom(db: Db, roomOf: () => number): Disk['counts'] {
  const counts = { failed: 0, commits: 0 }
  let room = Infinity
  const transaction = db.transaction.bind(db)
  const query = db.query.bind(db)

  function failing(work: () => unknown, writes: number) {
    return () => {
      room = writes
      counts.failed += 1
      try {
        work()
      } finally {
        room = Infinity
      }
      counts.commits += 1
      throw noRoom()
    }
  }
  function take(): void {
    if (room-- === 0) throw noRoom()
  }
  Object.defineProperties(db, {
    transaction: {
      value(work: () => unknown) {
        const writes = db.inTransaction ? Infinity : roomOf()
        return transaction(writes === Infinity ? work : failing(work, writes))
      },
    },
    query: {
      value(sql: string) {
        const statement = query(sql)
        if (room === Infinity || !WRITES.test(sql)) return statement
        return {
          run: (...values: never[]) => (take(), statement.run(...values)),
          get: (...values: never[]) => (take(), statement.get(...values)),
          all: (...values: never[]) => (take(), statement.all(...values)),
        }
      },
    },
  })
  return counts
}

const WRITES = /^\s*(INSERT|UPDATE|DELETE|REPLACE)\b/i

/** What SQLite itself throws when there is no room. */
function noRoom(): Error {
  using small = new Database(':memory:')
  small.run('CREATE TABLE t (x)')
  small.run('PRAGMA max_page_count = 2')
  try {
    small.run('INSERT INTO t VALUES (zeroblob(100000))')
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('a database of two pages took a hundred thousand bytes')
}
