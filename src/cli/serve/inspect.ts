import { ConfigError, parseConfig } from '../../config/load.ts'
import { command, type CommandContext, CommandRefusal, EXIT, JSON_OPTION } from '../command.ts'
import { localDaemon, NoConfiguration, readConfig } from '../configuration.ts'
import { checkSetup } from '../setup-checks.ts'

export const checkConfig = command({
  name: 'check-config',
  summary: 'prints every problem of the configuration',
  options: { json: JSON_OPTION },
  examples: ['forumd check-config', 'forumd check-config --config /etc/forumd/forumd.toml'],
  notes:
    'Prints each problem as a line: file:line:column: key: found value; allowed values. Exit code 2 on any problem. Problems include the placeholder address of the example as platform, and a [storage].dir that this user cannot write to: run it as the user of the daemon.',
  run({ values, ...context }) {
    const { stdout, warn } = context
    const print = (answer: object) => stdout.write(`${JSON.stringify(answer)}\n`)
    try {
      const { file, text, config, warnings } = readConfig(context)
      checkSetup(config, { file, text })
      if (values.json) print({ file, valid: true, problems: [], warnings })
      else {
        for (const warning of warnings) warn(`${file}: warning: ${warning}`)
        stdout.write(`${file} is valid\n`)
      }
      return Promise.resolve(EXIT.done)
    } catch (error) {
      if (!values.json || !(error instanceof ConfigError)) throw error
      const { file, problems } = error
      print({ file, valid: false, problems, warnings: [] })
      return Promise.resolve(EXIT.usage)
    }
  },
})

export const configExample = command({
  name: 'config example',
  summary: 'prints every key of the configuration with its default',
  options: {},
  examples: ['forumd config example', 'forumd config example > forumd.toml'],
  notes:
    'Each value is the default, except for the address and the cookie of a platform, which have none. forumd init writes a configuration that works at once.',
  async run({ stdout }) {
    const { default: text } = await import('../../../config.example.toml', {
      with: { type: 'text' },
    })
    stdout.write(text)
    return EXIT.done
  },
})

const HEALTH_TIMEOUT_MS = 5000

export const healthCommand = command({
  name: 'health',
  summary: 'asks the daemon of this machine whether it serves',
  options: {},
  examples: ['forumd health', 'forumd health --config /etc/forumd/forumd.toml'],
  notes:
    'Requests /health/ready once, for the health check of a container or a script. Prints the answer. Exit code 0: it serves; 1: it does not, or none runs.',
  async run(context) {
    const { config, url } = localDaemon(context)
    const runtime = await context.factories.createRuntime(config.log, context.stdout)
    try {
      const response = await runtime.fetch(`${url}/health/ready`, {
        signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
      })
      const text = await response.text()
      context.stdout.write(`${text.trim()}\n`)
      return response.ok ? EXIT.done : EXIT.failed
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new CommandRefusal(`the daemon at ${url} does not answer: ${reason}`)
    }
  },
})

// A source has no default, and the document depends on its name alone.
const ANY_PLATFORM =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://www.forum.example"\nsession_cookie = "session"\n'

export const openapi = command({
  name: 'openapi',
  summary: 'prints the OpenAPI document of the API',
  options: {},
  examples: ['forumd openapi > openapi.json'],
  notes:
    'The document depends on [wire], [features] and [server].public_url. Without a configuration it has the defaults.',
  async run(context) {
    const document = await context.factories.openApiDocument(configOr(ANY_PLATFORM, context))
    context.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    return EXIT.done
  },
})

function configOr(text: string, context: CommandContext) {
  try {
    return readConfig(context).config
  } catch (error) {
    if (error instanceof NoConfiguration) return parseConfig(text)
    throw error
  }
}
