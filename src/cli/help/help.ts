import { type Command, EXIT, type Option } from '../command.ts'

/**
 * Wraps text at `width` characters, between words; a longer word has its own line. The parts of a list are not
 * broken.
 */
export function wrap(text: string | readonly string[], width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of typeof text === 'string' ? text.split(' ') : text) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Options that every command takes. */
export const COMMON = {
  config: {
    type: 'string',
    value: 'FILE',
    help: 'the configuration (default: ./forumd.toml, then /etc/forumd/forumd.toml)',
  },
  help: { type: 'boolean', help: 'print this help' },
} as const satisfies Record<string, Option>

/** Sections by task, with the first words of their commands; the last section has the remaining commands. */
const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ['Run', ['demo', 'serve', 'check-config', 'doctor', 'service-unit']],
  ['Customers and keys', ['customer', 'key', 'credit']],
  ['Accounts and proxies', ['account', 'proxy']],
  ['Operation', ['deliveries', 'feedback', 'approve', 'export', 'apply', 'purge']],
  ['Backup', ['backup', 'restore']],
  ['Other tools', []],
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
  'Start with `forumd demo`.',
  'With a configuration (config.example.toml shows every key):',
  '  forumd check-config',
  '  forumd key create --customer me',
  '  forumd serve',
]

/** Commands, a line each; `whole`: every command with the introduction. */
export function commandOverview(
  commands: readonly Command[],
  { whole }: { whole: boolean },
): string {
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
        `${EXIT.restart} restart, ${EXIT.broken} the database is missing or damaged, do not restart.`,
      WIDTH,
    ),
    '',
    ...(whole ? [...FIRST_STEPS, ''] : []),
  ].join('\n')
}

/** Width in columns, which every terminal has. */
const WIDTH = 80

/** Help of one command: summary, usage, options, notes and examples. */
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

/** Usage of a command, in one line. */
export const usageOf = (it: Command): string => usageParts(it).join(' ')

/** The command, then each option and operand. */
function usageParts({ name, operands = [], options }: Command): string[] {
  const given = Object.entries<Option>(options).map(([option, it]) =>
    it.required ? spell(option, it) : `[${spell(option, it)}]`,
  )
  return [['forumd', name, ...operands].join(' '), ...given]
}

/** Usage in lines, each option with its value on one line. */
export const usageLines = (it: Command, width: number): string[] => wrap(usageParts(it), width)

/** An example with line continuations before options. */
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
