import type { Parts, Surroundings } from '../../../src/cli/command.ts'
import { createLog } from '../../../src/log.ts'
import { createOutside } from '../../../src/outside.ts'

/** What a run of the program printed. */
export type Said = { out: string; err: string }

const notHere = () => Promise.reject(new Error('not part of this test'))

/** A run's surroundings: nothing of the process but a log on a clock that stands still. */
export function surroundings({
  stopped = new Promise<string>(() => {}),
  startDaemon = notHere,
  onReload = () => ({ [Symbol.dispose]: () => {} }),
  env = {},
}: {
  stopped?: Promise<string>
  startDaemon?: Parts['startDaemon']
  onReload?: Surroundings['onReload']
  env?: Surroundings['env']
} = {}) {
  const said: Said = { out: '', err: '' }
  const around: Surroundings = {
    env,
    stdout: { write: (text) => void (said.out += text), isTerminal: false, color: false },
    warn: (line) => void (said.err += `${line}\n`),
    screen: null,
    readStdin: () => Promise.resolve(''),
    stdinIsTerminal: false,
    stopped: () => stopped,
    onReload,
    parts: {
      createOutside: (log, stdout) =>
        Promise.resolve(
          createOutside(
            createLog({
              get level() {
                return log.level
              },
              json: true,
              color: false,
              clock: { now: () => 0 },
              write: (line) => stdout.write(`${line}\n`),
            }),
          ),
        ),
      startDaemon,
      openApiDocument: notHere,
      serveMcp: notHere,
      openDesk: notHere,
      startSandbox: notHere,
    },
  }
  return { around, said }
}
