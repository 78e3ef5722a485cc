import { type Db, transact } from '../db/connection.ts'

/** Asks the daemon that is the primary in this epoch to hand over to a node. */
export const askMove = (db: Db, to: string, epoch: number): void =>
  void db.query('UPDATE instance SET move_to = ?, move_epoch = ?').run(to, epoch)

/** True while the request has not been taken. */
export const isMoveAsked = (db: Db): boolean =>
  db.query('SELECT 1 FROM instance WHERE move_to IS NOT NULL').get() !== null

/** Withdraws a request. False: the daemon has taken it. */
export const withdrawMove = (db: Db): boolean =>
  db.query('UPDATE instance SET move_to = NULL WHERE move_to IS NOT NULL').run().changes > 0

/**
 * Takes the request of this epoch; null: there is none. One of another epoch came with a copy of another node's database.
 * @throws {Fenced} the lease of this process has ended
 */
export function takeMove(db: Db, epoch: number): string | null {
  const found = db
    .query<{ move_to: string | null; move_epoch: number | null }, []>(
      'SELECT move_to, move_epoch FROM instance',
    )
    .get()
  const to = found?.move_to ?? null
  if (to === null) return null
  transact(db, () => void db.run('UPDATE instance SET move_to = NULL'))
  return found?.move_epoch === epoch ? to : null
}
