import { readFileSync } from 'node:fs'

import * as z from 'zod'

import { command, type CommandContext, EXIT, UsageError } from '../command.ts'
import { localDaemon } from '../configuration.ts'

const KEY = /^[\x21-\x7e]{16,256}$/
const REQUEST_TIMEOUT_MS = 10_000

export const mcpCommand = command({
  name: 'mcp',
  summary: 'serves the API of a daemon as MCP tools over stdio',
  options: {
    url: {
      type: 'string',
      value: 'URL',
      help: 'address of the daemon (default: from the configuration of this machine)',
    },
    'key-file': {
      type: 'string',
      value: 'FILE',
      help: 'file with the API key (default: the environment variable FORUMD_KEY)',
    },
    'session-file': {
      type: 'string',
      value: 'FILE',
      help: 'file with the cookies of your own account as JSON, for reads that need a session',
    },
  },
  examples: [
    'FORUMD_KEY=fk_... forumd mcp',
    'forumd mcp --url https://forumd.example --key-file ~/.config/forumd.key',
  ],
  notes:
    'An MCP client starts this command; docs/mcp.md shows its setup. Reads are billed to the key, and writes are drafts that a person approves. The session is sent to the daemon only and is not visible to the model.',
  async run({ values, ...context }) {
    const key = keyOf(values['key-file'], context)
    const session = sessionOf(values['session-file'])
    const url = values.url === undefined ? localDaemon(context).url : parseUrl(values.url)
    await context.factories.serveMcp({
      url,
      key,
      session,
      within_ms: REQUEST_TIMEOUT_MS,
      warn: context.warn,
      stopped: context.stopped(),
    })
    return EXIT.done
  },
})

function read(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new UsageError(`--${option}: ${path} cannot be read`)
  }
}

function keyOf(file: string | undefined, { env }: CommandContext): string {
  const key = (file === undefined ? (env['FORUMD_KEY'] ?? '') : read('key-file', file)).trim()
  if (key === '' && file === undefined)
    throw new UsageError(
      'an API key is needed: set FORUMD_KEY, or name its file with --key-file FILE',
    )
  // The message does not repeat it.
  if (!KEY.test(key))
    throw new UsageError(
      `${file ?? 'FORUMD_KEY'} holds no key: allowed are 16 to 256 visible ASCII characters on one line`,
    )
  return key
}

function sessionOf(file: string | undefined): Record<string, string> {
  if (file === undefined) return {}
  const sentence = `--session-file: ${file} must hold a JSON object of cookies, such as {"forum_session": "…", "loid": "…"}`
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(read('session-file', file)))
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(sentence)
  }
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (url && ['http:', 'https:'].includes(url.protocol) && url.username === '')
    return url.href.replace(/\/$/, '')
  throw new UsageError('--url must be an address such as http://127.0.0.1:8080')
}
