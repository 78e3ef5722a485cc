/**
 * `forumd serve` in a world that can be made to stand still: once the file that STALL_FILE names is there, requests to
 * STALL_AT are never answered, and the time-out of STALL_MS that ought to end them never comes. What a fault of ours
 * would do to one loop, without a switch for it in the program.
 */
import { existsSync } from 'node:fs'

import type { Surroundings } from '../../src/cli/command.ts'
import { run } from '../../src/cli/run.ts'
import { startDaemon } from '../../src/daemon.ts'
import { createLog } from '../../src/log.ts'
import { createOutside, realClock } from '../../src/outside.ts'

const { STALL_FILE = '', STALL_AT = '', STALL_MS = '' } = process.env
const stalled = () => existsSync(STALL_FILE)
const never = () => new Promise<never>(() => {})
const notHere = () => Promise.reject(new Error('not part of this test'))

const around: Surroundings = {
  env: process.env,
  stdout: { write: (text) => process.stdout.write(text), isTerminal: false, color: false },
  warn: (line) => process.stderr.write(`${line}\n`),
  screen: null,
  readStdin: notHere,
  stdinIsTerminal: false,
  // Nobody asks it to: the first signal ends it, stuck or not.
  stopped: () => new Promise(() => {}),
  onReload: () => ({ [Symbol.dispose]: () => {} }),
  parts: {
    createOutside: ({ level }, { write }) => {
      const log = createLog({
        level,
        json: true,
        color: false,
        clock: realClock,
        write: (line) => write(`${line}\n`),
      })
      const real = createOutside(log)
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
    openDesk: notHere,
    startSandbox: notHere,
  },
}

process.exit(await run(process.argv.slice(2), around))
