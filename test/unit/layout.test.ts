import { expect, test } from 'bun:test'
import { posix } from 'node:path'

import { circlesOf, readTree } from '../../scripts/checks/structure.ts'
import { MAY_IMPORT, PORTS, ROOTS } from '../support/import-table.ts'

/** Libraries that core takes: schemas are rules too, and so is what a pattern matches or which language a text is in. */
const CORE_MAY_IMPORT = [
  'node:crypto',
  'node:net',
  'zod',
  're2js',
  'lande',
  'lru-cache',
  'entities/decode',
]
/** Callers of one adapter beside the composition root: the pool's account client. */
const ADAPTER_CALLERS = ['src/accounts/client.ts']

const IMPORT = /(?:\bfrom\s*|\bimport\s+|\bimport\s*\(\s*)(['"])([^'"]+)\1/g

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

test('every import stays within the table', () => {
  const found = [...tree.files].flatMap(([file, text]) => violations(file, text))

  expect(found).toEqual([])
  expect(tree.files.size).toBeGreaterThan(300)
})

/** Statements on tables. Pragmas read the state of a file. */
const STATEMENT =
  /\.(?:query|run|prepare)\b[^(]*\(\s*(['"`])\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/

test('SQL on tables is in the store alone', () => {
  const outside = [...tree.files].flatMap(([file, text]) =>
    STATEMENT.test(text.replaceAll('SELECT total_changes()', '')) && !file.startsWith('src/store/')
      ? [file]
      : [],
  )

  expect(outside).toEqual([])
})

test('a file exports its own declarations only', () => {
  // There a kind of source is one line.
  const files = [...tree.files].filter(([file]) => file !== 'src/platforms/list.ts')
  const forwarded = files.flatMap(([file, text]) =>
    [...text.matchAll(/^export (?:type )?[{*].*$/gm)].map(([line]) => `${file}: ${line}`),
  )

  expect(forwarded).toEqual([])
})

test('files do not import each other in a circle', () => {
  expect(circlesOf(tree)).toEqual([])
})
