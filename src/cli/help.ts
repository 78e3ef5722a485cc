import type { Command, Option } from './command.ts'
import { EXIT } from './command.ts'
import { wrap } from './wrap.ts'

/** Options that every command takes. */
export const COMMON = {
  config: {
    type: 'string',
    value: 'FILE',
    help: 'the configuration; without it ./forumd.toml, then /etc/forumd/forumd.toml',
  },
  help: { type: 'boolean', help: 'show this' },
} as const satisfies Record<string, Option>

/** By what somebody wants to do, with the first words of the commands for it; the last takes what is left. */
const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ['Run it', ['demo', 'serve', 'check-config', 'doctor', 'service-unit']],
  ['Say who may use it', ['customer', 'key', 'credit']],
  ['Give it accounts of yours on the platform', ['account', 'proxy']],
  ['Look after what it does', ['deliveries', 'feedback', 'approve', 'export', 'apply', 'purge']],
  ['Keep what it has', ['backup', 'restore']],
  ['Use it from elsewhere', []],
]
const NAMED = GROUPS.flatMap(([, words]) => words)

const belongsTo =
  (words: readonly string[]) =>
  ({ name }: Command): boolean => {
    const [first = ''] = name.split(' ')
    return words.length === 0 ? !NAMED.includes(first) : words.includes(first)
  }

function group(title: string, commands: readonly Command[], width: number): string[] {
  if (commands.length === 0) return []
  const rows = commands.map(({ name, summary }): [string, string] => [name, summary])
  return [`${title}:`, ...columns(rows, width), '']
}

const FIRST_STEPS = [
  'Begin with `forumd demo`.',
  'With a configuration (config.example.toml shows every key):',
  '  forumd check-config',
  '  forumd key create --customer me',
  '  forumd serve',
]

/** Commands, a line each; `whole`: all of them, for whoever is new here. */
export function overview(commands: readonly Command[], { whole }: { whole: boolean }): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'forumd reads, acts on and watches a forum platform through your own accounts.',
    '',
    'Usage: forumd COMMAND [options]',
    '',
    ...GROUPS.flatMap(([title, words]) => group(title, commands.filter(belongsTo(words)), width)),
    ...wrap(
      'Every command takes --config FILE. `forumd help COMMAND` shows its options and examples.',
      WIDTH,
    ),
    ...wrap(
      `Exit codes: ${EXIT.done} done, ${EXIT.failed} failed, ${EXIT.usage} bad usage or configuration, ` +
        `${EXIT.restart} start me again, ${EXIT.broken} the database is missing or damaged, do not start me again.`,
      WIDTH,
    ),
    '',
    ...(whole ? [...FIRST_STEPS, ''] : []),
  ].join('\n')
}

/** As wide as lines are easy to read; a terminal of any use has as much. */
const WIDTH = 80

/** One command: what it does, how it is called, its options, its examples. */
export function describe(it: Command): string {
  const options = Object.entries({ ...it.options, ...COMMON }).map(
    ([name, option]): [string, string] => [spell(name, option), option.help],
  )
  return [
    `${it.summary[0]?.toUpperCase()}${it.summary.slice(1)}.`,
    '',
    ...headOf(it),
    '',
    ...columns(options),
    ...(it.notes === undefined ? [] : ['', ...wrap(it.notes, WIDTH)]),
    '',
    'Examples:',
    ...it.examples
      .flatMap((example) => exampleLines(example, WIDTH - 2))
      .map((line) => `  ${line}`),
    '',
  ].join('\n')
}

/** How a command is called, in one line. */
export const usageOf = (it: Command): string => usageParts(it).join(' ')

/** The command itself, and then each thing that may stand after it. */
function usageParts({ name, operands = [], options }: Command): string[] {
  const given = Object.entries<Option>(options).map(([option, it]) =>
    it.required ? spell(option, it) : `[${spell(option, it)}]`,
  )
  return [['forumd', name, ...operands].join(' '), ...given]
}

/** The same in lines, none of which parts an option from its value. */
export const usageLines = (it: Command, width: number): string[] => wrap(usageParts(it), width)

/** An example in lines that a shell takes as one, broken before an option. */
export const exampleLines = (example: string, width: number): string[] =>
  wrap(example.split(/ (?=[->|])/), width - 2).map(
    (line, at, { length }) => `${at === 0 ? '' : '  '}${line}${at < length - 1 ? ' \\' : ''}`,
  )

function headOf(it: Command): string[] {
  const usage = 'Usage: '
  return usageLines(it, WIDTH - usage.length).map(
    (line, at) => (at === 0 ? usage : ' '.repeat(usage.length)) + line,
  )
}

const spell = (name: string, { value }: Option) => `--${name}${value ? ` ${value}` : ''}`

function columns(
  rows: readonly [string, string][],
  width = Math.max(...rows.map(([left]) => left.length)),
): string[] {
  return rows.flatMap(([left, right]) =>
    wrap(right, WIDTH - width - 4).map(
      (line, at) => `  ${(at === 0 ? left : '').padEnd(width)}  ${line}`,
    ),
  )
}
