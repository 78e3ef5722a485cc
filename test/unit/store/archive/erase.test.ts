import { afterEach, beforeEach, expect, test } from 'bun:test'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Item } from '../../../../src/core/forum/items.ts'
import {
  beginScrub,
  endScrub,
  eraseArchive,
  followTombstones,
  isScrubDue,
  listToFollow,
  noteScrub,
  positionOf,
  pruneArchive,
  statsOf,
} from '../../../../src/store/archive/erase.ts'
import { indexOf, listSpans, openArchive } from '../../../../src/store/archive/file.ts'
import { queueItems } from '../../../../src/store/archive/queue.ts'
import { runNow } from '../../../../src/store/db/chunked.ts'
import { type Db, openDb } from '../../../../src/store/db/connection.ts'
import { ERASED_AT_ONCE, eraseItems } from '../../../../src/store/erasure/erase.ts'
import { parse } from '../../../support/archive-arbitraries.ts'
import { archive, searchAll } from '../../../support/archive.ts'
import { commentOf, postOf } from '../../../support/items.ts'

const DAY_S = 86_400
const FIRST_S = 1_767_225_600

let dir: string
let main: Db
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forumd-archive-'))
  main = openDb(join(dir, 'forumd.sqlite'), { create: true })
})
afterEach(() => {
  main.close()
  rmSync(dir, { recursive: true })
})

const path = () => join(dir, 'archive.sqlite')
/** A word of an item alone. The index stores of a word what differs from the one before: its end is looked for. */
const secret = (n: number): string => `k${hash('sha256', `${n}`, 'hex').slice(0, 15)}`

const post = (n: number, fields: Partial<Item & { kind: 'post' }> = {}) =>
  postOf({
    id: `x${n}`,
    name: `t3_x${n}`,
    title: `headline${n} about things`,
    text: `${secret(n)} and some filler for the page ${'lorem ipsum '.repeat(n % 40)}`,
    created_utc: FIRST_S + n * 600,
    ...fields,
  })

/** Erases items in the database, which leaves tombstones. */
function erase(ids: readonly string[], reason: 'author' | 'author_gone' = 'author', now = 2e12) {
  const deps = {
    db: main,
    instance_id: 'i',
    words: { community: 'subforum', home: 'forum' },
    clock_offset_ms: () => 0,
  }
  for (let at = 0; at < ids.length; at += ERASED_AT_ONCE)
    eraseItems(
      deps,
      ids.slice(at, at + ERASED_AT_ONCE).map((item_id) => ({ item_id, reason })),
      now,
    )
}

/** Files of the folder that contain a text in their raw bytes. */
const filesWith = (text: string): string[] =>
  readdirSync(dir).filter((file) =>
    readFileSync(join(dir, file)).toString('latin1').toLowerCase().includes(text),
  )

const indexHas = (db: Db, word: string): boolean =>
  listSpans(db).some(
    (span) =>
      db
        .query<{ n: number }, [{ word: string }]>(
          `SELECT count(*) AS n FROM ${indexOf(span)} WHERE ${indexOf(span)} MATCH $word`,
        )
        .get({ word: `"${word}"` })?.n !== 0,
  )

test('no byte of an erased item is left in any file, for every third of a thousand', () => {
  {
    using db = openArchive(path())
    const items = Array.from({ length: 1000 }, (_, n) => post(n))
    for (let at = 0; at < 1000; at += 100) archive(db, items.slice(at, at + 100))
    // Former versions of some.
    archive(
      db,
      items.slice(0, 100).map((it) => ({ ...it, text: `${it.text} later` })),
      { seen_at: 2 },
    )
  }
  const gone = Array.from({ length: 1000 }, (_, n) => n).filter((n) => n % 3 === 0)
  erase(gone.map((n) => `t3_x${n}`))
  eraseArchive(main, path())

  const bytes = readdirSync(dir)
    .map((file) => readFileSync(join(dir, file)).toString('latin1').toLowerCase())
    .join('\n')
  const left = gone.filter((n) => bytes.includes(secret(n).slice(6)))
  expect(left).toEqual([])
  expect(bytes).toContain(`${secret(1)} and`)
  using db = openArchive(path())
  for (const n of [0, 3, 999]) expect(indexHas(db, secret(n))).toBe(false)
  expect(indexHas(db, secret(1))).toBe(true)
  expect(statsOf(db).items).toBe(1000 - gone.length)
  for (const span of listSpans(db))
    db.run(`INSERT INTO ${indexOf(span)} (${indexOf(span)}) VALUES ('integrity-check')`)
}, 60_000)

test('a tombstone without text stays, and an item that was queued before it stays out', () => {
  using db = openArchive(path())
  archive(db, [post(1)], { seen_at: 1000 })
  erase(['t3_x1'], 'author', 2000)
  for (const step of listToFollow(main, positionOf(db))) followTombstones(db, step)
  archive(db, [post(1)], { seen_at: 1500 })

  expect(statsOf(db).items).toBe(0)
  expect(db.query('SELECT key, reason FROM tombstones').all()).toEqual([
    { key: 't3_x1', reason: 'author' },
  ])
  archive(db, [post(1)], { seen_at: 3000 })
  expect(statsOf(db).items).toBe(1)
})

test('comments under an erased post lose its title, and are found by their own words alone', () => {
  using db = openArchive(path())
  archive(db, [
    post(1, { title: 'wonderful headline' }),
    commentOf({
      id: 'c1',
      name: 't1_c1',
      post_id: 'x1',
      link_title: 'wonderful headline',
      body: 'sure thing',
      permalink: '/r/cats/comments/x1/wonderful_headline/c1/',
      created_utc: FIRST_S + 40 * DAY_S,
    }),
  ])
  erase(['t3_x1'])
  for (const step of listToFollow(main, positionOf(db))) followTombstones(db, step)

  expect(
    searchAll(db, { spec: parse({ q: 'sure', kind: 'comment', subforum: 'cats' }) }).rows,
  ).toMatchObject([{ name: 't1_c1', link_title: '', body: 'sure thing' }])
  expect(indexHas(db, 'wonderful')).toBe(false)
})

test('an account that is gone leaves its texts and no name', () => {
  using db = openArchive(path())
  archive(db, [post(1, { author: 'remarkable_person', title: 'kept words' })])
  erase(['t3_x1'], 'author_gone')
  for (const step of listToFollow(main, positionOf(db))) followTombstones(db, step)

  const { rows } = searchAll(db, { spec: parse({ q: 'kept', subforum: 'cats' }) })
  expect(rows).toMatchObject([{ name: 't3_x1', author: '[deleted]' }])
  expect(indexHas(db, 'remarkable')).toBe(false)
})

test('after a restore of the database all its tombstones are followed again', () => {
  using db = openArchive(path())
  archive(db, [post(1), post(2)])
  erase(['t3_x1'])
  for (const step of listToFollow(main, positionOf(db))) followTombstones(db, step)
  expect(positionOf(db).seq).toBe(1)

  // The restored database has another first tombstone.
  main.run('DELETE FROM item_tombstones')
  erase(['t3_x2'])
  for (const step of listToFollow(main, positionOf(db))) followTombstones(db, step)
  expect(statsOf(db).items).toBe(0)
})

test('an item on its way to the archive is erased there too', () => {
  queueItems(
    main,
    { keep: 'matches', on_queued: () => {} },
    [{ item: post(1), scopes: ['m:1'] }],
    1000,
  )
  expect(filesWith(secret(1)).length).toBeGreaterThan(0)
  erase(['t3_x1'])

  expect(main.query('SELECT * FROM archive_queue').all()).toEqual([])
})

test('items that are too old leave, whole spans of them with their index', () => {
  using db = openArchive(path())
  const items = Array.from({ length: 60 }, (_, n) => post(n, { created_utc: FIRST_S + n * DAY_S }))
  archive(db, items)
  const spans = listSpans(db).length
  const before_at = (FIRST_S + 30 * DAY_S) * 1000
  const pruned = runNow(pruneArchive(db, { before_at, max_bytes: 1e9, now: before_at }))

  expect(pruned).toBe(30)
  expect(statsOf(db)).toMatchObject({ items: 30, oldest_at: before_at })
  expect(db.query('SELECT count(*) AS n FROM items').get()).toEqual({ n: 30 })
  expect(listSpans(db).length).toBeLessThan(spans / 2 + 2)
  expect(searchAll(db, { spec: parse({ q: 'about', subforum: 'cats' }) }).names).toHaveLength(30)
  expect(indexHas(db, secret(29))).toBe(false)
})

test('above its size the oldest items leave', () => {
  using db = openArchive(path())
  for (let at = 0; at < 1000; at += 100)
    archive(
      db,
      Array.from({ length: 100 }, (_, n) => post(at + n, { text: 'words '.repeat(300) })),
    )
  const { bytes } = statsOf(db)
  runNow(pruneArchive(db, { before_at: 0, max_bytes: bytes / 2, now: 0 }))
  const left = statsOf(db)

  expect(left.bytes).toBeLessThanOrEqual(bytes / 2)
  expect(left.items).toBeGreaterThan(300)
  expect(left.oldest_at).toBe((FIRST_S + (1000 - left.items) * 600) * 1000)
})

test('a scrub that a kill cuts short, or during which something is deleted, is due again', () => {
  using db = openArchive(path())
  noteScrub(db, true)
  beginScrub(db)
  expect(isScrubDue(db)).toBe(true)
  expect(endScrub(db)).toBe(true)
  expect(isScrubDue(db)).toBe(false)

  beginScrub(db)
  noteScrub(db, true)
  expect(endScrub(db)).toBe(false)
  expect(isScrubDue(db)).toBe(true)
})
