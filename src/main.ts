import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'

import { readHidden } from './cli/account-prompt.ts'
import { EXIT, type Surroundings, UsageError } from './cli/command.ts'
import { explain } from './cli/failures.ts'
import { run } from './cli/run.ts'
import { openStandardOut } from './cli/standard-out.ts'
import { createLog } from './log.ts'
import { createOutside, realClock } from './outside.ts'

const FORCED_AFTER_MS = 15_000
/** Of a terminal that does not say how wide it is. */
const COLUMNS = 80
/** Some browsers export the cookies of every site there is. */
const STDIN_MIB_MAX = 4
const STDIN_BYTES_MAX = STDIN_MIB_MAX * 1024 * 1024

// Bun sends every fetch through these, whatever it was told: which way out is taken is ours to say.
for (const name of Object.keys(process.env)) if (/_proxy$/i.test(name)) delete process.env[name]

// An empty one is none (no-color.org).
const color = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === ''

const standard_out = openStandardOut(process.stdout)

const around: Surroundings = {
  env: process.env,
  stdout: {
    write: standard_out.write,
    isTerminal: process.stdout.isTTY,
    color,
  },
  warn,
  screen: isatty(2)
    ? {
        write: (text) => process.stderr.write(text),
        columns: () => process.stderr.columns || COLUMNS,
      }
    : null,
  readStdin,
  // Asked of the system: the stream behind it takes a millisecond to make, and few commands read it.
  stdinIsTerminal: isatty(0),
  askSecret: (question) => readHidden(question, process.stdin, process.stderr),
  stopped,
  onReload,
  parts: {
    createOutside: (log, stdout) =>
      Promise.resolve(
        createOutside(
          createLog({
            // Not copied: a new configuration may change it under way.
            get level() {
              return log.level
            },
            json: log.json === 'auto' ? !stdout.isTerminal : log.json,
            color: stdout.color,
            journal: isJournal(process.env['JOURNAL_STREAM']),
            clock: realClock,
            write: (line) => standard_out.log(`${line}\n`),
          }),
        ),
      ),
    startDaemon: async (config, outside) =>
      warm((await import('./daemon.ts')).startDaemon(config, outside)),
    openApiDocument: async (config) => (await import('./daemon.ts')).openApiDocument(config),
    serveMcp: async (options) =>
      (await import('./mcp/remote.ts')).serveMcpFor({
        ...options,
        fetch: createOutside(() => {}).fetch,
      }),
    openDesk: async (config, outside) => (await import('./upstream.ts')).openDesk(config, outside),
    startSandbox: async ({ outside: { clock }, ...options }) =>
      warm(
        (await import('./sandbox/sandbox.ts')).startSandbox({
          ...options,
          world: 'seeded',
          now: clock.now,
          sleep: clock.sleep,
        }),
      ),
  },
}

/** What has been started. The executable starts reluctant to compile what runs only once (build.ts); from here on it pays. */
async function warm<T>(started: Promise<T>): Promise<T> {
  const running = await started
  Bun.unsafe.setJITPolicy(1)
  return running
}

/** Where nobody hears why we fail, the exit code still tells that we did. The stream is made with the first word. */
function warn(line: string) {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {})
  process.stderr.write(`${line}\n`)
}

/** All of standard input. What is cut short may still be read as something, and would be something else. */
async function readStdin(): Promise<string> {
  const bytes = await Bun.stdin.slice(0, STDIN_BYTES_MAX + 1).bytes()
  if (bytes.length > STDIN_BYTES_MAX)
    throw new UsageError(`standard input holds more than ${STDIN_MIB_MAX} MiB: give it as a file`)
  return new TextDecoder().decode(bytes)
}

/** Waits for the first signal to stop. The second, or one that lasts too long, ends the process at once. */
function stopped(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let count = 0
  const onSignal = (signal: string) => {
    if (++count > 1) process.exit(1)
    resolve(signal)
    setTimeout(() => {
      around.warn(`forumd: still busy after ${FORCED_AFTER_MS / 1000} s, ended by force`)
      process.exit(1)
    }, FORCED_AFTER_MS).unref()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  return promise
}

/** Calls `take` at every SIGHUP until it is disposed of; without anybody to take it, the signal ends the process. */
function onReload(take: () => void): Disposable {
  process.on('SIGHUP', take)
  return { [Symbol.dispose]: () => process.off('SIGHUP', take) }
}

/** Whether standard output goes to the journal, which says device and inode of its own end (systemd.exec(5)). */
function isJournal(stream: string | undefined): boolean {
  if (stream === undefined) return false
  const { dev, ino } = fstatSync(1)
  return stream === `${dev}:${ino}`
}

const code = await run(process.argv.slice(2), around)
const lost = await standard_out.end()
if (lost !== null)
  around.warn(`forumd: what it printed did not all get there: ${explain(lost).message}`)
process.exit(lost === null ? code : code || EXIT.failed)
