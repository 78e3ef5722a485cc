import { ConfigError, parseConfig } from '../../src/config/load.ts'
/**
 * Generates docs/config.md: keys, defaults and descriptions from config.example.toml (a test compares it with
 * the schema), and the allowed values from the messages of `check-config`.
 */

type Key = { name: string; initial: string; description: string }
type Table = { name: string; description: string; keys: Key[] }

/** A value that is invalid for every key. */
const NOTHING = '1979-05-27'

const HEAD = `# Configuration

The configuration is one TOML file: \`--config FILE\`, else \`./forumd.toml\`, else \`/etc/forumd/forumd.toml\`. One
source is required; everything else can be omitted. \`forumd check-config\` reports
every problem at once, with line, column and the allowed values. An unknown key is a problem too; the nearest known one is suggested.

\`\`\`toml config
[[source]]
name = "forum"
kind = "reddit"
base_url = "https://www.forum.example"
session_cookie = "session"
\`\`\`

\`\`\`toml config
[[source]]
name = "hn"
kind = "hackernews"
\`\`\`

- Any text may be \`"env:NAME"\`, the value of an environment variable, or \`"file:/path"\`, the content of a file. A \`file:\` name
  without a slash is looked up in \`$CREDENTIALS_DIRECTORY\`, where systemd puts credentials. Keys that name a file or a folder
  take \`"file:name"\` as the path of that file.
- Names that end in \`_s\` are seconds, in \`_h\` hours. Paths such as \`dir\` are relative to the folder in which forumd is started.
- SIGHUP (\`systemctl reload forumd\`) applies \`log.level\`, \`log.access\`, \`[limits]\` (except its caches and \`tree_fetches\`), \`[plans]\` and
  \`[billing]\` (except \`enabled\`). The log names every other changed key: these need a restart.

\`bun scripts/docs/docs.ts\` writes the tables below from [config.example.toml](../config.example.toml) and the schema.
`

/** The whole page. */
export function configPage(example: string): string {
  const required = new Set(['source[0].name', 'source[0].kind'])
  return [HEAD, ...tablesOf(example).map((it) => section(it, required))].join('\n')
}

/** The tables of the example with the comment above each key, in order. */
export function tablesOf(example: string): Table[] {
  const tables: Table[] = []
  let above: string[] = []
  const takeComment = () => above.splice(0).join(' ').replace(/:$/, '.')
  for (const line of example.split('\n')) {
    const [, comment] = /^# ?(.*)$/.exec(line) ?? []
    const [, table] = /^\[(.+)\]$/.exec(line) ?? []
    const [, name, initial] = /^(\w+) = (.+)$/.exec(line) ?? []
    if (comment !== undefined) above.push(comment)
    else if (table !== undefined) tables.push({ name: table, description: takeComment(), keys: [] })
    else if (name !== undefined && initial !== undefined)
      tables.at(-1)?.keys.push({ name, initial, description: takeComment() })
    // The head of the file belongs to no table.
    else above = []
  }
  return tables
}

function section(table: Table, required: ReadonlySet<string>): string {
  const { name, description, keys } = table
  const kind = kindOf(table)
  const rows = keys.map((key) => {
    const path = `${prefixOf(name)}.${key.name}`
    const initial = required.has(path) ? 'none: required' : `\`${key.initial}\``
    return [`\`${key.name}\``, initial, key.description, allowed(table, key.name)]
  })
  const heading = `## \`[${name}]\`${kind === undefined ? '' : `, kind ${kind}`}\n`
  return [
    heading,
    ...(description === '' ? [] : [`${description}\n`]),
    drawn(['key', 'default', 'description', 'allowed'], rows),
  ].join('\n')
}

/** Kind of the source that a table of the example describes. */
const kindOf = ({ keys }: Table): string | undefined =>
  keys.find((it) => it.name === 'kind')?.initial

/** Path of a table in error messages; `[source]`, one of several, becomes `source[0]`. */
const prefixOf = (table: string): string =>
  table.replace(/^\[(.+)\]$/, '$1[0]').replace(/^source\./, 'source[0].')

/** Allowed values of a key, from its error message. */
function allowed(table: Table, key: string): string {
  const path = `${prefixOf(table.name)}.${key}`
  // The kind of a source decides which keys are known.
  const above =
    table.name === 'source.accounts'
      ? '[[source]]\nkind = "reddit"\n[source.accounts]'
      : `[${table.name}]${key === 'kind' || kindOf(table) === undefined ? '' : `\nkind = ${kindOf(table)}`}`
  const found = problemsOf(`${above}\n${key} = ${NOTHING}\n`).find((it) => it.key === path)
  if (!found) throw new Error(`${path} takes a date`)
  return found.allowed.replace(/^(allowed|needed): /, '')
}

function problemsOf(text: string) {
  try {
    parseConfig(text)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

/** A table in the layout of `bun fmt`. */
function drawn(head: string[], rows: string[][]): string {
  const all = [head, ...rows].map((row) =>
    row.map((it) => it.replaceAll('|', '\\|').replaceAll('<', '&lt;')),
  )
  const widths = head.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)))
  const line = (row: string[]) =>
    `| ${row.map((it, at) => it.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [first = [], ...rest] = all
  const rule = widths.map((width) => '-'.repeat(width))
  return [line(first), line(rule), ...rest.map(line), ''].join('\n')
}
