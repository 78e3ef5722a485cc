import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createArchive } from '../../../src/archive/archive.ts'
import { type ArchiveThread, ArchiveUnavailable } from '../../../src/archive/thread.ts'
import { countQueued, countQueuedBeyond, queueItems } from '../../../src/store/archive/queue.ts'
import { type Db, openDb, transact } from '../../../src/store/db/connection.ts'
import { fakeClock } from '../../support/clock.ts'
import { postOf } from '../../support/items.ts'

const DAY_MS = 86_400_000

let dir: string
let db: Db
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forumd-archive-'))
  db = openDb(join(dir, 'forumd.sqlite'), { create: true })
})
afterEach(() => {
  db.close()
  rmSync(dir, { recursive: true })
})

/** An archive over a thread that answers as a test says, and notes its work. */
function create({ broken = false, exists = true } = {}) {
  const state = { broken }
  const work: { name: string; input: unknown }[] = []
  const events: { event: string; fields: Record<string, unknown> | undefined }[] = []
  if (exists) writeFileSync(join(dir, 'archive.sqlite'), '')
  const gives: Record<string, unknown> = {
    ingest: true,
    follow: { seq: 0, item_id: '' },
    prune: 3,
    scrub: true,
  }
  const run = async (name: string, input: unknown): Promise<unknown> => {
    if (state.broken) throw new ArchiveUnavailable('disk full', 'SQLITE_FULL')
    work.push({ name, input })
    return gives[name]
  }
  const clock = fakeClock(async () => {})
  const archive = createArchive({
    db,
    dir,
    clock,
    log: (_, event, fields) => void events.push({ event, fields }),
    words: { platform: 'forum', community: 'subforum', default_source: 'forum', home: 'forum' },
    settings: { keep: 'matches', days: 90, max_size_mb: 1 },
    clock_offset_ms: () => -5000,
    signal: new AbortController().signal,
    thread: { run: run as ArchiveThread['run'], stop: async () => {} },
  })
  return { archive, clock, state, work, events, names: () => work.map(({ name }) => name) }
}

function queue(count: number): void {
  const archiving = { keep: 'matches' as const, on_queued: () => {} }
  transact(db, () => {
    for (let n = 0; n < count; n++)
      queueItems(db, archiving, [{ item: postOf({ name: `t3_x${n}` }), scopes: ['m:1'] }], 1)
  })
}

test('items that cannot be copied stay queued, and are copied later', async () => {
  const { archive, state, names } = create({ broken: true })
  queue(450)

  expect(archive.turn()).rejects.toThrow('disk full')
  await archive.turn().catch(() => {})
  expect(countQueued(db)).toBe(450)
  state.broken = false
  await archive.turn()

  expect(names().filter((it) => it === 'ingest')).toHaveLength(3)
  expect(countQueued(db)).toBe(0)
})

test('a queue that grows without end is given up from its oldest item on, and that is logged', async () => {
  const { archive, events } = create({ broken: true })
  queue(1)
  db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100_010)
    INSERT INTO archive_queue (item_id, item, scopes, seen_at) SELECT 't3_y' || i, '{}', '[]', i FROM n`)
  await archive.turn().catch(() => {})

  expect(countQueued(db)).toBe(100_000)
  expect(events).toEqual([{ event: 'archive.given_up', fields: { count: 11 } }])
  expect(db.query('SELECT min(seq) AS seq FROM archive_queue').get()).toEqual({ seq: 12 })
})

test('a queue of long items is given up by its bytes, from its oldest on', () => {
  db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
    INSERT INTO archive_queue (item_id, item, scopes, seen_at) SELECT 't3_y' || i, hex(zeroblob(50)), '[]', i FROM n`)

  expect([1500, 1999, 2000].map((bytes_max) => countQueuedBeyond(db, bytes_max))).toEqual([5, 1, 0])
})

test('nothing is deleted by age before the clock is known to be right', async () => {
  const { archive, clock, work, names, events } = create()
  await archive.turn()
  expect(names()).not.toContain('prune')

  await clock.advance(11 * 60_000)
  await archive.turn()
  const pruned = work.find(({ name }) => name === 'prune')
  // By the earlier of two clocks.
  expect(pruned?.input).toEqual({
    before_at: clock.now() - 5000 - 90 * DAY_MS,
    max_bytes: 1024 * 1024,
    now: clock.now() - 5000,
  })
  expect(events).toEqual([{ event: 'archive.pruned', fields: { items: 3 } }])
  await archive.turn()
  expect(names().filter((it) => it === 'prune')).toHaveLength(1)
})

test('an archive without a file starts no thread', async () => {
  const { archive, clock, names } = create({ exists: false })
  await clock.advance(DAY_MS)

  expect(await archive.turn()).toBe(Infinity)
  expect(await archive.stats()).toMatchObject({ items: 0, queued: 0 })
  expect(names()).toEqual([])
})
