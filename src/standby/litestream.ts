import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Clock, Log } from '../runtime/runtime.ts'
import { type Address, replicaName } from './bucket.ts'

const RESTART_MS = 5000
type Deps = { address: Address; clock: Clock; log: Log; running: (pid: number) => void }

/** Time for the last changes to reach the replica at a stop. */
const LAST_MS = 10_000
const RESTORE_MAX_MS = 30 * 60_000

/** The replica could not be restored. Litestream has said why on standard error. */
class ReplicaUnusable extends Error {
  override name = 'ReplicaUnusable'
}

/**
 * Creates the runner of Litestream. `folder` has its configuration and restored copies, `running` learns the process that
 * replicates; 0: it has ended. @throws {ReplicaUnusable} it is not installed
 */
export function createLitestream(
  { program, folder, database }: Record<'program' | 'folder' | 'database', string>,
  { address, clock, log, running }: Deps,
) {
  const config = join(folder, 'litestream.yml')
  const pid_file = join(folder, 'litestream.pid')
  const stopping = new AbortController()
  let child: Bun.Subprocess | null = null
  let ended: Promise<void> = Promise.resolve()
  killLeftOver(pid_file, config)
  if (Bun.which(program) === null)
    throw new ReplicaUnusable(`[standby].litestream: there is no program ${program}`)

  function configure(number: number): void {
    const { bucket, region, endpoint } = address
    const replica = {
      type: 's3',
      bucket,
      path: `${address.folder}/${replicaName(number)}`,
      region,
      ...(endpoint !== undefined && { endpoint, 'force-path-style': true }),
      'sync-interval': '1s',
      'snapshot-interval': '1h',
      retention: '2h',
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // JSON is YAML.
    writeFileSync(config, JSON.stringify({ dbs: [{ path: database, replicas: [replica] }] }))
  }

  function spawn(words: readonly string[], options: object = {}): Bun.Subprocess {
    const { accessKeyId, secretAccessKey } = address
    return Bun.spawn([program, ...words], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'inherit',
      env: {
        ...process.env,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
      },
      ...options,
    })
  }

  async function keepReplicating(): Promise<void> {
    while (!stopping.signal.aborted) {
      child = spawn(['replicate', '-config', config])
      running(child.pid)
      writeFileSync(pid_file, `${child.pid}\n`)
      const code = String(await child.exited)
      running(0)
      child = null
      if (!stopping.signal.aborted) log('error', 'standby.replication_ended', { code })
      await clock.sleep(RESTART_MS, stopping.signal)
    }
  }

  return {
    /** Restores a replica into a file, and returns its path. @throws {ReplicaUnusable} */
    async restore(number: number): Promise<string> {
      configure(number)
      const target = join(folder, 'restored.sqlite')
      for (const end of ['', '-wal', '-shm']) rmSync(target + end, { force: true })
      const limit = { timeout: RESTORE_MAX_MS, killSignal: 'SIGKILL' }
      const code = await spawn(['restore', '-config', config, '-o', target, database], limit).exited
      if (code === 0 && existsSync(target)) return target
      throw new ReplicaUnusable(`litestream restore ended with ${code}`)
    },
    /** Replicates the database to a replica, and starts again whenever the program ends. */
    replicate(number: number): void {
      configure(number)
      ended = keepReplicating()
    },
    /** Ends it once the last changes are in the replica; false: some may be missing. */
    async stop(): Promise<boolean> {
      stopping.abort()
      const last = child
      last?.kill('SIGTERM')
      const done = new AbortController()
      void clock.sleep(LAST_MS, done.signal).then(() => last?.kill('SIGKILL'))
      const code = await last?.exited
      done.abort()
      await ended
      return code === 0
    },
  }
}

/** Kills the process of an earlier daemon that was killed itself. Its id may belong to another program by now. */
function killLeftOver(pid_file: string, config: string): void {
  try {
    const pid = Number(readFileSync(pid_file, 'utf8'))
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(config)) process.kill(pid, 'SIGKILL')
  } catch {
    // There is none.
  }
}
