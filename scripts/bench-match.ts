/**
 * Matching one item against many monitors: `bun run bench:match`. Ours (the matcher of a stream, which answers with
 * the whole filter_spec) in turn with a loop of compiled RegExps and with modern-ahocorasick, which know the words
 * alone. Rounds in turn, medians; every round gets items it has not seen, so that nothing is remembered of them.
 * `--rounds N`, `--most N` (monitors), `--seed N`.
 */
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import AhoCorasick from 'modern-ahocorasick/fast'

import { createIndex } from '../src/core/filter-index.ts'
import { createMatcher } from '../src/core/filter-matcher.ts'
import { needsOf } from '../src/core/filter-needs.ts'
import { type FilterSpec, parseFilterSpec } from '../src/core/filter.ts'
import type { Item } from '../src/core/items.ts'
import { createWords } from '../src/core/wire.ts'
import { postOf } from '../test/support/items.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    most: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
})
const ROUNDS = Number(values.rounds)
const SIZES = [100, 1_000, 10_000, 100_000].filter((it) => it <= Number(values.most))
const TERMS = 20
const VOCABULARY = 60_000
/** A peer that would take longer than this for a round is given fewer items. */
const PAIRS_MAX = 20_000_000

/** A seeded chance (mulberry32): the same seed gives the same bench. */
let state = Number(values.seed)
function chance(): number {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}
const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)]!
const whole = (least: number, most: number) => least + Math.floor(chance() * (most - least + 1))

// Words of one to five syllables, common ones short, as languages have it.
const ONSETS =
  'b c d f g h k l m n p r s t v w br ch cl cr dr fl gr pl pr sh sl st str th tr'.split(' ')
const VOWELS = 'a e i o u ai ea ee io ou'.split(' ')
const CODAS = ['', '', '', 'n', 'r', 's', 't', 'l', 'nd', 'st', 'ng', 'ck']
const vocabulary: string[] = []
const made = new Set<string>()
while (vocabulary.length < VOCABULARY) {
  const syllables = 1 + Math.floor(Math.log10(1 + vocabulary.length) * 0.7 + chance())
  let word = ''
  for (let i = 0; i < syllables; i++) word += pick(ONSETS) + pick(VOWELS) + pick(CODAS)
  if (made.has(word)) continue
  made.add(word)
  vocabulary.push(word)
}

// Zipf's law: the n-th word occurs in proportion to 1/n.
const zipf = (from: number, to: number): string => {
  const rank = from * (to / from) ** chance()
  return vocabulary[Math.min(VOCABULARY - 1, Math.floor(rank) - 1)]!
}
const said = (words: number): string =>
  Array.from({ length: words }, () => zipf(1, VOCABULARY)).join(' ')

/** A post of some 60 words, a few with links and emphasis. */
function write(at: number): Item {
  const body = said(whole(0, 60))
  const marked =
    at % 4 === 0 ? `${body} **${said(2)}** [${said(2)}](https://${said(1)}.example/x)` : body
  return postOf({ id: `p${at}`, name: `t3_p${at}`, title: said(whole(6, 14)), text: marked })
}

/** What people look for: names and jargon, seldom common words; every other is a phrase of two. */
const term = (): string => {
  const word = zipf(20_000, VOCABULARY)
  return chance() < 0.5 ? `${word} ${zipf(200, VOCABULARY)}` : word
}

const words = createWords({ platform: 'forum', community: 'subforum' })
function wish(at: number): FilterSpec {
  const terms = Array.from({ length: TERMS }, term)
  const kind = at % 20
  const more: Record<string, unknown> =
    kind < 13
      ? { include_any: terms }
      : kind < 16
        ? { include_any: terms.slice(2), include_all: terms.slice(0, 2) }
        : kind === 16
          ? {
              q: `(${terms
                .slice(0, 4)
                .map((it) => `"${it}"`)
                .join(' OR ')}) -${pick(vocabulary)}`,
              include_any: terms.slice(4),
            }
          : kind === 17
            ? { include_any: terms.slice(5), exclude_terms: terms.slice(0, 5) }
            : kind === 18
              ? { include_any: terms, regex: [`\\b${pick(vocabulary)}\\s+\\w+`] }
              : { include_any: terms, fold_accents: at % 40 === 19, nsfw: false }
  return parseFilterSpec({ subforum: ['cats'], ...more }, words)
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
const wantedOf = ({ include_any, include_all }: FilterSpec) => [...include_any, ...include_all]
const textOf = (item: Item) =>
  (item.kind === 'post' ? `${item.title}\n${item.text}` : item.body).toLowerCase()

type Peer = { ask: (item: Item) => number; items_max: number; made_ms: number; mb: number }

function ours(specs: readonly FilterSpec[]): Peer {
  const matcher = createMatcher()
  for (const [i, spec] of specs.entries()) matcher.set(`mon_${i}`, 1, spec)
  return { ask: (item) => matcher.match(item).length, items_max: Infinity, made_ms: 0, mb: 0 }
}

function regexps(specs: readonly FilterSpec[]): Peer {
  const compiled = specs.map(
    (spec) => new RegExp(`\\b(?:${wantedOf(spec).map(escaped).join('|')})\\b`),
  )
  const ask = (item: Item): number => {
    const text = textOf(item)
    let found = 0
    for (const it of compiled) if (it.test(text)) found++
    return found
  }
  return { ask, items_max: Math.max(10, PAIRS_MAX / 200 / specs.length), made_ms: 0, mb: 0 }
}

function ahocorasick(specs: readonly FilterSpec[]): Peer {
  const who = new Map<string, number[]>()
  for (const [i, spec] of specs.entries())
    for (const it of wantedOf(spec)) {
      const list = who.get(it)
      if (list === undefined) who.set(it, [i])
      else list.push(i)
    }
  const automaton = new AhoCorasick([...who.keys()])
  const ask = (item: Item): number => {
    const text = textOf(item)
    const found = new Set<number>()
    for (const { pattern, start, end } of automaton.search(text))
      if (!/\w/.test(text[start - 1] ?? '') && !/\w/.test(text[end] ?? ''))
        for (const it of who.get(pattern) ?? []) found.add(it)
    return found.size
  }
  return { ask, items_max: Infinity, made_ms: 0, mb: 0 }
}

const PEERS = { ours, 'RegExp loop': regexps, 'modern-ahocorasick': ahocorasick }
const names = Object.keys(PEERS) as (keyof typeof PEERS)[]

function median(list: number[]): number {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

const settle = (): number => {
  Bun.gc(true)
  Bun.gc(true)
  return process.memoryUsage.rss() / 1e6
}

const ITEMS = 2_000
const posts = Array.from({ length: ITEMS }, (_, i) => write(i))
/** The same posts as nobody has seen them. */
const unseen = (count: number): Item[] => posts.slice(0, count).map((it) => ({ ...it }))

console.log(
  `${ROUNDS} rounds in turn, medians; ${ITEMS} items of ${Math.round(posts.reduce((n, it) => n + textOf(it).length, 0) / ITEMS)} ` +
    `letters, ${TERMS} terms a monitor of a vocabulary of ${VOCABULARY}; seed ${values.seed}; Bun ${Bun.version}, ` +
    `${cpus().length} cores (${cpus()[0]?.model.trim()}), load ${(loadavg()[0] ?? 0).toFixed(1)} before\n`,
)

type Line = {
  size: number
  matches: number
  candidates: number
  listen_us: number
  change_us: number
  mb: number
  rates: Map<string, number>
}
const lines: Line[] = []
for (const size of SIZES) {
  const before = settle()
  const specs = Array.from({ length: size }, (_, i) => wish(i))
  const with_specs = settle()
  const peers = new Map<string, Peer>()
  for (const name of names) peers.set(name, PEERS[name](specs))
  const line: Line = {
    size,
    matches: 0,
    candidates: 0,
    listen_us: 0,
    change_us: 0,
    mb: 0,
    rates: new Map(),
  }
  const taken = new Map<string, number[]>(names.map((name) => [name, []]))
  for (let round = -1; round < ROUNDS; round++)
    for (const [name, { ask, items_max }] of peers) {
      const items = unseen(Math.min(ITEMS, Math.ceil(items_max)))
      const began = performance.now()
      let found = 0
      for (const it of items) found += ask(it)
      const us = ((performance.now() - began) * 1000) / items.length
      // The first round warms up.
      if (round >= 0) taken.get(name)?.push(us)
      if (name === 'ours') line.matches = found / items.length
    }
  for (const name of names) line.rates.set(name, 1e6 / median(taken.get(name) ?? []))

  // Who could match, before anybody is asked: what the number of monitors alone adds to an item.
  const index = createIndex()
  for (const [i, spec] of specs.entries()) index.add(needsOf(spec), i)
  const listening: number[] = []
  let candidates = 0
  for (let round = 0; round <= ROUNDS; round++) {
    const items = unseen(ITEMS)
    candidates = 0
    const began = performance.now()
    for (const it of items) index.listen(it, () => void candidates++)
    listening.push(((performance.now() - began) * 1000) / ITEMS)
  }
  line.listen_us = median(listening.slice(1))
  line.candidates = candidates / ITEMS

  const matcher = createMatcher()
  for (const [i, spec] of specs.entries()) matcher.set(`mon_${i}`, 1, spec)
  // One monitor edited among all the others.
  const changes: number[] = []
  for (let i = 0; i < 200; i++) {
    const began = performance.now()
    matcher.set(`mon_${i}`, 2, specs[(i * 7) % size]!)
    changes.push((performance.now() - began) * 1000)
  }
  line.change_us = Math.max(...changes)
  peers.clear()

  const alone = settle()
  const kept = ours(specs)
  for (const it of unseen(ITEMS)) kept.ask(it)
  line.mb = settle() - alone + (with_specs - before)
  kept.ask(posts[0]!)
  lines.push(line)
  console.error(`${size} done`)
}

console.log(
  '| monitors | items/s | matches an item | asked an item | finding whom to ask | RegExp loop | modern-ahocorasick | memory a monitor | slowest edit |',
)
console.log('|---|---|---|---|---|---|---|---|---|')
for (const { size, matches, candidates, listen_us, change_us, mb, rates } of lines) {
  const our = rates.get('ours') ?? Number.NaN
  const beside = (name: string) => {
    const rate = rates.get(name) ?? Number.NaN
    return `${rate < 100 ? rate.toFixed(1) : Math.round(rate)} (1 : ${(our / rate).toFixed(1)})`
  }
  console.log(
    `| ${size} | ${Math.round(our)} | ${matches.toFixed(2)} | ${candidates.toFixed(2)} | ${listen_us.toFixed(1)} µs | ${beside('RegExp loop')} | ` +
      `${beside('modern-ahocorasick')} | ${((mb * 1000) / size).toFixed(1)} kB | ${change_us.toFixed(0)} µs |`,
  )
}
for (const step of [100, 10]) {
  const pairs = lines.flatMap((it) => {
    const far = lines.find(({ size }) => size === it.size * step)
    return far ? [`${it.size} to ${far.size}: ${(far.listen_us / it.listen_us).toFixed(1)}`] : []
  })
  if (pairs.length > 0)
    console.log(
      `\n${step} times the monitors, finding whom to ask: ${pairs.join(', ')} times the time`,
    )
}
