import { expect, test } from 'bun:test'

import { plotOf } from '../../../scripts/bench/figures/plot.ts'
import {
  markdownOf,
  median,
  quantile,
  ratioOf,
  reaches,
  type Result,
} from '../../../scripts/bench/figures/results.ts'

const variants = [
  { name: 'ours', rounds: { per_s: [300, 100, 200], p99_ms: [1, 2] } },
  { name: 'theirs', rounds: { per_s: [100, 100, 130] } },
]

const result: Result = {
  name: 'reads',
  title: 'Reads & more',
  about: 'What is read.',
  at: '1 May 2026',
  machine: '2 cores',
  revision: 'abc1234',
  rounds: 3,
  load: { before: 0.12, after: 3 },
  figures: [
    { key: 'per_s', label: 'requests/s', digits: 0 },
    { key: 'p99_ms', label: 'p99, ms', digits: 2 },
  ],
  variants,
  ratios: [
    ratioOf(variants, 'per_s', ['ours', 'theirs'], { label: 'to <theirs>', least: 1.5 }),
    { label: 'p99', value: 4, most: 3 },
    { label: 'irrelevant', value: 100 },
  ],
  notes: ['Left out: varnishd is not installed (Debian: varnish).'],
}

test('the median of an even number of values is the middle of the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(median([9, 1, 5])).toBe(5)
  expect(median([])).toBeNaN()
})

test('one of a hundred values is above the 99th percentile', () => {
  const values = Array.from({ length: 100 }, (_, n) => 100 - n)
  expect(quantile(values, 0.99)).toBe(100)
  expect(quantile(values, 0.5)).toBe(51)
})

test('a ratio is one of medians, and NaN when a variant is missing', () => {
  expect(ratioOf(variants, 'per_s', ['ours', 'theirs'], { label: '' }).value).toBe(2)
  expect(ratioOf(variants, 'per_s', ['ours', 'missing'], { label: '' }).value).toBeNaN()
})

test('a target is met at its exact value, and a missing target is never met', () => {
  expect(reaches({ label: '', value: 1.5, least: 1.5 })).toBe(true)
  expect(reaches({ label: '', value: 1.49, least: 1.5 })).toBe(false)
  expect(reaches({ label: '', value: 3, most: 3 })).toBe(true)
  expect(reaches({ label: '', value: 3.01, most: 3 })).toBe(false)
  expect(reaches({ label: '', value: 1 })).toBeNull()
})

test('a result names revision, date, machine and load, and leaves unmeasured cells empty', () => {
  const text = markdownOf(result)
  expect(text).toContain('1 May 2026, 2 cores, revision abc1234, load 0.1 before and 3.0 after')
  expect(text).toContain('| ours | 200 | 1.50 |\n| theirs | 100 |  |')
  expect(text).toContain('| to <theirs> | 2.00 | at least 1.5 | yes |')
  expect(text).toContain('| p99 | 4.00 | at most 3 | no |')
  expect(text).toContain('| irrelevant | 100.00 |  |  |')
  expect(text).toContain('varnishd is not installed')
})

test('the plot shows every ratio within its scale, with names escaped', () => {
  const svg = plotOf([result])
  expect(svg).toContain('Reads &amp; more')
  expect(svg).toContain('to &lt;theirs&gt; (at least 1.5)')
  const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)"/g)]
  expect(bars).toHaveLength(3)
  for (const [, x, width] of bars) expect(Number(x) + Number(width)).toBeLessThanOrEqual(900)
})

/** Without the padding of table columns that the formatter adds. */
const unpadded = (text: string) => text.replaceAll(/ *\| */g, '|').replaceAll(/-{3,}/g, '---')

test('the saved results generate the section of docs/benchmarks.md', async () => {
  const root = `${import.meta.dir}/../../../`
  const saved = (await Bun.file(`${root}docs/benchmarks.json`).json()) as Result[]
  const page = await Bun.file(`${root}docs/benchmarks.md`).text()

  expect(saved.length).toBeGreaterThan(5)
  for (const it of saved) expect(unpadded(page)).toContain(unpadded(markdownOf(it)))
})
