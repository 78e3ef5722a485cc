import { judgeEpoch } from '../../core/standby/lease.ts'
import type { Db } from '../db/connection.ts'

/** The database does not belong to the epoch of the lease. Exit 78: a restart would not help. */
class WrongEpoch extends Error {
  override name = 'WrongEpoch'
}

/** The lease under which a start opens a database; `manual`: the operator vouches that this is the only primary. */
export type StartTerm = { epoch: number; data_epoch: number } | 'manual'

/** The epoch under which a database was last the primary's; 0: never under a lease. */
const readEpoch = (db: Db): number =>
  db.query<{ epoch: number }, []>('SELECT epoch FROM instance').get()?.epoch ?? 0

/**
 * Checks that no other process has been primary since this database was, and returns the epoch that it enters.
 * @throws {WrongEpoch}
 */
export function requireEpoch(db: Db, file: string, term: StartTerm): number {
  const own = readEpoch(db)
  if (term === 'manual') return Math.max(1, own)
  switch (judgeEpoch(own, term)) {
    case 'current':
      return term.epoch
    case 'outdated':
      throw new WrongEpoch(
        `${file} was last the primary's in epoch ${own}, and another node has been primary in epoch ${term.data_epoch} since: this copy lacks what that one did. Restore a copy of the other node's database here (docs/high-availability.md)`,
      )
    case 'foreign':
      throw new WrongEpoch(
        `${file} was the primary's in epoch ${own}, and the lease is only at epoch ${term.epoch}: [standby].lease names another lease than before, or its record was lost (docs/high-availability.md says how to go on)`,
      )
  }
}

/**
 * Checks that no other process has been primary, so that a missing database may be created.
 * @throws {WrongEpoch}
 */
export function requireFirst(file: string, term: StartTerm | undefined): void {
  if (term === undefined || term === 'manual' || term.data_epoch === 0) return
  throw new WrongEpoch(
    `${file} is not there, and another node has been primary in epoch ${term.data_epoch}: restore a copy of its database here (docs/high-availability.md)`,
  )
}

/** Records the epoch; the caller checked it. */
export const enterEpoch = (db: Db, epoch: number): void =>
  void db.query('UPDATE instance SET epoch = ?').run(epoch)
