import { Database } from 'bun:sqlite'
import { join } from 'node:path'

import { type Chunks, runCooperatively } from '../db/chunked.ts'
import { connect, type Db, schemaVersion } from '../db/connection.ts'
import { openFolder } from '../maintenance/folder.ts'
import { copyDatabase, listSnapshots } from '../maintenance/snapshots.ts'
import { ERASED_AT_ONCE, type EraseDeps, type ErasedItem, eraseItems } from './erase.ts'
import { listTombstones } from './kept-items.ts'

/** Tombstones that are compared with a snapshot in one step. */
const COMPARED_AT_ONCE = 500

/**
 * Erases in each snapshot of a folder what the database has erased since. A snapshot is replaced by a compact copy without
 * it, so that a kill leaves the one or the other. Returns the number of replaced snapshots.
 * @throws {Error} of the first snapshot that stays as it is: no room for two copies of it, or it is damaged
 */
export async function eraseInSnapshots(
  deps: Omit<EraseDeps, 'silent'>,
  folder: string,
  { now, signal }: { now: number; signal: AbortSignal },
): Promise<number> {
  let replaced = 0
  const failures: unknown[] = []
  for (const name of listSnapshots(folder)) {
    if (signal.aborted) break
    try {
      if (await eraseInSnapshot(deps, folder, name, { now, signal })) replaced += 1
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return replaced
}

async function eraseInSnapshot(
  deps: EraseDeps,
  folder: string,
  name: string,
  { now, signal }: { now: number; signal: AbortSignal },
): Promise<boolean> {
  const { db, instance_id } = deps
  const items = await runCooperatively(findErased(db, join(folder, name)), signal)
  if (items === null || items.length === 0) return false
  using files = openFolder(folder)
  const part = `${name}.erasing`
  const remove = () => {
    for (const end of ['', '-wal', '-shm']) files.remove(part + end)
  }
  remove()
  try {
    await copyDatabase(join(folder, name), join(folder, part), { instance_id })
    const erasing = eraseInCopy({ ...deps, silent: true }, join(folder, part), items, now)
    if ((await runCooperatively(erasing, signal)) === null) return false
    await copyDatabase(join(folder, part), join(folder, name), { instance_id, replace: true })
    return true
  } finally {
    remove()
  }
}

/** Items of a snapshot that the database has erased since; none in one of another schema, which ages out. */
function* findErased(main: Db, path: string): Chunks<ErasedItem[]> {
  const copy = new Database(path, { readonly: true, strict: true })
  try {
    if (schemaVersion(copy) !== schemaVersion(main)) return []
    const find = copy.query<ErasedItem, [{ tombstones: string }]>(
      `SELECT k.item_id, t.value ->> 'reason' AS reason
         FROM json_each($tombstones) t JOIN kept_items k ON k.item_id = t.value ->> 'item_id'
        WHERE k.first_kept_at <= t.value ->> 'at' AND (reason <> 'author_gone' OR k.author IS NOT NULL)`,
    )
    const found: ErasedItem[] = []
    for (let after = 0; ;) {
      const tombstones = listTombstones(main, { after, limit: COMPARED_AT_ONCE })
      const last = tombstones.at(-1)
      if (last === undefined) return found
      found.push(...find.all({ tombstones: JSON.stringify(tombstones) }))
      after = last.seq
      yield
    }
  } finally {
    copy.close()
  }
}

function* eraseInCopy(
  deps: EraseDeps,
  path: string,
  items: readonly ErasedItem[],
  now: number,
): Chunks<true> {
  const db = connect(path)
  try {
    for (let at = 0; at < items.length; at += ERASED_AT_ONCE) {
      eraseItems({ ...deps, db }, items.slice(at, at + ERASED_AT_ONCE), now)
      yield
    }
    return true
  } finally {
    db.close()
  }
}
