import { Argument, Command as Program, Help, InvalidArgumentError, Option as Flag } from 'commander'

import { type Command, EXIT, type Option } from '../command.ts'

export const COMMON = {
  config: {
    type: 'string',
    value: 'FILE',
    help: 'the configuration (default: ./forumd.toml, then /etc/forumd/forumd.toml)',
  },
  help: { type: 'boolean', help: 'print this help' },
} as const satisfies Record<string, Option>

/** Sections by task, with the first words of their commands. */
const SECTIONS: readonly (readonly [string, readonly string[]])[] = [
  [
    'Start:',
    ['init', 'demo', 'serve', 'check-config', 'config', 'doctor', 'health', 'service-unit'],
  ],
  ['Customers and keys:', ['customer', 'key', 'credit']],
  ['Accounts, proxies and sources:', ['account', 'proxy', 'source']],
  [
    'Operation:',
    [
      'deliveries',
      'feedback',
      'draft',
      'archive',
      'replica',
      'failover',
      'purge',
      'backup',
      'restore',
      'export',
      'apply',
    ],
  ],
]
const sectionOf = (first: string): string =>
  SECTIONS.find(([, words]) => words.includes(first))?.[0] ?? 'Other tools:'

/** Width in columns, which every terminal has. */
const WIDTH = 80

const FIRST_STEPS = `
First steps:
  forumd demo     shows everything at work, without a configuration
  forumd init     writes a configuration: five questions
  forumd serve    runs it, and prints a link that signs a browser in
`

export const wrap = (text: string, width: number): string[] =>
  new Help().boxWrap(text, width).split('\n')

/** An example with line continuations before options. */
export const exampleLines = (example: string, width: number): string[] =>
  example
    .split(/ (?=[->|])/)
    .reduce<string[]>((lines, part) => {
      const last = lines.at(-1)
      return last !== undefined && last.length + 1 + part.length <= width - 2
        ? [...lines.slice(0, -1), `${last} ${part}`]
        : [...lines, part]
    }, [])
    .map((line, at, { length }) => `${at === 0 ? '' : '  '}${line}${at < length - 1 ? ' \\' : ''}`)

const outro = (): string =>
  wrap(
    `
Every command takes --config FILE. \`forumd help COMMAND\` shows its options and examples.
Exit codes: ${EXIT.done} done, ${EXIT.failed} failed, ${EXIT.usage} bad usage or configuration, ${EXIT.restart} restart, ${EXIT.broken} the database is missing or damaged, do not restart.`,
    WIDTH,
  ).join('\n')

type Around = {
  argv: readonly string[]
  act: (it: Command, program: Program) => Promise<void>
  write: (text: string) => void
  warn: (text: string) => void
}

export function programOf(
  commands: readonly Command[],
  { argv, act, write, warn }: Around,
): Program {
  const program = new Program('forumd')
    .description('forumd reads, acts on and watches a forum platform through your own accounts.')
    .helpOption('-h, --help', COMMON.help.help)
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: warn, outputError: () => {} })
    .configureOutput({ getOutHelpWidth: () => WIDTH, getErrHelpWidth: () => WIDTH })
    .configureHelp({
      minWidthToWrap: 20,
      subcommandTerm: pathOf,
      formatHelp(it, helper) {
        // Set here only: suggestions are made from the same list, and need the names of groups.
        helper.visibleCommands = leavesOf
        return Help.prototype.formatHelp.call(helper, it, helper)
      },
    })
    .addHelpText('after', () => `${outro()}\n${FIRST_STEPS}`)
  for (const it of commands) {
    const [first = '', second] = it.name.split(' ')
    const parent =
      second === undefined
        ? program
        : (program.commands.find((one) => one.name() === first) ??
          program.command(first).helpGroup(sectionOf(first)).addHelpText('after', outro))
    const leaf = parent.command(second ?? first).helpGroup(sectionOf(first))
    define(leaf, it, argv).action(() => act(it, leaf))
  }
  return program
}

const leavesOf = (program: Program): Program[] =>
  program.commands.flatMap((it) => (it.commands.length > 0 ? leavesOf(it) : [it]))

const pathOf = (program: Program): string =>
  program.parent?.parent ? `${program.parent.name()} ${program.name()}` : program.name()

function define(program: Program, it: Command, argv: readonly string[]): Program {
  program
    .summary(it.summary)
    .description(`${it.summary[0]?.toUpperCase()}${it.summary.slice(1)}.`)
    .addHelpText('after', () => afterOf(it))
  for (const operand of it.operands ?? [])
    program.addArgument(new Argument(operand.startsWith('[') ? operand : `<${operand}>`))
  for (const [name, option] of Object.entries<Option>({ ...it.options, config: COMMON.config }))
    program.addOption(flagOf(name, option, argv))
  return program
}

const spell = (name: string, { value }: Option) => `--${name}${value ? ` <${value}>` : ''}`

function flagOf(name: string, option: Option, argv: readonly string[]): Flag {
  const flag = new Flag(
    spell(name, option),
    `${option.help}${option.required ? ' (required)' : ''}`,
  )
  if (option.type === 'boolean') return flag
  return flag.makeOptionMandatory(option.required ?? false).argParser((value) => {
    // commander takes a following option for the value.
    if (/^--?\w/.test(value) && argv.includes(value))
      throw new InvalidArgumentError('it needs a value')
    return value
  })
}

/** Values by option name; commander names the value of `--per-second` differently. */
export const valuesOf = (program: Program): Record<string, string | boolean | undefined> =>
  Object.fromEntries(
    program.options.map((flag) => {
      const value: string | boolean | undefined = program.getOptionValue(flag.attributeName())
      return [flag.name(), flag.isBoolean() ? value === true : value]
    }),
  )

const afterOf = ({ notes, examples }: Command): string =>
  [
    ...(notes === undefined ? [] : ['', ...wrap(notes, WIDTH)]),
    '',
    'Examples:',
    ...examples.flatMap((it) => exampleLines(it, WIDTH - 2)).map((line) => `  ${line}`),
  ].join('\n')

export const usageOf = ({ name, operands = [] }: Command): string =>
  ['forumd', name, '[options]', ...operands].join(' ')
