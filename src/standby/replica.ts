import { Database } from 'bun:sqlite'
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** No usable copy of the primary's database could be had. The message names neither addresses nor output of the command. */
export class ReplicaUnusable extends Error {
  override name = 'ReplicaUnusable'
}

/**
 * State of a copy. Epoch ms by the clock of its primary: `marked_at` is the time of its newest mark, `seen_at` the last
 * instant at which a check finished or a mark was written; null: never.
 */
export type CopyState = {
  epoch: number
  instance_id: string
  mark: number
  marked_at: number | null
  seen_at: number | null
}

/** A hanging command must not keep a node from ever taking over. */
const COMMAND_MAX_MS = 30 * 60_000

/**
 * Runs the configured command, which has to make a database at `{target}`. Returns its path.
 * @throws {ReplicaUnusable}
 */
export async function runRestore(
  words: readonly string[],
  { folder, primary, signal }: { folder: string; primary: string; signal: AbortSignal },
): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const target = join(folder, 'replica.sqlite')
  for (const end of ['', '-wal', '-shm']) rmSync(target + end, { force: true })
  const command = words.map((word) =>
    word.replaceAll('{target}', target).replaceAll('{primary}', primary),
  )
  let code: number
  try {
    const child = Bun.spawn(command, {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'inherit',
      timeout: COMMAND_MAX_MS,
      killSignal: 'SIGKILL',
      signal,
    })
    code = await child.exited
  } catch {
    throw new ReplicaUnusable('the command of [standby].restore cannot be started')
  }
  if (code !== 0) throw new ReplicaUnusable(`the command of [standby].restore ended with ${code}`)
  if (statSync(target, { throwIfNoEntry: false }) === undefined)
    throw new ReplicaUnusable('the command of [standby].restore made no file')
  return target
}

/**
 * Reads the state of a database.
 * @throws {ReplicaUnusable} it is none of forumd
 */
export function readCopy(path: string): CopyState {
  try {
    using db = new Database(path, { readonly: true })
    const row = db
      .query<CopyState, []>(
        `SELECT epoch, id AS instance_id, mark, marked_at,
                nullif(max(coalesce(marked_at, 0), coalesce((SELECT max(last_check_at) FROM feeds), 0)), 0) AS seen_at
           FROM instance`,
      )
      .get()
    if (row !== null) return row
  } catch {
    // The sentence below.
  }
  throw new ReplicaUnusable('the copy is not a database of this version of forumd')
}
