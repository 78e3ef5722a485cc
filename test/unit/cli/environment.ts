import type { Factories, ProcessContext } from '../../../src/cli/command.ts'
import { answerHere } from '../../../src/daemon.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createRuntime } from '../../../src/runtime/runtime.ts'

/** Output of a run of the program. */
export type Output = { out: string; err: string }

const notHere = () => Promise.reject(new Error('not part of this test'))

/** A run's surroundings: nothing of the process but a log on a clock that stands still. */
export function surroundings({
  stopped = new Promise<string>(() => {}),
  startDaemon = notHere,
  onReload = () => ({ [Symbol.dispose]: () => {} }),
  env = {},
}: {
  stopped?: Promise<string>
  startDaemon?: Factories['startDaemon']
  onReload?: ProcessContext['onReload']
  env?: ProcessContext['env']
} = {}) {
  const output: Output = { out: '', err: '' }
  const environment: ProcessContext = {
    env,
    stdout: { write: (text) => void (output.out += text), isTerminal: false, color: false },
    warn: (line) => void (output.err += `${line}\n`),
    screen: null,
    readStdin: () => Promise.resolve(''),
    stdinIsTerminal: false,
    stopped: () => stopped,
    onReload,
    factories: {
      createRuntime: (log, stdout) =>
        Promise.resolve(
          createRuntime(
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
      answer: (...call) => answerHere(...call),
      serveMcp: notHere,
      openPlatformTools: notHere,
      startSandbox: notHere,
      startSource: notHere,
    },
  }
  return { around: environment, said: output }
}
