/**
 * Measures the quality of enrichment on the labelled sets, and its cost per item: `bun scripts/checks/evaluate.ts`.
 * Prints the held-out halves, which docs/enrichment.md shows; `--tuning` prints the halves that may be used to
 * write rules.
 */
import { cpus, loadavg } from 'node:os'

import type { Item } from '../../src/core/forum/items.ts'
import { recordingsFolder } from '../../test/support/replay.ts'
import { ours, pairsOf, simple, type Task } from './evaluation/answers.ts'
import { FEWEST, macroF1, majority, scoresOf } from './evaluation/score.ts'
import { type Labelled, recordedSet, reviewSet } from './evaluation/sets.ts'

const ROUNDS = 50
const held_out = !process.argv.includes('--tuning')
const folder = recordingsFolder()
const sets: Record<string, Labelled[]> = {
  ...(folder === null ? {} : { 'posts and comments': await recordedSet(folder) }),
  'sentences of reviews': await reviewSet(),
}
const half = held_out ? 'held-out half' : 'tuning half'

for (const [name, all] of Object.entries(sets))
  for (const task of ['sentiment', 'intent'] as const) print(name, all, task)
printCost(Object.values(sets).flatMap((all) => all.map(({ item }) => item)))

function print(name: string, all: readonly Labelled[], task: Task) {
  const set = all.filter((it) => it.held_out === held_out)
  const pairs = pairsOf(set, task, ours)
  console.log(`\n### ${task}, ${name}, ${half} (${pairs.length} items)\n`)
  console.log('| class | items | precision | recall | F1 |\n| --- | --: | --: | --: | --: |')
  for (const { label, items, precision, recall, f1 } of scoresOf(pairs))
    console.log(`| ${label} | ${items} | ${[precision, recall, f1].map(two).join(' | ')} |`)
  const few = scoresOf(pairs).some(({ items }) => items < FEWEST)
  console.log(
    `\nmacro-F1 ${two(macroF1(pairs))}${few ? ` (of classes with ${FEWEST} items or more)` : ''}; ` +
      `ten words and a question mark ${two(macroF1(pairsOf(set, task, simple)))}; ` +
      `majority class ${two(macroF1(majority(pairs)))}`,
  )
}

function two(share: number): string {
  return share.toFixed(2)
}

// The best round, because other load only adds time. Copies of the items, because results are cached per item.
function printCost(items: readonly Item[]) {
  const load = loadavg()[0] ?? Number.NaN
  const times = Array.from({ length: ROUNDS }, () => {
    const copies = items.map((item) => ({ ...item }))
    const began = performance.now()
    for (const item of copies) ours(item)
    return ((performance.now() - began) * 1000) / items.length
  })
  const chars = items.reduce(
    (sum, it) => sum + (it.kind === 'post' ? it.title.length + it.text.length : it.body.length),
    0,
  )
  console.log(
    `\n${Math.min(...times).toFixed(1)} µs per item of ${Math.round(chars / items.length)} characters on average: ` +
      `best of ${ROUNDS} rounds over ${items.length} items; Bun ${Bun.version}, ${cpus()[0]?.model.trim()}, load ${load.toFixed(1)}`,
  )
}
