import { appendFileSync, readFileSync } from 'node:fs'

import { parseConfig } from '../../config/load.ts'
import { apiKeyOf, requestsPerMinute } from '../../config/schema.ts'
import type { Fault } from '../../core/base/result.ts'
import { daysUntil, endWarning } from '../../core/limits/ends-at.ts'
import { command, CommandRefusal, EXIT, JSON_OPTION, UsageError } from '../command.ts'
import { configWithSources, readConfig, withInstance, withPlatformTools } from '../configuration.ts'
import { table } from '../output.ts'
import type { PlatformTools } from './platform-tools.ts'

function endText(ends_at: string | null, now: number): string | null {
  if (ends_at === null || endWarning(ends_at, now) === null) return ends_at
  const days = daysUntil(ends_at, now)
  return `${ends_at}, ${days < 0 ? 'over' : days === 0 ? 'today' : `in ${days} days`}`
}

const NONE = 'There is no further source: add one with forumd source add NAME KIND [ADDRESS].'

export const sourceList = command({
  name: 'source list',
  summary: 'lists the configured sources',
  options: { json: JSON_OPTION },
  examples: ['forumd source list', 'forumd source list --json | jq .sources'],
  async run({ values, ...context }) {
    const config = await configWithSources(context)
    const sources = config.source.map((it) => ({
      name: it.name,
      from: it.is_added ? 'dashboard' : 'file',
      kind: it.kind,
      address: it.base_url || null,
      requests_per_minute: requestsPerMinute(it),
      api_key: apiKeyOf(it) !== '',
      ends_at: it.ends_at || null,
    }))
    const { clock } = await context.factories.createRuntime(config.log, context.stdout)
    const rows = sources.map((it) => ({ ...it, ends_at: endText(it.ends_at, clock.now()) }))
    context.stdout.write(values.json ? `${JSON.stringify({ sources })}\n` : table(rows, NONE))
    return EXIT.done
  },
})

export const sourceAdd = command({
  name: 'source add',
  summary: 'adds a source to the configuration file',
  operands: ['NAME', 'KIND', '[ADDRESS]'],
  options: {},
  examples: [
    'forumd source add hn hackernews',
    'forumd source add meta discourse https://meta.example.org',
  ],
  notes:
    'Appends a [[source]] table to the file, which is checked before. The daemon reads it with the next start. forumd source test NAME requests the source once.',
  async run({ operands: [name = '', kind = '', address], ...context }) {
    const { file, text } = readConfig(context)
    const lines = [
      '[[source]]',
      `name = ${JSON.stringify(name)}`,
      `kind = ${JSON.stringify(kind)}`,
      ...(address === undefined ? [] : [`base_url = ${JSON.stringify(address)}`]),
    ]
    const added = `${text === '' || text.endsWith('\n') ? '' : '\n'}\n${lines.join('\n')}\n`
    // Problems of the new table are reported with their lines in the extended file.
    parseConfig(text + added, {
      file,
      env: context.env,
      readFile: (path) => readFileSync(path, 'utf8'),
      credentials_dir: context.env['CREDENTIALS_DIRECTORY'] ?? null,
    })
    try {
      // Appended: a full disk cannot take what the file already has.
      appendFileSync(file, added)
    } catch (error) {
      throw new CommandRefusal(
        `${file} cannot be written (${error instanceof Error ? error.message : String(error)}): add the table by hand:\n${lines.join('\n')}`,
      )
    }
    context.stdout.write(`${name} is added to ${file}: restart the daemon\n`)
    return EXIT.done
  },
})

export const sourceRemove = command({
  name: 'source remove',
  summary: 'removes a source that was added in the dashboard',
  operands: ['NAME'],
  options: {},
  examples: ['forumd source remove cats'],
  notes:
    'The daemon leaves it out with its next start; its monitors then rest. A source of the configuration file is removed there.',
  async run({ operands: [name = ''], ...context }) {
    const { removeStoredSource } = await import('../../store/accounts/sources.ts')
    const is_removed = await withInstance(context, ({ db }) => removeStoredSource(db, name))
    if (!is_removed) {
      const { config, file } = readConfig(context)
      throw new CommandRefusal(
        config.source.some((it) => it.name === name)
          ? `${name} is a table of ${file}: remove its [[source]] table there`
          : `there is no source "${name}": see forumd source list`,
      )
    }
    context.stdout.write(`${name} is removed: restart the daemon\n`)
    return EXIT.done
  },
})

export const sourceTest = command({
  name: 'source test',
  summary: 'requests each source once',
  operands: ['[NAME]'],
  options: { json: JSON_OPTION },
  examples: ['forumd source test', 'forumd source test hn'],
  notes: 'Exit code 0 when each of them answered.',
  async run(call) {
    const { values, operands, ...context } = call
    const [name] = operands
    const all = await configWithSources(call)
    if (name !== undefined && !all.source.some((it) => it.name === name))
      throw new UsageError(`there is no source "${name}": see forumd source list`)
    const ask = (tools: PlatformTools) => tools.trySources(name ?? null)
    const tested = await withPlatformTools(call, ask, { for_accounts: false, all })
    const sources = tested.map(({ name: of, kind, capabilities, answer }) => ({
      name: of,
      kind,
      verdict: answer.ok ? 'works' : 'fails',
      title: answer.ok ? answer.value.title : null,
      version: answer.ok ? answer.value.version : null,
      error: answer.ok ? null : faultSentence(answer.fault),
      notes: answer.ok ? answer.value.notes.join('; ') || null : null,
      capabilities,
    }))
    context.stdout.write(
      values.json
        ? `${JSON.stringify({ sources })}\n`
        : table(
            sources.map(({ capabilities, ...row }) => ({ ...row, reads: capabilities.length })),
            NONE,
          ),
    )
    return tested.every(({ answer }) => answer.ok) ? EXIT.done : EXIT.failed
  },
})

/** Sentences for the faults of a test; every other fault is reported by its name. */
const SENTENCES: Readonly<Partial<Record<Fault['kind'], string>>> = {
  blocked: 'it shows a block page or a page in place of its API',
  login_required: 'it answers signed-in readers only: set api_key',
  not_found: 'there is no such site at this address',
  timeout: 'it does not answer in time',
  unreadable: 'its answer is not the one of this kind of site',
}

export function faultSentence(fault: Fault): string {
  if (fault.kind === 'forbidden' && fault.reason === 'robots')
    return 'its robots.txt forbids the request, which was not sent'
  if (fault.kind === 'throttled')
    return `it limits the rate of this address for ${fault.retry_after_s} s`
  if (fault.kind === 'unavailable')
    return fault.status === null ? 'it cannot be reached' : `it answers ${fault.status}`
  return SENTENCES[fault.kind] ?? fault.kind
}
