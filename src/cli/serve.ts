import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../package.json'
import { command, EXIT } from './command.ts'
import { readConfig } from './config-file.ts'

/** How long a daemon that cannot go on may take to end. */
const LAST_MS = 500

export const serve = command({
  name: 'serve',
  summary: 'runs the daemon until it is told to stop',
  options: {},
  examples: ['forumd serve', 'forumd serve --config /etc/forumd/forumd.toml'],
  notes:
    'SIGTERM and Ctrl-C finish what is under way; a second one, or 15 seconds, end it at once. The address is printed and written to <storage.dir>/forumd.address.',
  async run({ values, env, stdout, stopped, parts }) {
    // Signals first, so that one which comes while we start is not lost.
    const stop = stopped()
    const { config, warnings } = readConfig(values.config, { env })
    const outside = await parts.createOutside(config.log, stdout)
    const { log } = outside
    log('info', 'serve.starting', { version, pid: process.pid, dir: config.storage.dir })
    for (const warning of warnings) log('warn', 'config.warning', { warning })

    const daemon = await parts.startDaemon(config, outside)
    using _address = writeAddress(config.storage.dir, daemon.url)
    if (stdout.isTerminal) stdout.write(`forumd listens on ${daemon.url}\n`)
    log('info', 'serve.listening', { url: daemon.url })

    const never = new Promise<string>(() => {})
    const end = await Promise.race([
      stop.then((signal) => ({ code: EXIT.done, signal })),
      (daemon.failed ?? never).then((reason) => ({ code: EXIT.restart, reason })),
    ])
    log(end.code === EXIT.done ? 'info' : 'error', 'serve.stopping', end)
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
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) }
}
