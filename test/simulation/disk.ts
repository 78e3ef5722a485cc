import { Database } from 'bun:sqlite'

import type { SeededRandom } from '../../sandbox/world/random.ts'
import type { Db } from '../../src/store/db/connection.ts'
import type { Spell } from './upstream.ts'

/** Probability of a full disk. All zero: never full. */
export type Fullness = {
  /** Share of transactions that fail at any time. */
  share: number
  /** Periods per day without any successful write, and their mean length. */
  spells_a_day: number
  spell_s: number
}

export type Disk = {
  /** Periods without any successful write. Seconds of the platform's clock. */
  fulls: readonly Spell[]
  /** Failed transactions, and those of them that failed at the commit. */
  counts: { failed: number; commits: number }
  /** Runs work that must succeed, such as writes of the simulation itself. */
  spare<T>(work: () => T): T
  /** The same for asynchronous work, while other tasks continue. */
  spareAll<T>(work: () => Promise<T>): Promise<T>
}

/** A transaction fails at a write below this number, or at its commit if it has fewer writes. */
const WRITES_MAX = 40
const DAY_S = 86_400

type Options = { chance: SeededRandom; fullness: Fullness; now_s: () => number; until_s: number }

/** Makes transactions fail as on a full disk: at any write, or at the commit. */
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
  const counts = limitWrites(db, () =>
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
 * Limits the writes of transactions: each may do `writesAllowed` writes and then fails, at the
 * latest at its commit; Infinity: no limit. A failed transaction is rolled back. Returns the
 * running count of failures.
 */
export function limitWrites(db: Db, writesAllowed: () => number): Disk['counts'] {
  const counts = { failed: 0, commits: 0 }
  let writes_left = Infinity
  const transaction = db.transaction.bind(db)
  const query = db.query.bind(db)

  function failing(work: () => unknown, writes: number) {
    return () => {
      writes_left = writes
      counts.failed += 1
      try {
        work()
      } finally {
        writes_left = Infinity
      }
      counts.commits += 1
      throw diskFullError()
    }
  }
  function take(): void {
    if (writes_left-- === 0) throw diskFullError()
  }
  Object.defineProperties(db, {
    transaction: {
      value(work: () => unknown) {
        const writes = db.inTransaction ? Infinity : writesAllowed()
        return transaction(writes === Infinity ? work : failing(work, writes))
      },
    },
    query: {
      value(sql: string) {
        const statement = query(sql)
        if (writes_left === Infinity || !WRITES.test(sql)) return statement
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

/** SQLite's own error for a full disk. */
function diskFullError(): Error {
  using small = new Database(':memory:')
  small.run('CREATE TABLE t (x)')
  small.run('PRAGMA max_page_count = 2')
  try {
    small.run('INSERT INTO t VALUES (zeroblob(100000))')
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('a database of two pages stored 100,000 bytes')
}

/** Counts the statements that write from now on. */
export function countWrites(db: Db): { writes: number } {
  const counts = { writes: 0 }
  const query = db.query.bind(db)
  Object.defineProperty(db, 'query', {
    value(sql: string) {
      const statement = query(sql)
      if (!WRITES.test(sql)) return statement
      const counted =
        (name: 'run' | 'get' | 'all') =>
        (...values: never[]) => {
          counts.writes += 1
          return statement[name](...values)
        }
      return { run: counted('run'), get: counted('get'), all: counted('all') }
    },
  })
  return counts
}
