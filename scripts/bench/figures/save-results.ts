import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

import { plotOf } from './plot.ts'
import { markdownOf, type Result } from './results.ts'

const docs = join(import.meta.dir, '../../../docs')
const [DATA, PAGE, PLOT] = ['benchmarks.json', 'benchmarks.md', 'benchmarks.svg'].map((it) =>
  join(docs, it),
) as [string, string, string]
const [BEGIN, END] = ['<!-- bun run bench: begin -->', '<!-- bun run bench: end -->']

/**
 * Saves results: every round in docs/benchmarks.json, and generated from it the part of docs/benchmarks.md
 * between the markers and docs/benchmarks.svg. Benches that did not run keep their saved results. `order`: the
 * names of all benches.
 */
export async function keep(fresh: readonly Result[], order: readonly string[]): Promise<void> {
  const old: Result[] = existsSync(DATA) ? await Bun.file(DATA).json() : []
  const all = new Map([...old, ...fresh].map((it) => [it.name, it]))
  const saved = JSON.stringify(
    order.flatMap((name) => all.get(name) ?? []),
    rounded,
    1,
  )
  await Bun.write(DATA, `${saved}\n`)
  // From what is saved, because a rounded median may round to another figure.
  const results: Result[] = JSON.parse(saved)
  await Bun.write(PLOT, plotOf(results))
  const page = await Bun.file(PAGE).text()
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from === -1 || to < from) throw new Error(`${PAGE} must hold ${BEGIN} and ${END}`)
  const section = [
    BEGIN,
    '![Ratios of ours to the peers](benchmarks.svg)',
    ...results.map(markdownOf),
    END,
  ]
  await Bun.write(PAGE, page.slice(0, from) + section.join('\n\n') + page.slice(to + END.length))
  const formatted = Bun.spawnSync(['bun', 'fmt', PAGE, DATA])
  if (formatted.exitCode !== 0) throw new Error(`bun fmt: ${formatted.stderr.toString()}`)
}

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(6)) : value

/** Short description of the machine. */
export function machine(): string {
  const node = Bun.spawnSync(['node', '--version']).stdout.toString().trim()
  const list = cpus()
  return `${list.length} cores (${list[0]?.model.trim()}), Bun ${Bun.version}, Node ${node}`
}

const git = (...args: string[]) =>
  Bun.spawnSync(['git', ...args])
    .stdout.toString()
    .trim()

/** The measured revision, with a plus if the working tree differs from it. */
export function revision(): string {
  const dirty = git('status', '--porcelain', '--untracked-files=no', 'src') !== ''
  return `${git('rev-parse', '--short', 'HEAD')}${dirty ? '+' : ''}`
}
