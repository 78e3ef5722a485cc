// Goal: no part of an erased text is left in any file of the data folder after the maintenance of a night, and kills in it
// change nothing about that. Method: items in every table and file, a tenth of them erased; then the raw bytes of all files.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { createSeededRandom } from '../../sandbox/world/random.ts'
import { createArchive } from '../../src/archive/archive.ts'
import type { Item } from '../../src/core/forum/items.ts'
import { createStorage } from '../../src/monitor/storage.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { queueItems } from '../../src/store/archive/queue.ts'
import { connect, type Db, openDb, transact } from '../../src/store/db/connection.ts'
import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import { packBodies } from '../../src/store/delivery/messages.ts'
import { ERASED_AT_ONCE, eraseItems } from '../../src/store/erasure/erase.ts'
import { keepItems } from '../../src/store/erasure/kept-items.ts'
import { needsScrub } from '../../src/store/erasure/scrub.ts'
import { insertInbox } from '../../src/store/inbox/items.ts'
import { removePartialSnapshots, RESERVE_FILE_NAME } from '../../src/store/maintenance/disk.ts'
import { takeSnapshot } from '../../src/store/maintenance/snapshots.ts'
import { insertMatches } from '../../src/store/monitoring/matches.ts'
import { findParts } from '../support/byte-search.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { postOf } from '../support/items.ts'
import { cases } from '../support/long-form.ts'
import { insertPulled } from '../support/pulled.ts'
import { putTarget } from '../support/target-row.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)
const ITEMS = cases({ short: 1000, long: 60_000 })
const KILLS = cases({ short: 3, long: 6 })
const random = createSeededRandom(35)
const KEEP = { keep_hourly: 24, keep_daily: 7, snapshots_days: 7 }

/** Words that no other item has. */
const wordsOf = (length: number): string => {
  let text = ''
  while (text.length < length) text += `${random.fraction().toString(36).slice(2, 9)} `
  return text.slice(0, length)
}

/** The item with a number, in the database, on its way to the archive, and echoed by its receiver. */
function store(db: Db, n: number): Item & { kind: 'post' } {
  const name = `t3_${n.toString(36)}`
  const item = postOf({
    id: name.slice(3),
    name,
    title: wordsOf(random.whole(30, 90)),
    text: wordsOf(random.whole(40, 1500)),
    author: `author_${n}`,
    created_utc: (START - DAY_MS * 20) / 1000 + n * 20,
  })
  const now = START - DAY_MS * 20 + n * 20_000
  const body = Buffer.from(JSON.stringify({ delivery_id: `dlv_${n}`, count: 1, items: [item] }))
  const ids = [item.name]
  keepItems(db, [item], now)
  queueItems(db, { keep: 'matches', on_queued: () => {} }, [{ item, scopes: ['m:mon_1'] }], now)
  const [message = 0] = insertPulled(db, [{ monitor_id: 'mon_1', body, matched_at: now }])
  insertMatches(db, [{ monitor_id: 'mon_1', item_id: name, message, feed_id: 1, matched_at: now }])
  insertInbox(db, [
    {
      customer_id: 'cus_1',
      monitor_id: 'mon_1',
      message,
      found_at: now,
      items: [{ item_id: name, source: '~', place: 'cats', author: item.author }],
    },
  ])
  insertDelivery(db, {
    id: `dlv_${n}`,
    customer_id: 'cus_1',
    monitor_id: 'mon_1',
    webhook_id: 'wh_1',
    item_ids: ids,
    status: 'pending',
    now,
    body,
  })
  db.query(
    `INSERT INTO attempts (delivery_row, n, started_at, ended_at, body_start)
     VALUES ((SELECT max(row) FROM deliveries), 1, $now, $now, $echo)`,
  ).run({ now, echo: item.text.slice(0, 200) })
  return item
}

/** A data folder with items, an archive and a snapshot of before the erasure. */
async function fill(folder: Folder, count: number) {
  // Zeros only, which the search of bytes can do without.
  writeFileSync(folder.file(RESERVE_FILE_NAME), '')
  const db = openDb(folder.file('forumd.sqlite'), { create: true })
  db.run("UPDATE instance SET id = 'instance'")
  putTarget(db)
  const items: (Item & { kind: 'post' })[] = []
  while (items.length < count)
    transact(db, () => {
      for (let n = 0; n < 200; n += 1) items.push(store(db, items.length + 1))
    })
  // Old rows become shorter, which moves those that stay.
  db.run(
    `UPDATE deliveries SET status = 'delivered', delivered_at = created_at, next_attempt_at = NULL WHERE row / 1000 % 3 > 0`,
  )
  for (let packed = 1; packed > 0;)
    packed = packBodies(db, { before_at: START - DAY_MS * 7, now: START }, 500)
  return { db, items }
}

/** The maintenance of the database with its snapshots, and of the archive. */
function maintain(db: Db, folder: Folder) {
  let mono = 0
  const clock = { ...realClock, now: () => START + mono, mono: () => mono }
  const stopping = new AbortController()
  const events: string[] = []
  const shared = {
    db,
    dir: folder.path,
    clock,
    log: (_: string, event: string) => void events.push(event),
    signal: stopping.signal,
  }
  const storage = createStorage({
    ...shared,
    path: folder.file('forumd.sqlite'),
    instance_id: 'instance',
    words: { community: 'subforum', home: 'forum' },
    snapshots: { ...KEEP, schedule: (at) => at + DAY_MS },
    noteConfig: () => {},
    nudge: () => {},
    lost: () => {},
  })
  const archive = createArchive({
    ...shared,
    words: { platform: 'forum', community: 'subforum', default_source: 'forum', home: 'forum' },
    settings: { keep: 'matches', days: 90, max_size_mb: 5000 },
    clock_offset_ms: () => 0,
  })
  return {
    storage,
    archive,
    events,
    /** Runs the maintenance of a night. */
    async pass(ms: number) {
      mono += ms
      await storage.turn()
      await storage.idle()
      await storage.turn()
      await archive.turn()
    },
    [Symbol.asyncDispose]: () => archive.stop(),
  }
}

function erase(db: Db, items: readonly Item[]): void {
  const deps = {
    db,
    instance_id: 'instance',
    words: { community: 'subforum', home: 'forum' },
    clock_offset_ms: () => 0,
  }
  for (let at = 0; at < items.length; at += ERASED_AT_ONCE)
    eraseItems(
      deps,
      items
        .slice(at, at + ERASED_AT_ONCE)
        .map(({ name: item_id }) => ({ item_id, reason: 'author' })),
      START,
    )
}

const textsOf = (items: readonly (Item & { kind: 'post' })[]): string[] =>
  items.flatMap(({ title, text }) => [title, text])
const filesOf = (hits: readonly { file: string }[]): string[] =>
  [...new Set(hits.map(({ file }) => file))].toSorted()

test(`of ${ITEMS / 10} erased among ${ITEMS} items no 24 bytes are left in any file after a night`, async () => {
  using folder = tempFolder()
  const { db, items } = await fill(folder, ITEMS)
  await using night = maintain(db, folder)
  await night.archive.turn()
  await takeSnapshot(folder.file('forumd.sqlite'), folder.file('snapshots'), {
    ...KEEP,
    instance_id: 'instance',
    now: START - 3_600_000,
  })
  const gone = items.filter((_, n) => n % 10 === 0)
  const stay = items.filter((_, n) => n % 10 === 1)
  erase(db, gone)
  const before = findParts(folder.path, textsOf(gone))

  await night.pass(DAY_MS)

  expect(filesOf(before)).toEqual(
    expect.arrayContaining(['archive.sqlite', 'snapshots/forumd-20251231T230000Z.sqlite']),
  )
  expect(filesOf(before).join()).toContain('forumd.sqlite')
  expect(night.events).toContain('erasure.snapshots')
  expect(night.storage.erasureLate()).toBe(false)
  const stayed = textsOf(stay.slice(0, 100))
  const after = findParts(folder.path, [...textsOf(gone), ...stayed])
  expect(after.filter(({ text }) => !stayed.includes(text))).toEqual([])
  // All else is where it was.
  expect(filesOf(after)).toEqual([
    'archive.sqlite',
    'forumd.sqlite',
    'snapshots/forumd-20251231T230000Z.sqlite',
    'snapshots/forumd-20260102T000000Z.sqlite',
  ])
  expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  db.close()
}, 3_600_000)

test('kills during the erasure leave whole files, and the next night completes it', async () => {
  using folder = tempFolder()
  const { db, items } = await fill(folder, 600)
  const snapshot = folder.file('snapshots/forumd-20251231T230000Z.sqlite')
  await takeSnapshot(folder.file('forumd.sqlite'), folder.file('snapshots'), {
    ...KEEP,
    instance_id: 'instance',
    now: START - 3_600_000,
  })
  const gone = items.filter((_, n) => n % 2 === 0)
  erase(db, gone)
  db.close()

  for (let kills = 0; kills < KILLS; kills += 1) {
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, '../support/erasing-process.ts'), folder.path],
      { stdout: 'pipe', stderr: 'inherit' },
    )
    await child.stdout.getReader().read()
    await Bun.sleep(random.whole(0, 200))
    child.kill('SIGKILL')
    await child.exited
    for (const path of [folder.file('forumd.sqlite'), snapshot]) {
      const read = new Database(path, { readonly: true })
      expect(read.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
      read.close()
    }
  }

  const again = connect(folder.file('forumd.sqlite'))
  expect(needsScrub(again)).toBe(true)
  // As every start does.
  removePartialSnapshots(folder.file('snapshots'))
  await using night = maintain(again, folder)
  await night.pass(DAY_MS)
  expect(findParts(folder.path, textsOf(gone))).toEqual([])
  again.close()
}, 60_000)
