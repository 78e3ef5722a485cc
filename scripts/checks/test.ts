/**
 * Runs every test without timing requirements and ends with one line, `N passed, N failed`. Arguments after the
 * command are passed to `bun test`; `--changed` alone runs the files that a change can affect. A run without any test counts as
 * failed.
 *
 * FORUMD_LONG=1 runs the files of `LONG_ONLY` too, and all cases of the tests that make fewer of them otherwise.
 *
 * A few failed files are rerun by themselves; a file that passes then counts as passed and is listed as flaky. For each
 * failed test, the command that runs it alone is printed, with its seed.
 *
 * Tests that start the program many times use an executable, built first: it starts in a quarter of the time of its
 * source. `FORUMD_BINARY` names another one. Temporary files are kept in memory where there is room; `TMPDIR` names
 * another folder.
 */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
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
  // The worlds are timed and need the executable: `.ci/run` and their bars run them.
].filter((it) => existsSync(join(root, it)))
/** Files of the long form: they cost much, and test code that rarely changes or that a quicker test covers too. */
const LONG_ONLY = [
  // Every page in both themes and widths; journey.test.ts is the short form.
  'test/browser/dashboard*.test.ts',
  // The browser of an account; daemon.test.ts is the short form.
  'test/browser/{background-requests,comment,login,processes,proxies,tls}.test.ts',
  // The judge of bar:clock.
  'test/unit/scripts/clock-judge.test.ts',
]
/** Ends a test that hangs; long enough for a busy machine. */
const HANGS_MS = '30000'
/** Tests wait for browsers, processes and disks about as much as they compute, so two files for each core. */
const AT_ONCE = 2 * availableParallelism()
/** Each commit of a database waits for its disk: on one in memory the suite computes a quarter less, and waits much less. */
const MEMORY_DISK = '/dev/shm'
const MEMORY_DISK_BYTES = 4 * 1024 ** 3
const args = process.argv.slice(2)
const named = args.some((it) => /^(\.\/)?test\//.test(it))
const isLong = process.env['FORUMD_LONG'] === '1'

/** With more failed files than this the change is at fault, and none is rerun. */
const RERUN_FILES_MAX = 5

/** Duration of each file; the slowest start first. `bun run test --update-timings` measures again. */
const TIMINGS = 'scripts/checks/timings.json'
const updatesTimings = args.includes('--update-timings')
const isTimed = existsSync(join(root, TIMINGS)) || updatesTimings

if (process.env['TMPDIR'] === undefined && hasMemoryDisk()) createScratch()
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

if (!named && process.env['FORUMD_BINARY'] === undefined) {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-suite-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  // Some tests run it as another user.
  chmodSync(dir, 0o755)
  process.env['FORUMD_BINARY'] = await builtFrom(root, join(dir, 'forumd'))
}

const all = await runTests([
  `--parallel=${AT_ONCE}`,
  // Files share modules, which saves an eighth of the work: none keeps state in one that another would see.
  '--no-isolate',
  ...(isTimed ? [`--timings=${TIMINGS}`] : []),
  ...(named || isLong ? [] : LONG_ONLY.map((it) => `--path-ignore-patterns=${it}`)),
  ...args,
  ...(named ? [] : folders),
])
let failures = all.failures
let unexplained = all.unexplained
const failedFiles = new Set(all.failures.map(({ file }) => file))
const flaky: string[] = []
const fewFailed = failedFiles.size > 0 && failedFiles.size <= RERUN_FILES_MAX
if (!named && fewFailed && all.isComplete) {
  // On a busy machine another file can make a test exceed its deadline. By itself the file has to pass.
  failures = []
  unexplained = []
  for (const file of failedFiles) {
    console.log(`\nA second run of ${file}, by itself:`)
    const alone = await runTests([`./${file}`])
    failures.push(...alone.failures)
    unexplained.push(...alone.unexplained)
    if (alone.failures.length + alone.unexplained.length === 0) flaky.push(file)
  }
}
if (updatesTimings) console.log(`\n${slowest()}`)

console.log()
for (const { file, name, seed } of all.failures) {
  console.log(`${flaky.includes(file) ? 'flaky ' : 'FAIL  '} ${file}: ${name}`)
  console.log(`  ${seed === null ? '' : `FORUMD_SEED=${seed} `}${commandOf(file, name)}`)
}
for (const why of all.unexplained) console.log(`FAIL   ${why}`)
const failed = failures.length + unexplained.length
const passed = all.passed + all.failures.length + all.unexplained.length - failed
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)

/** True if there is a file system in memory that has room for the folders of all tests, and programs in it can be started. */
function hasMemoryDisk(): boolean {
  if (!existsSync('/proc/mounts')) return false
  const mounts = readFileSync('/proc/mounts', 'utf8')
  if (!/ \/dev\/shm tmpfs (?!\S*\b(?:noexec|ro)\b)/.test(mounts)) return false
  const { bavail, bsize } = statfsSync(MEMORY_DISK)
  return bavail * bsize >= MEMORY_DISK_BYTES
}

/** A folder for temporary files, removed at the end. */
function createScratch(): void {
  const dir = mkdtempSync(join(MEMORY_DISK, 'forumd-scratch-'))
  // Some tests act as other users.
  chmodSync(dir, 0o1777)
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  process.env['TMPDIR'] = dir
}

/** The counts of a run, and each failed test. `unexplained` are failures of no test. */
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
  const found: { file: string; name: string; seed: string | null }[] = []
  const others: string[] = []
  let file = ''
  // A generated case prints its seed before the line of its test, others have it in their title.
  let seed: string | null = null
  for (const line of text.split('\n')) {
    // The list at the end repeats every failed test, without files.
    if (/^\d+ tests? failed:$/.test(line)) break
    const heading = /^(test\/\S+\.test\.tsx?):$/.exec(line)?.[1]
    if (heading !== undefined) file = heading
    seed = /\{ seed: (-?\d+), path: /.exec(line)?.[1] ?? seed
    const [, verdict, title = ''] = /^\((pass|fail)\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line) ?? []
    if (verdict === 'fail' || /^✗ |^# Unhandled error/.test(line)) {
      const name = title === '' ? line : title
      const own = /FORUMD_SEED=(-?\d+)/.exec(name)?.[1] ?? seed
      if (file === '') others.push(line)
      else found.push({ file, name, seed: own })
    }
    if (verdict !== undefined) seed = null
  }
  const passes = last(text, /^ *(\d+) pass$/gm)
  const counted = last(text, /^ *(\d+) fail$/gm) + last(text, /^ *(\d+) errors?$/gm)
  for (let at = found.length + others.length; at < counted; at++)
    others.push('a test that is not named above')
  if (found.length + others.length === 0 && (code !== 0 || passes === 0))
    others.push(passes === 0 ? 'no test ran' : `bun test ended with ${run.signalCode ?? code}`)
  // A killed run has no summary; its failed files are not all known.
  const isComplete = others.length === 0 && /^Ran \d+ tests? across /m.test(text)
  return { passed: passes, failures: found, unexplained: others, isComplete }
}

/** The command that runs one test alone. */
function commandOf(file: string, name: string): string {
  if (/^✗ |^# Unhandled error/.test(name)) return `bun test ./${file}`
  const title = name.replace(/ ?\(FORUMD_SEED=-?\d+\)/, '').replaceAll(' > ', ' ')
  const pattern = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return `bun test ./${file} -t '${pattern.replaceAll("'", String.raw`'\''`)}'`
}

/** Removes files from the timings that are gone, and returns the twenty slowest, one a line. */
function slowest(): string {
  const path = join(root, TIMINGS)
  const timings: { files: Record<string, number> } = JSON.parse(readFileSync(path, 'utf8'))
  const files = Object.entries(timings.files).filter(([file]) => existsSync(join(root, file)))
  writeFileSync(
    path,
    `${JSON.stringify({ ...timings, files: Object.fromEntries(files) }, null, 2)}\n`,
  )
  const total = files.reduce((sum, [, ms]) => sum + ms, 0)
  const lines = files
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 20)
    .map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
  return [...lines, `${(total / 1000).toFixed(1).padStart(6)} s  all ${files.length} files`].join(
    '\n',
  )
}

/** Last match of a count: the summary follows the output of the tests. */
function last(text: string, pattern: RegExp): number {
  return Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0)
}
