// Goal: bad receivers delay no others. Method: many rows wait for a receiver that never answers, a
// slow one and a closed port; then others get one delivery each, and time stands still until those
// have arrived. `bun run bar:fairness` measures it on the real clock.

import { expect, test } from 'bun:test'

import { startDelivering } from '../support/delivery-fixture.ts'

const WAITING = 300
const OTHERS = 80

test('beside a dead, a slow and a refusing receiver with hundreds pending, others get theirs before time advances', async () => {
  await using it = await startDelivering()
  const dead = await it.addReceiver('wh_dead')
  const slow = await it.addReceiver('wh_slow')
  it.addWebhook('wh_refusing', 'https://receiver.test:1/hook')
  const release = Promise.withResolvers<void>()
  for (let n = 0; n < WAITING; n++) {
    dead.answers.push({ hang: true })
    slow.answers.push({ until: release.promise })
  }
  const bad = ['wh_dead', 'wh_slow', 'wh_refusing']
  it.db.transaction(() => {
    for (const id of bad) for (let n = 0; n < WAITING; n++) it.put(`dlv_${id}_${n}`, id)
  })()
  it.nudge()
  await it.clock.advance(0)

  it.db.transaction(() => {
    for (let n = 0; n < OTHERS; n++) it.put(`dlv_good_${n}`, it.addWebhook(`wh_good_${n}`))
  })()
  it.nudge()
  await it.clock.advance(0)

  expect(it.receiver.received).toHaveLength(OTHERS)
  const good = it.rows().filter(({ webhook_id }) => webhook_id?.startsWith('wh_good'))
  expect(new Set(good.map(({ status }) => status))).toEqual(new Set(['delivered']))
  // Neither ever has more than its four.
  expect([dead.received.length, slow.received.length]).toEqual([4, 4])
  // The refusing receiver gets the attempts of the retry schedule, and no more.
  const refused = it.rows().filter(({ webhook_id }) => webhook_id === 'wh_refusing')
  expect(refused.map(({ attempts }) => attempts)).toEqual(Array.from({ length: WAITING }, () => 1))
  release.resolve()
})

test('with few places for many targets, each gets one attempt before any gets two', async () => {
  await using it = await startDelivering({ concurrency: 3 })
  const ids = ['wh_a', 'wh_b', 'wh_c', 'wh_d', 'wh_e'].map((id) =>
    it.addWebhook(id, `${it.receiver.url}?to=${id}`),
  )
  it.db.transaction(() => {
    for (const id of ids) for (let n = 0; n < 4; n++) it.put(`dlv_${id}_${n}`, id)
  })()
  it.nudge()
  await it.clock.advance(0)

  // In order of departure: three concurrent attempts may overtake one another.
  const order = it.fetched.map((url) => new URL(url).searchParams.get('to'))
  expect(order).toHaveLength(20)
  for (let turn = 0; turn < 20; turn += 5) {
    const served = order.slice(0, turn + 5)
    const counts = ids.map((id) => served.filter((one) => one === id).length)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  }
})
