import { expect, test } from 'bun:test'

import { post, START, startStage } from './stage.ts'

const S = 1000

/** A stage where others watch the place already, and have seen it. */
async function busy() {
  const stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_other', { subforum: ['cats'] })
  await stage.look()
  return stage
}

test('a monitor matches from the second in which it was made', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.pass(700)
  stage.feed.put('cats', post(1, 'before', START - S), post(2, 'in that second', START))
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()

  expect(stage.titles()).toEqual(['in that second'])
})

test('its first look takes what somebody else saw before it, and only once', async () => {
  await using stage = await busy()
  stage.pass(60 * S)
  const now = stage.clock.now()
  stage.feed.put('cats', post(1, 'before', now - S), post(2, 'in that second', now))
  await stage.look()
  stage.pass(500)
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.check()
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['in that second'])
})

test('what was created while a monitor was paused is never delivered, seen or not', async () => {
  await using stage = await busy()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.check()
  stage.edit('mon_1', { active: false })
  stage.feed.put('cats', post(1, 'seen by the other', stage.clock.now()))
  await stage.check()
  stage.feed.put('cats', post(2, 'seen by nobody', stage.clock.now()))
  stage.pass(5 * S)
  stage.edit('mon_1', { active: true })
  stage.feed.put('cats', post(3, 'after', stage.clock.now()))
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['after'])
  expect(stage.titles('mon_other')).toEqual(['seen by the other', 'seen by nobody', 'after'])
})

test('what waited for its score when a monitor was paused is none of its matches once it is resumed', async () => {
  await using stage = await busy()
  stage.monitor('mon_1', { subforum: ['cats'], min_score: 10 })
  await stage.check()
  const now = stage.clock.now()
  stage.feed.put('cats', post(1, 'before the pause', now, { upvotes: 1 }))
  await stage.check()
  stage.edit('mon_1', { active: false })
  stage.pass(5 * S)
  stage.edit('mon_1', { active: true })
  const after = stage.clock.now()
  stage.feed.put('cats', post(2, 'after it', after, { upvotes: 1 }))
  await stage.check()
  stage.feed.remove('cats', 't3_1', 't3_2')
  stage.feed.put(
    'cats',
    post(1, 'before the pause', now, { upvotes: 50 }),
    post(2, 'after it', after, { upvotes: 50 }),
  )
  await stage.check()
  await stage.check()
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['after it'])
})

test('a stream that slept begins a new life: no gap for the time nobody asked', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.feed.put('cats', ...Array.from({ length: 60 }, (_, i) => post(i + 1, 'old', START - S)))
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.edit('mon_1', { active: false })
  const asked = stage.feed.asked.length
  await stage.check()
  expect(stage.feed.asked.length).toBe(asked)

  stage.feed.put(
    'cats',
    ...Array.from({ length: 1500 }, (_, i) => post(100 + i, 'meanwhile', START + i * S)),
  )
  stage.pass(1_600 * S)
  stage.edit('mon_1', { active: true })
  stage.feed.put('cats', post(9999, 'after', stage.clock.now()))
  await stage.look()

  expect(stage.titles()).toEqual(['after'])
  expect(stage.gaps()).toEqual([])
})

test('pausing and resuming within a second delivers nothing twice', async () => {
  await using stage = await busy()
  stage.monitor('mon_1', { subforum: ['cats'] })
  stage.feed.put('cats', post(1, 'once', stage.clock.now()))
  await stage.check()
  stage.edit('mon_1', { active: false })
  stage.edit('mon_1', { active: true })
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['once'])
})

test('an edited filter applies to what is first seen after it', async () => {
  await using stage = await busy()
  stage.monitor('mon_1', { subforum: ['cats'], include_any: ['fish'] })
  await stage.check()
  stage.feed.put('cats', post(1, 'a bird', stage.clock.now()))
  await stage.check()
  stage.edit('mon_1', { filter_spec: { subforum: ['cats'], include_any: ['bird'] } })
  stage.feed.put('cats', post(2, 'another bird', stage.clock.now()))
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['another bird'])
})

test('an edit begins afresh only on the places it adds', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.feed.put('cats', post(1, 'kept place, before the edit', stage.clock.now()))
  stage.feed.put('dogs', post(2, 'new place, before the edit', stage.clock.now()))
  stage.pass(5 * S)
  stage.edit('mon_1', { filter_spec: { subforum: ['cats', 'dogs'] } })
  stage.feed.put('dogs', post(3, 'new place, after it', stage.clock.now()))
  await stage.check()

  expect(stage.titles().toSorted()).toEqual(['kept place, before the edit', 'new place, after it'])
})

test('a place that an edit drops is not looked at any more', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats', 'dogs'] })
  await stage.look()
  stage.edit('mon_1', { filter_spec: { subforum: ['cats'] } })
  const asked = stage.feed.asked.length
  await stage.check()

  expect(stage.feed.asked.slice(asked).map(({ place }) => place)).toEqual(['cats'])
})

test('after a baseline item everything newer is delivered, also what others have seen', async () => {
  await using stage = await busy()
  const at = START + 10 * S
  const rows = [post(1, 'older', at - S), post(2, 'same second, before', at)]
  const baseline = post(3, 'the baseline', at)
  stage.feed.put(
    'cats',
    ...rows,
    baseline,
    post(4, 'same second, after', at),
    post(5, 'newer', at + S),
  )
  await stage.check()
  stage.monitor('mon_1', { subforum: ['cats'] }, { baseline })
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['same second, after', 'newer'])
})

test('a baseline beyond the first page is read back to', async () => {
  await using stage = await busy()
  const baseline = post(1, 'the baseline', START + S)
  const newer = Array.from({ length: 250 }, (_, i) => post(2 + i, `n${i}`, START + 2 * S))
  stage.feed.put('cats', baseline, ...newer)
  await stage.check()
  stage.monitor('mon_1', { subforum: ['cats'] }, { baseline })
  await stage.check()
  expect(stage.titles('mon_1')).toHaveLength(250)

  const asked = stage.feed.asked.length
  await stage.check()
  expect(stage.feed.asked.length - asked).toBe(1)
})

test.each([
  ['a search, which may end before all is told', { q: 'cat' }, 'cat', 'listing_exhausted'],
  ['a place, which has no more', { subforum: ['cats'] }, 'cats', null],
])('250 rows since its baseline are all that there is to see of %s', async (...one) => {
  const [, filter_spec, place, cut] = one
  await using stage = startStage()
  stage.webhook('wh_1')
  const baseline = post(1, 'a cat', START - 300 * S)
  for (let i = 0; i < 250; i++) stage.feed.put(place, post(2 + i, 'a cat', START - (250 - i) * S))
  stage.monitor('mon_1', filter_spec, { baseline })
  await stage.look()
  expect(stage.titles()).toHaveLength(250)
  expect(stage.cuts()).toEqual([cut])
  await stage.check()

  expect(stage.cuts()).toEqual([cut, null])
  const told = { reason: cut, from_at: baseline.created_utc * S, until_at: START - 250 * S }
  expect(stage.gaps()).toMatchObject(cut === null ? [] : [told])
})

test('a monitor made while the platform is down still gets what was created since', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.feed.put('cats', post(1, 'before', START - S))
  stage.monitor('mon_1', { subforum: ['cats'] })
  stage.feed.faults({ kind: 'timeout' }, 3)
  await stage.look()
  stage.feed.put('cats', ...Array.from({ length: 150 }, (_, i) => post(2 + i, `n${i}`, START + S)))
  await stage.check()

  expect(stage.titles()).toHaveLength(150)
  expect(stage.gaps()).toMatchObject([{ reason: 'error', healed_at: stage.clock.now() }])
})

test('a removed or paused monitor gets nothing from a check that was under way', async () => {
  await using stage = await busy()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.check()
  stage.feed.put('cats', post(1, 'new', stage.clock.now()))
  stage.feed.meanwhile(() => stage.edit('mon_1', { active: false }))
  await stage.check()

  expect(stage.titles('mon_1')).toEqual([])
  expect(stage.titles('mon_other')).toEqual(['new'])
})

test('a stream that falls asleep while it is looked at keeps nothing of the look', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.feed.put('cats', post(1, 'new', stage.clock.now()))
  stage.feed.meanwhile(() => stage.edit('mon_1', { active: false }))
  await stage.check()

  expect(stage.cuts()).toEqual([null])
  expect(stage.one('SELECT count(*) AS n FROM stream_items')).toEqual({ n: 0 })
})
