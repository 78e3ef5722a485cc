import { expect, test } from 'bun:test'

import { createSeats } from '../../../src/platform/browser/seats.ts'
import { fakeClock } from '../../support/clock.ts'

const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
}

function row(count: number) {
  const clock = fakeClock(settled, 0)
  return { clock, seats: createSeats(count, clock) }
}

test('whoever comes when all seats are taken gets the first that is left', async () => {
  const { seats } = row(1)
  const first = await seats.take(1_000)
  const told: string[] = []
  const second = seats.take(1_000).then((it) => (told.push('second'), it))
  const third = seats.take(1_000).then((it) => (told.push('third'), it))
  await settled()
  expect(told).toEqual([])

  first?.leave()
  const seat = await second
  expect(told).toEqual(['second'])
  seat?.leave()

  expect(await third).not.toBeNull()
})

test('a deadline that passes in line is no seat, and costs the next one nothing', async () => {
  const { seats, clock } = row(1)
  const first = await seats.take(1_000)
  const late = seats.take(500)
  const patient = seats.take(5_000)

  await clock.advance(600)

  expect(await late).toBeNull()
  first?.leave()
  expect(await patient).not.toBeNull()
})

test('whoever gives up in line is passed over', async () => {
  const { seats } = row(1)
  const first = await seats.take(1_000)
  const given_up = new AbortController()
  const gone = seats.take(1_000, given_up.signal)
  const next = seats.take(1_000)

  given_up.abort()

  expect(await gone).toBeNull()
  first?.leave()
  expect(await next).not.toBeNull()
})

test('a seat that is left twice is one seat', async () => {
  const { seats, clock } = row(1)
  const first = await seats.take(1_000)
  first?.leave()
  first?.leave()
  await seats.take(1_000)

  const other = seats.take(100)
  await clock.advance(200)

  expect(await other).toBeNull()
})

test('nobody who comes in between takes the seat of one who was called', async () => {
  const { seats, clock } = row(1)
  const first = await seats.take(1_000)
  const waiting = seats.take(1_000)
  first?.leave()

  const quick = seats.take(100)
  await clock.advance(200)

  expect(await waiting).not.toBeNull()
  expect(await quick).toBeNull()
})
