// Goal: what is written after the clock was set, and before anybody has noticed, is not moved along with the rest.

import { expect, test } from 'bun:test'

import { post, START, startStage } from './stage.ts'

const S = 1000
const HOUR = 3600 * S

type Stage = ReturnType<typeof startStage>

/** A match in a look during which the clock is set an hour ahead. */
async function matchedWhileSet(stage: Stage, filter_spec: Record<string, unknown>) {
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'], ...filter_spec })
  await stage.look()
  const item = post(1, 'a cat', START + HOUR + 50 * S)
  stage.feed.put('cats', item)
  stage.feed.meanwhile(() => {
    stage.feed.meanwhile(() => {})
    stage.jump(HOUR)
  })
  await stage.check()
  return item
}

test('a monitor that is added just after the clock was set ahead is looked after within its interval', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['dogs'] })
  await stage.look()
  stage.jump(HOUR)
  stage.monitor('mon_2', { subforum: ['cats'] })
  await stage.check()
  await stage.check()

  expect(stage.feed.asked.map(({ place }) => place)).toContain('cats')
})

test('a bundle that was opened since closes when its window is over', async () => {
  await using stage = startStage()
  await matchedWhileSet(stage, { group: true, group_window_s: 120 })
  await stage.check()
  expect(stage.titles()).toEqual([])
  await stage.check()
  await stage.check()

  expect(stage.titles()).toEqual(['a cat'])
})

test('what was noted since is asked about in its turn', async () => {
  await using stage = startStage()
  const item = await matchedWhileSet(stage, { min_score: 5 })
  stage.feed.remove('cats', item.name)
  stage.feed.put('cats', { ...item, upvotes: 5 })
  for (let i = 0; i < 4; i++) await stage.check()

  expect(stage.titles()).toEqual(['a cat'])
})
