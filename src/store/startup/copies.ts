import { statSync } from 'node:fs'

import { removeWebSessions } from '../customers/web-sessions.ts'
import { type Db, transact } from '../db/connection.ts'
import type { InstanceFiles } from '../maintenance/paths.ts'
import { insertEvent } from '../monitoring/checks.ts'
import { skipAhead } from '../monitoring/matches.ts'

/**
 * Records that the database goes on from an earlier state: what happened since is unknown, which health has to report. The
 * event reaches back to what the database saw last.
 */
export function noteRestored(db: Db, now: number): void {
  const { at = null } =
    db.query<{ at: number | null }, []>('SELECT max(last_check_at) AS at FROM feeds').get() ?? {}
  const until_at = at === null ? null : Math.min(at, now)
  insertEvent(db, { kind: 'restore_detected', feed_id: null, at: now, until_at })
  skipAhead(db, now)
  // A session that was ended since must not become valid again.
  removeWebSessions(db)
}

/**
 * Notes a start in another folder or from another file than before; true: the files are a copy. The inode numbers of both are
 * outside of the reach of cp, rsync, restic and borg, which make new files. A restart, an upgrade, another host name, a
 * folder that is renamed and a volume that is mounted elsewhere or on another machine keep them; device numbers and
 * machine ids do not. A snapshot of the whole volume or machine keeps them too, and is not noticed.
 */
export function noteCopy(db: Db, { dir, db: path }: InstanceFiles, now: number): boolean {
  const inodes = `${statSync(dir).ino} ${statSync(path).ino}`
  const before =
    db.query<{ inodes: string | null }, []>('SELECT inodes FROM instance').get()?.inodes ?? null
  if (before === inodes) return false
  return transact(db, () => {
    db.query('UPDATE instance SET inodes = ?').run(inodes)
    if (before !== null) noteRestored(db, now)
    return before !== null
  })
}
