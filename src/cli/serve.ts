import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../package.json'
import { openNotifier } from '../systemd/notify.ts'
import { command, EXIT } from './command.ts'
import { readConfig } from './config-file.ts'
import { keepLooking } from './serve-beside.ts'
import { keepTelling } from './serve-manager.ts'
import { reload } from './serve-reload.ts'

const NOBODY: Disposable = { [Symbol.dispose]: () => {} }
/** What the service manager shows meanwhile. */
const STOPPING = 'finishing what is under way'
/** How long a daemon that cannot go on may take to end. */
const LAST_MS = 500

export const serve = command({
  name: 'serve',
  summary: 'runs the daemon until it is told to stop',
  options: {},
  examples: ['forumd serve', 'forumd serve --config /etc/forumd/forumd.toml'],
  notes:
    'SIGTERM and Ctrl-C finish what is under way; a second one, or 15 seconds, end it at once. SIGHUP reads the configuration again: log.level, [limits], [plans] and [billing.prices] change under way, and the log names every key that takes a restart. The address is printed and written to <storage.dir>/forumd.address.',
  async run({ values, env, stdout, stopped, onReload, parts }) {
    // Signals first, so that one which comes while we start is not lost.
    const stop = stopped()
    // One to reload, as by who rotates a log, would end us. What it asks for is done once there is a daemon to do it.
    let asked = false
    let onAsked = () => void (asked = true)
    // A terminal that is closed sends the same signal, and means the end.
    const reloads = stdout.isTerminal ? () => NOBODY : onReload
    using _reloads = reloads(() => onAsked())
    const read = () => readConfig(values.config, { env })
    const { config, warnings } = read()
    const outside = await parts.createOutside(config.log, stdout)
    const { log } = outside
    log('info', 'serve.starting', { version, pid: process.pid, dir: config.storage.dir })
    for (const warning of warnings) log('warn', 'config.warning', { warning })
    const manager = await openNotifier(env, {
      pid: process.pid,
      unreachable: (why) => log('error', 'systemd.unreachable', { why }),
    })
    manager.tell('STATUS=opening the database')

    const daemon = await parts.startDaemon(config, outside)
    using _address = writeAddress(config.storage.dir, daemon.url)
    if (stdout.isTerminal) stdout.write(`forumd listens on ${daemon.url}\n`)
    log('info', 'serve.listening', { url: daemon.url })
    const ending = new AbortController()
    const { sleep } = outside.clock
    onAsked = () => {
      manager.tell('RELOADING=1', manager.since())
      reload(daemon, read, log)
      manager.tell('READY=1')
    }
    if (asked) reload(daemon, read, log)
    // Last: whoever hears that we are ready may ask us to reload at once.
    manager.tell('READY=1')
    void keepLooking(daemon, { sleep, signal: ending.signal })
    void keepTelling(manager, daemon, { sleep, log, signal: ending.signal })

    const never = new Promise<string>(() => {})
    const end = await Promise.race([
      stop.then((signal) => ({ code: EXIT.done, signal })),
      (daemon.failed ?? never).then((reason) => ({ code: EXIT.restart, reason })),
    ])
    log(end.code === EXIT.done ? 'info' : 'error', 'serve.stopping', end)
    ending.abort()
    manager.tell('STOPPING=1', `STATUS=${STOPPING}`)
    const ended = daemon[Symbol.asyncDispose]()
    // On a disk that fails nothing gets better by waiting for it.
    await (end.code === EXIT.done ? ended : Promise.race([ended, outside.clock.sleep(LAST_MS)]))
    return end.code
  },
})

/** Tells other programs where the daemon listens, for as long as it does. */
function writeAddress(dir: string, url: string): Disposable {
  mkdirSync(dir, { recursive: true })
  const path = join(dir, 'forumd.address')
  // Named when it is whole: who waits for the file reads all of it.
  writeFileSync(`${path}.new`, `${url}\n`)
  renameSync(`${path}.new`, path)
  return {
    [Symbol.dispose]() {
      try {
        rmSync(path, { force: true })
      } catch {
        // On a disk that has failed it stays until the next start; why we end is what our exit code has to say.
      }
    },
  }
}
