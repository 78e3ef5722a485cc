// Goal: after a crash at any instant, each match is delivered under one id, and none is lost. Method: stop between the
// steps of a check, reopen the file, poll again, and compare with an undisturbed run.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'

import { limitWrites } from '../../simulation/disk.ts'
import { type MonitorFixture, post, START, startMonitorFixture } from './fixture.ts'

const S = 1000

async function watching() {
  const fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.webhook('wh_2')
  fixture.feed.put('cats', post(1, 'old', START - S))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.feed.put('cats', post(2, 'new', START + S), post(3, 'newer', START + 2 * S))
  return fixture
}

/** Deliveries as a receiver sees them: ids and bytes, by item. */
const sent = (fixture: MonitorFixture) =>
  fixture.deliveries().map(({ id, body }) => [id, new TextDecoder().decode(body)])

/** Stored matches that are missing in the inbox, and rows of the inbox without a match. */
const strayed = (fixture: MonitorFixture) =>
  fixture.one<{ missing: number; left: number }>(
    `SELECT (SELECT count(*) FROM messages b
              WHERE b.seq IS NOT NULL AND NOT EXISTS (SELECT 1 FROM inbox_matches WHERE message = b.row)) AS missing,
            (SELECT count(*) FROM inbox_items i WHERE NOT EXISTS (SELECT 1 FROM inbox_matches m
               JOIN messages b ON b.row = m.message WHERE m.item = i.row)) AS left`,
  )

const failureOf = (turn: Promise<unknown>) => turn.then(() => 'none', String)

/** Deliveries of a run without a crash. */
async function undisturbed() {
  await using fixture = await watching()
  await fixture.check()
  return sent(fixture)
}

test('after a crash between reading and writing the next run creates the same ids and bytes', async () => {
  await using fixture = await watching()
  const hold = fixture.feed.hold()
  fixture.pass(60 * S)
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  const dead = fixture.monitoring
  fixture.reboot()
  hold.all()
  await dead.idle()
  expect(fixture.deliveries()).toEqual([])

  await fixture.check()
  expect(sent(fixture)).toEqual(await undisturbed())
})

test('after a crash following the commit nothing is created again', async () => {
  await using fixture = await watching()
  await fixture.check()
  const before = sent(fixture)
  fixture.reboot()
  await fixture.check()

  expect(sent(fixture)).toEqual(before)
})

test('a failing write rolls the check back, and the next one writes all of it', async () => {
  await using fixture = await watching()
  // The second delivery fails: the whole check must be rolled back.
  fixture.db.run(
    `CREATE TRIGGER fails BEFORE INSERT ON deliveries WHEN NEW.webhook_id = 'wh_2'
     BEGIN SELECT raise(ABORT, 'no'); END`,
  )
  await fixture.check()
  const count = (table: string) =>
    fixture.one<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n
  expect([count('deliveries'), count('matches'), count('feed_items'), count('checks')]).toEqual([
    0, 0, 1, 1,
  ])
  expect(fixture.one<{ n: number }>('SELECT next_seq AS n FROM feeds')?.n).toBe(2)

  fixture.db.run('DROP TRIGGER fails')
  expect(await failureOf(fixture.monitoring.checkDue())).toContain('no')
  await fixture.check()
  expect(sent(fixture)).toEqual(await undisturbed())
  expect(count('inbox_items')).toBe(2)
  expect(fixture.one<{ kind: string }>('SELECT kind FROM observation_events')?.kind).toBe(
    'poll_log_failed',
  )
})

test('a full disk truncates the check as storage_full once that can be written, and loses nothing', async () => {
  await using fixture = await watching()
  const pages = fixture.one<{ page_count: number }>('PRAGMA page_count')!.page_count
  fixture.db.run(`PRAGMA max_page_count = ${pages}`)
  fixture.feed.put(
    'cats',
    ...Array.from({ length: 80 }, (_, i) => post(10 + i, 'x'.repeat(2000), START + 3 * S)),
  )
  await fixture.check()
  expect(fixture.deliveries()).toEqual([])
  fixture.db.run('PRAGMA max_page_count = 1000000')
  expect(await failureOf(fixture.monitoring.checkDue())).toContain('full')
  await fixture.check()

  expect(fixture.deliveries()).toHaveLength(82 * 2)
  expect(fixture.cuts()).toEqual([null, 'storage_full', null])
  expect(fixture.gaps()).toMatchObject([{ reason: 'storage_full', closed_at: fixture.clock.now() }])
})

test('after any write or the commit fails on a full disk, the next check delivers everything', async () => {
  await using fixture = await watching()
  fixture.feed.put('dogs', post(4, 'old', START - S, { subforum: 'dogs' }))
  fixture.monitor('mon_2', { subforum: ['dogs'] })
  await fixture.pollDue()
  let [before, capacity] = [Infinity, Infinity]
  const counts = limitWrites(fixture.db, () => (before-- === 0 ? capacity : Infinity))
  const transactions: number[] = []
  let serial = 100
  // Each transaction of a check in turn, with room for one more of its writes each time, until all fit.
  for (let nth = 0; nth < 4; nth++)
    for (let writes = 0, commits = counts.commits; counts.commits === commits; writes++) {
      const failed = counts.failed
      for (const place of ['cats', 'dogs'])
        fixture.feed.put(
          place,
          post(serial++, `${nth} ${writes}`, fixture.clock.now(), { subforum: place }),
        )
      ;[before, capacity] = [nth, writes]
      await failureOf(fixture.check())
      before = Infinity
      await failureOf(fixture.monitoring.checkDue())
      await fixture.check()

      expect(fixture.titles('mon_1').filter((it) => it === `${nth} ${writes}`)).toHaveLength(2)
      expect(fixture.titles('mon_2').filter((it) => it === `${nth} ${writes}`)).toHaveLength(2)
      if (counts.failed === failed) break
      transactions[nth] = writes
    }
  expect(transactions.length).toBeGreaterThan(1)
  expect(Math.max(...transactions)).toBeGreaterThan(20)
  expect(strayed(fixture)).toEqual({ missing: 0, left: 0 })
  expect(fixture.gaps().filter(({ closed_at }) => closed_at === null)).toEqual([])
  expect(fixture.cuts().filter((it) => it !== null && it !== 'storage_full')).toEqual([])
})

test('a poll with more than one transaction should hold is recorded in parts, each of which may fail', async () => {
  await using fixture = await watching()
  const serials = Array.from({ length: 20 }, (_, n) => n)
  const left: number[] = []
  for (let nth = 0, has_failed = true; has_failed; nth++) {
    const text = 'x'.repeat(54_000)
    const now = fixture.clock.now()
    fixture.feed.put(
      'cats',
      ...serials.map((n) => post(1000 * (nth + 1) + n, `${nth} ${n}`, now + n, { text })),
    )
    const mine = () => fixture.titles().filter((it) => it.startsWith(`${nth} `))
    let before = nth
    const counts = limitWrites(fixture.db, () => (before-- === 0 ? 0 : Infinity))
    await failureOf(fixture.check())
    has_failed = counts.failed > 0
    left.push(mine().length)
    fixture.reboot()
    await fixture.check()

    expect(mine().toSorted()).toEqual(
      serials.flatMap((n) => [`${nth} ${n}`, `${nth} ${n}`]).toSorted(),
    )
  }
  expect(left.filter((it) => it > 0 && it < 40).length).toBeGreaterThan(1)
  expect(
    fixture.one<{ n: number }>('SELECT count(*) - count(DISTINCT seq) AS n FROM feed_items')?.n,
  ).toBe(0)
  expect(strayed(fixture)).toEqual({ missing: 0, left: 0 })
  expect(fixture.gaps().filter(({ closed_at }) => closed_at === null)).toEqual([])
})

test('a pause of the process without a gap is recorded as such, and fresh items are delivered', async () => {
  await using fixture = await watching()
  fixture.pass(600 * S)
  fixture.reboot()
  await fixture.pollDue()

  expect(fixture.titles()).toEqual(['new', 'new', 'newer', 'newer'])
  expect(fixture.gaps()).toEqual([])
  expect(fixture.one<{ kind: string }>('SELECT kind FROM observation_events')?.kind).toBe(
    'process_down',
  )
})

test('a second reader finds the file consistent while the daemon runs', async () => {
  await using fixture = await watching()
  await fixture.check()
  using other = new Database(fixture.path, { readonly: true })

  expect(other.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(other.query('PRAGMA foreign_key_check').all()).toEqual([])
})
