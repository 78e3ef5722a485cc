import { expect, test } from 'bun:test'

import type { Item } from '../../../src/core/items.ts'
import { ok } from '../../../src/core/outcome.ts'
import { startLook } from '../../../src/core/sight.ts'
import { toRows } from '../../../src/monitor/read-back.ts'
import { splitRound } from '../../../src/monitor/round.ts'
import { findConvoy } from '../../../src/store/convoys.ts'
import { findStreamByKey } from '../../../src/store/streams.ts'
import { post, START, startStage } from './stage.ts'

const S = 1000
const DAY = 86_400 * S

type Stage = ReturnType<typeof startStage>

let serial = 0
const put = ({ feed }: Stage, place: string, title: string, created_at: number): void =>
  feed.put(place, post(++serial, title, created_at, { subforum: place }))

/** Three quiet places with a monitor each, looked at often enough to travel together. */
async function travelling(options: Parameters<typeof startStage>[0] = {}) {
  const stage = startStage(options)
  stage.webhook('wh_1')
  for (const place of ['ants', 'bees', 'cats']) {
    for (let i = 10; i > 0; i--) put(stage, place, 'old', START - i * 600 * S)
    stage.monitor(`mon_${place}`, { subforum: [place] })
  }
  await stage.look()
  for (let i = 0; i < 4; i++) await stage.check()
  return stage
}

const asked = ({ feed }: Stage, since: number): string[] =>
  feed.asked.slice(since).map(({ place }) => place)

test('quiet places cost one request together, and each keeps its own matches', async () => {
  await using stage = await travelling()
  const since = stage.feed.asked.length
  put(stage, 'ants', 'an ant', stage.clock.now())
  put(stage, 'cats', 'a cat', stage.clock.now())
  await stage.check()

  expect(asked(stage, since)).toEqual(['ants+bees+cats'])
  expect(stage.titles('mon_ants')).toEqual(['an ant'])
  expect(stage.titles('mon_bees')).toEqual([])
  expect(stage.titles('mon_cats')).toEqual(['a cat'])
})

test('searches of the whole platform share one request, and what they find is told apart here', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  const both = '(laser) OR (mouse)'
  for (let i = 10; i > 0; i--) {
    const old = post(++serial, 'an old laser for a mouse', START - i * 600 * S)
    for (const q of ['laser', 'mouse', both]) stage.feed.put(q, old)
  }
  stage.monitor('mon_laser', { q: 'laser' })
  stage.monitor('mon_mouse', { q: 'mouse' })
  await stage.look()
  for (let i = 0; i < 4; i++) await stage.check()
  const since = stage.feed.asked.length
  const now = stage.clock.now()
  put(stage, both, 'a laser', now)
  put(stage, both, 'a mouse', now)
  put(stage, both, 'a laser for a mouse', now + S)
  put(stage, both, 'something that no one has asked for', now + S)
  await stage.check()

  expect(asked(stage, since)).toEqual([both])
  expect(stage.titles('mon_laser')).toEqual(['a laser', 'a laser for a mouse'])
  expect(stage.titles('mon_mouse')).toEqual(['a mouse', 'a laser for a mouse'])
})

test.each([
  ['signs alone', { include_any: ['--', 'mouse'] }, '"--" OR mouse', 'a -- b'],
  ['a quote, which no expression can say', { include_any: ['"', 'mouse'] }, '"" OR mouse', 'a " b'],
  ['accents that its filter folds', { q: 'cafe', fold_accents: true }, 'cafe', 'a Café'],
])('a search for %s keeps neither itself nor others from what a round finds', async (...one) => {
  const [, filter_spec, place, title] = one
  await using stage = startStage()
  stage.webhook('wh_1')
  const both = `(${place}) OR (laser)`
  for (let i = 10; i > 0; i--) {
    const old = post(++serial, 'an old laser for a mouse at a cafe', START - i * 600 * S)
    for (const q of ['laser', place, both]) stage.feed.put(q, old)
  }
  stage.monitor('mon_laser', { q: 'laser' })
  stage.monitor('mon_other', filter_spec)
  await stage.look()
  for (let i = 0; i < 4; i++) await stage.check()
  const since = stage.feed.asked.length
  put(stage, both, 'a laser', stage.clock.now())
  put(stage, both, title, stage.clock.now())
  await stage.check()
  await stage.check()

  expect(asked(stage, since)).toEqual([both, both])
  expect(stage.titles('mon_laser')).toEqual(['a laser'])
  expect(stage.titles('mon_other')).toEqual([title])
})

test('a round that fills a page splits its convoy at once, and none of it is lost', async () => {
  await using stage = await travelling()
  for (let i = 0; i < 40; i++)
    for (const place of ['ants', 'bees', 'cats'])
      put(stage, place, `${place} ${i}`, stage.clock.now() + i * S)
  await stage.check()
  for (const place of ['ants', 'bees', 'cats'])
    expect(stage.titles(`mon_${place}`)).toHaveLength(40)
  stage.pass(5 * S)
  await stage.look()

  const convoys = stage.db
    .query<{ n: number }, []>('SELECT count(*) AS n FROM streams WHERE convoy_id IS NOT NULL')
    .get()
  expect(convoys?.n).toBe(0)
  expect(stage.cuts().every((cut) => cut === null)).toBe(true)
})

test('a place that is closed among others is looked at by itself, told, and kept apart', async () => {
  await using stage = await travelling()
  stage.feed.close('bees')
  put(stage, 'ants', 'an ant', stage.clock.now())
  const since = stage.feed.asked.length
  await stage.check()
  // Who goes alone waits for the round to end, which wakes the loop.
  await stage.look()

  expect(asked(stage, since)).toEqual(['ants+bees+cats', 'bees'])
  expect(
    stage.one<{ f: string }>(`SELECT last_fault AS f FROM streams WHERE place = 'bees'`)?.f,
  ).toBe('forbidden:private')
  stage.pass(10 * 60 * S)
  await stage.look()
  await stage.look()
  const later = stage.feed.asked.length
  await stage.check()
  await stage.look()
  expect(asked(stage, later).toSorted()).toEqual(['ants+cats', 'bees'])
  expect(stage.titles('mon_ants')).toEqual(['an ant'])
})

test('a place of which no look has shown a row yet is looked at by itself as well', async () => {
  await using stage = await travelling()
  stage.db.run(`UPDATE streams SET shown_at = NULL, top_at = NULL WHERE place = 'bees'`)
  put(stage, 'ants', 'an ant', stage.clock.now())
  const since = stage.feed.asked.length
  stage.feed.remove('bees', ...stage.feed.rows('bees').map(({ name }) => name))
  await stage.check()
  await stage.look()

  expect(asked(stage, since)).toContain('bees')
})

test('a round of which something was kept back proves nothing of who shows no row', async () => {
  await using stage = await travelling()
  put(stage, 'ants', 'an ant', stage.clock.now())
  const since = stage.feed.asked.length
  // No further down than where the newest rows of the others stand.
  stage.feed.instead((all) => {
    const rows = all.filter(({ subforum }) => subforum === 'ants').slice(0, 2)
    return ok({ rows, after: null, partial: true })
  })
  await stage.check()
  await stage.look()

  expect(asked(stage, since).toSorted()).toEqual(['ants+bees+cats', 'bees', 'cats'])
})

test('a cut of a round is a gap of each of its members', async () => {
  await using stage = await travelling()
  stage.feed.faults({ kind: 'timeout' }, 3)
  await stage.check()

  const gaps = stage.db
    .query<{ place: string }, []>(
      'SELECT s.place FROM gaps g JOIN streams s ON s.id = g.stream_id ORDER BY s.place',
    )
    .all()
  expect(gaps.map(({ place }) => place)).toEqual(['ants', 'bees', 'cats'])
})

test('a round that is put off is late for all of its members, and cut for none', async () => {
  await using stage = await travelling()
  const checks = stage.cuts().length
  stage.feed.faults({ kind: 'throttled', retry_after_s: 30 }, 1)
  await stage.check()
  expect(stage.cuts()).toHaveLength(checks)

  put(stage, 'bees', 'a bee', stage.clock.now())
  await stage.check()
  await stage.check()
  expect(stage.gaps()).toEqual([])
  expect(stage.titles('mon_bees')).toEqual(['a bee'])
})

test('after a flood a place is soon looked at no more often than was asked', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'] })
  put(stage, 'cats', 'old', START - DAY)
  await stage.look()
  for (let i = 0; i < 300; i++) put(stage, 'cats', `cat ${i}`, stage.clock.now() + i * 100)
  await stage.check()
  const interval = () => stage.one<{ s: number }>('SELECT interval_s AS s FROM streams')?.s
  expect(interval()).toBeLessThan(15)

  for (let i = 0; i < 15; i++) await stage.check()
  expect(interval()).toBe(60)
})

/** Cats are as far as no round is. */
const leaveBehind = ({ db }: Stage) =>
  db.run("UPDATE streams SET in_turn = 0, covered_turn = 0 WHERE place = 'cats'")

/** How many of them have been looked at alone since. */
const HOME =
  "SELECT count(*) AS n FROM streams WHERE covered_turn > 0 AND place IN ('cats', 'dogs')"

/** Besides, their last look failed: they have to be looked at alone before they may travel on. */
const lose = (stage: Stage) => {
  leaveBehind(stage)
  stage.db.run("UPDATE streams SET last_fault = 'timeout' WHERE place = 'cats'")
}

/** A page without these of the cats. */
const withoutCats =
  (...titles: string[]) =>
  (rows: Item[]) =>
    ok({
      rows: rows.filter(
        (it) => it.subforum !== 'cats' || it.kind !== 'post' || !titles.includes(it.title),
      ),
      after: null,
    })

test('who is out of step is asked for with the others, and is back as soon as a row it knows shows', async () => {
  await using stage = await travelling()
  leaveBehind(stage)
  put(stage, 'cats', 'a cat', stage.clock.now())
  const since = stage.feed.asked.length
  await stage.check()
  await stage.look()
  put(stage, 'cats', 'another cat', stage.clock.now())
  await stage.check()

  expect(asked(stage, since)).toEqual(['ants+bees+cats', 'ants+bees+cats'])
  expect(stage.titles('mon_cats')).toEqual(['a cat', 'another cat'])
})

test('who is out of step and shows no row it knows is looked at alone, and misses nothing', async () => {
  await using stage = await travelling()
  leaveBehind(stage)
  put(stage, 'cats', 'a cat', stage.clock.now())
  put(stage, 'cats', 'another cat', stage.clock.now() + S)
  stage.feed.instead(withoutCats('old', 'a cat'))
  const since = stage.feed.asked.length
  await stage.check()
  await stage.look()

  expect(asked(stage, since)).toEqual(['ants+bees+cats', 'cats'])
  expect(stage.titles('mon_cats')).toEqual(['a cat', 'another cat'])
  expect(stage.gaps()).toEqual([])
})

test('who is out alone when the others set out, and home before them, is in step with them', async () => {
  await using stage = await travelling()
  leaveBehind(stage)
  put(stage, 'cats', 'a cat', stage.clock.now())
  const since = stage.feed.asked.length
  stage.db.run(`UPDATE streams SET next_check_at = ${stage.clock.now()} WHERE place = 'cats'`)
  stage.pass(60 * S)
  const held = stage.feed.hold()
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  expect(asked(stage, since)).toEqual(['cats', 'ants+bees+cats'])
  // What it knows is not on the page of the others, which shows what has come since it was looked at.
  stage.feed.instead((rows) => ok({ rows, after: null }), withoutCats('old', 'a cat'))
  held.one()
  while (stage.titles('mon_cats').length === 0) await Bun.sleep(1)
  put(stage, 'cats', 'another cat', stage.clock.now())
  held.all()
  await stage.monitoring.idle()
  await stage.look()
  expect(stage.titles('mon_cats')).toEqual(['a cat', 'another cat'])
  await stage.check()

  expect(asked(stage, since)).toEqual(['cats', 'ants+bees+cats', 'ants+bees+cats'])
})

test('while a round is out, those who have come home meanwhile do not make another', async () => {
  await using stage = await travelling()
  for (let i = 10; i > 0; i--) put(stage, 'dogs', 'old', START - i * 600 * S)
  stage.monitor('mon_dogs', { subforum: ['dogs'] })
  await stage.look()
  stage.pass(5 * S)
  await stage.look()
  await stage.check()
  await stage.check()
  const held = stage.feed.hold()
  const since = stage.feed.asked.length
  stage.db.run(
    `UPDATE streams SET in_turn = 0, covered_turn = 0, next_check_at = ${stage.clock.now()}
      WHERE place IN ('cats', 'dogs')`,
  )
  stage.pass(60 * S)
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  expect(asked(stage, since).toSorted()).toEqual(['ants+bees+cats+dogs', 'cats', 'dogs'])
  const homeOf = () => stage.one<{ n: number }>(HOME)?.n
  held.one()
  held.one()
  while (homeOf() !== 2) await Bun.sleep(1)
  stage.pass(60 * S)
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  expect(asked(stage, since)).toHaveLength(3)

  held.all()
  await stage.monitoring.idle()
  await stage.check()
  expect(asked(stage, since).slice(3)).toEqual(['ants+bees+cats+dogs'])
})

test('who has to be looked at alone is, though the others are due again whenever they are back', async () => {
  await using stage = await travelling()
  lose(stage)
  put(stage, 'cats', 'a cat', stage.clock.now())
  const since = stage.feed.asked.length
  await stage.check()
  expect(asked(stage, since)).toEqual(['ants+bees'])
  await stage.check()

  expect(asked(stage, since).toSorted()).toEqual(['ants+bees', 'ants+bees', 'cats'])
  expect(stage.titles('mon_cats')).toEqual(['a cat'])
})

test('who waits for a round is looked at when it ends, whatever the schedule says, and travels on', async () => {
  await using stage = await travelling({ schedule: '0 * * * * *' })
  lose(stage)
  const since = stage.feed.asked.length
  await stage.check()
  await stage.monitoring.checkDue()
  await stage.monitoring.idle()
  await stage.check()

  expect(asked(stage, since)).toEqual(['ants+bees', 'cats', 'ants+bees+cats'])
})

test('where a monitor begins on a place that is left out of a round, it begins when the place is back', async () => {
  await using stage = await travelling()
  const now = stage.clock.now()
  const first = post(++serial, 'its baseline', now, { subforum: 'bees' })
  stage.feed.put('bees', first)
  put(stage, 'bees', 'seen before by another', now + S)
  put(stage, 'ants', 'an ant', now + S)
  await stage.check()
  stage.monitor('mon_late', { subforum: ['bees'] }, { baseline: first })
  stage.feed.close('bees')
  const since = stage.feed.asked.length
  await stage.check()
  expect(asked(stage, since)[0]).toBe('ants+bees+cats')
  stage.feed.open('bees')
  for (let i = 0; i < 3; i++) await stage.check()

  expect(stage.titles('mon_late')).toEqual(['seen before by another'])
})

test.each([
  ['was read whole', true, true, ['ants', 'cats']],
  ['was cut', false, true, []],
  ['has no row of the one before', true, false, []],
] as const)('a round that %s proves of who shows only what is new: %p, %p: %j', async (...one) => {
  const [, whole, has_head, proved] = one
  await using stage = await travelling()
  const { db, clock } = stage
  const of = (place: string) =>
    findStreamByKey(db, `posts:${place}`) ?? expect.unreachable('it is watched')
  const [ants, cats] = [of('ants'), of('cats')]
  const convoy = findConvoy(db, ants.convoy_id ?? 0) ?? expect.unreachable('they travel')
  const now = clock.now()
  const rows = ['ants', 'cats'].map((subforum) => post(++serial, 'new', now, { subforum }))

  const { findings, round } = splitRound({
    travellers: [{ stream: ants, floor_at: null, lost: null }],
    riders: [{ stream: cats, in_step: true }],
    convoy: has_head ? convoy : { ...convoy, head: null },
    look: { ...startLook({ head: null, floor_at: null, believing: false }), rows: toRows(rows) },
    items: new Map(rows.map((it) => [it.name, it])),
    at: { started_at: now, ended_at: now, seen_at: now },
    whole,
  })
  expect(findings.map(({ stream }) => stream.place)).toEqual([...proved])
  expect(round?.strays).toEqual(proved.length === 0 ? [ants.id] : [])
})
