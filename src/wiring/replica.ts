import { existsSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'

import type { Config } from '../config/schema.ts'
import { loggedCode } from '../core/base/errors.ts'
import { isComplete } from '../core/standby/lease.ts'
import type { StandbyState } from '../core/standby/nodes.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { TakenTerm } from '../standby/lease.ts'
import { type CopyState, readCopy, ReplicaUnusable, runRestore } from '../standby/replica.ts'
import { pathsOf } from '../store/maintenance/paths.ts'
import { openBackup, restoreInstance } from '../store/maintenance/restore.ts'
import { copyDatabase, CopyFailed } from '../store/maintenance/snapshots.ts'

/** Delay after a copy that failed. */
const AGAIN_MS = 10_000
/** At a takeover with a warm copy, the last copy may take so many times as long as the warm one: it hangs after that. */
const LAST_COPY_TIMES = 3
const LAST_COPY_MIN_MS = 10_000
/** Folder of copies within the data folder. */
const FOLDER = 'standby'

/**
 * A takeover, for the log: `holder` was the primary, `late_ms` the time since the newest mark or check in the copy.
 * `complete`: the copy holds everything.
 */
export type TookOver = { epoch: number; holder: string; late_ms: number | null; complete: boolean }

/** Copies of the primary's database on a standby. */
export type Follower = {
  /** Makes and checks a copy at intervals until `signal` aborts; `primary` names the node, empty: not known yet. */
  follow(primary: () => string, signal: AbortSignal): Promise<void>
  /** Seconds since the newest mark or check in the newest copy; null: there is no copy. */
  age_s(): number | null
  /** The newest copy, and the failure since, for the other nodes. */
  state(): StandbyState
  /**
   * Replaces the own database by the newest copy if another node has been primary since; otherwise returns null. The
   * caller holds the lease.
   * @throws {ReplicaUnusable} there is no copy of that node's epoch, or in a planned move none that holds everything
   */
  takeOver(term: TakenTerm): Promise<TookOver | null>
}

/** Creates the follower; null if no command is configured. `changed` is called after each attempt at a copy. */
export function createFollower(
  { standby, storage }: Config,
  runtime: Runtime,
  changed: () => void,
): Follower | null {
  const { clock, log, random } = runtime
  const words = standby.restore
  if (words.length === 0) return null
  const paths = pathsOf(storage)
  const folder = join(storage.dir, FOLDER)
  const warm = join(folder, 'warm.sqlite')
  /** State of the warm copy, which was checked in every page. */
  let newest: (CopyState & { began_at: number }) | null = null
  /** Time in which its command ended. */
  let newest_took_ms = 0
  let error_now = ''

  /** A primary keeps no copies: what it deletes must not stay in them. */
  const removeCopies = () => rmSync(folder, { recursive: true, force: true })

  /** Makes the warm copy; false if that failed. */
  async function copy(primary: string, signal: AbortSignal): Promise<boolean> {
    const began_at = clock.now()
    try {
      const began = clock.mono()
      const path = await runRestore(words, { folder, primary, signal })
      newest_took_ms = clock.mono() - began
      const state = readCopy(path)
      await copyDatabase(path, warm, { instance_id: state.instance_id, replace: true })
      newest = { ...state, began_at }
      error_now = ''
      log('debug', 'standby.copied', { epoch: state.epoch, late_ms: ageOf(state) })
      return true
    } catch (error) {
      if (!signal.aborted) noteFailure(error)
      return false
    } finally {
      if (!signal.aborted) changed()
    }
  }

  function noteFailure(error: unknown): void {
    error_now = reasonOf(error)
    log('error', 'standby.copy_failed', { why: error_now })
  }

  const ageOf = ({ seen_at }: CopyState) => (seen_at === null ? null : clock.now() - seen_at)

  /** Runs the command for the last changes; `max_ms` bounds it, null: nothing but its own limit does. */
  async function lastCopy(primary: string, max_ms: number | null): Promise<string> {
    const [late, done] = [new AbortController(), new AbortController()]
    const limit =
      max_ms === null
        ? null
        : clock.sleep(max_ms, done.signal).then(() => {
            if (!done.signal.aborted) late.abort()
          })
    try {
      return await runRestore(words, { folder, primary, signal: late.signal })
    } finally {
      done.abort()
      await limit
    }
  }

  /** The last changes of the node that is gone; the warm copy without them if that fails or hangs. */
  async function newestCopy({ data_epoch, data_holder }: TakenTerm) {
    const is_warm = newest !== null && newest.epoch >= data_epoch && existsSync(warm)
    const max_ms = Math.max(LAST_COPY_MIN_MS, LAST_COPY_TIMES * newest_took_ms)
    try {
      const path = await lastCopy(data_holder, is_warm ? max_ms : null)
      const state = readCopy(path)
      if (state.epoch >= data_epoch) return { path, state }
      throw new ReplicaUnusable(`the copy is of epoch ${state.epoch}, before ${data_epoch}`)
    } catch (error) {
      noteFailure(error)
      if (newest !== null && is_warm) return { path: warm, state: newest }
      throw error
    }
  }

  return {
    async follow(primary, signal) {
      while (!signal.aborted) {
        const name = primary()
        // A primary that has only just begun has no replica yet.
        const made = name !== '' && name !== standby.name && (await copy(name, signal))
        const every_ms = standby.restore_every_s * 1000
        await clock.sleep(made ? every_ms : Math.min(every_ms, AGAIN_MS), signal)
      }
    },
    age_s() {
      const age_ms = newest === null ? null : ageOf(newest)
      return age_ms === null ? null : Math.round(age_ms / 1000)
    },
    state: () => ({
      copy: newest && {
        epoch: newest.epoch,
        mark: newest.mark,
        marked_at: newest.marked_at,
        began_at: newest.began_at,
      },
      error: error_now,
      copy_every_ms: standby.restore_every_s * 1000,
    }),
    async takeOver(term) {
      if (term.data_holder === '' || ownEpoch(paths.db) >= term.data_epoch) {
        removeCopies()
        return null
      }
      const { path, state } = await newestCopy(term)
      const complete = isComplete(state, term)
      if (term.is_move && !complete) {
        const error = new ReplicaUnusable(
          `the replica of ${term.data_holder} lacks its last changes`,
        )
        noteFailure(error)
        throw error
      }
      using backup = openBackup(path)
      restoreInstance(backup, paths, {
        clock,
        random,
        without_secrets: false,
        failover: { unsettled_ms: complete ? 0 : standby.unsettled_s * 1000 },
      })
      removeCopies()
      // What Litestream noted about the database that was there before.
      rmSync(join(paths.dir, `.${basename(paths.db)}-litestream`), { recursive: true, force: true })
      return { epoch: term.epoch, holder: term.data_holder, late_ms: ageOf(state), complete }
    },
  }
}

/** Epoch of the own database; -1 if there is none that can be read. */
function ownEpoch(path: string): number {
  try {
    return existsSync(path) ? readCopy(path).epoch : -1
  } catch {
    return -1
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof ReplicaUnusable || error instanceof CopyFailed
    ? error.message
    : loggedCode(error)
