import { expect, test } from 'bun:test'
import { posix } from 'node:path'

import {
  circlesOf,
  folderSizes,
  linesOf,
  readTree,
  repeatedNames,
} from '../../scripts/checks/structure.ts'
import { MAY_IMPORT, PORTS, ROOTS } from '../support/import-table.ts'

/** Libraries that core takes: schemas are rules too, and so is what a pattern matches or which language a text is in. */
const CORE_MAY_IMPORT = ['node:crypto', 'node:net', 'zod', 're2js', 'lande', 'lru-cache']
/** Callers of one adapter beside the composition root: the pool's account client. */
const ADAPTER_CALLERS = ['src/accounts/client.ts']
/** Names that route files may share. */
const CONVENTIONAL = ['routes', 'shapes', 'count', 'cursor']
const FOLDER_FILES_MAX = 12
const FILE_LINES_MAX = 450
/** Vocabulary without logic. */
const DATA = /^sandbox\/data\/|^src\/core\/enrichment\/lexicon\//

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"]+)\1/g

/** Every import of a source text, static, dynamic, for effect and of types alike. */
const importsOf = (text: string): string[] => [...text.matchAll(IMPORT)].map(([, , to = '']) => to)

/** The folder that the table names: the first one below `src`, or `sandbox`; for a file of `src` itself, its name. */
const folderOf = (path: string): string => {
  const [top = '', folder = ''] = path.split('/')
  return top === 'sandbox' ? top : folder.replace(/\.ts$/, '')
}

const EMBEDDED = ['package.json', 'config.example.toml', 'docs/operations.md']

/** Imports of one file that the table forbids, as sentences. */
function violations(file: string, text: string): string[] {
  const folder = folderOf(file)
  if (ROOTS.includes(folder)) return []
  const allowed = MAY_IMPORT[folder]
  if (!allowed) return [`${file} lies in a folder that the table does not name`]
  return importsOf(text).flatMap((to) => {
    if (!to.startsWith('.'))
      return folder === 'core' && !CORE_MAY_IMPORT.includes(to) ? [`${file} imports ${to}`] : []
    const target = posix.normalize(posix.join(posix.dirname(file), to))
    // Embedded files of the repository are no folder of the program.
    if (EMBEDDED.includes(target) || target.startsWith('node_modules/')) return []
    // The dashboard knows the API by the types generated from its document, as any client may.
    if (folder === 'page' && target === 'examples/client/schema.d.ts') return []
    const other =
      target.startsWith('src/') || target.startsWith('sandbox/') ? folderOf(target) : target
    if (other !== folder && !allowed.includes(other)) return [`${file} imports ${other}`]
    const is_adapter = other === 'platforms' && folder !== 'platforms' && !PORTS.includes(target)
    return is_adapter && !ADAPTER_CALLERS.includes(file) ? [`${file} imports ${target}`] : []
  })
}

const root = `${import.meta.dir}/../..`
const tree = readTree(root, ['src', 'sandbox'])
const scripts = readTree(root, ['scripts'])

test('every import stays within the table', () => {
  const found = [...tree.files].flatMap(([file, text]) => violations(file, text))

  expect(found).toEqual([])
  expect(tree.files.size).toBeGreaterThan(300)
})

/** Statements on tables. Pragmas read the state of a file, and a standby reads a copy that has no instance. */
const STATEMENT =
  /\.(?:query|run|prepare)\b[^(]*\(\s*(['"`])\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/
const READERS_OF_COPIES = ['src/standby/replica.ts']

const statementsOutside = (sources: ReadonlyMap<string, string>): string[] =>
  [...sources].flatMap(([file, text]) =>
    STATEMENT.test(text.replaceAll('SELECT total_changes()', '')) &&
    !file.startsWith('src/store/') &&
    !READERS_OF_COPIES.includes(file)
      ? [file]
      : [],
  )

test('SQL on tables is in the store alone', () => {
  expect(statementsOutside(tree.files)).toEqual([])
})

test('a statement elsewhere is reported, a pragma is not', () => {
  const sources = new Map([
    ['src/api/a.ts', 'db\n  .query<Row, [string]>(\n    `SELECT id FROM a`)'],
    ['src/cli/b.ts', 'db.run("DELETE FROM a")'],
    ['src/cli/c.ts', "db.query<Row, []>('PRAGMA quick_check(1)')"],
    ['src/store/d.ts', "db.query('SELECT 1 FROM a')"],
  ])

  expect(statementsOutside(sources)).toEqual(['src/api/a.ts', 'src/cli/b.ts'])
})

test('a file exports its own declarations only', () => {
  const forwarded = [...tree.files].flatMap(([file, text]) =>
    [...text.matchAll(/^export (?:type )?[{*].*$/gm)].map(([line]) => `${file}: ${line}`),
  )

  expect(forwarded).toEqual([])
})

test('a folder has at most 12 files', () => {
  const sizes = [...folderSizes(tree), ...folderSizes(scripts)]

  expect(sizes.filter(([, count]) => count > FOLDER_FILES_MAX)).toEqual([])
})

test('a file that is not data has at most 450 lines', () => {
  const long = [...tree.files, ...scripts.files].filter(
    ([file, text]) => linesOf(text) > FILE_LINES_MAX && !DATA.test(file),
  )

  expect(long.map(([file]) => file)).toEqual([])
})

test('files do not import each other in a circle', () => {
  expect(circlesOf(tree)).toEqual([])
})

/** Adapters of platforms use the same names for the same steps: their files count as one. */
const vocabularyOf = (file: string): string =>
  file.replace(/^src\/platforms\/[a-z]+\/.*/, 'src/platforms')

test('an exported name is defined once, except for conventional ones and the views of the dashboard', () => {
  const repeated = [...repeatedNames(tree)].filter(
    ([name, files]) =>
      !CONVENTIONAL.includes(name) &&
      new Set(files.filter((file) => file !== 'src/page/lib/types.ts').map(vocabularyOf)).size > 1,
  )

  expect(repeated).toEqual([])
})

test.each([
  ['src/core/a.ts', "import { db } from '../store/db.ts'", 'src/core/a.ts imports store'],
  ['src/core/a.ts', "import { readFileSync } from 'node:fs'", 'src/core/a.ts imports node:fs'],
  [
    'src/core/a.ts',
    "import type { Clock } from '../runtime/runtime.ts'",
    'src/core/a.ts imports runtime',
  ],
  [
    'src/api/reads/a.ts',
    "const x = await import('../../platforms/port.ts')",
    'src/api/reads/a.ts imports platforms',
  ],
  ['src/api/a.ts', 'import "../net/guard.ts"', 'src/api/a.ts imports net'],
  ['src/store/a.ts', "export * from '../api/app.ts'", 'src/store/a.ts imports api'],
  [
    'src/delivery/a.ts',
    "import {\n  a,\n  b,\n} from '../platforms/port.ts'",
    'src/delivery/a.ts imports platforms',
  ],
  [
    'src/gateway/a.ts',
    "import { x } from '../platforms/reddit/client.ts'",
    'src/gateway/a.ts imports src/platforms/reddit/client.ts',
  ],
  [
    'sandbox/world/a.ts',
    "import { x } from '../../src/runtime/runtime.ts'",
    'sandbox/world/a.ts imports runtime',
  ],
  ['src/page/a.tsx', "import type { X } from '../core/x.ts'", 'src/page/a.tsx imports core'],
  [
    'src/cli/a.ts',
    "import type { paths } from '../../examples/client/schema.d.ts'",
    'src/cli/a.ts imports examples/client/schema.d.ts',
  ],
  ['src/attic/a.ts', '', 'src/attic/a.ts lies in a folder that the table does not name'],
])('%s may not import %p', (file, text, sentence) => {
  expect(violations(file, text)).toEqual([sentence])
})

test.each([
  [
    'src/api/reads/a.ts',
    "import { x } from '../http/fields.ts'\nimport { y } from '../../core/a.ts'",
  ],
  ['src/core/a.ts', "import { createHmac } from 'node:crypto'\nimport * as z from 'zod'"],
  ['src/daemon.ts', "import { x } from './platforms/reddit/adapter.ts'"],
  ['src/gateway/a.ts', "import { x } from '../platforms/port.ts'"],
  ['src/page/a.ts', "import type { paths } from '../../examples/client/schema.d.ts'"],
])('%s may import the folders that the table names', (file, text) => {
  expect(violations(file, text)).toEqual([])
})

const files = (sources: Record<string, string>) => {
  const imports = Object.entries(sources).map(([file, text]) => [file, importsOf(text)] as const)
  return { files: new Map(Object.entries(sources)), imports: new Map(imports) }
}

test('a circle of three files is reported, a chain is not', () => {
  const found = circlesOf(
    files({ a: "import 'b'", b: "import 'c'", c: "import 'a'", d: "import 'a'", e: '' }),
  )

  expect(found).toEqual([['a', 'b', 'c']])
})

test('a name exported by two files is reported, an overloaded name is not', () => {
  const found = repeatedNames(
    files({
      a: 'export const one = 1',
      b: 'export type one = 1',
      c: 'export function two(): 1\nexport function two(x: 1): 1',
    }),
  )

  expect([...found]).toEqual([['one', ['a', 'b']]])
})
