/**
 * Matching an item against many monitors: `bun run bench:match`. forumd (the matcher of a feed, which evaluates
 * whole filters) alternates with a loop of compiled RegExps and with modern-ahocorasick, which support words
 * only. Every round has new items, so that nothing is cached for them.
 * `--rounds N`, `--most N` (monitors), `--seed N`.
 */
import { heapStats } from 'bun:jsc'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import AhoCorasick from 'modern-ahocorasick/fast'

import type { FilterSpec } from '../../../src/core/filter/fields.ts'
import { createIndex, createMatcher, needsOf } from '../../../src/core/filter/index.ts'
import { decodeFilterSpec, encodeFilterSpec } from '../../../src/core/filter/parse.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { threadMs } from '../figures/thread-time.ts'
import { createWorld, TERMS, VOCABULARY } from './match-world.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    most: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
})
const ROUNDS = Number(values.rounds)
const SIZES = [100, 1_000, 10_000, 100_000].filter((it) => it <= Number(values.most))
const ITEMS = 2_000
const EDITS = 500
/** Limit of pairs per round: with many monitors the loop gets fewer items. */
const PAIRS_MAX = 100_000

/** Matcher under test: number of monitors that an item matches. */
type Matcher = (item: Item) => number

const numberOf = (monitor_id: string): number => Number(monitor_id.slice('mon_'.length))

function ours(specs: readonly FilterSpec[]): Matcher {
  const matcher = createMatcher((id) => specs[numberOf(id)] ?? null)
  for (const [i, spec] of specs.entries()) matcher.set(`mon_${i}`, 1, spec)
  return (item) => matcher.match(item).length
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
const termsOf = ({ include_any, include_all }: FilterSpec) => [...include_any, ...include_all]
const textOf = (item: Item): string =>
  (item.kind === 'post' ? `${item.title}\n${item.text}` : item.body).toLowerCase()

function regexps(specs: readonly FilterSpec[]): Matcher {
  const compiled = specs.map((it) => new RegExp(`\\b(?:${termsOf(it).map(escaped).join('|')})\\b`))
  return (item) => {
    const text = textOf(item)
    return compiled.filter((it) => it.test(text)).length
  }
}

function ahocorasick(specs: readonly FilterSpec[]): Matcher {
  const who = new Map<string, number[]>()
  for (const [i, spec] of specs.entries())
    for (const it of termsOf(spec)) {
      const list = who.get(it)
      if (list === undefined) who.set(it, [i])
      else list.push(i)
    }
  const automaton = new AhoCorasick([...who.keys()])
  return (item) => {
    const text = textOf(item)
    const found = new Set<number>()
    for (const { pattern, start, end } of automaton.search(text))
      if (!/\w/.test(text[start - 1] ?? '') && !/\w/.test(text[end] ?? ''))
        for (const it of who.get(pattern) ?? []) found.add(it)
    return found.size
  }
}

const PEERS = { ours, 'RegExp loop': regexps, 'modern-ahocorasick': ahocorasick }

/** Processor time of this thread, in µs. */
const spent = () => threadMs() * 1000

function median(list: readonly number[], share = 0.5): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length * share)] ?? Number.NaN
}

/** µs per item: median of the rounds after the first, which warms up; variants alternate within a round. */
function measure(
  matchers: ReadonlyMap<string, { match: Matcher; items: number }>,
): Map<string, number> {
  const taken = new Map<string, number[]>([...matchers.keys()].map((name) => [name, []]))
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, { match, items }] of matchers) {
      const unseen = posts.slice(0, items).map((it) => ({ ...it }))
      const began = spent()
      for (const it of unseen) match(it)
      if (round > 0) taken.get(name)?.push((spent() - began) / unseen.length)
    }
  return new Map([...taken].map(([name, list]) => [name, median(list)]))
}

function heldBytes(): number {
  Bun.gc(true)
  Bun.gc(true)
  // Includes typed arrays and the characters of strings.
  return heapStats().heapSize
}

const world = createWorld(Number(values.seed))
const posts = Array.from({ length: ITEMS }, (_, i) => world.post(i))
const letters = posts.reduce((sum, it) => sum + textOf(it).length, 0) / ITEMS

function bench(size: number) {
  // Stored filters do not count as memory of the matcher.
  const texts = Array.from({ length: size }, (_, i) => encodeFilterSpec(world.spec(i)))
  const before = heldBytes()
  const matcher = createMatcher((id) => decodeFilterSpec(texts[numberOf(id)] ?? ''))
  let longest_ms = 0
  for (const [i, text] of texts.entries()) {
    const began = spent()
    matcher.set(`mon_${i}`, 1, decodeFilterSpec(text))
    longest_ms = Math.max(longest_ms, (spent() - began) / 1000)
  }
  let matches = 0
  for (const it of posts) matches += matcher.match({ ...it }).length
  const bytes = (heldBytes() - before) / size

  const edits: number[] = []
  for (let i = 0; i < EDITS; i++) {
    const text = texts[(i * 7 + 1) % size]
    const began = spent()
    if (text !== undefined) matcher.set(`mon_${i % size}`, 2 + i, decodeFilterSpec(text))
    edits.push(spent() - began)
  }

  const specs = texts.map(decodeFilterSpec)
  // Candidate lookup alone: the cost that the number of monitors adds to an item before any filter is
  // evaluated.
  const index = createIndex()
  for (const [i, spec] of specs.entries()) index.add(needsOf(spec), i)
  let items_matched = 0
  const finding = (item: Item): number => {
    index.scan(item, () => void items_matched++)
    return 0
  }

  const matchers = new Map([['finding', { match: finding, items: ITEMS }]])
  for (const [name, make] of Object.entries(PEERS)) {
    const items = make === regexps ? Math.max(2, Math.floor(PAIRS_MAX / size)) : ITEMS
    matchers.set(name, { match: make(specs), items: Math.min(ITEMS, items) })
  }
  const us = measure(matchers)
  items_matched = items_matched / (ITEMS * (ROUNDS + 1))
  return { size, us, asked: items_matched, matches: matches / ITEMS, bytes, edits, longest_ms }
}

/** Items per second. */
const rate = (us: number): string => (1e6 / us).toFixed(us > 10_000 ? 1 : 0)

console.log(
  `${ROUNDS} alternating rounds, medians of processor time; ${ITEMS} items of ${Math.round(letters)} characters, ${TERMS} terms ` +
    `per monitor, of ${VOCABULARY} words; seed ${values.seed}; Bun ${Bun.version}, ${cpus().length} cores ` +
    `(${cpus()[0]?.model.trim()}), load ${(loadavg()[0] ?? Number.NaN).toFixed(1)} before\n`,
)
console.log(
  '| monitors | items/s | matches per item | candidates per item | candidate lookup | RegExp loop | modern-ahocorasick | memory per monitor | an edit (99 %, longest) | slowest addition |\n' +
    '|---|---|---|---|---|---|---|---|---|---|',
)
const rows = SIZES.map((size) => {
  const row = bench(size)
  const our = row.us.get('ours') ?? Number.NaN
  const beside = (name: keyof typeof PEERS) => {
    const us = row.us.get(name) ?? Number.NaN
    return `${rate(us)} (1 : ${(us / our).toFixed(1)})`
  }
  const cells = [
    size,
    rate(our),
    row.matches.toFixed(2),
    row.asked.toFixed(2),
    `${row.us.get('finding')?.toFixed(1)} µs`,
    beside('RegExp loop'),
    beside('modern-ahocorasick'),
    `${(row.bytes / 1000).toFixed(1)} kB`,
    `${median(row.edits).toFixed(0)} µs (${median(row.edits, 0.99).toFixed(0)}, ${Math.max(...row.edits).toFixed(0)})`,
    `${row.longest_ms.toFixed(1)} ms`,
  ]
  console.log(`| ${cells.join(' | ')} |`)
  return row
})
for (const near of rows) {
  const far = rows.find(({ size }) => size === near.size * 100)
  const [some, many] = [near.us.get('finding'), far?.us.get('finding')]
  if (some !== undefined && many !== undefined)
    console.log(
      `\n${near.size} to ${near.size * 100} monitors: candidate lookup takes ${(many / some).toFixed(1)} times as long`,
    )
}
