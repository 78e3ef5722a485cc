// Goal: the verdict of the long run of everything notices each fault that it names, from the receivers' logs alone.
import { expect, test } from 'bun:test'

import {
  type Arrival,
  type Expected,
  judgeArrivals,
  judgeEverything,
  type Minute,
} from '../../../scripts/bars/everything/judge.ts'
import { plotOf } from '../../../scripts/bars/everything/plot.ts'
import { isWithinBound } from '../../../scripts/bars/soak/judge.ts'

const arrival = (change: Partial<Arrival> = {}): Arrival => ({
  at: 1500,
  delivery_id: 'd1',
  pairs: ['m1 main/t3_a'],
  digest: 'x',
  epoch: 1,
  accepted: true,
  signed: true,
  ...change,
})
const expected = (change: Partial<Expected> = {}): Expected => ({
  pair: 'm1 main/t3_a',
  appeared_at: 1000,
  is_wanted: true,
  ...change,
})

test('a match that arrives once, signed, is faultless', () => {
  expect(judgeArrivals([expected()], [arrival()])).toEqual({
    expected: 1,
    lost: [],
    unwanted: 0,
    invented: 0,
    under_two_ids: 0,
    changed: 0,
    composed_again: 0,
    badly_signed: 0,
    epochs_back: 0,
    accepted: 1,
    repeated: 0,
    p50_ms: 500,
    p99_ms: 500,
  })
})

test.each([
  ['that was only refused is lost', [arrival({ accepted: false })], { lost: ['m1 main/t3_a'] }],
  ['that was accepted twice is repeated', [arrival(), arrival()], { repeated: 1 }],
  ['under two ids', [arrival(), arrival({ delivery_id: 'd2' })], { under_two_ids: 1 }],
  [
    'with another body in one epoch is changed',
    [arrival(), arrival({ digest: 'y' })],
    { changed: 1 },
  ],
  [
    'with another body of a later primary is composed again',
    [arrival(), arrival({ digest: 'y', epoch: 2 })],
    { changed: 0, composed_again: 1 },
  ],
  [
    'of an older epoch is counted',
    [arrival({ epoch: 2 }), arrival({ epoch: 1 })],
    { epochs_back: 1 },
  ],
  ['with a wrong signature is counted', [arrival({ signed: false })], { badly_signed: 1 }],
  ['that nothing expects is invented', [arrival({ pairs: ['m9 hn/t3_b'] })], { invented: 1 }],
])('a delivery %s', (_, arrivals, verdict) => {
  expect(judgeArrivals([expected()], arrivals)).toMatchObject(verdict)
})

test('a match that the model rejects is neither lost, nor may it arrive', () => {
  const rejected = [expected({ is_wanted: false })]

  expect(judgeArrivals(rejected, [])).toMatchObject({ expected: 0, lost: [], unwanted: 0 })
  expect(judgeArrivals(rejected, [arrival()])).toMatchObject({ unwanted: 1, invented: 0 })
})

const minute = (change: Partial<Minute> = {}): Minute => ({
  minute: 1,
  primary: 'a',
  epoch: 1,
  rss: 150,
  own: 90,
  standby_rss: 70,
  descriptors: 60,
  threads: 11,
  database: 5,
  log: 4,
  archive: 1,
  late_p999_ms: 12,
  expected: 100,
  accepted: 100,
  waiting: 0,
  repeated: 0,
  takeovers: 0,
  reads_asked: 60,
  reads_answered: 60,
  inbox_changes: 30,
  searches: 6,
  slowest_search_ms: 5,
  calls_failed: 0,
  model_calls: 10,
  errors: 0,
  ...change,
})

const counts = () => ({
  minutes: [minute()],
  takeovers_ms: [13_000],
  lives_mib: Array.from({ length: 8 }, () => 150),
  reads: { asked: 60, answered: 60 },
  books: {
    integrity: 'ok',
    matches: 1,
    delivered: 1,
    other: 0,
    holds: 0,
    unbalanced: 0,
    reads_billed: 60,
    strayed: 0,
  },
  exit_code: 0,
})
const over = (change: Partial<ReturnType<typeof counts>>) =>
  judgeEverything(judgeArrivals([expected()], [arrival()]), { ...counts(), ...change }, 1)
    .filter((it) => !isWithinBound(it))
    .map(({ name }) => name)

test('figures within their bounds pass', () => {
  expect(over({})).toEqual([])
})

test.each([
  [
    'more bills than reads',
    { reads: { asked: 59, answered: 59 } },
    'reads billed beyond those asked',
  ],
  [
    'a loop that is late',
    { minutes: [minute({ late_p999_ms: 51 })] },
    'event loop late, median minute, p99.9, ms',
  ],
  [
    'no measured minute',
    { minutes: [minute({ late_p999_ms: null })] },
    'event loop late, median minute, p99.9, ms',
  ],
  [
    'memory that grows',
    { lives_mib: [1, 1, 1, 1, 9, 9, 99, 99] },
    'memory at the end of a life, last quarter over first, MiB',
  ],
  ['an end by a signal', { exit_code: 137 }, 'exit code of SIGTERM'],
])('%s is over a bound', (_, change, name) => {
  expect(over(change)).toContain(name)
})

test('the plot has a line for each takeover in each panel, and interrupts a line without a value', () => {
  const svg = plotOf(
    [
      minute(),
      minute({ minute: 2, late_p999_ms: null, takeovers: 1 }),
      minute({ minute: 3, takeovers: 1 }),
    ],
    'a < b',
  )

  expect(svg).toStartWith('<svg xmlns="http://www.w3.org/2000/svg"')
  expect(svg).toContain('a &lt; b')
  expect(svg.match(/stroke="#bbb"/g)).toHaveLength(5)
  expect(svg).toMatch(/d="M[\d.]+ [\d.]+M[\d.]+ [\d.]+"/)
})
