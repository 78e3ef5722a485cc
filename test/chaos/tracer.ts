import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type DaemonProcess, startProcess } from '../support/process.ts'

/** The action of strace at the nth occurrence of a system call. */
export type Injection = { call: string; what: string; n: number }

/** Kills the process at the nth occurrence. */
export const killAt = (call: string, n: number): Injection => ({ call, what: 'signal=SIGKILL', n })
/** Fails the nth occurrence. */
export const failAt = (call: string, error: string, n: number): Injection => ({
  call,
  what: `error=${error}`,
  n,
})

const TRACED_MAX_MS = 4000
const CHECK_EVERY_MS = 10

/**
 * Runs a daemon under strace until the injection happens, then until `afterwards` ends, for at most four seconds in total.
 * `meanwhile` may use the daemon. Returns true if the injection happened.
 */
export async function injected(
  config: string,
  { call, what, n }: Injection,
  {
    meanwhile = () => Promise.resolve(),
    afterwards = () => Promise.resolve(),
  }: {
    meanwhile?: (daemon: DaemonProcess) => Promise<void>
    afterwards?: (daemon: DaemonProcess) => Promise<void>
  } = {},
): Promise<boolean> {
  const dir = await mkdtemp(join(tmpdir(), 'forumd-trace-'))
  const trace = join(dir, 'trace')
  const struck = async () => /INJECTED|\+\+\+ killed by SIGKILL/.test(await readFile(trace, 'utf8'))
  try {
    const under = ['strace', '-f', '-qq', '--seccomp-bpf', '-o', trace, '-e', `trace=${call}`]
    const inject = ['-e', `inject=${call}:${what}:when=${n}`]
    const daemon = await startProcess(config, [...under, ...inject]).catch(() => null)
    if (daemon !== null) {
      const busy = meanwhile(daemon)
      const gone = new AbortController()
      void daemon.ended.then(() => gone.abort())
      const over = AbortSignal.any([gone.signal, AbortSignal.timeout(TRACED_MAX_MS)])
      while (!over.aborted && !(await struck())) await Bun.sleep(CHECK_EVERY_MS)
      await afterwards(daemon)
      await daemon.end('SIGKILL')
      await busy
    }
    return await struck()
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
