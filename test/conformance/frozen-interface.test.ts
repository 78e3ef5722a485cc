import { expect, test } from 'bun:test'
/**
 * Everything of the program that is visible from outside, compared with the files in `frozen/`: a
 * restructuring must leave them byte for byte as they are, and an intended change shows up as a diff.
 * FORUMD_UPDATE_GOLDEN=1 writes them again.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { METRICS } from '../../src/api/metrics/catalogue.ts'
import { EXIT } from '../../src/cli/command.ts'
import { COMMANDS, run } from '../../src/cli/run.ts'
import { parseConfig } from '../../src/config/load.ts'
import { createOpenApiDocument } from '../../src/daemon.ts'
import { toolsOf } from '../../src/mcp/tools.ts'
import { LOG_FIELDS } from '../../src/runtime/log.ts'
import { surroundings } from '../unit/cli/environment.ts'

const root = join(import.meta.dir, '../..')
const frozen = join(import.meta.dir, 'frozen')
const digest = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)

const DEFAULT_WORDS = ''
const REDDIT_WORDS = '[wire]\nplatform = "reddit"\ncommunity = "subreddit"\n'

const documentWith = (wire: string) =>
  createOpenApiDocument(
    parseConfig(
      `[platform]\nbase_url = "https://www.forum.example"\nsession_cookie = "s"\n${wire}`,
    ),
  )

/** One line per operation and per schema, so that a difference names its place. */
async function openApiLines(wire: string): Promise<string[]> {
  const { paths, components, ...rest } = (await documentWith(wire)) as {
    paths: Record<string, Record<string, unknown>>
    components: Record<string, Record<string, unknown>>
  }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, it]) => `${method.toUpperCase()} ${path} ${digest(it)}`),
  )
  const parts = Object.entries(components).flatMap(([kind, named]) =>
    Object.entries(named).map(([name, it]) => `${kind} ${name} ${digest(it)}`),
  )
  return [...operations, ...parts, `document ${digest([rest, Object.keys(paths)])}`]
}

const CALL = /\blog\(\s*([^,]+?),\s*(?:'([a-z_]+\.[a-z_]+)'|`([^`]+)`)/g
const LEVEL = /'(debug|info|warn|error)'/g

async function eventLines(): Promise<string[]> {
  const events = new Map<string, Set<string>>()
  for await (const file of new Bun.Glob('src/**/*.ts').scan(root))
    for (const [, level = '', name, template = ''] of (
      await Bun.file(join(root, file)).text()
    ).matchAll(CALL)) {
      const event = name ?? template.replace('${name}', 'LOOP')
      const levels = events.get(event) ?? new Set()
      for (const [, each = ''] of level.matchAll(LEVEL)) levels.add(each)
      events.set(event, levels)
    }
  return [
    ...[...events].map(([event, levels]) => `${event} ${[...levels].toSorted().join(',')}`),
    ...[...LOG_FIELDS].map((field) => `field ${field}`),
  ].toSorted()
}

async function configLines(): Promise<string[]> {
  const example = await Bun.file(join(root, 'config.example.toml')).text()
  return example.split('\n').filter((line) => /^#? ?(\[|[a-z_]+ *=)/.test(line))
}

async function helpLines(): Promise<string[]> {
  const pages: string[] = []
  for (const words of ['', ...COMMANDS.keys()]) {
    const { around: environment, said: output } = surroundings()
    await run(['help', ...words.split(' ').filter(Boolean)], environment)
    pages.push(`$ forumd help ${words}`.trimEnd(), ...output.out.split('\n'))
  }
  return pages
}

async function toolLines(): Promise<string[]> {
  const { tools } = toolsOf(await documentWith(DEFAULT_WORDS))
  return tools.map(
    ({ name, inputSchema, outputSchema }) => `${name} ${digest([inputSchema, outputSchema])}`,
  )
}

test.each([
  ['openapi.txt', () => openApiLines(DEFAULT_WORDS)],
  ['openapi-reddit.txt', () => openApiLines(REDDIT_WORDS)],
  ['events.txt', eventLines],
  [
    'metrics.txt',
    () => Object.entries(METRICS).map(([name, it]) => `${name} ${JSON.stringify(it)}`),
  ],
  ['config.txt', configLines],
  ['exit-codes.txt', () => Object.entries(EXIT).map(([name, code]) => `${name} ${code}`)],
  ['help.txt', helpLines],
  ['mcp-tools.txt', toolLines],
] as const)('%s is unchanged', async (name, lines) => {
  const golden = Bun.file(join(frozen, name))
  const found = `${(await lines()).join('\n')}\n`
  if (process.env['FORUMD_UPDATE_GOLDEN'] === '1') {
    mkdirSync(frozen, { recursive: true })
    await Bun.write(golden, found)
  }

  expect(found).toBe(await golden.text())
})
