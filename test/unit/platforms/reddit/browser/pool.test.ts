import { expect, test } from 'bun:test'

import { createSeats } from '../../../../../src/platforms/reddit/browser/pool.ts'
import { fakeClock } from '../../../../support/clock.ts'

const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
}

function row(count: number) {
  const clock = fakeClock(settle, 0)
  return { clock, seats: createSeats(count, clock) }
}

test('the first waiting call gets the first free seat', async () => {
  const { seats } = row(1)
  const first = await seats.take(1_000)
  const events: string[] = []
  const second = seats.take(1_000).then((it) => (events.push('second'), it))
  const third = seats.take(1_000).then((it) => (events.push('third'), it))
  await settle()
  expect(events).toEqual([])

  first?.leave()
  const seat = await second
  expect(events).toEqual(['second'])
  seat?.leave()

  expect(await third).not.toBeNull()
})

test('a call whose deadline passes gets no seat, and the next one is not affected', async () => {
  const { seats, clock } = row(1)
  const first = await seats.take(1_000)
  const third = seats.take(500)
  const patient = seats.take(5_000)

  await clock.advance(600)

  expect(await third).toBeNull()
  first?.leave()
  expect(await patient).not.toBeNull()
})

test('an aborted call in the line is skipped', async () => {
  const { seats } = row(1)
  const first = await seats.take(1_000)
  const abort_controller = new AbortController()
  const gone = seats.take(1_000, abort_controller.signal)
  const next = seats.take(1_000)

  abort_controller.abort()

  expect(await gone).toBeNull()
  first?.leave()
  expect(await next).not.toBeNull()
})

test('a seat that is released twice counts once', async () => {
  const { seats, clock } = row(1)
  const first = await seats.take(1_000)
  first?.leave()
  first?.leave()
  await seats.take(1_000)

  const other = seats.take(100)
  await clock.advance(200)

  expect(await other).toBeNull()
})

test('a later call cannot take the seat that was given to a waiting one', async () => {
  const { seats, clock } = row(1)
  const first = await seats.take(1_000)
  const waiting = seats.take(1_000)
  first?.leave()

  const quick = seats.take(100)
  await clock.advance(200)

  expect(await waiting).not.toBeNull()
  expect(await quick).toBeNull()
})
