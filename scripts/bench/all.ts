/**
 * Runs every bench whose figures have an aim, one after another, and ends with one table of them: `bun run bench:all`.
 * Needs the peers of `bun run bench` and the programs of `bun run bar:failover`, and hours on a quiet machine.
 *
 *     bun run bench:all [--only bench,match,…] [--logs folder] [--from folder]
 *
 * `--logs` keeps the output of each bench; `--from` reads such outputs instead of running anything.
 */
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dir, '../..')
const binary = join(root, 'dist', 'forumd')

/** One line of the summary. `met` null: a figure without an aim. */
type Line = { figure: string; ours: string; aim: string; met: boolean | null }

/** Rows of a Markdown table by its heads; a head that occurs twice keeps the first. */
type Row = ReadonlyMap<string, string>

type Part = { name: string; command: readonly string[]; linesOf: (output: string) => Line[] }

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((it) => it.trim())

/** Rows of all Markdown tables of an output that have this head. */
function rowsWith(output: string, head: string): Row[] {
  const rows: Row[] = []
  let heads: string[] | null = null
  for (const line of output.split('\n')) {
    if (!line.startsWith('|')) {
      heads = null
      continue
    }
    const cells = cellsOf(line)
    if (heads === null) heads = cells
    else if (heads.includes(head) && !cells.every((it) => /^:?-+:?$/.test(it)))
      // The last of equal keys wins in a map, so the first is put last.
      rows.push(new Map(heads.map((it, i) => [it, cells[i] ?? ''] as const).toReversed()))
  }
  return rows
}

const numberIn = (text: string): number =>
  Number(/-?[\d,]*\.?\d+/.exec(text)?.[0].replaceAll(',', ''))

/** A figure with an aim: `at least` or `at most` a number. */
function judged(
  figure: string,
  ours: string | undefined,
  { least, most, unit = '' }: { least?: number; most?: number; unit?: string },
): Line[] {
  if (ours === undefined || ours === '') return []
  const value = numberIn(ours)
  const met = (least === undefined || value >= least) && (most === undefined || value <= most)
  return [
    {
      figure,
      ours,
      aim: least === undefined ? `at most ${most}${unit}` : `at least ${least}${unit}`,
      met,
    },
  ]
}

const bun = process.execPath
const PARTS: readonly Part[] = [
  {
    name: 'bench',
    command: [bun, 'scripts/bench/bench.ts'],
    linesOf(output) {
      let section = ''
      const lines: Line[] = []
      for (const text of output.split(/^### /m).slice(1)) {
        section = text.slice(0, text.search(/[:\n]/))
        for (const row of rowsWith(text, 'ratio')) {
          const [aim = '', met = ''] = [row.get('aim'), row.get('met')]
          lines.push({
            figure: `${section}: ${row.get('ratio')}`,
            ours: row.get('ours') ?? '',
            aim,
            met: met === '' ? null : met === 'yes',
          })
        }
      }
      return lines
    },
  },
  {
    name: 'match',
    command: [bun, 'scripts/bench/matching/match.ts'],
    linesOf(output) {
      const of = (monitors: number) =>
        rowsWith(output, 'monitors').find((it) => it.get('monitors') === String(monitors))
      return [
        ...judged('Matching: items/s against 10,000 monitors', of(10_000)?.get('items/s'), {
          least: 20_000,
        }),
        ...judged('Matching: items/s against 100,000 monitors', of(100_000)?.get('items/s'), {
          least: 5_000,
        }),
      ]
    },
  },
  {
    name: 'poll',
    command: [bun, 'scripts/bench/polling/poll.ts'],
    linesOf: (output) =>
      rowsWith(output, 'method').map((row) => ({
        figure: `Polls: ${row.get('method')}: requests a minute; missed`,
        ours: `${row.get('requests a minute')}; ${row.get('missed')}`,
        aim: '',
        met: null,
      })),
  },
  {
    name: 'archive',
    command: [bun, 'scripts/bench/matching/archive.ts'],
    linesOf: (output) =>
      rowsWith(output, 'ripgrep, p50').flatMap((row) =>
        judged(`Archive: two words among ${row.get('items')} items, p99, ms`, row.get('p99'), {
          most: 100,
        }),
      ),
  },
  {
    name: 'start',
    command: [bun, 'scripts/bench/start.ts'],
    linesOf(output) {
      const ours = rowsWith(output, 'start to first answer').find((it) => it.get('') === 'forumd')
      return [
        ...judged('Start to first answer', ours?.get('start to first answer'), {
          most: 60,
          unit: ' ms',
        }),
        ...judged('Idle memory', ours?.get('idle memory'), { most: 70, unit: ' MB' }),
      ]
    },
  },
  {
    name: 'failover',
    command: [bun, 'scripts/bars/failover.ts'],
    linesOf: (output) => {
      const overlaps = /"overlaps":(\d+)/.exec(output)?.[1] ?? ''
      return [
        {
          figure: 'Failover: two nodes act at once',
          ours: overlaps,
          aim: 'none',
          met: overlaps === '0',
        },
      ]
    },
  },
]

const NAMES = PARTS.map(({ name }) => name)
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: NAMES.join(',') },
    logs: { type: 'string', default: join(tmpdir(), 'forumd-bench-all') },
    from: { type: 'string' },
  },
})
const only = values.only.split(',')
const unknown = only.filter((it) => !NAMES.includes(it))
if (unknown.length > 0) {
  console.error(`--only ${unknown.join(', ')}: there are ${NAMES.join(', ')}`)
  process.exit(2)
}

/** Runs a bench, shows its output and keeps it. */
async function run({ name, command }: Part): Promise<{ output: string; failed: boolean }> {
  console.error(`${name}: ${command.slice(1).join(' ')}`)
  const child = Bun.spawn([...command], {
    cwd: root,
    env: { ...process.env, FORUMD_BINARY: binary },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const output = await new Response(child.stdout).text()
  console.log(output)
  await Bun.write(join(values.logs, `${name}.txt`), output)
  return { output, failed: (await child.exited) !== 0 }
}

/** The output of an earlier run; null if there is none. */
async function read(folder: string, { name }: Part): Promise<string | null> {
  const file = Bun.file(join(folder, `${name}.txt`))
  return (await file.exists()) ? file.text() : null
}

const summary: Line[] = []
const broken: string[] = []
mkdirSync(values.logs, { recursive: true })
for (const part of PARTS.filter(({ name }) => only.includes(name))) {
  const earlier = values.from === undefined ? undefined : await read(values.from, part)
  if (earlier === null) continue
  const { output, failed } =
    earlier === undefined ? await run(part) : { output: earlier, failed: false }
  const lines = part.linesOf(output)
  if (failed || lines.length === 0) broken.push(part.name)
  summary.push(...lines)
}

console.log('| figure | ours | aim | met |\n| --- | --- | --- | --- |')
for (const { figure, ours, aim, met } of summary)
  console.log(`| ${figure} | ${ours} | ${aim} | ${met === null ? '' : met ? 'yes' : 'no'} |`)
if (values.from === undefined) console.error(`outputs: ${values.logs}`)
if (broken.length > 0) console.error(`without figures or failed: ${broken.join(', ')}`)
process.exit(broken.length > 0 ? 1 : 0)
