// Goal: docs/capacity.md says what the model says, and the model is made of what the benches have measured last.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { FIGURES, MATCHING, SEARCH } from '../../scripts/capacity/figures.ts'
import { BEGIN, END, section } from '../../scripts/capacity/tables.ts'

const read = (path: string) => readFileSync(join(import.meta.dir, '../..', path), 'utf8')
/** Without the padding of cells and the ends of lines that the formatter chooses. */
const plain = (text: string) => text.replaceAll(/[ \t]+/g, ' ').replaceAll(/-{3,}/g, '---')

test('the tables of docs/capacity.md are current: bun run capacity', () => {
  const page = read('docs/capacity.md')
  const written = page.slice(page.indexOf(BEGIN), page.indexOf(END) + END.length)

  expect(plain(written)).toBe(plain(section()))
})

const rows = [
  ...Object.entries(FIGURES).map(([name, { page, row }]) => [name, page, row] as const),
  ...MATCHING.map(([n, , row]) => [`matching ${n}`, 'docs/benchmarks.md', row] as const),
  ...SEARCH.map(([n, , , row]) => [`search ${n}`, 'docs/benchmarks.md', row] as const),
]

test.each(rows)('the measurement of %s is still in %s', (_, page, row) => {
  expect(plain(read(page)).includes(row)).toBe(true)
})
