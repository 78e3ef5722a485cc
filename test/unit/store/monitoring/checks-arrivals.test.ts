import { expect, test } from 'bun:test'

import { listArrivals } from '../../../../src/store/monitoring/checks.ts'
import { insertSeen } from '../../../../src/store/monitoring/matches.ts'
import { START, startMonitorFixture } from '../../monitor/fixture.ts'

const S = 1000

test('arrivals before a gap are listed over its length, without later sightings in it', async () => {
  await using fixture = startMonitorFixture()
  const { db } = fixture
  fixture.monitor('mon_1', { subforum: ['cats'] })
  const gap = { from_at: START, until_at: START + 100 * S }
  expect(listArrivals(db, 1, gap)).toEqual({ before: [], known_from_at: null })

  const see = (n: number, created_s: number, first_seen_s: number) =>
    insertSeen(db, [
      {
        feed_id: 1,
        item_id: `t3_${n}`,
        seq: n,
        created_at: START + created_s * S,
        first_seen_at: START + first_seen_s * S,
        found_by: 'poll',
      },
    ])
  see(1, -200, -199)
  see(2, -50, -49)
  see(3, 30, 31)
  // Read by a poll that stopped above the gap, and by the one that left it.
  see(4, 90, 95)
  see(5, 100, 110)

  expect(listArrivals(db, 1, gap)).toEqual({
    before: [START + 30 * S, START - 50 * S],
    known_from_at: START - 100 * S,
  })
  expect(listArrivals(db, 1, { ...gap, until_at: START + 300 * S }).known_from_at).toBe(
    START - 200 * S,
  )
})
