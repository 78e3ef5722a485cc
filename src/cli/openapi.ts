import { parseConfig } from '../config.ts'
import { command, EXIT, UsageError } from './command.ts'
import { readConfig } from './config-file.ts'

// The document does not depend on the platform's address, which alone has no default.
const ANY_PLATFORM =
  '[platform]\nbase_url = "https://www.forum.example"\nsession_cookie = "session"\n'

export const openapi = command({
  name: 'openapi',
  summary: 'prints the OpenAPI document of the interface',
  options: {},
  examples: ['forumd openapi > openapi.json'],
  notes:
    'The words of [wire], the switches of [features] and [server].public_url show in it. Without any configuration it is that of the defaults.',
  async run({ values, env, stdout, parts }) {
    const document = await parts.openApiDocument(configOr(ANY_PLATFORM, values.config, env))
    stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    return EXIT.done
  },
})

function configOr(
  text: string,
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
) {
  try {
    return readConfig(named, { env }).config
  } catch (error) {
    if (named === undefined && error instanceof UsageError) return parseConfig(text)
    throw error
  }
}
