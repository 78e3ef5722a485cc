import { version } from '../../package.json'
import { command, EXIT } from './command.ts'

export const showVersion = command({
  name: 'version',
  summary: 'shows which forumd this is',
  options: {},
  examples: ['forumd version'],
  run({ stdout }) {
    stdout.write(`forumd ${version} (bun ${Bun.version}, ${process.platform} ${process.arch})\n`)
    return Promise.resolve(EXIT.done)
  },
})
