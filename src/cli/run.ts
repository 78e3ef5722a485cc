import { type Command as Program, CommanderError } from 'commander'

import { removedText } from '../core/base/removed.ts'
import { type Command, EXIT, type ProcessContext, UsageError } from './command.ts'
import { explainError } from './failures.ts'
import { programOf, valuesOf } from './help/help.ts'

/** Every command by its name, in the order of the overview. Loaded on use: `version` should not wait for SQLite. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['init', async () => (await import('./init/init.ts')).init],
  ['demo', async () => (await import('./demo/sandbox.ts')).demoCommand],
  ['serve', async () => (await import('./serve/serve.ts')).serveCommand],
  ['check-config', async () => (await import('./serve/inspect.ts')).checkConfig],
  ['config example', async () => (await import('./serve/inspect.ts')).configExample],
  ['doctor', async () => (await import('./doctor/doctor.ts')).doctor],
  ['health', async () => (await import('./serve/inspect.ts')).healthCommand],
  ['service-unit', async () => (await import('./serve/systemd.ts')).serviceUnitCommand],
  ['account add', async () => (await import('./account/add.ts')).accountAdd],
  ['account test', async () => (await import('./account/test.ts')).accountTest],
  ['account login', async () => (await import('./account/add.ts')).accountLogin],
  ['account remove', async () => (await import('./account/account.ts')).accountRemove],
  ['source list', async () => (await import('./account/source.ts')).sourceList],
  ['source add', async () => (await import('./account/source.ts')).sourceAdd],
  ['source import', async () => (await import('./account/source.ts')).sourceImport],
  ['source export', async () => (await import('./account/source.ts')).sourceExport],
  ['source remove', async () => (await import('./account/source.ts')).sourceRemove],
  ['source test', async () => (await import('./account/source.ts')).sourceTest],
  ['archive export', async () => (await import('./admin/archive.ts')).archiveExport],
  ['purge', async () => (await import('./admin/purge.ts')).purgeContent],
  ['backup', async () => (await import('./admin/backup.ts')).backup],
  ['restore', async () => (await import('./admin/backup.ts')).restore],
  ['export', async () => (await import('./apply/apply.ts')).exportDocument],
  ['apply', async () => (await import('./apply/apply.ts')).apply],
  ['sandbox', async () => (await import('./demo/sandbox.ts')).sandboxCommand],
  ['completion', async () => (await import('./help/completion.ts')).completion],
  ['man', async () => (await import('./help/man.ts')).man],
  ['mcp', async () => (await import('./serve/mcp.ts')).mcpCommand],
  ['openapi', async () => (await import('./serve/inspect.ts')).openapi],
  ['version', async () => (await import('./help/man.ts')).versionCommand],
])

type Commands = typeof COMMANDS

/** The commands of the table and the operator actions, each action in its group. */
export async function allCommands(): Promise<Commands> {
  const { operatorCommands } = await import('./operator.ts')
  const all = [...COMMANDS, ...(await operatorCommands())]
  const groups = [...GROUPS, ...all.map(([name]) => groupOf(name))]
  return new Map(
    all.toSorted(([a], [b]) => groups.indexOf(groupOf(a)) - groups.indexOf(groupOf(b))),
  )
}

const groupOf = (name: string) => name.split(' ')[0] ?? ''
const GROUPS = [...new Set([...COMMANDS.keys()].map(groupOf))].flatMap((group) => {
  if (group === 'account') return ['customer', 'credit', 'key', group, 'proxy']
  return group === 'archive' ? ['deliveries', 'feedback', 'draft', group] : [group]
})

/** All of them, in the order of the overview. */
export const loadAll = async (): Promise<Command[]> =>
  Promise.all([...(await allCommands()).values()].map((load) => load()))

/** Runs the program with `argv` and returns its exit code. Errors are printed in a sentence or two, never thrown. */
export async function run(argv: readonly string[], context: ProcessContext): Promise<number> {
  let code: number = EXIT.done
  const act = async (it: Command, program: Program) => {
    const values = valuesOf(program)
    const configuration = {
      named: typeof values['config'] === 'string' ? values['config'] : undefined,
      caller: process.getuid?.() ?? 0,
    }
    const operands = program.args
    code = await it.run({ ...context, configuration, values, operands, listCommands: loadAll })
  }
  // The actions of operators load the store: `version` should not wait for it.
  const known = nameOf(argv, COMMANDS) === undefined ? await allCommands() : COMMANDS
  try {
    const words = wordsOf(argv, known)
    const program = programOf(await commandsFor(words, known), {
      argv: words,
      act,
      write: context.stdout.write,
      warn: (text) => context.warn(text.trimEnd()),
    })
    await program.parseAsync(words, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) {
      // Requested help exits with 0, help in place of a missing command with bad usage.
      if (error.code.startsWith('commander.help')) return error.exitCode && EXIT.usage
      context.warn(`forumd: ${sentenceOf(error, argv, known)}`)
      return EXIT.usage
    }
    const { code: failed, message } = explainError(error)
    // A message that begins with a position in a file stays first on its line: editors jump there.
    const hasPosition = error instanceof Error && error.name === 'ConfigError'
    context.warn(hasPosition ? message : `forumd: ${message}`)
    return failed
  }
}

const nameOf = (words: readonly string[], known: Commands) =>
  [words.slice(0, 2).join(' '), words[0] ?? ''].find((name) => known.has(name))

/** Arguments with `help COMMAND` as `COMMAND --help`, and `--version` as the command. */
function wordsOf(argv: readonly string[], known: Commands): string[] {
  const [first = '', ...rest] = argv
  if (['--version', '-v'].includes(first)) return ['version']
  const wantsHelp = ['help', '--help', '-h'].includes(first)
  if (first.startsWith('-') && !wantsHelp)
    throw new UsageError(`options must follow the command: forumd COMMAND ${first}`)
  const words = wantsHelp ? [...rest, '--help'] : [...argv]
  const named = words.filter((it) => !['--help', '-h'].includes(it))
  const command = nameOf(words, known) ?? ''
  const [removed = null] = [
    named.slice(0, 2).join(' '),
    named[0] ?? '',
    ...named.map((word) => `${command} ${word.split('=')[0]}`),
  ].flatMap((name) => removedText('commands', name) ?? [])
  if (removed !== null) throw new UsageError(removed)
  // With --help, commander would answer a misspelled command with the help of its parent.
  return nameOf(words, known) !== undefined || (named.length < 2 && isGroup(known, named[0]))
    ? words
    : named
}

const isGroup = (known: Commands, word = '') =>
  [...known.keys()].some((it) => it.startsWith(word && `${word} `))

/** The named command alone, since loading all of them takes time; all of them for an overview. */
async function commandsFor(words: readonly string[], known: Commands): Promise<Command[]> {
  const load = known.get(nameOf(words, known) ?? '')
  return load === undefined ? loadAll() : [await load()]
}

/** One line; commander repeats the value of an unknown option, which may be a secret. */
const sentenceOf = (
  { message }: CommanderError,
  argv: readonly string[],
  known: Commands,
): string =>
  `${message
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^=]*)=.*'/s, "$1'")
    .replace('\n(Did', ' (did')
    .replace(/\.$/, '')}: see forumd help ${nameOf(argv, known) ?? ''}`.trimEnd()
