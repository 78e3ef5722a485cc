// Goal: whoever reads ARCHITECTURE.md finds what it speaks of. Method: every path is followed, and its table of rooms is held
// to the one that the imports are held to.
import { expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { MAY_IMPORT, ROOTS } from '../support/rooms.ts'

const root = join(import.meta.dir, '../..')
const page = await Bun.file(join(root, 'ARCHITECTURE.md')).text()

/** Files and folders that the page names. */
const paths = [
  ...page.matchAll(/`((?:src|test|scripts|docs|examples)\/[\w./-]+|[\w.-]+\.(?:toml|json))`/g),
].map(([, path = '']) => path)
test('every path of the page leads somewhere', () => {
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('its rooms, and what each may import, are those that the imports are held to', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` +\| ([\w, ]*?) *\| `src\//gm)].map(
    ([, room = '', imports = '']) => [room, imports === '' ? [] : imports.split(', ')],
  )

  expect(Object.fromEntries(rows)).toEqual(MAY_IMPORT)
})

test('every folder of src is a room, and every file beside them a room or a root', () => {
  const known = new Set([...Object.keys(MAY_IMPORT), ...ROOTS])
  const found = readdirSync(join(root, 'src')).map((it) => it.replace(/\.ts$/, ''))

  expect(new Set(found)).toEqual(known)
})
