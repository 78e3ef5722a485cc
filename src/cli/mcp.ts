import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { command, EXIT, Refusal, type Surroundings, UsageError } from './command.ts'
import { readConfig } from './config-file.ts'

const KEY = /^[\x21-\x7e]{16,256}$/
const ASK_WITHIN_MS = 10_000

export const mcp = command({
  name: 'mcp',
  summary: 'gives a model the calls of a daemon as tools, over standard input and output',
  options: {
    url: {
      type: 'string',
      value: 'URL',
      help: "where the daemon listens; without it, that of this machine's configuration",
    },
    'key-file': {
      type: 'string',
      value: 'FILE',
      help: 'holds the API key; without it the environment variable FORUMD_KEY does',
    },
    'session-file': {
      type: 'string',
      value: 'FILE',
      help: 'holds the cookies of your own account, as JSON, for reads that need one',
    },
  },
  examples: [
    'FORUMD_KEY=fk_... forumd mcp',
    'forumd mcp --url https://forumd.example --key-file ~/.config/forumd.key',
  ],
  notes:
    'A program that speaks MCP starts this by itself; docs/mcp.md shows how to set it up. Reads are paid for by the key, and writes are drafts that a person approves. The session is sent to the daemon alone, and no model sees it.',
  async run({ values, ...around }) {
    const key = keyOf(values['key-file'], around)
    const session = sessionOf(values['session-file'])
    const url = values.url === undefined ? localUrl(values.config, around) : parseUrl(values.url)
    await around.parts.serveMcp({
      url,
      key,
      session,
      within_ms: ASK_WITHIN_MS,
      warn: around.warn,
      stopped: around.stopped(),
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

function keyOf(file: string | undefined, { env }: Surroundings): string {
  const key = (file === undefined ? (env['FORUMD_KEY'] ?? '') : read('key-file', file)).trim()
  if (key === '' && file === undefined)
    throw new UsageError(
      'an API key is needed: set FORUMD_KEY, or name its file by --key-file FILE',
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

/** Where the daemon of this machine's configuration listens. */
function localUrl(named: string | undefined, { env }: Surroundings): string {
  const { config } = readConfig(named, { env })
  try {
    return readFileSync(join(config.storage.dir, 'forumd.address'), 'utf8').trim()
  } catch {
    throw new Refusal(
      `no daemon runs on ${config.storage.dir}: start it by forumd serve, or name another by --url`,
    )
  }
}
