/**
 * Figures of the source tree: `bun scripts/checks/structure.ts [CHECKOUT]`. Files, lines, folders, import circles
 * and exported names that more than one file defines, for `src` and `sandbox`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** Imports of a source text: static, dynamic, for effect, and of types. */
const IMPORT = /(?:\bfrom\s*|\bimport\s+|\bimport\s*\(\s*|\brequire\(\s*)(['"])([^'"]+)\1/g
const EXPORT =
  /^export (?:declare )?(?:async )?(?:type|interface|const|let|function\*?|class|enum)\s+(\w+)/gm

export type Tree = {
  files: ReadonlyMap<string, string>
  /** Relative imports between the files, resolved. */
  imports: ReadonlyMap<string, readonly string[]>
}

/** Reads the TypeScript files below `folders` of a checkout. */
export function readTree(root: string, folders: readonly string[]): Tree {
  const files = new Map<string, string>()
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue
    for (const file of new Bun.Glob('**/*.{ts,tsx}').scanSync(join(root, folder)))
      if (!file.includes('node_modules/'))
        files.set(`${folder}/${file}`, readFileSync(join(root, folder, file), 'utf8'))
  }
  const imports = new Map(
    [...files].map(([file, text]) => [
      file,
      [...text.matchAll(IMPORT)]
        .map(([, , to = '']) => posix.normalize(posix.join(posix.dirname(file), to)))
        .filter((to) => files.has(to)),
    ]),
  )
  return { files, imports }
}

/** Groups of files that import each other, directly or not (Tarjan's strongly connected components). */
export function circlesOf({ imports }: Tree): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const walk = (file: string): void => {
    const own = index.size
    index.set(file, own)
    low.set(file, own)
    stack.push(file)
    for (const to of imports.get(file) ?? []) {
      if (!index.has(to)) walk(to)
      if (stack.includes(to)) low.set(file, Math.min(low.get(file) ?? own, low.get(to) ?? own))
    }
    if (low.get(file) !== own) return
    const group = stack.splice(stack.indexOf(file))
    if (group.length > 1) found.push(group.toSorted())
  }
  for (const file of imports.keys()) if (!index.has(file)) walk(file)
  return found
}

/** Exported names that more than one file defines, with those files. */
export function repeatedNames({ files }: Tree): Map<string, string[]> {
  const by_name = new Map<string, string[]>()
  for (const [file, text] of files)
    for (const [, name = ''] of text.matchAll(EXPORT)) {
      const declarations = by_name.get(name) ?? []
      if (!declarations.includes(file)) by_name.set(name, [...declarations, file])
    }
  return new Map(
    [...by_name].filter(([, at]) => at.length > 1).toSorted(([a], [b]) => a.localeCompare(b)),
  )
}

/** Number of source files directly in each folder. */
export function folderSizes({ files }: Tree): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const file of files.keys()) {
    const folder = posix.dirname(file)
    sizes.set(folder, (sizes.get(folder) ?? 0) + 1)
  }
  return sizes
}

export const linesOf = (text: string): number => text.split('\n').length - 1

if (import.meta.main) {
  const tree = readTree(process.argv[2] ?? join(import.meta.dir, '../..'), ['src', 'sandbox'])
  const lines = [...tree.files.values()].map(linesOf).toSorted((a, b) => a - b)
  const at = (share: number) => lines[Math.floor((lines.length - 1) * share)] ?? 0
  const [largest = ['', 0]] = [...folderSizes(tree)].toSorted(([, a], [, b]) => b - a)
  const circles = circlesOf(tree)
  const repeated = repeatedNames(tree)
  console.log(`files                     ${tree.files.size}`)
  console.log(`lines                     ${lines.reduce((sum, it) => sum + it, 0)}`)
  console.log(`lines of a file           median ${at(0.5)}, p90 ${at(0.9)}, most ${at(1)}`)
  console.log(`largest folder            ${largest[0]} with ${largest[1]}`)
  console.log(`import circles            ${circles.length}`)
  console.log(`exported names repeated   ${repeated.size}`)
  for (const circle of circles) console.log(`circle: ${circle.join(' ')}`)
  if (process.argv.includes('--names'))
    for (const [name, files] of repeated) console.log(`${name}: ${files.join(' ')}`)
}
