/**
 * `forumd serve` with a loop that can be stalled: once the file named by STALL_FILE exists,
 * requests to STALL_AT are never answered, and their timeout of STALL_MS never fires. This
 * simulates an internal fault of one loop, without a switch for it in the program.
 */
import { existsSync } from 'node:fs'

import type { ProcessContext } from '../../src/cli/command.ts'
import { run } from '../../src/cli/run.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createRuntime, realClock } from '../../src/runtime/runtime.ts'

const { STALL_FILE = '', STALL_AT = '', STALL_MS = '' } = process.env
const stalled = () => existsSync(STALL_FILE)
const never = () => new Promise<never>(() => {})
const notHere = () => Promise.reject(new Error('not part of this test'))

const environment: ProcessContext = {
  env: process.env,
  stdout: { write: (text) => process.stdout.write(text), isTerminal: false, color: false },
  warn: (line) => process.stderr.write(`${line}\n`),
  screen: null,
  readStdin: notHere,
  stdinIsTerminal: false,
  // Has no other stop: the first signal ends it, stalled or not.
  stopped: () => new Promise(() => {}),
  onReload: () => ({ [Symbol.dispose]: () => {} }),
  factories: {
    createRuntime: ({ level }, { write }) => {
      const log = createLog({
        level,
        json: true,
        color: false,
        clock: realClock,
        write: (line) => write(`${line}\n`),
      })
      const real = createRuntime(log)
      return Promise.resolve({
        ...real,
        clock: {
          ...realClock,
          sleep: (ms, signal) =>
            ms === Number(STALL_MS) && stalled() ? never() : realClock.sleep(ms, signal),
        },
        fetch: (url, init) =>
          url.startsWith(STALL_AT) && stalled() ? never() : real.fetch(url, init),
      })
    },
    startDaemon,
    serveMcp: notHere,
    openApiDocument: notHere,
    answer: notHere,
    openPlatformTools: notHere,
    startSandbox: notHere,
    startSource: notHere,
  },
}

process.exit(await run(process.argv.slice(2), environment))
