// Goal: what the pages say of the house is so. Method: what is made is made again, every link is followed, and lists are
// compared with what they list.
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { blocksOf } from '../../scripts/docs/blocks.ts'
import { configPage, tablesOf } from '../../scripts/docs/config-page.ts'
import { withSamples } from '../../scripts/docs/samples.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { knownKeys } from '../../src/config/keys.ts'
import { MAY_IMPORT } from '../support/rooms.ts'

const root = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs')).flatMap((it) => (it.endsWith('.md') ? [`docs/${it}`] : [])),
]

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
    const known = [...knownKeys()].flatMap(([table, keys]) =>
      keys.map((key) => `${table.replace('*', 'entry')}.${key}`),
    )
    const tables = [...knownKeys().keys()].map((it) => it.replace('*', 'entry'))

    expect(shown.toSorted()).toEqual(
      known
        .filter((it) => it.includes('.', 1) && !it.startsWith('.') && !tables.includes(it))
        .toSorted(),
    )
  })
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

test('the inspector of MCP is named with the version that was tried', () => {
  const { dependencies } = JSON.parse(read('scripts/mcp-tools/package.json'))
  const [, version] = /npx @modelcontextprotocol\/inspector@(\S+)/.exec(read('docs/mcp.md')) ?? []

  expect(version).toBe(dependencies['@modelcontextprotocol/inspector'])
})

test('README measures nothing that benchmarks.md does not have, at a revision that it names', () => {
  const measured = read('docs/benchmarks.md')
  const [section = ''] = /^### Measured\n[\s\S]*?(?=^### )/m.exec(read('README.md')) ?? []
  const figures = section.match(/\d[\d.,]* (?:ms|MB)\b/g) ?? []
  const [, revision = 'none'] = /revision ([0-9a-f]{7})\b/.exec(section) ?? []

  expect(figures.filter((it) => !measured.includes(it))).toEqual([])
  expect(measured).toContain(revision)
  expect(figures.length).toBe(4)
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
      .filter((it) => it.isDirectory() && it.name in MAY_IMPORT)
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
