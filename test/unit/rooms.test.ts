import { expect, test } from 'bun:test'
import { posix } from 'node:path'

import { MAY_IMPORT, ROOTS } from '../support/rooms.ts'

/** Libraries that core takes: schemas are rules too, and so is what a pattern matches or which language a text is in. */
const CORE_MAY_IMPORT = ['node:crypto', 'node:net', 'zod', 're2js', 'lande']

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"]+)\1/g

/** Every import of a source text, static, dynamic, for effect and of types alike. */
const importsOf = (text: string): string[] => [...text.matchAll(IMPORT)].map(([, , to = '']) => to)

/** The room of a path within src: its folder, or its name when it lies on the top floor. */
const roomOf = (path: string): string => path.split('/')[0]?.replace(/\.ts$/, '') ?? ''

/** What is wrong with one file's imports, as sentences. */
function trespasses(file: string, text: string): string[] {
  const room = roomOf(file)
  if (ROOTS.includes(room)) return []
  const allowed = MAY_IMPORT[room]
  if (!allowed) return [`${file} lies in a room that the table does not know`]
  return importsOf(text).flatMap((to) => {
    if (!to.startsWith('.'))
      return room === 'core' && !CORE_MAY_IMPORT.includes(to) ? [`${file} imports ${to}`] : []
    const target = posix.normalize(posix.join(posix.dirname(file), to))
    // What lies outside src is no room: the package's own version, a script that is embedded whole.
    if (target === '../package.json' || target.startsWith('../node_modules/')) return []
    // The page knows the API by the types that are made from its document, as any client may.
    if (room === 'page' && target === '../examples/client/schema.d.ts') return []
    const other = roomOf(target)
    return other === room || allowed.includes(other) ? [] : [`${file} imports ${other}`]
  })
}

const src = `${import.meta.dir}/../../src/`

test('every import stays within what its room may see', async () => {
  const found: string[] = []
  let files = 0
  for await (const file of new Bun.Glob('**/*.{ts,tsx}').scan(src)) {
    files += 1
    found.push(...trespasses(file, await Bun.file(src + file).text()))
  }

  expect(found).toEqual([])
  expect(files).toBeGreaterThan(50)
})

test('a file gives what it has itself: nobody has to look twice for where something is', async () => {
  const passed_on: string[] = []
  for await (const file of new Bun.Glob('**/*.{ts,tsx}').scan(src))
    for (const [line] of (await Bun.file(src + file).text()).matchAll(
      /^export (?:type )?[{*].*$/gm,
    ))
      passed_on.push(`${file}: ${line}`)

  expect(passed_on).toEqual([])
})

test.each([
  ['core/a.ts', "import { db } from '../store/db.ts'", 'core/a.ts imports store'],
  ['core/a.ts', "import { readFileSync } from 'node:fs'", 'core/a.ts imports node:fs'],
  ['core/a.ts', "import type { Clock } from '../outside.ts'", 'core/a.ts imports outside'],
  [
    'api/reads/a.ts',
    "const x = await import('../../platform/forum.ts')",
    'api/reads/a.ts imports platform',
  ],
  ['api/a.ts', 'import "../net/guard.ts"', 'api/a.ts imports net'],
  ['store/a.ts', "export * from '../api/app.ts'", 'store/a.ts imports api'],
  [
    'delivery/a.ts',
    "import {\n  a,\n  b,\n} from '../platform/forum.ts'",
    'delivery/a.ts imports platform',
  ],
  ['sandbox/a.ts', "import { x } from '../outside.ts'", 'sandbox/a.ts imports outside'],
  ['page/app/a.tsx', "import type { X } from '../../core/x.ts'", 'page/app/a.tsx imports core'],
  [
    'cli/a.ts',
    "import type { paths } from '../../examples/client/schema.d.ts'",
    'cli/a.ts imports ..',
  ],
  ['attic/a.ts', '', 'attic/a.ts lies in a room that the table does not know'],
])('%s may not say %p', (file, text, sentence) => {
  expect(trespasses(file, text)).toEqual([sentence])
})

test.each([
  ['api/reads/a.ts', "import { x } from '../fields.ts'\nimport { y } from '../../core/wire.ts'"],
  ['core/a.ts', "import { createHmac } from 'node:crypto'\nimport * as z from 'zod'"],
  ['daemon.ts', "import { x } from './platform/forum.ts'"],
  ['page/app/a.ts', "import type { paths } from '../../../examples/client/schema.d.ts'"],
])('%s may import what the table gives it', (file, text) => {
  expect(trespasses(file, text)).toEqual([])
})
