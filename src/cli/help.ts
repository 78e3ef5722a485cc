import type { Command, Option } from './command.ts'
import { EXIT } from './command.ts'

/** Options that every command takes. */
export const COMMON = {
  config: {
    type: 'string',
    value: 'FILE',
    help: 'the configuration; without it ./forumd.toml, then /etc/forumd/forumd.toml',
  },
  help: { type: 'boolean', help: 'show this' },
} as const satisfies Record<string, Option>

/** All commands, a line each. */
export function overview(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }): [string, string] => [name, summary])
  return [
    'forumd reads, acts on and watches a forum platform through your own accounts.',
    '',
    'Usage: forumd COMMAND [options]',
    '',
    ...columns(rows),
    '',
    'Every command takes --config FILE. `forumd help COMMAND` shows its options and examples.',
    `Exit codes: ${EXIT.done} done, ${EXIT.failed} failed, ${EXIT.usage} bad usage or configuration, ` +
      `${EXIT.restart} start me again,`,
    `${EXIT.broken} the database is missing or damaged, do not start me again.`,
    '',
    'Begin with `forumd demo`.',
    '',
  ].join('\n')
}

/** One command: what it does, how it is called, its options, its examples. */
export function describe(it: Command): string {
  const options = Object.entries({ ...it.options, ...COMMON }).map(
    ([name, option]): [string, string] => [spell(name, option), option.help],
  )
  return [
    `${it.summary[0]?.toUpperCase()}${it.summary.slice(1)}.`,
    '',
    `Usage: ${usageOf(it)}`,
    '',
    ...columns(options),
    ...(it.notes === undefined ? [] : ['', it.notes]),
    '',
    'Examples:',
    ...it.examples.map((example) => `  ${example}`),
    '',
  ].join('\n')
}

/** How a command is called, in one line. */
export function usageOf({ name, operands = [], options }: Command): string {
  const given = Object.entries<Option>(options).map(([option, it]) =>
    it.required ? spell(option, it) : `[${spell(option, it)}]`,
  )
  return ['forumd', name, ...operands, ...given].join(' ')
}

const spell = (name: string, { value }: Option) => `--${name}${value ? ` ${value}` : ''}`

function columns(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
