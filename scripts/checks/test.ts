/**
 * Runs every test without timing requirements and ends with one line, `N passed, N failed`. Arguments after the
 * command are passed to `bun test`. A run without any test counts as failed.
 *
 * A few failed files are rerun by themselves; a file that passes then counts as passed and is listed as flaky.
 *
 * Tests that start the program many times use an executable, built first: it starts in a quarter of the time of its
 * source. `FORUMD_BINARY` names another one.
 */
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

import { builtFrom } from '../bars/binary.ts'

const root = join(import.meta.dir, '../..')
const folders = [
  'test/unit',
  'test/integration',
  'test/docs',
  'test/conformance',
  'test/browser',
  'test/chaos',
  'test/simulation',
  'test/world/certificate',
].filter((it) => existsSync(join(root, it)))
/** Ends a test that hangs; long enough for a busy machine. */
const HANGS_MS = '30000'
/**
 * Tests wait for browsers, processes and disks about as much as they compute, so one more file than there are
 * cores.
 */
const AT_ONCE = availableParallelism() + 1
const args = process.argv.slice(2)
const named = args.some((it) => it.startsWith('test/'))

/** With more failed files than this the change is at fault, and none is rerun. */
const RERUN_FILES_MAX = 5

/** Duration of each file; the slowest start first. `bun run test --update-timings` measures again. */
const TIMINGS = 'test/timings.json'
const isTimed = existsSync(join(root, TIMINGS)) || args.includes('--update-timings')

if (!named && process.env['FORUMD_BINARY'] === undefined) {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-suite-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  // Some tests run it as another user.
  chmodSync(dir, 0o755)
  process.env['FORUMD_BINARY'] = await builtFrom(root, join(dir, 'forumd'))
}

const all = await runTests([
  `--parallel=${AT_ONCE}`,
  ...(isTimed ? [`--timings=${TIMINGS}`] : []),
  ...args,
  ...(named ? [] : folders),
])
let failed = all.failed
const fewFailed = all.failedFiles.size > 0 && all.failedFiles.size <= RERUN_FILES_MAX
if (!named && fewFailed && all.isComplete) {
  // On a busy machine another file can make a test exceed its deadline. By itself the file has to pass.
  failed = 0
  for (const file of all.failedFiles) {
    console.log(`\nA second run of ${file}, by itself:`)
    const alone = await runTests([file])
    failed += alone.failed
    all.summary.push(`${alone.failed === 0 ? 'flaky ' : 'FAIL  '} ${file}`)
  }
} else for (const file of all.failedFiles) all.summary.push(`FAIL   ${file}`)

console.log(`\n${all.summary.join('\n')}`)
const passed = all.passed + all.failed - failed
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)

/** Counts, failed files, and a line for each failed test. An error outside of any test counts as failed. */
async function runTests(arguments_: string[]) {
  const run = Bun.spawn([process.execPath, 'test', '--timeout', HANGS_MS, ...arguments_], {
    cwd: root,
    stdout: 'inherit',
    stderr: 'pipe',
    env: process.stderr.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env,
  })
  const decoder = new TextDecoder()
  let output = ''
  for await (const chunk of run.stderr) {
    process.stderr.write(chunk)
    output += decoder.decode(chunk, { stream: true })
  }
  const code = await run.exited

  const text = Bun.stripANSI(output)
  const failedFiles = new Set<string>()
  const summary: string[] = []
  // A killed run has no summary; its failed files are not all known.
  let isComplete = /^Ran \d+ tests? across /m.test(text)
  let file = ''
  for (const line of text.split('\n')) {
    // The list at the end repeats every failed test, without files.
    if (/^\d+ tests? failed:$/.test(line)) break
    const heading = /^(test\/\S+\.test\.tsx?):$/.exec(line)?.[1]
    if (heading !== undefined) file = heading
    else if (/^\(fail\) |^✗ |^# Unhandled error/.test(line)) {
      if (file === '') isComplete = false
      else failedFiles.add(file)
      summary.push(`failed ${file}: ${line}`)
    }
  }
  const passes = last(text, /^ *(\d+) pass$/gm)
  const counted = last(text, /^ *(\d+) fail$/gm) + last(text, /^ *(\d+) errors?$/gm)
  const hidden = counted === 0 && (code !== 0 || passes === 0) ? 1 : 0
  if (hidden > 0)
    summary.push(passes === 0 ? 'no test ran' : `bun test ended with ${run.signalCode ?? code}`)
  return { passed: passes, failed: counted + hidden, failedFiles, summary, isComplete }
}

/** Last match of a count: the summary follows the output of the tests. */
function last(text: string, pattern: RegExp): number {
  return Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0)
}
