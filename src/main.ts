import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'

import { readHidden, readLine } from './cli/account/credentials.ts'
import { EXIT, type ProcessContext, UsageError } from './cli/command.ts'
import { explainError } from './cli/failures.ts'
import { openStandardOut } from './cli/output.ts'
import { run } from './cli/run.ts'
import { createLog } from './runtime/log.ts'
import { createRuntime, realClock } from './runtime/runtime.ts'

const FORCED_AFTER_MS = 15_000
/** Priorities of the journal at the beginning of a line (sd-daemon(3)). */
const JOURNAL_PRIORITY = { error: '<3>', info: '<6>' }
/** Width of a terminal that does not report one. */
const COLUMNS = 80
/** Browser exports may contain the cookies of every site. */
const STDIN_MIB_MAX = 4
const STDIN_BYTES_MAX = STDIN_MIB_MAX * 1024 * 1024

// Bun applies these to every fetch, even one with its own proxy. forumd chooses the egress itself.
for (const name of Object.keys(process.env)) if (/_proxy$/i.test(name)) delete process.env[name]

// An empty value means unset (no-color.org).
const color = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === ''

const standard_out = openStandardOut(process.stdout)

const context: ProcessContext = {
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
  // Read from the system: creating the stream takes a millisecond, and few commands read it.
  stdinIsTerminal: isatty(0),
  promptSecret: (question) => readHidden(question, process.stdin, process.stderr),
  ask: (question) => readLine(question, process.stdin, process.stderr),
  stopped,
  onReload,
  factories: {
    createRuntime: (log, stdout) =>
      Promise.resolve(
        createRuntime(
          createLog({
            // A getter, because a reload may change the level.
            get level() {
              return log.level
            },
            json: log.json === 'auto' ? !stdout.isTerminal : log.json,
            color: stdout.color,
            journal: isJournal(process.env['JOURNAL_STREAM'], 1),
            clock: realClock,
            write: (line) => standard_out.log(`${line}\n`),
          }),
        ),
      ),
    startDaemon: async (config, runtime) =>
      warm((await import('./daemon.ts')).startDaemon(config, runtime)),
    answer: async (...call) => (await import('./daemon.ts')).answerHere(...call),
    openApiDocument: async (config) => (await import('./daemon.ts')).createOpenApiDocument(config),
    serveMcp: async (options) =>
      (await import('./mcp/remote.ts')).serveMcpFor({
        ...options,
        fetch: createRuntime(() => {}).fetch,
      }),
    openPlatformTools: async (config, runtime) =>
      (await import('./wiring/tools.ts')).openPlatformTools(config, runtime),
    startSandbox: async ({ runtime: { clock }, ...options }) =>
      warm(
        (await import('../sandbox/server/sandbox.ts')).startSandbox({
          ...options,
          world: 'seeded',
          now: clock.now,
          sleep: clock.sleep,
        }),
      ),
    startSource: async (kind, { runtime: { clock }, ...options }) =>
      warm(
        (await import('../sandbox/sources/kinds.ts')).startKind(kind, {
          ...options,
          now: clock.now,
          sleep: clock.sleep,
        }),
      ),
  },
}

/**
 * Startup continues here. The executable starts reluctant to compile code that runs only once (scripts/build/build.ts); from
 * here on compiling pays.
 */
async function warm<T>(started: Promise<T>): Promise<T> {
  const running = await started
  Bun.unsafe.setJITPolicy(1)
  return running
}

/**
 * Writes to standard error. To the journal with the priority of an error, so that `journalctl --priority warning` shows
 * why a daemon ended. If stderr is closed, the exit code still reports the failure. The stream is created with the first
 * message.
 */
function warn(text: string, level?: 'info') {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {})
  const prefix = isJournal(process.env['JOURNAL_STREAM'], 2)
    ? JOURNAL_PRIORITY[level ?? 'error']
    : ''
  process.stderr.write(text.replace(/^/gm, prefix) + '\n')
}

/** All of standard input, up to the limit. Truncated input could parse as something else. */
async function readStdin(): Promise<string> {
  const bytes = await Bun.stdin.slice(0, STDIN_BYTES_MAX + 1).bytes()
  if (bytes.length > STDIN_BYTES_MAX)
    throw new UsageError(`standard input holds more than ${STDIN_MIB_MAX} MiB: give it as a file`)
  return new TextDecoder().decode(bytes)
}

/** Waits for the first stop signal. A second signal, or a stop that takes too long, ends the process at once. */
function stopped(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let count = 0
  const onSignal = (signal: string) => {
    if (++count > 1) process.exit(1)
    resolve(signal)
    setTimeout(() => {
      context.warn(`forumd: still busy after ${FORCED_AFTER_MS / 1000} s, ended by force`)
      process.exit(1)
    }, FORCED_AFTER_MS).unref()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  return promise
}

/** Calls `take` at every SIGHUP until it is disposed of. Without a handler the signal would end the process. */
function onReload(take: () => void): Disposable {
  process.on('SIGHUP', take)
  return { [Symbol.dispose]: () => process.off('SIGHUP', take) }
}

/** Compares a descriptor with the journal's, whose device and inode $JOURNAL_STREAM names (systemd.exec(5)). */
function isJournal(stream: string | undefined, descriptor: number): boolean {
  if (stream === undefined) return false
  const { dev, ino } = fstatSync(descriptor)
  return stream === `${dev}:${ino}`
}

const code = await run(process.argv.slice(2), context)
const lost = await standard_out.end()
if (lost !== null) context.warn(`forumd: the output is incomplete: ${explainError(lost).message}`)
process.exit(lost === null ? code : code || EXIT.failed)
