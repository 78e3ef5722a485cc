import { readFileSync, writeFileSync } from 'node:fs'

import type { Clock, Log } from '../runtime/runtime.ts'

const RESTART_MS = 5000
/** Time for the last changes to reach the replica at a stop; after it the process is killed. */
const LAST_MS = 20_000
/** Further runs of a process that has failed at its stop, and the time that each has to begin. */
const AGAIN_MAX = 2
const AGAIN_MS = 2000

/** The process that replicates the database of the primary. */
export type Replicator = {
  /** Starts it, and again whenever it ends. */
  start(log: Log): void
  /** `none`: there is no command. */
  state(): 'running' | 'ended' | 'none'
  /**
   * Ends it once the database is closed: it passes on what is left first. False: its last run failed, so that something may
   * be missing from the replica.
   */
  stop(): Promise<boolean>
}

const NO_LOG: Log = () => {}

/** Kills the process of an earlier daemon that was killed itself. Its id may belong to another program by now. */
function killLeftOver(pid_file: string, words: readonly string[]): void {
  try {
    const pid = Number(readFileSync(pid_file, 'utf8'))
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    if (command === words.map((word) => `${word}\0`).join('')) process.kill(pid, 'SIGKILL')
  } catch {
    // There is none.
  }
}

/** Creates the replicator of a command; without words it does nothing. */
export function createReplicator(
  words: readonly string[],
  { clock, pid_file }: { clock: Pick<Clock, 'sleep'>; pid_file: string },
): Replicator {
  const stopping = new AbortController()
  let child: Bun.Subprocess | null = null
  let log: Log = NO_LOG
  let running: Promise<void> = Promise.resolve()
  let stopped: Promise<boolean> | null = null

  function spawn(): Bun.Subprocess {
    const it = Bun.spawn([...words], { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
    child = it
    writeFileSync(pid_file, `${it.pid}\n`)
    return it
  }
  // A process that is left over would write to the replica beside the next one, and both would spoil it.
  const endWithUs = () => child?.kill('SIGKILL')

  /** Asks a process to end, and kills it if it does not. Returns its exit code. */
  async function end(process: Bun.Subprocess): Promise<number> {
    process.kill('SIGTERM')
    const done = new AbortController()
    const late = clock.sleep(LAST_MS, done.signal).then(() => {
      if (!done.signal.aborted) process.kill('SIGKILL')
    })
    const code = await process.exited
    done.abort('ended')
    await late
    return code
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const code = await spawn().exited
        if (!stopping.signal.aborted)
          log('error', 'standby.replication_ended', { code: String(code) })
      } catch {
        log('error', 'standby.replication_ended', { code: 'cannot_start' })
      }
      child = null
      await clock.sleep(RESTART_MS, stopping.signal)
    }
  }

  async function finish(): Promise<boolean> {
    stopping.abort()
    const was_running = words.length === 0 || child !== null
    let code = child === null ? 0 : await end(child)
    await running
    // It passes on what is left when it starts too.
    for (let again = 0; code !== 0 && again < AGAIN_MAX; again++) {
      log('error', 'standby.replication_ended', { code: String(code) })
      try {
        const last = spawn()
        await clock.sleep(AGAIN_MS)
        code = await end(last)
      } catch {
        break
      }
    }
    child = null
    process.off('exit', endWithUs)
    return was_running && code === 0
  }

  return {
    start(to) {
      log = to
      if (words.length === 0) return
      killLeftOver(pid_file, words)
      process.once('exit', endWithUs)
      running = run()
    },
    state: () => (words.length === 0 ? 'none' : child === null ? 'ended' : 'running'),
    stop: () => (stopped ??= finish()),
  }
}
