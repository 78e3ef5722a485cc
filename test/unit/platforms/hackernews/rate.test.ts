import { expect, test } from 'bun:test'

import { ok } from '../../../../src/core/base/result.ts'
import {
  isPost,
  livenessOf,
  storyOf,
  toItem,
  toPost,
} from '../../../../src/platforms/hackernews/readers.ts'
import { createStories } from '../../../../src/platforms/hackernews/stories.ts'
import { createIdWatch } from '../../../../src/platforms/hackernews/watch.ts'
import { createPace } from '../../../../src/platforms/pace.ts'
import { answerHackerNews, planHackerNews } from '../../../world/sources/ids/hackernews.ts'

const START = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const SHARE = 0.9

/** Steps through twenty minutes of a world. Returns the share of steps whose changes waited for two minutes and two cadences. */
async function stepThrough(options: { meanGapMs: number; cadence_s: number; requests: number }) {
  const { meanGapMs, cadence_s, requests } = options
  const plan = { seed: 202, contentMs: 20 * MINUTE, unruly: false, settled: true, meanGapMs }
  const items = planHackerNews(plan, START)
  let now = START
  const clock = { now: () => now, mono: () => now - START, sleep: async () => {} }
  const pace = createPace(clock).join(requests, requests)
  const sent: number[] = []
  const get = (path: string): unknown => {
    now += pace.wait_ms(SHARE)
    pace.take(SHARE)
    sent.push(now)
    now += 30
    return answerHackerNews(items, path, now - START)
  }
  const stories = createStories()
  const watch = createIdWatch({
    clock,
    stories,
    maxItem: async () => ok(Number(get('/v0/maxitem.json'))),
    async item(id) {
      const item = toItem(get(`/v0/item/${id}.json`))
      if (item !== null && isPost(item) && livenessOf(item) === 'live')
        stories.add(id, storyOf(toPost(item)))
      return ok(item)
    },
    updates: async () => ok(get('/v0/updates.json')),
    left: pace.left,
    requests_per_minute: requests,
    offset_ms: () => 0,
    copy_ms: () => 0,
  })
  let state: string | null = null
  let late = 0
  let steps = 0
  for (let at = START; at < START + 20 * MINUTE; at += cadence_s * 1000) {
    now = Math.max(now, at)
    const call = { requests, deadline_at: now + MINUTE, share: SHARE }
    const step = await watch.advance(state, call)
    steps += 1
    if (!step.ok) continue
    state = step.value.state
    const oldest_at = step.value.changes?.oldest_at ?? now
    if (now - oldest_at > Math.max(2 * MINUTE, 2000 * cadence_s)) late += 1
  }
  const in_minute = sent.map((from) => sent.filter((it) => it >= from && it < from + MINUTE).length)
  return { late: late / steps, most: Math.max(...in_minute) }
}

const QUIET_MS = 4600
const BUSY_MS = 2400

test.each([
  ['13 items a minute, every 10 s', QUIET_MS, 10, 60],
  ['13 items a minute, every 60 s', QUIET_MS, 60, 60],
  ['25 items a minute, every 60 s', BUSY_MS, 60, 60],
  ['25 items a minute, every 10 s, 120 requests', BUSY_MS, 10, 120],
])('changes are read in time: %s', async (_, meanGapMs, cadence_s, requests) => {
  const { late, most } = await stepThrough({ meanGapMs, cadence_s, requests })
  expect(late).toBeLessThan(0.05)
  expect(most).toBeLessThanOrEqual(SHARE * requests)
})

test('changes that 60 requests a minute cannot read are seen to wait', async () => {
  const busy = await stepThrough({ meanGapMs: BUSY_MS, cadence_s: 10, requests: 60 })
  expect(busy.late).toBeGreaterThan(0.5)
  expect(busy.most).toBeLessThanOrEqual(54)
})
