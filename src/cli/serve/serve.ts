import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../../package.json'
import type { Config } from '../../config/schema.ts'
import type { Log } from '../../runtime/runtime.ts'
import { openNotifier } from '../../runtime/systemd.ts'
import { startWatchdog } from '../../runtime/watchdog.ts'
import { replaceFile } from '../../store/maintenance/folder.ts'
import { command, type CommandContext, EXIT, type RunningDaemon, UsageError } from '../command.ts'
import { openConfig, rereadConfig, withInstance } from '../configuration.ts'
import { explainError } from '../failures.ts'
import { reportStatus } from './systemd.ts'

/** Interval of the check for external writes: changes of the command line take effect within two seconds. */
const CHECK_INTERVAL_MS = 1000

/** Makes the daemon pick up changes of other processes to the database, until `signal` aborts. */
export async function watchExternalChanges(
  daemon: Pick<RunningDaemon, 'noticeExternalWrites'>,
  {
    sleep,
    signal,
  }: { sleep: (ms: number, signal: AbortSignal) => Promise<void>; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    try {
      daemon.noticeExternalWrites()
    } catch {
      // A failing database is reported by the loops.
    }
    await sleep(CHECK_INTERVAL_MS, signal)
  }
}

/**
 * Reloads the configuration into the running daemon. An invalid configuration is refused as a whole; each key that needs a
 * restart is logged and keeps its value.
 */
export function reload(
  daemon: Pick<RunningDaemon, 'reconfigure' | 'noteRefusedReload'>,
  read: () => { config: Config; warnings: string[] },
  log: Log,
): void {
  let next: ReturnType<typeof read>
  try {
    next = read()
  } catch (error) {
    daemon.noteRefusedReload()
    for (const why of explainError(error).message.split('\n'))
      log('error', 'config.refused', { why })
    return
  }
  for (const warning of next.warnings) log('warn', 'config.warning', { warning })
  const changes = daemon.reconfigure(next.config)
  for (const { key, live } of changes)
    if (live) log('info', 'config.changed', { key })
    else log('warn', 'config.needs_restart', { key, why: 'restart forumd to use it' })
  log('info', 'config.reloaded', { count: changes.length })
}

const NO_SUBSCRIPTION: Disposable = { [Symbol.dispose]: () => {} }
const STOPPING = 'finishing work in progress'
const LAST_MS = 500

const secondsOf = (text: string | undefined): number | null => {
  if (text === undefined) return null
  if (/^\d{1,4}$/.test(text) && Number(text) >= WATCHDOG_MIN_S) return Number(text)
  throw new UsageError(
    `--watchdog is "${text}": allowed are whole seconds from ${WATCHDOG_MIN_S} to 9999`,
  )
}
/** A busy machine is no frozen process. */
const WATCHDOG_MIN_S = 5

export const serveCommand = command({
  name: 'serve',
  summary: 'runs the daemon',
  options: {
    new: {
      type: 'boolean',
      help: 'creates an empty database if the recorded one is permanently lost',
    },
    watchdog: {
      type: 'string',
      value: 'SECONDS',
      help: 'ends the process with 75 if it answers nothing for so long; for a container, which is restarted when it ends',
    },
  },
  examples: ['forumd serve', 'forumd serve --config /etc/forumd/forumd.toml'],
  notes:
    'SIGTERM and Ctrl-C finish work in progress; a second signal, or 15 seconds, end it at once. SIGHUP reloads the configuration: log.level, log.access, [limits], [plans] and [billing] take effect, and the log names every key that needs a restart. The address is printed and written to <storage.dir>/forumd.address; on a terminal a one-time link that signs a browser in is printed too. [storage].instance_file names the instance that belongs in [storage].dir: if that folder has no database or another one, for example because its volume is not mounted, serve ends with 78. While the disk is full or read-only, serve answers health requests only and starts when the disk is usable again.',
  async run(context) {
    const { values, env, stdout, stopped, onReload, factories } = context
    const watchdog_s = secondsOf(values.watchdog)
    // Signals first, so that a signal during the start is not lost.
    const stop = stopped()
    // SIGHUP, such as from log rotation, would end the process by default. The reload is done once the daemon runs.
    let reloadPending = false
    let onReloadSignal = () => void (reloadPending = true)
    // A closed terminal sends the same signal, which then means stop.
    const reloads = stdout.isTerminal ? () => NO_SUBSCRIPTION : onReload
    using _reloads = reloads(() => onReloadSignal())
    const read = () => rereadConfig(context)
    // The folder is made with the database: its disk may be full or read-only now, and that is waited for.
    const { config, warnings } = openConfig(context, { create: false })
    const runtime = await factories.createRuntime(config.log, stdout)
    const { log } = runtime
    using _watchdog =
      watchdog_s === null ? NO_SUBSCRIPTION : await startWatchdog(watchdog_s, runtime.clock)
    log('info', 'serve.starting', { version, pid: process.pid, dir: config.storage.dir })
    for (const warning of warnings) log('warn', 'config.warning', { warning })
    const manager = await openNotifier(env, {
      pid: process.pid,
      unreachable: (why) => log('error', 'systemd.unreachable', { why }),
    })
    manager.notify('STATUS=opening the database')
    if (values.new) {
      const { pathsOf } = await import('../../store/maintenance/paths.ts')
      const { forgetInstance } = await import('../../store/startup/record.ts')
      forgetInstance(pathsOf(config.storage))
    }

    const { sleep } = runtime.clock
    const never = new Promise<string>(() => {})

    /** Waits until a daemon acts, for its disk or for the lease; null: it was stopped before. */
    async function acting(): Promise<RunningDaemon | null> {
      let daemon = await factories.startDaemon(config, runtime)
      while (daemon.recovered) {
        const ending = new AbortController()
        // It answers, and a boot need not wait for its disk.
        manager.notify('READY=1')
        void reportStatus(manager, daemon, { sleep, log, signal: ending.signal })
        const signal = await Promise.race([stop, daemon.recovered])
        ending.abort()
        if (typeof signal === 'string') {
          await daemon[Symbol.asyncDispose]()
          log('info', 'serve.stopping', { code: EXIT.done, signal })
          return null
        }
        if (daemon.proceed !== undefined) daemon = await daemon.proceed()
        else {
          await daemon[Symbol.asyncDispose]()
          daemon = await factories.startDaemon(config, runtime)
        }
      }
      return daemon
    }

    async function serveToEnd(daemon: RunningDaemon): Promise<number> {
      using _address = writeAddress(config.storage.dir, daemon.url, { sleep, log })
      // On a terminal only: the log of a service is read by others and kept.
      if (stdout.isTerminal) await greet(context, daemon.url)
      log('info', 'serve.listening', { url: daemon.url })
      const ending = new AbortController()
      onReloadSignal = () => {
        manager.notify('RELOADING=1', manager.since())
        reload(daemon, read, log)
        manager.notify('READY=1')
      }
      if (reloadPending) reload(daemon, read, log)
      // Last: a reload may be requested as soon as readiness is reported.
      manager.notify('READY=1')
      void watchExternalChanges(daemon, { sleep, signal: ending.signal })
      void reportStatus(manager, daemon, { sleep, log, signal: ending.signal })

      const end = await Promise.race([
        stop.then((signal) => ({ code: EXIT.done, signal })),
        (daemon.failed ?? never).then((reason) => ({ code: EXIT.restart, reason })),
      ])
      ending.abort()
      log(end.code === EXIT.done ? 'info' : 'error', 'serve.stopping', end)
      manager.notify('STOPPING=1', `STATUS=${STOPPING}`)
      const ended = daemon[Symbol.asyncDispose]()
      // Waiting does not help on a failed disk.
      await (end.code === EXIT.done ? ended : Promise.race([ended, runtime.clock.sleep(LAST_MS)]))
      return end.code
    }

    const daemon = await acting()
    return daemon === null ? EXIT.done : await serveToEnd(daemon)
  },
})

/** Prints the address and a link that signs in; without a link if the database takes none. */
async function greet(context: CommandContext, url: string): Promise<void> {
  const { stdout, warn } = context
  const { createSignInLink, linkSentence } = await import('../../api/operator/actions/keys.ts')
  stdout.write(`forumd listens on ${url}\n`)
  try {
    const link = await withInstance(context, (opened) =>
      createSignInLink(opened, { as: null, url: opened.config.server.public_url || url }),
    )
    stdout.write(`${linkSentence(link)}\n  ${link.url}\n`)
  } catch (error) {
    warn(`forumd: there is no sign-in link: ${explainError(error).message}`)
  }
}

const EVERYBODY_READS = 0o644

/**
 * Tells other programs where the daemon listens, for as long as it does. On a full or read-only disk it is written once
 * that is possible: the daemon serves without it.
 */
function writeAddress(
  dir: string,
  url: string,
  { sleep, log }: { sleep: (ms: number, signal: AbortSignal) => Promise<void>; log: Log },
): Disposable {
  const path = join(dir, 'forumd.address')
  const ending = new AbortController()
  const write = (): string | null => {
    try {
      mkdirSync(dir, { recursive: true })
      // Renamed when complete, so that no reader sees a partial file.
      replaceFile(path, Buffer.from(`${url}\n`), EVERYBODY_READS)
      return null
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  const retry = async () => {
    do await sleep(CHECK_INTERVAL_MS, ending.signal)
    while (!ending.signal.aborted && write() !== null)
  }
  const why = write()
  if (why !== null) {
    log('warn', 'serve.address_not_written', { file: path, why })
    void retry()
  }
  return {
    [Symbol.dispose]() {
      ending.abort()
      try {
        rmSync(path, { force: true })
      } catch {
        // On a failed disk the file stays until the next start; this error must not replace the exit code.
      }
    },
  }
}
