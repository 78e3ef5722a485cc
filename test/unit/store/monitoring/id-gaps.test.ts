import { expect, test } from 'bun:test'

import { insertIdGaps, listIdGaps } from '../../../../src/store/monitoring/id-gaps.ts'
import { START, startMonitorFixture } from '../../monitor/fixture.ts'

type Range = readonly [from_id: number, to_id: number]

/** Ranges of the gaps that are open after these were inserted, one after the other. */
async function openAfter(...inserted: Range[][]): Promise<Range[]> {
  await using fixture = startMonitorFixture()
  const { db } = fixture
  fixture.monitor('mon_1', { subforum: ['cats'] })
  const gap = { reason: 'skipped', from_at: null, until_at: START, recorded_at: START } as const
  for (const ranges of inserted)
    insertIdGaps(
      db,
      1,
      ranges.map(([from_id, to_id]) => ({ ...gap, ids: { from_id, to_id } })),
    )
  return listIdGaps(db, 1).map(({ from_id, to_id }) => [from_id, to_id])
}

test('ids of an open gap are not reported again', async () => {
  expect(await openAfter([[5, 7]], [[1, 10]], [[6, 6]])).toEqual([
    [1, 4],
    [5, 7],
    [8, 10],
  ])
})

test.each([Number.MAX_SAFE_INTEGER - 8, 2 ** 53 + 4, 2 ** 53 + 1e12])(
  'gaps at ids from %d on, whose neighbours may not be exact, do not multiply',
  async (first) => {
    const ranges = Array.from({ length: 40 }, (_, n): Range[] => {
      const id = first + 4 * (n % 2)
      return [[id, id]]
    })
    expect((await openAfter(...ranges, [[1, first + 8]])).length).toBeLessThan(50)
  },
)
