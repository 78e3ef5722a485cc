import { existsSync, readFileSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'

import type { Config } from '../config/schema.ts'
import { loggedCode } from '../core/base/errors.ts'
import { planReplica } from '../core/standby/lease.ts'
import type { Log, Runtime } from '../runtime/runtime.ts'
import { openBucket, readAddress } from '../standby/bucket.ts'
import { openBootClock, startDeadline } from '../standby/deadline.ts'
import { createLease } from '../standby/lease.ts'
import { createLitestream } from '../standby/litestream.ts'
import { replaceFile } from '../store/maintenance/folder.ts'
import { openInstance } from '../store/maintenance/instance.ts'
import { pathsOf } from '../store/maintenance/paths.ts'
import { openBackup, restoreInstance } from '../store/maintenance/restore.ts'
import { serveOutage } from './outage.ts'

/** Calls to the store in one term. */
const CALLS = 6
const LOOK_MS = 200

/** The lease of a daemon that acts. `release` is called after its database was closed, `observe` with its own log. */
export type HeldLease = { observe(log: Log): void; release(): Promise<void> }

/** A node that serves health until it has the lease and the newest data; `proceed` then starts the daemon. */
export async function startStandby<D>(
  config: Config,
  runtime: Runtime,
  start: (runtime: Runtime, lease: HeldLease) => Promise<D>,
) {
  const { clock, random } = runtime
  const { storage, standby } = config
  let logTo = runtime.log
  const log: Log = (...line) => logTo(...line)
  const paths = pathsOf(storage)
  const folder = join(storage.dir, 'standby')
  /** Number of the replica that the database of this folder belongs to. */
  const number_file = join(folder, 'replica')
  const ttl_ms = standby.ttl_s * 1000
  const boot = openBootClock()
  const deadline = await startDeadline(boot)
  const address = readAddress(standby.replica, process.env)
  const bucket = openBucket(address, { timeout_ms: ttl_ms / CALLS, fetch: runtime.fetch })
  const [holder, token] = [hostname(), random.uuid()]
  const lease = createLease({ bucket, deadline, boot, clock, log, ttl_ms, holder, token })
  const litestream = createLitestream(
    { program: standby.litestream, folder, database: paths.db },
    { address, clock, log, running: deadline.setChild },
  )
  const [ending, keeping] = [new AbortController(), new AbortController()]
  let has_restored = false
  let primary = ''
  let state = ''

  /** Makes this folder hold the newest data, and a replica of it complete. False: this node is not to act. */
  async function prepare(record: { term: number; replica: number }): Promise<boolean> {
    const { restore, write } = planReplica(record, readNumber(number_file))
    if (restore !== null) {
      log('info', 'standby.restoring', { count: restore })
      using backup = openBackup(await litestream.restore(restore))
      restoreInstance(backup, paths, { clock, random, without_secrets: false })
      has_restored = true
      rmSync(backup.path, { force: true })
      // What Litestream noted of the database that was there before.
      rmSync(join(paths.dir, `.${basename(paths.db)}-litestream`), { recursive: true, force: true })
    } else if (!existsSync(paths.db)) {
      openInstance({ ...storage, clock, random }, { mode: 'serve' }).close()
    }
    litestream.replicate(write)
    const isThere = async () => (await bucket.replicas().catch(() => [])).some((it) => it === write)
    while (!ending.signal.aborted && !(await isThere())) await clock.sleep(LOOK_MS)
    if (ending.signal.aborted || write === record.replica) return true
    if (!(await lease.setReplica(write))) return lose()
    replaceFile(number_file, Buffer.from(`${write}\n`))
    removeOlder(write).catch((error: unknown) => {
      log('warn', 'standby.replicas_left', { why: loggedCode(error) })
    })
    return true
  }

  /** Removes the replicas that no node reads any more: erased texts must not stay in them. */
  async function removeOlder(number: number): Promise<void> {
    for (const it of await bucket.replicas()) if (it < number) await bucket.removeReplica(it)
  }

  /** Another process has the lease: nothing may be sent from here on, and the thread ends the process. */
  function lose(): false {
    log('error', 'lease.lost', { reason: 'taken' })
    deadline.set(0)
    return false
  }

  async function release(has_acted = true): Promise<void> {
    const is_complete = await litestream.stop()
    keeping.abort()
    // Else the other node would go on without the last changes.
    if (is_complete || !has_acted) await lease.release()
    log('info', 'lease.released', { state: is_complete ? 'complete' : 'behind' })
    deadline[Symbol.dispose]()
  }

  function observe(to: Log): void {
    logTo = to
    if (has_restored) log('warn', 'standby.took_over')
  }

  async function take(): Promise<boolean> {
    const record = await lease.take(ending.signal, (by, reason) => {
      if (`${by} ${reason}` === state) return
      state = `${by} ${reason}`
      primary = by
      const is_wrong = reason === 'foreign' || reason === 'ttl_too_long'
      log(is_wrong ? 'error' : 'info', 'lease.waiting', {
        ...(by !== '' && { holder: by }),
        reason,
      })
    })
    if (record === null) return false
    log('info', 'lease.acquired', { count: record.term })
    primary = ''
    void lease.keep(keeping.signal).then((is_lost) => is_lost && lose())
    try {
      return await prepare(record)
    } catch (error) {
      await release(false)
      throw error
    }
  }

  const serving = serveOutage(config, {
    outage: () => ({ reason: 'standby', retry_after_s: 5, primary }),
    status: 'standby',
  })
  const taken = take()
  let is_handed_on = false
  return {
    ...serving,
    recovered: Promise.allSettled([taken]).then(() => {}),
    async proceed(): Promise<D> {
      await serving[Symbol.asyncDispose]()
      if (!(await taken)) throw new Error('the standby was stopped')
      is_handed_on = true
      const fetch: Runtime['fetch'] = (url, init) => {
        deadline.check()
        return runtime.fetch(url, init)
      }
      return start({ ...runtime, fence: deadline, fetch }, { observe, release })
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await serving[Symbol.asyncDispose]()
      if (is_handed_on) return
      if (await taken.catch(() => false)) await release()
      else deadline[Symbol.dispose]()
    },
  }
}

const readNumber = (file: string): number | null =>
  existsSync(file) ? Number(readFileSync(file, 'utf8')) || null : null
