import { appendFileSync, readFileSync } from 'node:fs'

import { parseConfig } from '../../config/load.ts'
import { apiKeyOf, requestsPerMinute } from '../../config/schema.ts'
import { describe } from '../../core/base/fault-texts.ts'
import { daysUntil, endWarning } from '../../core/limits/ends-at.ts'
import {
  command,
  type CommandContext,
  CommandRefusal,
  EXIT,
  JSON_OPTION,
  UsageError,
} from '../command.ts'
import { configWithSources, readConfig, withPlatformTools } from '../configuration.ts'
import { requestAction } from '../operator.ts'
import { table } from '../output.ts'
import type { PlatformTools } from './platform-tools.ts'

function endText(ends_at: string | null, now: number): string | null {
  if (ends_at === null || endWarning(ends_at, now) === null) return ends_at
  const days = daysUntil(ends_at, now)
  return `${ends_at}, ${days < 0 ? 'over' : days === 0 ? 'today' : `in ${days} days`}`
}

const NONE = 'There is no further source: add one with forumd source add ADDRESS.'

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

/** Appends a table of a source to the configuration file, which is checked before. */
function appendSource(context: CommandContext, lines: readonly string[]): string {
  const { file, text } = readConfig(context)
  const table_text = ['[[source]]', ...lines].join('\n')
  const added = `${text === '' || text.endsWith('\n') ? '' : '\n'}\n${table_text}\n`
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
      `${file} cannot be written (${error instanceof Error ? error.message : String(error)}): add the table by hand:\n${table_text}`,
    )
  }
  return file
}

const quoted = (key: string, value: string): string => `${key} = ${JSON.stringify(value)}`

/** A name that no source has. */
function freeName(name: string, taken: readonly string[]): string {
  let free = name
  for (let count = 2; taken.includes(free); count++) free = `${name}-${count}`
  return free
}

export const sourceAdd = command({
  name: 'source add',
  summary: 'adds a source to the configuration file',
  operands: ['NAME|ADDRESS', '[KIND]', '[ADDRESS]'],
  options: {},
  examples: [
    'forumd source add https://meta.example.org/c/support',
    'forumd source add hn hackernews',
    'forumd source add meta discourse https://meta.example.org',
  ],
  notes:
    'Of an address alone, it asks the site, with at most six requests, what is there: Discourse, Lemmy, PieFed, Hacker News, a Reddit-style platform, a feed, or a page with feeds. Appends a [[source]] table to the file, which is checked before. The daemon reads it with the next start. forumd source test NAME requests the source once.',
  async run(call) {
    const { operands, ...context } = call
    const [name = '', kind, address] = operands
    if (kind !== undefined) {
      const base_url = address === undefined ? [] : [quoted('base_url', address)]
      const file = appendSource(context, [quoted('name', name), quoted('kind', kind), ...base_url])
      context.stdout.write(`${name} is added to ${file}: restart the daemon\n`)
      return EXIT.done
    }
    const all = await configWithSources(call)
    const tools = { for_accounts: false, all }
    const { found, why, asked } = await withPlatformTools(call, (it) => it.discover(name), tools)
    for (const it of asked) context.stdout.write(`requested ${it}\n`)
    if (found === null) throw new CommandRefusal(why)
    const free = freeName(
      found.name,
      all.source.map((it) => it.name),
    )
    const is_feed = found.kind === 'feed'
    const feeds = `feeds = [{ name = ${JSON.stringify(free)}, url = ${JSON.stringify(found.base_url)} }]`
    const where = is_feed
      ? [feeds]
      : found.base_url === ''
        ? []
        : [quoted('base_url', found.base_url)]
    const file = appendSource(context, [quoted('name', free), quoted('kind', found.kind), ...where])
    context.stdout.write(`${why}\n${free} is added to ${file}: restart the daemon\n`)
    return EXIT.done
  },
})

export const sourceImport = command({
  name: 'source import',
  summary: 'adds a source of the feeds of an OPML file',
  operands: ['FILE', '[NAME]'],
  options: {},
  examples: ['forumd source import feeds.opml', 'forumd source import feeds.opml reading'],
  notes: 'Nothing is requested. Repeated addresses are dropped, and folders become comments.',
  async run({ operands: [path = '', name = 'feeds'], ...context }) {
    const { readOpml } = await import('../../platforms/feed/opml.ts')
    const { feeds, rejected } = readOpml(readFileSync(path, 'utf8'))
    for (const it of rejected) context.stdout.write(`left out: ${it}\n`)
    if (feeds.length === 0) throw new CommandRefusal(`${path} has no feed: export it as OPML`)
    const rows = feeds.map(({ name: of, url, folder }) => {
      const row = `  { ${quoted('name', of)}, ${quoted('url', url)} },`
      return folder === '' ? row : `${row} # ${folder.replace(/\p{Cc}/gu, ' ')}`
    })
    const file = appendSource(context, [
      quoted('name', name),
      'kind = "feed"',
      'feeds = [',
      ...rows,
      ']',
    ])
    context.stdout.write(
      `${feeds.length} feeds are added to ${file} as ${name}: restart the daemon\n`,
    )
    return EXIT.done
  },
})

export const sourceExport = command({
  name: 'source export',
  summary: 'writes the feeds of a source as OPML',
  operands: ['NAME'],
  options: { json: JSON_OPTION },
  examples: ['forumd source export boards > feeds.opml'],
  notes: 'Feeds whose address may hold a secret are left out; a comment has their number.',
  async run(call) {
    const { withoutSecrets, writeOpml } = await import('../../platforms/feed/opml.ts')
    const [name = ''] = call.operands
    const found = (await configWithSources(call)).source.find((it) => it.name === name)
    if (found?.kind !== 'feed')
      throw new UsageError(`there is no source of feeds "${name}": see forumd source list`)
    const feeds = withoutSecrets(found.feeds)
    call.stdout.write(call.values.json ? `${JSON.stringify(feeds)}\n` : writeOpml(name, feeds))
    return EXIT.done
  },
})

export const sourceRemove = command({
  name: 'source remove',
  summary: 'removes a source that was added in the dashboard',
  operands: ['NAME'],
  options: { json: JSON_OPTION },
  examples: ['forumd source remove cats'],
  notes:
    'It ends at once; its monitors then rest. A source of the configuration file is removed there.',
  async run({ values, operands: [name = ''], ...context }) {
    const answer = await requestAction(context, { route: 'POST /sources/:name/remove' }, { name })
    context.stdout.write(values.json ? `${JSON.stringify(answer)}\n` : `${name} is removed\n`)
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
      error: answer.ok ? null : describe(answer.fault).text,
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
