/**
 * Runs every test that has no timing of its own and ends with one line, `N passed, N failed`. What follows
 * on the command line goes to `bun test`. A run in which no test ran has failed.
 */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const folders = [
  'test/unit',
  'test/integration',
  'test/conformance',
  'test/browser',
  'test/chaos',
  'test/simulation',
  // The worlds themselves are timed and need the executable: `.ci/run` and `bar:world` run them.
  'test/world/judge.test.ts',
].filter((it) => existsSync(join(root, it)))
/** What ends a test that hangs. Nothing else is told by it: how busy the machine is must not decide. */
const HANGS_MS = '30000'
/** Tests wait, for browsers, processes and disks, about as much as they work: one more file at a time than there are cores. */
const AT_ONCE = availableParallelism() + 1
const args = process.argv.slice(2)
const named = args.some((it) => it.startsWith('test/'))

const run = Bun.spawn(
  [
    process.execPath,
    'test',
    `--parallel=${AT_ONCE}`,
    '--timeout',
    HANGS_MS,
    ...args,
    ...(named ? [] : folders),
  ],
  {
    cwd: root,
    stdout: 'inherit',
    stderr: 'pipe',
    env: process.stderr.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env,
  },
)

const decoder = new TextDecoder()
let output = ''
for await (const chunk of run.stderr) {
  process.stderr.write(chunk)
  output += decoder.decode(chunk, { stream: true })
}
const code = await run.exited

const passed = last(/^ *(\d+) pass$/gm)
// An error outside of any test, such as a file that does not load, is a failure too.
const failed = last(/^ *(\d+) fail$/gm) + last(/^ *(\d+) errors?$/gm)
const hidden = failed === 0 && (code !== 0 || passed === 0) ? 1 : 0
if (hidden > 0)
  console.log(passed === 0 ? 'no test ran' : `bun test ended with ${run.signalCode ?? code}`)
console.log(`${passed} passed, ${failed + hidden} failed`)
process.exit(failed + hidden > 0 ? 1 : 0)

/** The last such count: the summary comes after whatever the tests themselves print. */
function last(pattern: RegExp): number {
  return Number([...Bun.stripANSI(output).matchAll(pattern)].at(-1)?.[1] ?? 0)
}
