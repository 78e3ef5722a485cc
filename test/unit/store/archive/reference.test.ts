import { expect, test } from 'bun:test'

import { parseSearchSpec } from '../../../../src/core/filter/parse.ts'
import type { Item } from '../../../../src/core/forum/items.ts'
import { openArchive } from '../../../../src/store/archive/file.ts'
import { archive, searchAll, words } from '../../../support/archive.ts'
import { commentOf, postOf } from '../../../support/items.ts'
import { cases } from '../../../support/long-form.ts'

// The search against an evaluator of docs/filters.md that shares no code with it: what both would get wrong alike, the
// comparison with live matching does not show. FORUMD_RUNS=20000 is the long form.
const RUNS = Number(process.env.FORUMD_RUNS ?? cases({ short: 100, long: 400 }))
const FIRST_S = 1_767_225_600

/** Words that no rule of normalisation changes, so that the evaluator can compare them by eye. */
const WORDS = [
  'grinder',
  'grinders',
  'coffee',
  'C++',
  '.NET',
  '東京',
  'за\u0301мок',
  'мок',
  '🦓',
  'a_b',
]
const SPACELESS = new Set(['東京', '🦓'])

type Query = { written: string; holds: (texts: readonly string[]) => boolean }

/** The same numbers from 0 to 1 in every run (mulberry32). */
let state = Number(process.env.FORUMD_SEED ?? 1)
function random(): number {
  state = (state + 0x6d2b79f5) >>> 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
const pick = <T>(list: readonly T[]): T => {
  const chosen = list[Math.floor(random() * list.length)]
  if (chosen === undefined) throw new RangeError('nothing to pick from')
  return chosen
}
const text = (): string =>
  Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(WORDS)).join(' ')

const has = (term: string, one: string): boolean =>
  SPACELESS.has(term) ? one.includes(term) : one.split(' ').includes(term)

/** A random query as it is written, with the decision that the page promises. */
function query(depth: number): Query {
  const kind = depth === 0 ? 0 : random()
  if (kind < 0.4) {
    const term = pick(WORDS)
    return { written: `"${term}"`, holds: (texts) => texts.some((it) => has(term, it)) }
  }
  if (kind < 0.5) {
    const begin = pick(['gri', 'cof', 'за'])
    return {
      written: `${begin}*`,
      holds: (texts) => texts.some((it) => it.split(' ').some((word) => word.startsWith(begin))),
    }
  }
  if (kind < 0.6) {
    const term = pick(WORDS)
    return { written: `title:"${term}"`, holds: ([title = '']) => has(term, title) }
  }
  if (kind < 0.7) {
    const { written, holds } = query(depth - 1)
    return { written: `NOT (${written})`, holds: (texts) => !holds(texts) }
  }
  const [one, two] = [query(depth - 1), query(depth - 1)]
  return kind < 0.85
    ? { written: `(${one.written} ${two.written})`, holds: (it) => one.holds(it) && two.holds(it) }
    : {
        written: `(${one.written} OR ${two.written})`,
        holds: (it) => one.holds(it) || two.holds(it),
      }
}

const item = (n: number): Item => {
  const ms = Math.floor(random() * 60_000)
  const shared = {
    id: `x${n}`,
    author: pick(['ann', 'Bob']),
    subforum: pick(['cats', 'dogs']),
    upvotes: Math.floor(random() * 10),
    created_utc: FIRST_S + Math.floor(ms / 1000),
    created: new Date(FIRST_S * 1000 + ms).toISOString(),
  }
  const one =
    random() < 0.5
      ? postOf({ ...shared, name: `t3_x${n}`, title: text(), text: text() })
      : commentOf({ ...shared, name: `t1_x${n}`, link_title: text(), body: text() })
  return random() < 0.5 ? one : { ...one, source: pick(['hn', 'lem']) }
}

/** A random filter, and the conditions that it states. */
function filter() {
  const { written, holds } = query(3)
  const value: Record<string, unknown> = { q: written }
  const source = pick([null, 'forum', 'hn', 'all', 'forum,lem'])
  if (source !== null) value['source'] = source.split(',')
  const kind = pick([null, 'post', 'comment'] as const)
  if (kind !== null) value['kind'] = kind
  const place = pick([null, null, 'cats'])
  if (place !== null) value['subforum'] = place
  const author = pick([null, null, 'BOB'])
  if (author !== null) value['author'] = author
  const min_score = pick([null, null, 5])
  if (min_score !== null) value['min_score'] = min_score
  const [from = 0, to = 60_000] = [random() * 50_000, random() * 60_000]
    .map(Math.round)
    .toSorted((a, b) => a - b)
  const from_at = FIRST_S * 1000 + from
  const to_at = FIRST_S * 1000 + to + 1
  const wants = (it: Item): boolean =>
    (source === null || source === 'all' || source.split(',').includes(it.source ?? 'forum')) &&
    (kind === null || it.kind === kind) &&
    (place === null || it.subforum === place) &&
    (author === null || it.author === 'Bob') &&
    (min_score === null || it.upvotes >= min_score) &&
    Date.parse(it.created) >= from_at &&
    Date.parse(it.created) < to_at &&
    holds(it.kind === 'post' ? [it.title, it.text] : ['', it.body])
  return { value, from_at, to_at, wants }
}

test('a search finds what the page of filters promises, of any sources and times', () => {
  using db = openArchive(':memory:')
  const items = Array.from({ length: 200 }, (_, n) => item(n))
  archive(db, items)
  let found = 0
  let home_alone = 0
  for (let run = 0; run < RUNS; run++) {
    const { value, from_at, to_at, wants } = filter()
    if (String(value['q']).length > 200) continue
    const expected = items.filter(wants).map(({ name, source }) => `${source} ${name}`)
    const { rows } = searchAll(db, {
      spec: parseSearchSpec(value, words),
      from_at,
      to_at,
      limit: 7,
    })
    const names = rows.map(({ name, source }) => `${String(source)} ${String(name)}`)

    expect({ value, names: names.toSorted() }).toEqual({ value, names: expected.toSorted() })
    found += expected.length
    if (JSON.stringify(value['source']) === '["forum"]') home_alone += expected.length
  }

  // Without matches nothing would have been compared.
  expect(found).toBeGreaterThan(RUNS)
  expect(home_alone).toBeGreaterThan(0)
}, 600_000)
