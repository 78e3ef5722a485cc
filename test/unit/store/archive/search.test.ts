import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { wordQuery } from '../../../../src/core/archive/words.ts'
import { compileFilter } from '../../../../src/core/filter/compile.ts'
import type { Item } from '../../../../src/core/forum/items.ts'
import { openArchive } from '../../../../src/store/archive/file.ts'
import { createJudge } from '../../../../src/store/archive/search.ts'
import { anyItem, anySpec, parse } from '../../../support/archive-arbitraries.ts'
import { archive, searchAll } from '../../../support/archive.ts'
import { postOf } from '../../../support/items.ts'
import { cases } from '../../../support/long-form.ts'

// A search of the archive against live matching, which knows no index. FORUMD_RUNS=100000 is the long form.
const RUNS = Number(process.env.FORUMD_RUNS ?? cases({ short: 300, long: 3000 }))
const ITEMS = 24
const WORD = /[\p{L}\p{M}\p{N}]+/gu

/** Filters for words of these items: drawn filters seldom match drawn items. */
const specsOf = (items: readonly Item[], picks: readonly number[]) =>
  picks.flatMap((n) => {
    const { source = '~', subforum, ...item } = items[n % items.length] ?? postOf({})
    const words = (item.kind === 'post' ? item.title : item.body).match(WORD) ?? []
    const word = words[n % words.length]
    return word === undefined
      ? []
      : [parse({ source: [source], subforum: [subforum], q: `"${word}"`, kind: 'both' })]
  })

test('a search finds what live matching finds, newest first, for any filter and any text', () => {
  let matches = 0
  let indexed = 0
  fc.assert(
    fc.property(
      fc.array(anyItem, { minLength: ITEMS, maxLength: ITEMS }),
      fc.array(anySpec, { minLength: 8, maxLength: 8 }),
      fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
      (drawn, specs, picks) => {
        const items = drawn.map((it, n): Item => ({ ...it, id: `x${n}`, name: `t3_x${n}` }))
        using db = openArchive(':memory:')
        archive(db, items)
        for (const spec of [...specs, ...specsOf(items, picks)]) {
          if (spec === null) continue
          const judge = createJudge(spec)
          const expected = items.filter((it) => judge({ ...it }) === 'matches')
          const { names, rows } = searchAll(db, { spec, limit: 5 })

          expect(names.toSorted()).toEqual(expected.map(({ name }) => name).toSorted())
          const times = rows.map(({ created_utc }) => Number(created_utc))
          expect(times).toEqual(times.toSorted((a, b) => b - a))
          matches += expected.length
          if (wordQuery(spec) !== null && expected.length > 0) indexed += 1
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / 40) },
  )

  // Without matches through the index nothing would have been compared.
  expect(matches).toBeGreaterThan(RUNS / 40)
  expect(indexed).toBeGreaterThan(RUNS / 200)
}, 600_000)

test.each([
  ['cat', '猫cat'],
  ['東京', '私は東京に住む'],
  ['京', '東京'],
  ['node.js', 'about Node.js, and more'],
  ['cafe', 'CAFE'],
  ['straße', 'STRASSE'],
  ['"rate limit"', 'a rate  limit'],
  ['throttl*', 'throttling'],
])('the index finds %s in %s', (written, title) => {
  using db = openArchive(':memory:')
  const spec = parse({ q: written, kind: 'post' })
  archive(db, [postOf({ title }), postOf({ title: 'nothing of it', name: 't3_p2', id: 'p2' })])

  expect(compileFilter(spec)(postOf({ title }))).not.toBeNull()
  expect(wordQuery(spec)).not.toBeNull()
  expect(searchAll(db, { spec }).names).toEqual(['t3_p1'])
})

test('from and to select by milliseconds, which some sources give', () => {
  using db = openArchive(':memory:')
  const second = 1_767_225_600_000
  const parts = [0, 200, 900]
  archive(
    db,
    parts.map((ms) =>
      postOf({
        title: `at ${ms}`,
        name: `t3_x${ms}`,
        id: `x${ms}`,
        created_utc: second / 1000,
        created: new Date(second + ms).toISOString(),
      }),
    ),
  )
  const within = (from_at: number, to_at: number) =>
    searchAll(db, { spec: parse({ q: 'at' }), from_at, to_at }).names.toSorted()

  expect(within(second, second + 200)).toEqual(['t3_x0'])
  expect(within(second + 200, second + 900)).toEqual(['t3_x200'])
  expect(within(second + 201, second + 1000)).toEqual(['t3_x900'])
})

test('pages follow each other without a gap or a repeat, also within one second', () => {
  using db = openArchive(':memory:')
  const items = Array.from({ length: 120 }, (_, n) =>
    postOf({ title: 'cat', name: `t3_x${n}`, id: `x${n}`, created_utc: 1_767_225_600 + (n % 3) }),
  )
  archive(db, items)
  const { names, pages } = searchAll(db, { spec: parse({ q: 'cat' }), limit: 7 })

  expect(names).toHaveLength(120)
  expect(new Set(names).size).toBe(120)
  expect(pages).toBe(18)
})

test('a customer finds what its own monitors matched, and nothing else', () => {
  using db = openArchive(':memory:')
  archive(db, [postOf({ title: 'cat one', name: 't3_x1' })], { scopes: ['m:mine'] })
  archive(db, [postOf({ title: 'cat two', name: 't3_x2' })], { scopes: ['m:other'] })
  archive(db, [postOf({ title: 'cat three', name: 't3_x3' })], { scopes: ['m:other', 'm:mine'] })
  const { rows } = searchAll(db, { spec: parse({ q: 'cat' }), scopes: ['m:mine'] })

  expect(rows.map(({ name }) => name)).toEqual(['t3_x3', 't3_x1'])
  // Nor that another customer's monitor matched it.
  expect(rows[0]?.['archived']).toMatchObject({ monitor_ids: ['mine'] })
})

test('for any scopes a search finds their items alone, by the index, by scope and by row', () => {
  let found_items = 0
  fc.assert(
    fc.property(
      fc.array(anyItem, { minLength: ITEMS, maxLength: ITEMS }),
      fc.array(anySpec, { minLength: 4, maxLength: 4 }),
      // Few scopes are merged, many are tested on each item.
      fc.oneof(
        fc.uniqueArray(fc.nat({ max: ITEMS - 1 }), { minLength: 1, maxLength: 3 }),
        fc.uniqueArray(fc.nat({ max: ITEMS - 1 }), { minLength: 18, maxLength: ITEMS }),
      ),
      (drawn, specs, mine) => {
        const items = drawn.map((it, n): Item => ({ ...it, id: `x${n}`, name: `t3_x${n}` }))
        using db = openArchive(':memory:')
        for (const [n, item] of items.entries()) archive(db, [item], { scopes: [`m:${n}`] })
        const own = items.filter((_, n) => mine.includes(n))
        for (const spec of [...specs, ...specsOf(own, mine.slice(0, 4))]) {
          if (spec === null) continue
          const judge = createJudge(spec)
          const expected = own.filter((it) => judge({ ...it }) === 'matches')
          const scopes = mine.map((n) => `m:${n}`)
          const { names } = searchAll(db, { spec, scopes, limit: 3 })

          expect(names.toSorted()).toEqual(expected.map(({ name }) => name).toSorted())
          found_items += expected.length
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / 30) },
  )

  expect(found_items).toBeGreaterThan(RUNS / 60)
}, 600_000)
