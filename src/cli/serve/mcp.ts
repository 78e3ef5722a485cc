import * as z from 'zod'

import { command, EXIT, UsageError } from '../command.ts'
import { localDaemon } from '../configuration.ts'
import { daemonUrl, keyFrom, readOption } from '../inputs.ts'

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
    toolsets: {
      type: 'string',
      value: 'LIST',
      help: 'comma-separated groups of tools, such as search,monitoring, or all (default: those of most tasks)',
    },
  },
  examples: [
    'FORUMD_KEY=fk_... forumd mcp',
    'forumd mcp --url https://forumd.example --key-file ~/.config/forumd.key',
  ],
  notes:
    'An MCP client starts this command; docs/mcp.md shows its setup. Reads are billed to the key, and writes are drafts that a person approves. The session is sent to the daemon only and is not visible to the model.',
  async run({ values, ...context }) {
    const key = keyFrom(values['key-file'], context)
    const session = sessionOf(values['session-file'])
    const url = values.url === undefined ? localDaemon(context).url : daemonUrl(values.url)
    await context.factories.serveMcp({
      url,
      key,
      session,
      toolsets: values.toolsets ?? null,
      within_ms: REQUEST_TIMEOUT_MS,
      warn: context.warn,
      stopped: context.stopped(),
    })
    return EXIT.done
  },
})

function sessionOf(file: string | undefined): Record<string, string> {
  if (file === undefined) return {}
  const sentence = `--session-file: ${file} must hold a JSON object of cookies, such as {"forum_session": "…", "loid": "…"}`
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(readOption('session-file', file)))
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(sentence)
  }
}
