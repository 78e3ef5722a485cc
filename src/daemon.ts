import { join } from 'node:path'

import { listen } from './api/listen.ts'
import { serveOutOfOrder } from './api/out-of-order.ts'
import { assemble } from './assembly.ts'
import { type Change, changesBetween, takeLive } from './config/reload.ts'
import type { Config } from './config/schema.ts'
import { createRing } from './core/seal.ts'
import { createWords } from './core/wire.ts'
import { type Loop, startLoop } from './loop.ts'
import { createOutside, type Outside } from './outside.ts'
import { recordConfig } from './store/audit-config.ts'
import { BALLAST, createBallast } from './store/ballast.ts'
import { connect, isStorageError, migrate, tellStorageError } from './store/db.ts'
import { openInstance } from './store/instance.ts'
import { releaseAll } from './store/ledger.ts'
import { countStanding } from './store/standing.ts'
import { noteStorageError, restartsUseless } from './store/storage-errors.ts'
import { createProgress, type Stuck } from './systemd/progress.ts'
import { removeBrowserFiles } from './upstream.ts'

/** A daemon that serves; disposing of it stops it in order. */
export type Daemon = AsyncDisposable & {
  /** Where it listens. */
  readonly url: string
  /** Settles with the reason when the daemon cannot go on and wants to be started again. */
  readonly failed: Promise<string>
  /** What of the polls and the outbox is more than this late; null when both advance. */
  stuck(slack_ms: number): Stuck | null
  /** Takes up what was written beside it; asked for every now and then by whoever runs it. */
  lookBeside(): void
  /** How things stand, in a line for the service manager. */
  standing(): string
  /** Takes what can be taken of another configuration while running, and tells every key that differs. */
  reconfigure(next: Config): Change[]
}

/** The composition root: opens the instance, makes every part, lets the loops run and listens. */
export async function startDaemon(config: Config, outside: Outside): Promise<Daemon> {
  const { clock } = outside
  if (restartsUseless(config.storage.dir, clock.now())) return outOfOrder(config, outside.log)
  await using stack = new AsyncDisposableStack()

  const { instance, full } = open(config, outside)
  stack.defer(() => instance.close())
  removeBrowserFiles(config.storage.dir)
  const failure = Promise.withResolvers<string>()
  const stopping = new AbortController()
  const { signal } = stopping
  const loops = new Map<string, Loop>()
  const progress = createProgress(clock)
  let url = ''
  const {
    app,
    sender,
    monitoring,
    pool,
    storage,
    lookBeside,
    tellOperator,
    upkeep,
    shrink,
    close,
    endStreams,
    draftsIdle,
    log,
  } = assemble({
    config,
    outside,
    instance,
    signal,
    wake: (loop) => loops.get(loop)?.nudge(),
    expect: progress.expect,
    url: () => url,
    lost: failure.resolve,
  })

  stack.defer(close)
  if (full !== null) tellStorageError(instance.db, full)
  const released = releaseAll(instance.db, clock.now())
  if (released > 0) log('warn', 'ledger.released', { count: released })

  // Stops run in reverse: HTTP first, then the loops finish their turn and what it started, then the database closes.
  stack.defer(async () => {
    stopping.abort()
    await Promise.all([...loops.values()].map((loop) => loop.stopped))
    await draftsIdle()
    await Promise.all([monitoring.idle(), sender.idle(), pool.idle(), storage.idle()])
  })

  const { host, port } = config.server
  listen(app, { hostname: host, port })
  stack.defer(() => app.server?.stop(false))
  // The server waits for the answers it is giving; those that go on for as long as somebody listens are ended first.
  stack.defer(endStreams)
  url = urlOf(host, app.server?.port)

  const onFailedTurn = (error: unknown) => {
    tellStorageError(instance.db, error)
    if (isStorageFailure(error)) failure.resolve('storage')
  }
  // The pool first: who is answered from here on may need an account.
  for (const [name, turn] of Object.entries({
    pool: pool.turn,
    monitor: progress.watch('monitor', monitoring.checkDue),
    sender: progress.watch('sender', sender.turn),
    operator: tellOperator,
    upkeep,
    storage: storage.turn,
    ...(shrink && { memory: shrink }),
  })) {
    loops.set(name, startLoop({ ...outside, log }, name, signal, turn, onFailedTurn))
    // Whoever asks meanwhile need not wait for what has gathered for all of them.
    await new Promise(setImmediate)
  }

  const owned = stack.move()
  return {
    url,
    failed: failure.promise,
    stuck: progress.stuck,
    lookBeside,
    standing() {
      const { monitors, streams, pending } = countStanding(instance.db)
      return `listening on ${url}; ${monitors} monitors on ${streams} streams, ${pending} deliveries waiting`
    },
    reconfigure(next) {
      const changes = changesBetween(config, next)
      takeLive(config, next)
      try {
        recordConfig(instance.db, { config, ring: instance.ring, now: clock.now() })
      } catch (error) {
        // What was taken works, and has to be told; the next audit notes it.
        onFailedTurn(error)
      }
      return changes
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Opens the instance; `full` is what a start met that had to take the space which is held back for a full disk. */
function open({ storage }: Config, { clock, random }: Outside) {
  const attempt = () => openInstance({ ...storage, clock, random }, { mode: 'serve' })
  try {
    return { instance: attempt(), full: null }
  } catch (error) {
    const code = isStorageError(error) ? (error.code ?? '') : ''
    if (code.startsWith('SQLITE_IOERR')) noteStorageError(storage.dir, clock.now())
    const is_full = code.startsWith('SQLITE_FULL')
    if (!is_full || !createBallast(join(storage.dir, BALLAST)).drop()) throw error
    return { instance: attempt(), full: error }
  }
}

/** The storage has failed again and again: a daemon that says so, and leaves the disk alone. */
function outOfOrder({ server, wire }: Config, log: Outside['log']): Daemon {
  const { host } = server
  const serving = serveOutOfOrder(server, createWords(wire))
  log('error', 'storage.given_up', { why: 'storage_error' })
  return {
    url: urlOf(host, serving.port),
    failed: new Promise(() => {}),
    stuck: () => null,
    lookBeside: () => {},
    standing: () => 'not serving: the storage has failed again and again, see the log',
    reconfigure: () => [],
    [Symbol.asyncDispose]: () => serving.stop(true),
  }
}

const urlOf = (host: string, port: number | undefined) =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

// A write that failed on the disk may or may not be there. Only the next start, which reads it back, can tell.
const isStorageFailure = (error: unknown): boolean =>
  isStorageError(error) && !/^SQLITE_(FULL|BUSY|LOCKED)/.test(error.code ?? '')

/** The OpenAPI document of a daemon with this configuration, without starting one. */
export async function openApiDocument(config: Config): Promise<unknown> {
  const outside = createOutside(() => {})
  using db = connect(':memory:', { create: true })
  migrate(db)
  const { random } = outside
  const { app } = assemble({
    config,
    outside,
    instance: {
      db,
      path: '',
      boot: '',
      instance_id: '',
      ring: createRing(random.bytes(32), random.bytes),
    },
    signal: AbortSignal.abort(),
    wake: () => {},
    expect: (_, __, work) => work,
    url: () => `http://${config.server.host}:${config.server.port}`,
    lost: () => {},
  })
  const answer = await app.handle(new Request('http://localhost/openapi.json'))
  return await answer.json()
}
