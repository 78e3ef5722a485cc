import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { Clock, Log } from '../runtime/runtime.ts'
import type { Backtest, BacktestResult } from '../store/archive/backtest.ts'
import { type ArchiveStats, listToFollow } from '../store/archive/erase.ts'
import { ARCHIVE_FILE } from '../store/archive/file.ts'
import { INGESTED_AT_ONCE } from '../store/archive/ingest.ts'
import {
  countQueued,
  countQueuedBeyond,
  deleteQueued,
  dropOldestQueued,
  listQueued,
} from '../store/archive/queue.ts'
import type { ArchiveKeep } from '../store/archive/scopes.ts'
import type { ArchiveFound, ArchiveSearch } from '../store/archive/search.ts'
import { type Db, openBeside, transact } from '../store/db/connection.ts'
import { countUnread, listUnread, noteRead, skipUnread } from '../store/delivery/projections.ts'
import { newestTombstone } from '../store/erasure/kept-items.ts'
import type { WordsInput } from './protocol.ts'
import { type ArchiveThread, createArchiveThread } from './thread.ts'

/** Queued items while the archive cannot be written; beyond this the oldest are given up. */
const QUEUED_MAX = 100_000
const QUEUED_BYTES_MAX = 256 * 1024 * 1024
/** Time between two searches for expired items, ms. */
const PRUNE_EVERY_MS = 3_600_000
/** Deletion by age waits until the platform's answers have shown that the clock is right, ms. */
const UNSURE_MS = 10 * 60_000
/** Least time between two scrubs of the file, which read all of it, ms. */
const SCRUB_EVERY_MS = 3_600_000
const SCRUB_RETRY_MS = 60_000
const DAY_MS = 86_400_000
const MIB = 1024 * 1024
/** Work of one search in the thread, ms. */
const SEARCH_MS = 300
const BACKTEST_MS = 2000

type ArchiveSettings = { keep: ArchiveKeep; days: number; max_size_mb: number }

export type Archive = {
  settings: ArchiveSettings
  /** @throws {ArchiveUnavailable} */
  search(search: ArchiveSearch): Promise<ArchiveFound>
  /** @throws {ArchiveUnavailable} */
  backtest(run: Backtest): Promise<BacktestResult>
  /** @throws {ArchiveUnavailable} */
  stats(): Promise<ArchiveStats & { queued: number }>
  /** Copies the queue, follows erasures, deletes what expired. Returns the next instant to run, epoch ms. */
  turn(): Promise<number>
  stop(): Promise<void>
}

type ArchiveDeps = {
  db: Db
  dir: string
  clock: Clock
  log: Log
  words: WordsInput
  settings: ArchiveSettings
  /** Milliseconds by which true time is ahead of the local clock. */
  clock_offset_ms: () => number
  signal: AbortSignal
  thread?: ArchiveThread
}

const NOTHING: ArchiveStats = { items: 0, bytes: 0, oldest_at: null, newest_at: null }

/** Creates the archive; its thread and its file begin with the first item. */
export function createArchive(deps: ArchiveDeps): Archive {
  const { db, clock, log, settings, signal } = deps
  const path = join(deps.dir, ARCHIVE_FILE)
  const thread = deps.thread ?? createArchiveThread({ path, words: deps.words })
  const exists = (): boolean => existsSync(path)
  const sure_from = clock.mono() + UNSURE_MS
  let followed_to: number | null = null
  let prune_from = sure_from
  let scrub_from = -Infinity
  let may_scrub = true

  async function copyQueue(): Promise<void> {
    while (!signal.aborted) {
      const queued = listQueued(db, INGESTED_AT_ONCE)
      const messages = listUnread(db, 'archive', INGESTED_AT_ONCE)
      const last = messages.at(-1)
      if (queued.length === 0 && last === undefined) return
      try {
        await thread.run('ingest', { queued, messages })
      } catch (error) {
        giveUp()
        throw error
      }
      // A kill before this line repeats the copy, which then changes nothing.
      transact(db, () => {
        if (queued.length > 0)
          deleteQueued(
            db,
            queued.map(({ seq }) => seq),
          )
        if (last !== undefined) noteRead(db, 'archive', last.row)
      })
    }
  }

  function giveUp(): void {
    const count = Math.max(countQueued(db) - QUEUED_MAX, countQueuedBeyond(db, QUEUED_BYTES_MAX))
    if (count <= 0) return
    transact(db, () => dropOldestQueued(db, count))
    log('error', 'archive.given_up', { count })
  }

  async function follow(): Promise<void> {
    const newest = newestTombstone(db)
    if (newest === followed_to || (newest === 0 && followed_to === null)) return
    let position = await thread.run('follow', { tombstones: [], known_to: 0 })
    for (const step of listToFollow(db, position)) {
      if (signal.aborted) return
      position = await thread.run('follow', step)
    }
    may_scrub = true
    followed_to = position.seq
  }

  async function prune(): Promise<void> {
    if (clock.mono() < prune_from) return
    const now = clock.now() + Math.min(0, deps.clock_offset_ms())
    const items = await thread.run('prune', {
      before_at: now - settings.days * DAY_MS,
      max_bytes: settings.max_size_mb * MIB,
      now,
    })
    prune_from = clock.mono() + PRUNE_EVERY_MS
    may_scrub = true
    if (items > 0) log('info', 'archive.pruned', { items })
  }

  async function scrub(): Promise<void> {
    if (!may_scrub || clock.mono() < scrub_from) return
    const is_done = await thread.run('scrub', { fd: openBeside(path) })
    may_scrub = !is_done
    scrub_from = clock.mono() + (is_done ? SCRUB_EVERY_MS : SCRUB_RETRY_MS)
  }

  return {
    settings,
    async search(search) {
      if (!exists()) return { rows: [], after: null, scanned: 0, scanned_until: null }
      return thread.run('search', { ...search, budget_ms: SEARCH_MS })
    },
    backtest: (run) => thread.run('backtest', { ...run, budget_ms: BACKTEST_MS }),
    async stats() {
      const stats = exists() ? await thread.run('stats', {}) : NOTHING
      return { ...stats, queued: countQueued(db) + countUnread(db, 'archive') }
    },
    async turn() {
      if (settings.keep === 'nothing') skipUnread(db, 'archive')
      else await copyQueue()
      if (!exists()) return Infinity
      await follow()
      await prune()
      // At a start nothing is known; the first work shows it.
      if (followed_to !== null || clock.mono() > sure_from) await scrub()
      const wait_ms = Math.min(
        prune_from - clock.mono(),
        may_scrub ? Math.max(0, scrub_from - clock.mono()) + SCRUB_RETRY_MS : Infinity,
      )
      return clock.now() + Math.max(0, wait_ms)
    },
    stop: () => thread.stop(),
  }
}
