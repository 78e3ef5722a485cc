// Goal: whatever instant the process dies at, a match is delivered under one id, and none is lost.
// Method: die between the steps of a check, open the same file again, look again, compare with a stage that lived.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'

import { limitRoom } from '../../simulation/disk.ts'
import { post, type Stage, START, startStage } from './stage.ts'

const S = 1000

async function watching() {
  const stage = startStage()
  stage.webhook('wh_1')
  stage.webhook('wh_2')
  stage.feed.put('cats', post(1, 'old', START - S))
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.feed.put('cats', post(2, 'new', START + S), post(3, 'newer', START + 2 * S))
  return stage
}

/** What a receiver would see: ids and the bytes under them, by item. */
const sent = (stage: Stage) =>
  stage.deliveries().map(({ id, body }) => [id, new TextDecoder().decode(body)])

const failureOf = (turn: Promise<unknown>) => turn.then(() => 'none', String)

/** What a life without a crash delivers. */
async function undisturbed() {
  await using stage = await watching()
  await stage.check()
  return sent(stage)
}

test('dead between reading and writing: the next life finds the same, under the same ids and bytes', async () => {
  await using stage = await watching()
  const held = stage.feed.hold()
  stage.pass(60 * S)
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  const dead = stage.monitoring
  stage.reboot()
  held.all()
  await dead.idle()
  expect(stage.deliveries()).toEqual([])

  await stage.check()
  expect(sent(stage)).toEqual(await undisturbed())
})

test('dead after the commit: nothing is made again', async () => {
  await using stage = await watching()
  await stage.check()
  const before = sent(stage)
  stage.reboot()
  await stage.check()

  expect(sent(stage)).toEqual(before)
})

test('a failing write leaves nothing of the check, and the next one writes all of it', async () => {
  await using stage = await watching()
  // The second delivery does not go in: the whole check must come out again.
  stage.db.run(
    `CREATE TRIGGER fails BEFORE INSERT ON deliveries WHEN NEW.webhook_id = 'wh_2'
     BEGIN SELECT raise(ABORT, 'no'); END`,
  )
  await stage.check()
  const count = (table: string) => stage.one<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n
  expect([count('deliveries'), count('matches'), count('stream_items'), count('checks')]).toEqual([
    0, 0, 1, 1,
  ])
  expect(stage.one<{ n: number }>('SELECT next_seq AS n FROM streams')?.n).toBe(2)

  stage.db.run('DROP TRIGGER fails')
  expect(await failureOf(stage.monitoring.checkDue())).toContain('no')
  await stage.check()
  expect(sent(stage)).toEqual(await undisturbed())
  expect(stage.one<{ kind: string }>('SELECT kind FROM events')?.kind).toBe('poll_log_failed')
})

test('a full disk cuts the check as storage_full once that can be written, and loses nothing', async () => {
  await using stage = await watching()
  const pages = stage.one<{ page_count: number }>('PRAGMA page_count')!.page_count
  stage.db.run(`PRAGMA max_page_count = ${pages}`)
  stage.feed.put(
    'cats',
    ...Array.from({ length: 80 }, (_, i) => post(10 + i, 'x'.repeat(2000), START + 3 * S)),
  )
  await stage.check()
  expect(stage.deliveries()).toEqual([])
  stage.db.run('PRAGMA max_page_count = 1000000')
  expect(await failureOf(stage.monitoring.checkDue())).toContain('full')
  await stage.check()

  expect(stage.deliveries()).toHaveLength(82 * 2)
  expect(stage.cuts()).toEqual([null, 'storage_full', null])
  expect(stage.gaps()).toMatchObject([{ reason: 'storage_full', healed_at: stage.clock.now() }])
})

test('whichever write finds the disk full, or the commit, the next check makes up for all of it', async () => {
  await using stage = await watching()
  stage.feed.put('dogs', post(4, 'old', START - S, { subforum: 'dogs' }))
  stage.monitor('mon_2', { subforum: ['dogs'] })
  await stage.look()
  let [before, room] = [Infinity, Infinity]
  const counts = limitRoom(stage.db, () => (before-- === 0 ? room : Infinity))
  const transactions: number[] = []
  let serial = 100
  // The transactions of a check one after the other, each with room for ever more of its writes, until none is missing.
  for (let nth = 0; nth < 4; nth++)
    for (let writes = 0, commits = counts.commits; counts.commits === commits; writes++) {
      const failed = counts.failed
      for (const place of ['cats', 'dogs'])
        stage.feed.put(
          place,
          post(serial++, `${nth} ${writes}`, stage.clock.now(), { subforum: place }),
        )
      ;[before, room] = [nth, writes]
      await failureOf(stage.check())
      before = Infinity
      await failureOf(stage.monitoring.checkDue())
      await stage.check()

      expect(stage.titles('mon_1').filter((it) => it === `${nth} ${writes}`)).toHaveLength(2)
      expect(stage.titles('mon_2').filter((it) => it === `${nth} ${writes}`)).toHaveLength(2)
      if (counts.failed === failed) break
      transactions[nth] = writes
    }
  expect(transactions.length).toBeGreaterThan(1)
  expect(Math.max(...transactions)).toBeGreaterThan(20)
  expect(stage.gaps().filter(({ healed_at }) => healed_at === null)).toEqual([])
  expect(stage.cuts().filter((it) => it !== null && it !== 'storage_full')).toEqual([])
})

test('a pause of the process that missed nothing is told as such, and delivers what was fresh', async () => {
  await using stage = await watching()
  stage.pass(600 * S)
  stage.reboot()
  await stage.look()

  expect(stage.titles()).toEqual(['new', 'new', 'newer', 'newer'])
  expect(stage.gaps()).toEqual([])
  expect(stage.one<{ kind: string }>('SELECT kind FROM events')?.kind).toBe('process_down')
})

test('a second reader of the file finds it whole while the daemon runs', async () => {
  await using stage = await watching()
  await stage.check()
  using other = new Database(stage.path, { readonly: true })

  expect(other.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(other.query('PRAGMA foreign_key_check').all()).toEqual([])
})
