// Goal: the pages are true. Method: generated parts are regenerated, every link is followed, and
// lists are compared with their subject.
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { blocksOf } from '../../scripts/docs/blocks.ts'
import { withCapabilities } from '../../scripts/docs/capabilities.ts'
import { configPage, tablesOf } from '../../scripts/docs/config-page.ts'
import { withSamples } from '../../scripts/docs/samples.ts'
import { allCommands } from '../../src/cli/run.ts'
import { keysByTable } from '../../src/config/load.ts'
import { CODES } from '../../src/core/base/errors.ts'
import { anchorOf, PAGES, readText, root } from './documentation.ts'

const commands = await allCommands()

describe('the output of scripts/docs/docs.ts is up to date', () => {
  test('the page of the configuration', () => {
    expect(readText('docs/config.md')).toBe(configPage(readText('config.example.toml')))
  })

  test('the samples in the page of webhooks', () => {
    const page = readText('docs/webhooks.md')

    expect(withSamples(page, readText)).toBe(page)
    expect(blocksOf(page).filter(({ words }) => words[0]?.endsWith('#verify')).length).toBe(9)
  })

  test('the capabilities in the page of sources', () => {
    const page = readText('docs/sources.md')

    expect(withCapabilities(page)).toBe(page)
    expect(page.match(/^\| `\w+`: .*\byes\b/gm)?.length).toBeGreaterThan(20)
  })

  test('the page has every key of the schema', () => {
    const shown = tablesOf(readText('config.example.toml')).flatMap(({ name, keys: of }) =>
      of.map((key) => `${name.replace(/^\[(.+)\]$|^source(?=\.)/, 'source.entry')}.${key.name}`),
    )
    // A source of each of two kinds is shown.
    const documented_keys = [...new Set(shown)]
    const schema_keys = [...keysByTable()].flatMap(([table, keys]) =>
      keys.map((key) => `${table.replace('*', 'entry')}.${key}`),
    )
    const tables = [...keysByTable().keys()].map((it) => it.replace('*', 'entry'))

    expect(documented_keys.toSorted()).toEqual(
      schema_keys
        .filter((it) => it.includes('.', 1) && !it.startsWith('.') && !tables.includes(it))
        .toSorted(),
    )
  })
})

test('the page of the API lists every error code with its status', () => {
  const listed = [...readText('docs/api.md').matchAll(/^\| (\d{3}) +\| ([^|]+) \|/gm)].flatMap(
    ([, status, codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => `${code} ${status}`),
  )
  const codes = Object.entries(CODES).map(([code, { status }]) => `${code} ${status}`)

  expect(listed.toSorted()).toEqual(codes.toSorted())
})

test('the MCP inspector is named with its tested version', () => {
  const { dependencies } = JSON.parse(readText('scripts/mcp-tools/package.json'))
  const [, version] =
    /npx @modelcontextprotocol\/inspector@(\S+)/.exec(readText('docs/mcp.md')) ?? []

  expect(version).toBe(dependencies['@modelcontextprotocol/inspector'])
})

describe('ARCHITECTURE lists', () => {
  const page = readText('ARCHITECTURE.md')
  const rows = (heading: string) => {
    const [, after = ''] = page.split(`\n${heading}\n`)
    const [section = ''] = after.split('\n## ')
    return [...section.matchAll(/^\| `?([@\w/.-]+)`? +\|/gm)].map(([, it = '']) => it)
  }
  const namesIn = (heading: string, head: string) =>
    rows(heading)
      .filter((it) => it !== head && !/-{3}|\.ts$/.test(it))
      .toSorted()

  test('every folder of src, and the sandbox', () => {
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((it) => it.isDirectory() && it.name !== 'wiring')
      .map(({ name }) => name)

    expect(namesIn('## Folders', 'Folder')).toEqual([...folders, 'sandbox'].toSorted())
  })

  test('the reason of each dependency, and no others', () => {
    const { dependencies } = JSON.parse(readText('package.json'))

    expect(namesIn('## Dependencies', 'Package')).toEqual(Object.keys(dependencies).toSorted())
  })
})

/** Targets of its links within the repository. */
const linksOf = (page: string) =>
  [
    ...readText(page)
      .replace(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))

describe('a page', () => {
  test.each(PAGES)('%s has valid links', (page) => {
    const dead = linksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      if (!existsSync(join(root, file))) return true
      return anchor !== undefined && !anchorsOf(file).includes(anchor)
    })

    expect(dead).toEqual([])
  })

  test('in docs/ is in the index', () => {
    const listed = linksOf('docs/index.md')
    const absent = readdirSync(join(root, 'docs')).filter(
      (it) => it.endsWith('.md') && it !== 'index.md' && !listed.includes(it),
    )

    expect(absent).toEqual([])
  })

  test.each(PAGES)('%s names existing commands only', (page) => {
    const first = new Set([...commands.keys()].map((it) => it.split(' ')[0]))
    const typed = [...readText(page).matchAll(/`forumd ([a-z][a-z-]*)/g)].map(([, it = '']) => it)

    expect(typed.filter((it) => !first.has(it) && it !== 'help')).toEqual([])
  })
})

/** Anchors of a page's headings. */
function anchorsOf(file: string): string[] {
  return [...readText(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
}
