import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { listen } from './api/app.ts'
import { bearer } from './api/http/auth.ts'
import { withSources } from './config/added-sources.ts'
import { type Change, changesBetween, takeLive } from './config/reload.ts'
import type { Config } from './config/schema.ts'
import { loggedCode } from './core/base/errors.ts'
import { apiKey } from './core/base/ids.ts'
import { createRing } from './core/base/secrets.ts'
import { type Iteration, type Loop, LOOPS, startLoop } from './runtime/loop.ts'
import { createRuntime, type Runtime } from './runtime/runtime.ts'
import { createProgress, type Stuck } from './runtime/systemd.ts'
import { listStoredSources } from './store/accounts/sources.ts'
import { findKey, replaceCommandKey } from './store/customers/keys.ts'
import { releaseAll } from './store/customers/ledger.ts'
import {
  connect,
  guardCommits,
  isStorageError,
  migrate,
  reportStorageError,
} from './store/db/connection.ts'
import { recordConfig } from './store/maintenance/audit.ts'
import { countActive } from './store/maintenance/counts.ts'
import {
  createReserveFile,
  recordStorageError,
  RESERVE_FILE_NAME,
  restartsUseless,
} from './store/maintenance/disk.ts'
import { replaceFile } from './store/maintenance/folder.ts'
import { type Instance, openInstance } from './store/maintenance/instance.ts'
import type { InstancePaths } from './store/maintenance/paths.ts'
import { diskTroubleOf, passesWithDisk } from './store/startup/disk-trouble.ts'
import { assemble } from './wiring/build.ts'
import { listeningUrl, serveOutage, waitForDisk } from './wiring/outage.ts'
import { removeBrowserFiles } from './wiring/platform.ts'
import type { HeldLease } from './wiring/standby.ts'

/** A daemon that serves; disposing of it stops it in order. */
export type Daemon = AsyncDisposable & {
  readonly url: string
  /** Settles with the reason when the daemon cannot go on and wants to be started again. */
  readonly failed: Promise<string>
  /** There while health alone is served: settles when a start is worth another try. */
  readonly recovered?: Promise<void>
  /** There on a standby: ends it and starts what it waited for. Called after `recovered`. */
  proceed?(): Promise<Daemon>
  /** The poll or delivery loop that is overdue by more than `slack_ms`; null when both advance. */
  stuck(slack_ms: number): Stuck | null
  /** Picks up changes that another process made to the database. The caller runs it periodically. */
  noticeExternalWrites(): void
  /** Status line for the service manager. */
  statusLine(): string
  /**
   * Applies the settings of another configuration that can change while running, and returns every key that differs.
   */
  reconfigure(next: Config): Change[]
  /** Records that a configuration was refused and had no effect. */
  noteRefusedReload(): void
}

/**
 * The composition root: opens the instance, creates every part, starts the loops and listens. While the disk prevents
 * that, the returned daemon serves health alone and waits for the disk.
 */
export async function startDaemon(config: Config, runtime: Runtime): Promise<Daemon> {
  if (config.standby.replica === '') return startOnDisk(config, runtime, null)
  const { startStandby } = await import('./wiring/standby.ts')
  return startStandby(config, runtime, (fenced, lease) => startOnDisk(config, fenced, lease))
}

async function startOnDisk(
  config: Config,
  runtime: Runtime,
  lease: HeldLease | null,
): Promise<Daemon> {
  const { clock, log } = runtime
  if (restartsUseless(config.storage.dir, clock.now())) {
    log('error', 'storage.start_refused', { why: 'storage_error' })
    await lease?.release()
    return serveOutage(config, {
      outage: () => ({ reason: 'storage_error', retry_after_s: 60 }),
      status: 'not serving: the storage has failed again and again, see the log',
    })
  }
  try {
    return await start(config, runtime, lease)
  } catch (error) {
    const trouble = diskTroubleOf(error, config.storage.dir)
    if (trouble === null) throw error
    return waitForDisk(config, runtime, trouble, () => open(config, runtime).instance.close())
  }
}

async function start(of_file: Config, runtime: Runtime, lease: HeldLease | null): Promise<Daemon> {
  const { clock, fence } = runtime
  await using stack = new AsyncDisposableStack()
  // Given up last: until then no other node may act.
  if (lease !== null) stack.defer(lease.release)

  const { instance, full } = open(of_file, runtime)
  stack.defer(() => instance.close())
  if (fence !== undefined) guardCommits(instance.db, fence.check)
  const stored = listStoredSources(instance.db)
  const { config, left_out } = withSources(of_file, stored)
  for (const source of left_out) runtime.log('warn', 'source.left_out', { source })
  if (instance.is_copy) runtime.log('warn', 'storage.copy_detected', { dir: config.storage.dir })
  if (instance.unrecorded !== null)
    runtime.log('warn', 'storage.instance_not_recorded', {
      file: config.storage.instance_file,
      why: instance.unrecorded,
    })
  removeBrowserFiles(config.storage.dir)
  const failure = Promise.withResolvers<string>()
  const stopping = new AbortController()
  const { signal } = stopping
  const loops = new Map<string, Loop>()
  const progress = createProgress(clock)
  const failingLoops = () => [...loops.values()].flatMap((loop) => loop.failure() ?? [])
  let url = ''
  const {
    app,
    sender,
    monitoring,
    pools,
    storage,
    archive,
    projections,
    noticeExternalWrites,
    notifyOperator,
    upkeep,
    close,
    endStreams,
    failInterrupted,
    judging,
    noteReload,
    log,
  } = assemble({
    config,
    runtime,
    instance,
    signal,
    wake: (loop) => loops.get(loop)?.nudge(),
    expect: progress.expect,
    url: () => url,
    lost: failure.resolve,
    failing_loops: failingLoops,
  })

  lease?.observe(log)
  stack.defer(close)
  if (full !== null) reportStorageError(instance.db, full)
  failInterrupted()
  const released = releaseAll(instance.db, clock.now())
  if (released > 0) log('warn', 'ledger.released', { count: released })

  // Stops run in reverse: HTTP first, then the loops finish their iteration and the work it started, then the database
  // closes.
  stack.defer(async () => {
    stopping.abort()
    await Promise.all([...loops.values()].map((loop) => loop.stopped))
    await Promise.all([monitoring.idle(), sender.idle(), pools.idle(), storage.idle()])
    await archive.stop()
    await judging.idle()
  })

  const { host, port } = config.server
  listen(app, { hostname: host, port })
  stack.defer(() => app.server?.stop(false))
  // The server waits for open responses; event streams have no end of their own, so they are ended first.
  stack.defer(endStreams)
  url = listeningUrl(host, app.server?.port)
  stack.use(writeCommandKey(instance, config.storage.dir, { ...runtime, log }))

  const onFailedIteration = (error: unknown) => {
    reportStorageError(instance.db, error)
    if (isStorageFailure(error) && !passesWithDisk(error, instance.path)) failure.resolve('storage')
  }
  /** A critical loop whose iterations all fail. A full disk does not count, because a restart frees no space. */
  const failingFor = (slack_ms: number): Stuck | null => {
    const it = failingLoops().find(
      ({ loop, code, duration_ms }) =>
        WATCHED_LOOPS.has(loop) && duration_ms > slack_ms && !WAITS_FOR_STORAGE.test(code),
    )
    return it === undefined ? null : { loop: it.loop, what: 'failures', late_ms: it.duration_ms }
  }
  // The pool first: requests from here on may need an account.
  const iterations: Record<(typeof LOOPS)[number], Iteration> = {
    pool: pools.turn,
    monitor: progress.watch('monitor', monitoring.checkDue),
    sender: progress.watch('sender', sender.turn),
    relevance: judging.turn,
    operator: notifyOperator,
    upkeep,
    storage: storage.turn,
    projections,
    archive: archive.turn,
  }
  const fenced =
    (iterate: Iteration): Iteration =>
    () => {
      fence?.check()
      return iterate()
    }
  for (const name of LOOPS) {
    const options = {
      failed: onFailedIteration,
      ...(name === 'monitor' && { progressing: monitoring.progressing }),
    }
    loops.set(name, startLoop({ ...runtime, log }, name, signal, fenced(iterations[name]), options))
    // Waiting requests need not wait for the whole backlog.
    await answerWaiting(() => app.server?.pendingRequests ?? 0)
  }

  const owned = stack.move()
  return {
    url,
    failed: failure.promise,
    stuck: (slack_ms) => progress.stuck(slack_ms) ?? failingFor(slack_ms),
    noticeExternalWrites,
    statusLine() {
      const { monitors, feeds, pending } = countActive(instance.db)
      const outage = storage.trouble() === null ? '' : 'the disk is full, nothing is written; '
      return `${outage}listening on ${url}; ${monitors} monitors on ${feeds} feeds, ${pending} deliveries waiting`
    },
    noteRefusedReload: () => noteReload(false),
    reconfigure(next_of_file) {
      noteReload(true)
      const next = withSources(next_of_file, listStoredSources(instance.db)).config
      const changes = changesBetween(config, next)
      takeLive(config, next)
      try {
        recordConfig(instance.db, { config, ring: instance.ring, now: clock.now() })
      } catch (error) {
        // The change took effect and has to be reported; the next audit records it.
        onFailedIteration(error)
      }
      return changes
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Opens the instance. `full` is the error of a start that had to release the reserve file on a full disk. */
function open({ storage }: Config, { clock, random }: Runtime) {
  const attempt = () => openInstance({ ...storage, clock, random }, { mode: 'serve' })
  try {
    return { instance: attempt(), full: null }
  } catch (error) {
    const code = isStorageError(error) ? (error.code ?? '') : ''
    // A full disk calls itself so too.
    if (code.startsWith('SQLITE_IOERR') && diskTroubleOf(error, storage.dir) === null)
      recordStorageError(storage.dir, clock.now())
    const is_full = code.startsWith('SQLITE_FULL')
    if (!is_full || !createReserveFile(join(storage.dir, RESERVE_FILE_NAME)).drop()) throw error
    return { instance: attempt(), full: error }
  }
}

/** Turns of the event loop in which a connection is accepted, its request read and its answer begun. */
const TURNS_TO_ACCEPT = 3
const TURNS_MAX = 50

/** Yields to requests that wait for the event loop, within a bound: some take longer than the start may wait. */
async function answerWaiting(pending: () => number): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX && (turn < TURNS_TO_ACCEPT || pending() > 0); turn++)
    await new Promise(setImmediate)
}

const WATCHED_LOOPS: ReadonlySet<string> = new Set(['monitor', 'sender'])
/** Errors that pass when there is space, or when another process releases the database. */
const WAITS_FOR_STORAGE = /^SQLITE_(FULL|BUSY|LOCKED)/

// A failed write may or may not have reached the disk. Only the next start, which reads it back, can tell.
const isStorageFailure = (error: unknown): boolean =>
  isStorageError(error) && !WAITS_FOR_STORAGE.test(error.code ?? '')

const COMMAND_KEY_FILE = 'command.key'

/** Gives the commands of this machine a new key, for as long as the daemon runs. */
function writeCommandKey(
  { db }: Instance,
  dir: string,
  { clock, random, log }: Runtime,
): Disposable {
  const path = join(dir, COMMAND_KEY_FILE)
  const token = apiKey('operator', random.bytes(32))
  try {
    replaceCommandKey(db, token, clock.now())
    replaceFile(path, Buffer.from(`${token}\n`))
  } catch (error) {
    // A full disk: commands then work in their own process.
    log('warn', 'serve.command_key_not_written', { file: path, code: loggedCode(error) })
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) }
}

/** Parts of a daemon that runs no loop and does not listen. */
const atRest = (
  config: Config,
  runtime: Runtime,
  instance: Parameters<typeof assemble>[0]['instance'],
  signal: AbortSignal,
) =>
  assemble({
    config,
    runtime,
    instance,
    signal,
    wake: () => {},
    expect: (_, __, work) => work,
    url: () => `http://${config.server.host}:${config.server.port}`,
    lost: () => {},
    failing_loops: () => [],
  })

/** Answers a request to the API as an operator, beside a daemon that does not answer or without one. */
export async function answerHere(
  of_file: Config,
  runtime: Runtime,
  storage: Pick<InstancePaths, 'dir' | 'key_file' | 'instance_file'>,
  request: Request,
): Promise<Response> {
  const { clock, random } = runtime
  const instance = openInstance({ ...storage, clock, random }, { mode: 'beside' })
  try {
    const { config } = withSources(of_file, listStoredSources(instance.db))
    const sent = bearer(request.headers.get('authorization'))
    if (sent === null || findKey(instance.db, sent, clock.now()) === null) {
      const token = apiKey('operator', random.bytes(32))
      replaceCommandKey(instance.db, token, clock.now())
      request.headers.set('authorization', `Bearer ${token}`)
    }
    request.headers.set('host', 'localhost')
    const stopping = new AbortController()
    const { app, close } = atRest(config, runtime, instance, stopping.signal)
    try {
      const answer = await app.handle(request)
      return new Response(await answer.arrayBuffer(), answer)
    } finally {
      stopping.abort()
      await close()
    }
  } finally {
    instance.close()
  }
}

/** The OpenAPI document of a daemon with this configuration, without starting one. */
export async function createOpenApiDocument(config: Config): Promise<unknown> {
  const runtime = createRuntime(() => {})
  using db = connect(':memory:', { create: true })
  migrate(db)
  const { random } = runtime
  const { app } = atRest(
    config,
    runtime,
    {
      db,
      path: '',
      run_id: '',
      instance_id: '',
      ring: createRing(random.bytes(32), random.bytes),
    },
    AbortSignal.abort(),
  )
  const answer = await app.handle(new Request('http://localhost/openapi.json'))
  return await answer.json()
}
