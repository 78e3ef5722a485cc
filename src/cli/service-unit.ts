import { basename, isAbsolute } from 'node:path'

import { serviceUnit } from '../systemd/unit.ts'
import { command, EXIT, UsageError } from './command.ts'

const BINARY = '/usr/bin/forumd'
const CONFIG = '/etc/forumd/forumd.toml'

export const showServiceUnit = command({
  name: 'service-unit',
  summary: 'prints a systemd unit that lets the daemon do no more than it has to',
  options: {
    'with-browser': {
      type: 'boolean',
      help: 'with room for Chromium, for logins and comments by browser',
    },
    binary: {
      type: 'string',
      value: 'PATH',
      help: 'where the program lies; this very one unless told',
    },
  },
  examples: [
    'forumd service-unit | sudo tee /etc/systemd/system/forumd.service',
    'forumd service-unit --with-browser --config /etc/forumd/forumd.toml',
  ],
  notes: `The unit runs as user forumd (useradd --system forumd), keeps its data in /var/lib/forumd, which [storage].dir has to name, and reads ${CONFIG} unless --config names another. systemd restarts it when it ends with 75 or by a fault, not with 2 or 78.`,
  run({ values, stdout }) {
    stdout.write(
      serviceUnit({
        binary: absolute('binary', values.binary ?? ownBinary()),
        config: absolute('config', values.config ?? CONFIG),
        with_browser: values['with-browser'],
      }),
    )
    return Promise.resolve(EXIT.done)
  },
})

/** This program, unless it runs from its source. */
const ownBinary = (): string =>
  basename(process.execPath).startsWith('bun') ? BINARY : process.execPath

function absolute(option: string, path: string): string {
  // A line of a unit ends with the line.
  if (isAbsolute(path) && !/[\n\r\0]/.test(path)) return path
  throw new UsageError(`--${option} is "${path}": a unit needs a path that begins with /`)
}
