// Goal: what the pages say is so. Method: their examples are read and judged by the code they speak of, what is made is made
// again, and every link is followed.
import { beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { blocksOf } from '../../scripts/docs/blocks.ts'
import { configPage, tablesOf } from '../../scripts/docs/config-page.ts'
import { withSamples } from '../../scripts/docs/samples.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { parseConfig } from '../../src/config.ts'
import { KEYS } from '../../src/config/keys.ts'
import { compileFilter } from '../../src/core/filter-compile.ts'
import { parseFilterSpec } from '../../src/core/filter.ts'
import type { Comment, Item, Post } from '../../src/core/items.ts'
import { createWords, wireCode } from '../../src/core/wire.ts'
import { commentOf, postOf } from '../support/items.ts'
import { type Delivered, realDelivery } from '../support/loopback.ts'

const root = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs')).flatMap((it) => (it.endsWith('.md') ? [`docs/${it}`] : [])),
]
const blocks = pages.flatMap((page) => blocksOf(read(page)).map((block) => ({ page, ...block })))

describe('what is made by scripts/docs.ts is up to date', () => {
  test('the page of the configuration', () => {
    expect(read('docs/config.md')).toBe(configPage(read('config.example.toml')))
  })

  test('the samples in the page of webhooks', () => {
    const page = read('docs/webhooks.md')

    expect(withSamples(page, read)).toBe(page)
    expect(blocksOf(page).filter(({ words }) => words[0]?.endsWith('#verify')).length).toBe(6)
  })

  test('and the page has every key of the schema', () => {
    const shown = tablesOf(read('config.example.toml')).flatMap(({ name, keys }) =>
      keys.map((key) => `${name}.${key.name}`),
    )
    const known = [...KEYS].flatMap(([table, keys]) =>
      keys.map((key) => `${table.replace('*', 'entry')}.${key}`),
    )
    const tables = [...KEYS.keys()].map((it) => it.replace('*', 'entry'))

    expect(shown.toSorted()).toEqual(
      known
        .filter((it) => it.includes('.', 1) && !it.startsWith('.') && !tables.includes(it))
        .toSorted(),
    )
  })
})

describe('an example of configuration', () => {
  const found = blocks.filter(({ language, words }) => language === 'toml' && words[0] === 'config')

  test.each(found)('in $page is taken as it is', ({ text }) => {
    const platform = '\n[platform]\nbase_url = "https://f.example"\nsession_cookie = "s"\n'
    const whole = text.includes('[platform]') ? text : text + platform

    expect(() => parseConfig(whole)).not.toThrow()
  })

  test('is found in three pages at least', () => {
    expect(new Set(found.map(({ page }) => page)).size).toBeGreaterThanOrEqual(3)
  })

  test('that README has typed is taken too', () => {
    const [, text = ''] = /<<'END'\n([\s\S]*?)\nEND/.exec(read('README.md')) ?? []

    expect(parseConfig(text).plans['entry']?.cadence_s).toBe(5)
  })
})

describe('an example of a filter', () => {
  type Row = Partial<Post> | (Partial<Comment> & { body: string })
  type Example = { filter_spec: object; matches: Row[]; not: Row[] }
  const words = createWords({ platform: 'forum', community: 'subforum' })
  const examples = blocks
    .filter((block) => block.words[0] === 'example')
    .map(({ text }): Example => JSON.parse(text))
  const itemOf = (row: Row): Item => ('body' in row ? commentOf(row) : postOf(row))

  test.each(examples)('matches what the page says: $filter_spec', ({ filter_spec, ...said }) => {
    const ask = compileFilter(parseFilterSpec(filter_spec, words))
    const told = (rows: Row[]) => rows.filter((row) => ask(itemOf(row)) !== null)

    expect({ matches: told(said.matches), not: told(said.not) }).toEqual({
      matches: said.matches,
      not: [],
    })
  })

  test('says what it matches and what it does not', () => {
    expect(examples.length).toBe(5)
    for (const { matches, not } of examples) expect([matches.length, not.length]).not.toContain(0)
  })
})

describe('the delivery that is shown', () => {
  let real: Delivered
  beforeAll(async () => {
    real = await realDelivery('A quiet grinder for under 100 €?')
  })

  test('has no field, and no kind of value, that a real one lacks', () => {
    const [block] = blocks.filter(({ words }) => words[0] === 'delivery')
    const shown = JSON.parse(block?.text ?? '')

    expect(JSON.parse(real.text)).toMatchObject(Object(kindsOf(shown)))
    expect(shown.items[0].enrichment).toEqual(JSON.parse(real.text).items[0].enrichment)
  })

  test('comes with every header that is listed', () => {
    const [, table = ''] = read('docs/webhooks.md').split('| header ')
    const [rows = ''] = table.split('\n\n')
    const listed = [...rows.matchAll(/`((?:x-service|webhook)-[a-z-]+)`/g)].map(([, it]) => it)

    expect(listed.length).toBe(6)
    for (const name of listed) expect(real.headers.has(name ?? '')).toBe(true)
  })
})

/** The same shape with kinds of values in the place of values. */
function kindsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(kindsOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, kindsOf(it)]))
  return typeof value === 'string'
    ? expect.any(String)
    : expect.any(typeof value === 'number' ? Number : Boolean)
}

test('the words of the page of migration are those that the interface would carry', () => {
  const words = createWords({ platform: 'acme', community: 'board' })
  const page = read('docs/migration.md')

  for (const it of [
    `${words.api}/posts`,
    `${words.monitor}/add`,
    `${words.header}session`,
    words.session,
    words.exclude_communities,
    words.communities,
    words.code('RATELIMIT'),
    wireCode(words, 'subforum_not_found'),
  ])
    expect(page).toContain(`\`${it}\``)
})

test('the page of capacity has no figure that benchmarks.md and bars.md do not have', () => {
  const measured = read('docs/benchmarks.md') + read('docs/bars.md')
  const column = [...read('docs/capacity.md').matchAll(/^\|[^|]+\|([^|]+)\|[^|]+\|$/gm)]
  const figures = column.flatMap(
    ([, cell = '']) => cell.match(/\d[\d.,]*\d(?: (?:ms|s|MB|kB)\b)?/g) ?? [],
  )
  // Shares of all there were, as words in brackets, are no figures of their own.
  const absent = figures.filter((it) => it !== '99' && !measured.includes(it))

  expect(absent).toEqual([])
  expect(figures.length).toBeGreaterThan(12)
})

describe('README tells', () => {
  const readme = read('README.md')
  const rows = (heading: string) => {
    const [, after = ''] = readme.split(`\n${heading}\n`)
    const [section = ''] = after.split('\n## ')
    return [...section.matchAll(/^\| `?([@\w/.-]+)`?(?:, `daemon\.ts`)? +\|/gm)].map(
      ([, it = '']) => it,
    )
  }

  test('of every room, and of no other', () => {
    const rooms = readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((it) => it.isDirectory() && it.name !== 'config')
      .map(({ name }) => name)

    expect(
      rows('## How it works')
        .filter((it) => it !== 'Room' && !/-{3}|\.ts$/.test(it))
        .toSorted(),
    ).toEqual(rooms.toSorted())
  })

  test('why there is each dependency, and names no other', () => {
    const { dependencies } = JSON.parse(read('package.json'))

    expect(
      rows('## Dependencies')
        .filter((it) => it !== 'Package' && !/-{3}/.test(it))
        .toSorted(),
    ).toEqual(Object.keys(dependencies).toSorted())
  })
})

/** Where its links lead within the repository. */
const linksOf = (page: string) =>
  [
    ...read(page)
      .replace(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))

describe('a page', () => {
  test.each(pages)('%s links to what there is', (page) => {
    const dead = linksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      if (!existsSync(join(root, file))) return true
      return anchor !== undefined && !anchorsOf(file).includes(anchor)
    })

    expect(dead).toEqual([])
  })

  test('of docs/ is in the index', () => {
    const listed = linksOf('docs/index.md')
    const absent = readdirSync(join(root, 'docs')).filter(
      (it) => it.endsWith('.md') && it !== 'index.md' && !listed.includes(it),
    )

    expect(absent).toEqual([])
  })

  test.each(pages)('%s names no command that there is not', (page) => {
    const first = new Set([...COMMANDS.keys()].map((it) => it.split(' ')[0]))
    const typed = [...read(page).matchAll(/`forumd ([a-z][a-z-]*)/g)].map(([, it = '']) => it)

    expect(typed.filter((it) => !first.has(it) && it !== 'help')).toEqual([])
  })
})

/** What headings of a page can be linked to, as GitHub names them. */
function anchorsOf(file: string): string[] {
  return [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
