// Goal: ARCHITECTURE.md names files that exist, and its import table is the one that the layout test enforces.
import { expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { MAY_IMPORT, ROOTS } from '../support/import-table.ts'

const root = join(import.meta.dir, '../..')
const page = await Bun.file(join(root, 'ARCHITECTURE.md')).text()

/** Files and folders that the page names. */
const paths = [
  ...page.matchAll(
    /`((?:src|sandbox|test|scripts|docs|examples)\/[\w./-]+|[\w.-]+\.(?:toml|json))`/g,
  ),
].map(([, path = '']) => path)
test('every path of the page leads somewhere', () => {
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('its import table is the enforced one', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` +\| ([\w, ]*?) *\| `(?:src|sandbox)\//gm)].map(
    ([, folder = '', imports = '']) => [folder, imports === '' ? [] : imports.split(', ')],
  )

  expect(Object.fromEntries(rows)).toEqual(MAY_IMPORT)
})

test('every folder and file of src is in the table or in the composition root', () => {
  const folders = new Set([...Object.keys(MAY_IMPORT).filter((it) => it !== 'sandbox'), ...ROOTS])
  const found = readdirSync(join(root, 'src')).map((it) => it.replace(/\.ts$/, ''))

  expect(new Set(found)).toEqual(folders)
})
