import { ConfigError } from '../config/toml.ts'
import { command, EXIT, JSON_OPTION } from './command.ts'
import { readConfig } from './config-file.ts'

export const checkConfig = command({
  name: 'check-config',
  summary: 'checks the whole configuration and shows every problem with its place',
  options: { json: JSON_OPTION },
  examples: ['forumd check-config', 'forumd check-config --config /etc/forumd/forumd.toml'],
  notes:
    'A problem is a line: file:line:column: key: what was found; what is allowed. Exit code 2 on any.',
  run({ values, env, stdout, warn }) {
    const tell = (answer: object) => stdout.write(`${JSON.stringify(answer)}\n`)
    try {
      const { file, warnings } = readConfig(values.config, { env })
      if (values.json) tell({ file, valid: true, problems: [], warnings })
      else {
        for (const warning of warnings) warn(`${file}: warning: ${warning}`)
        stdout.write(`${file} is valid\n`)
      }
      return Promise.resolve(EXIT.done)
    } catch (error) {
      if (!values.json || !(error instanceof ConfigError)) throw error
      const { file, problems } = error
      tell({ file, valid: false, problems, warnings: [] })
      return Promise.resolve(EXIT.usage)
    }
  },
})
