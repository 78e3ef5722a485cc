/**
 * Whether nothing is lost when the process dies, and whether the check would notice. Runs the kill test at full size,
 * then twice at a smaller one over copies of this tree with a fault planted in each: those runs must fail.
 *
 *     bun scripts/bars/kill.ts [--kills 1000] [--syscalls 200] [--mutant-kills 60] [--seed N]
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dir, '../..')
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    syscalls: { type: 'string', default: '200' },
    'mutant-kills': { type: 'string', default: '60' },
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
  }, 100)
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

/** Runs the kill test in a tree; whether it passed, and what it said. */
async function killTest(tree: string, kills: string, syscalls: string) {
  const run = Bun.spawn([process.execPath, 'test', 'test/chaos/kill.test.ts'], {
    cwd: tree,
    env: {
      ...process.env,
      FORUMD_KILLS: kills,
      FORUMD_SYSCALL_KILLS: syscalls,
      FORUMD_SEED: values.seed,
      FORUMD_POST_EVERY_MS: '10',
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(run.stdout).text(),
    new Response(run.stderr).text(),
    run.exited,
  ])
  return { passed: code === 0, said: out + err }
}

async function mutantFails({ name, file, from, to }: (typeof MUTANTS)[number]): Promise<boolean> {
  const tree = mkdtempSync(join(tmpdir(), 'forumd-mutant-'))
  try {
    for (const part of ['src', 'test', 'package.json', 'bunfig.toml', 'tsconfig.json'])
      cpSync(join(root, part), join(tree, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
    const text = readFileSync(join(tree, file), 'utf8')
    if (!text.includes(from)) throw new Error(`${file} has changed: plant "${name}" anew`)
    writeFileSync(join(tree, file), text.replace(from, to))
    const { passed, said } = await killTest(tree, values['mutant-kills'], '0')
    // It must fail by what it found, not by something else.
    const found = /Expected {2}-|\+\s+"(lost|delivered|matches)":/.test(said)
    console.log(
      `mutant, ${name}: ${passed ? 'NOT NOTICED' : found ? 'noticed' : 'failed otherwise'}`,
    )
    if (!passed && !found) console.log(said.slice(-2000))
    return !passed && found
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

console.log(`seed ${values.seed}`)
const { passed, said } = await killTest(root, values.kills, values.syscalls)
console.log(
  said
    .split('\n')
    .filter((line) => line.includes('kills,'))
    .join('\n'),
)
if (!passed) console.log(said.slice(-4000))
const noticed: boolean[] = []
for (const mutant of MUTANTS) noticed.push(await mutantFails(mutant))
process.exit(passed && noticed.every(Boolean) ? 0 : 1)
