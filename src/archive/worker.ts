// The thread of the archive. It alone has the file open, so that nothing that is done there delays polls or answers. All
// that it holds is on the disk: the other side may end it at any time.
import { parentPort } from 'node:worker_threads'

import { createNaming, type Naming } from '../core/forum/naming.ts'
import { realClock } from '../runtime/runtime.ts'
import { backtest } from '../store/archive/backtest.ts'
import {
  beginScrub,
  endScrub,
  followTombstones,
  isScrubDue,
  positionOf,
  pruneArchive,
  statsOf,
} from '../store/archive/erase.ts'
import { hasOldIndex, openArchive } from '../store/archive/file.ts'
import { ingest, rebuildIndex } from '../store/archive/ingest.ts'
import { createWorkBudget, searchArchive } from '../store/archive/search.ts'
import { type Chunks, runNow } from '../store/db/chunked.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { archivedOf } from '../store/delivery/projections.ts'
import { scrubPages } from '../store/erasure/scrub.ts'
import type { ArchiveMessage, ArchiveReply, ArchiveWork, WorkName } from './protocol.ts'

/** Work yields after this time, so that a search does not wait for a long backtest. */
const SLICE_MS = 8

type Opened = { db: Db; words: Naming }

type Handlers = {
  [name in WorkName]: (
    opened: Opened,
    input: ArchiveWork[name]['takes'],
  ) => Chunks<ArchiveWork[name]['gives']>
}

/**
 * Time that work is charged, ms: processor time above all, so that a busy machine does not cut answers short. A quarter is
 * time on the wall, so that waiting for the disk has an end too.
 */
function charged(): number {
  const { user, system } = process.threadCpuUsage()
  return (3 * (user + system)) / 4000 + realClock.mono() / 4
}

/** Work that is one step. */
function* atOnce<T>(value: T): Chunks<T> {
  yield
  return value
}

const HANDLERS: Handlers = {
  *ingest({ db, words }, { queued, messages }) {
    ingest(db, [...queued, ...messages.flatMap((it) => archivedOf(it, words.community))])
    return yield* atOnce(true as const)
  },
  *follow({ db }, step) {
    if (step.tombstones.length > 0) followTombstones(db, step)
    return yield* atOnce(positionOf(db))
  },
  *prune({ db }, input) {
    return yield* pruneArchive(db, input)
  },
  *scrub({ db }, { fd }) {
    if (!isScrubDue(db)) return true
    transact(db, () => beginScrub(db))
    return (yield* scrubPages(db, fd)) && transact(db, () => endScrub(db))
  },
  *search({ db, words }, { budget_ms, ...search }) {
    return yield* searchArchive(db, search, words, createWorkBudget(charged, budget_ms, SLICE_MS))
  },
  *backtest({ db, words }, { budget_ms, ...trial }) {
    return yield* backtest(db, trial, words, createWorkBudget(charged, budget_ms, SLICE_MS))
  },
  *stats({ db }) {
    return yield* atOnce(statsOf(db))
  },
}

let opened: Opened | null = null
const jobs: { id: number; work: Chunks<unknown> }[] = []
let is_running = false

function open(path: string, words: Naming): void {
  opened = { db: openArchive(path), words }
  if (hasOldIndex(opened.db)) runNow(rebuildIndex(opened.db))
}

function start(id: number, name: WorkName, input: unknown): void {
  if (opened === null) throw new Error('the archive is not open')
  // The pairs of name and input are those of `ArchiveWork`: the handle of the other side makes them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other side's types make the pair
  const handler = HANDLERS[name] as (of: Opened, input: unknown) => Chunks<unknown>
  jobs.push({ id, work: handler(opened, input) })
  void run()
}

/** Runs a slice of each job in turn. Messages arrive in between. */
async function run(): Promise<void> {
  if (is_running) return
  is_running = true
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const { id, work } = job
    try {
      const { done, value } = work.next()
      if (done) send({ id, gives: value })
      else jobs.push(job)
    } catch (error) {
      send({ id, ...failureOf(error) })
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  is_running = false
}

const failureOf = (error: unknown): { failed: string; code: string | null } => ({
  failed: error instanceof Error ? error.message : String(error),
  code:
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null,
})

parentPort?.on('message', (message: ArchiveMessage) => {
  if ('open' in message) {
    try {
      open(message.open, createNaming(message.words, message.words))
      send({ ready: true })
    } catch (error) {
      send({ id: 0, ...failureOf(error) })
    }
  } else if ('close' in message) {
    opened?.db.close()
    opened = null
    send({ closed: true })
  } else
    try {
      start(message.id, message.work, message.input)
    } catch (error) {
      send({ id: message.id, ...failureOf(error) })
    }
})

function send(reply: ArchiveReply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(reply)
}
