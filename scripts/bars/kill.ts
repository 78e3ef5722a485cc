/**
 * Whether nothing is lost when the process dies, and whether the check would notice. Kills the executable a thousand
 * times at random and two hundred times at a system call, then does so less often to two executables with a fault
 * planted in each: those must be noticed by what they lose.
 *
 *     bun run bar:kill [--kills 1000] [--syscalls 200] [--mutant-kills 60] [--items 105] [--places 20] [--seed N]
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { builtFrom } from './binary.ts'

const root = join(import.meta.dir, '../..')
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    syscalls: { type: 'string', default: '200' },
    'mutant-kills': { type: 'string', default: '60' },
    items: { type: 'string', default: '105' },
    places: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})

/** Faults that lose what was matched when the process dies at the wrong moment. */
const MUTANTS = [
  {
    name: 'the stream moves on before its deliveries are written',
    file: 'src/store/deliveries.ts',
    from: 'export function insertDelivery(db: Db, row: NewDelivery): boolean {',
    to: `export function insertDelivery(db: Db, row: NewDelivery): boolean {
  setTimeout(() => {
    try {
      insertLate(db, row)
    } catch {}
  }, 50)
  return true
}
function insertLate(db: Db, row: NewDelivery): boolean {`,
  },
  {
    name: 'a delivery counts as delivered before it is sent',
    file: 'src/store/outbox.ts',
    from: "UPDATE deliveries SET lease = $boot WHERE id = $id AND status = 'pending' AND lease IS NULL",
    to: "UPDATE deliveries SET status = 'delivered', delivered_at = 1, next_attempt_at = NULL, attempts = iif($boot = '', 0, 1) WHERE id = $id AND status = 'pending' AND lease IS NULL",
  },
]

const figures = z.looseObject({ lost: z.number(), faults: z.array(z.string()) })

/** One run on the executable of a tree: its figures, null when it broke off, and whether they are as they must be. */
async function run(tree: string, kills: string, syscalls: string) {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-bar-'))
  try {
    const program = await builtFrom(tree, join(dir, 'forumd'))
    const { items, places, seed } = values
    const options = { kills, syscalls, items, places, seed }
    const child = Bun.spawn(
      [
        process.execPath,
        'scripts/bars/kill-run.ts',
        ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
      ],
      {
        cwd: tree,
        env: { ...process.env, FORUMD_BINARY: program },
        stdout: 'pipe',
        stderr: 'inherit',
      },
    )
    const last = (await new Response(child.stdout).text()).trim().split('\n').at(-1) ?? ''
    const passed = (await child.exited) === 0
    return { passed, told: last.startsWith('{') ? figures.parse(JSON.parse(last)) : null }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function isNoticed({ name, file, from, to }: (typeof MUTANTS)[number]): Promise<boolean> {
  const tree = mkdtempSync(join(tmpdir(), 'forumd-mutant-'))
  try {
    for (const part of ['src', 'test', 'scripts', 'package.json', 'bunfig.toml', 'tsconfig.json'])
      cpSync(join(root, part), join(tree, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
    const text = readFileSync(join(tree, file), 'utf8')
    if (!text.includes(from)) throw new Error(`${file} has changed: plant "${name}" anew`)
    writeFileSync(join(tree, file), text.replace(from, to))
    const { passed, told } = await run(tree, values['mutant-kills'], '0')
    // By what was lost, and by nothing else.
    const noticed = !passed && told !== null && told.lost > 0
    console.log(`mutant, ${name}: ${noticed ? `noticed, ${told.lost} lost` : 'NOT NOTICED'}`)
    return noticed
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

const load = () => loadavg()[0]?.toFixed(1)
console.log(`seed ${values.seed}, load ${load()}`)
const { passed, told } = await run(root, values.kills, values.syscalls)
console.log(JSON.stringify(told, null, 2))
console.log(`${passed ? 'kept' : 'NOT KEPT'}, load ${load()}`)
const noticed: boolean[] = []
for (const mutant of MUTANTS) noticed.push(await isNoticed(mutant))
process.exit(passed && noticed.every(Boolean) ? 0 : 1)
