import { parseArgs } from 'node:util'

import { nearest } from '../core/base/text.ts'
import { type Command, EXIT, type Option, type ProcessContext, UsageError } from './command.ts'
import { COMMANDS, loadAll } from './commands.ts'
import { explainError } from './failures.ts'
import { commandOverview, COMMON, describe, usageOf } from './help/help.ts'

/** A parsed command line. */
type Parsed = {
  values: Readonly<Record<string, string | boolean | undefined>>
  operands: string[]
}

/**
 * Parses the arguments after a command's name.
 *
 * @throws {UsageError} They are not allowed; the message states the usage.
 */
function parse(it: Command, args: readonly string[]): Parsed {
  const options: Readonly<Record<string, Option>> = { ...it.options, ...COMMON }
  const { values, positionals } = read(it, args, options)
  if (values['help'] === true) return { values, operands: [] }

  for (const [name, option] of Object.entries(options)) {
    if (option.type === 'boolean') values[name] ??= false
    else if (option.required && values[name] === undefined)
      throw new UsageError(`--${name} ${option.value ?? ''} is needed: ${usageOf(it)}`)
  }
  const operands = it.operands ?? []
  const least = operands.filter((name) => !name.startsWith('[')).length
  if (positionals.length < least)
    throw new UsageError(`${operands[positionals.length]} is needed: ${usageOf(it)}`)
  if (positionals.length > operands.length)
    throw new UsageError(`"${positionals[operands.length]}" is an extra argument: ${usageOf(it)}`)
  return { values, operands: positionals }
}

function read(it: Command, args: readonly string[], options: Readonly<Record<string, Option>>) {
  const types = Object.entries(options).map(([name, { type }]) => [name, { type }] as const)
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    const given: Record<string, string | boolean | undefined> = values
    return { values: given, positionals }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const [, dashes = '', name = ''] = /'(?:-\w, )?(--?)([^'\s=]+)/.exec(error.message) ?? []
    if (name in options) {
      const { type, value = 'VALUE' } = options[name] ?? { type: 'boolean' }
      throw new UsageError(
        type === 'boolean'
          ? `--${name} takes no value: ${usageOf(it)}`
          : `--${name} needs a value after it: --${name} ${value}`,
      )
    }
    const near = nearest(name, Object.keys(options))
    throw new UsageError(
      `${it.name} has no option ${dashes}${name}${near ? `; did you mean --${near}?` : `: ${usageOf(it)}`}`,
    )
  }
}

/** Runs the program with `argv` and returns its exit code. Errors are printed in a sentence or two, never thrown. */
export async function run(argv: readonly string[], context: ProcessContext): Promise<number> {
  try {
    const [first = '', ...rest] = argv
    if (first === '') {
      context.warn((await helpOf([])).trimEnd())
      return EXIT.usage
    }
    if (['help', '--help', '-h'].includes(first)) return await printHelp(rest, context)
    if (['--version', '-v'].includes(first)) return await run(['version'], context)
    if (first.startsWith('-'))
      throw new UsageError(`options must follow the command: forumd COMMAND ${first}`)
    if (rest.length === 1 && isGroup(first) && ['--help', '-h'].includes(rest[0] ?? ''))
      return await printHelp([first], context)
    const { command, args } = await find(argv)
    const { values, operands } = parse(command, args)
    if (values['help'] === true) return await printHelp(command.name.split(' '), context)
    const configuration = {
      named: typeof values['config'] === 'string' ? values['config'] : undefined,
      caller: process.getuid?.() ?? 0,
    }
    return await command.run({ ...context, configuration, values, operands, listCommands: loadAll })
  } catch (error) {
    const { code, message } = explainError(error)
    // A message that begins with a position in a file stays first on its line: editors jump there.
    const hasPosition = error instanceof Error && error.name === 'ConfigError'
    context.warn(hasPosition ? message : `forumd: ${message}`)
    return code
  }
}

/** True for a word that needs a second one to name a command, such as `key`. */
const isGroup = (word: string) =>
  !COMMANDS.has(word) && [...COMMANDS.keys()].some((name) => name.startsWith(`${word} `))

async function printHelp(words: readonly string[], { stdout }: ProcessContext): Promise<number> {
  stdout.write(await helpOf(words))
  return EXIT.done
}

async function helpOf(words: readonly string[]): Promise<string> {
  const prefix = words.join(' ')
  const isOne = COMMANDS.has(words.slice(0, 2).join(' ')) || COMMANDS.has(words[0] ?? '')
  if (isOne) return describe((await find(words)).command)
  const entries = [...COMMANDS].filter(([name]) => prefix === '' || name.startsWith(`${prefix} `))
  if (entries.length === 0) await find(words)
  const commands = await Promise.all(entries.map(([, load]) => load()))
  return commandOverview(commands, { whole: prefix === '' })
}

/** Finds the command named by the first one or two words. */
async function find(
  argv: readonly string[],
): Promise<{ command: Command; args: readonly string[] }> {
  for (const count of [2, 1]) {
    const load = COMMANDS.get(argv.slice(0, count).join(' '))
    if (load) return { command: await load(), args: argv.slice(count) }
  }
  const [first = '', second = ''] = argv
  const names = [...COMMANDS.keys()]
  const verbs = names.flatMap((name) =>
    name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : [],
  )
  if (verbs.length > 0) {
    const given = second === '' || second.startsWith('-') ? '' : `, not "${second}"`
    throw new UsageError(`${first} needs one of ${verbs.join(', ')} after it${given}`)
  }
  const groups = [...new Set(names.map((name) => name.split(' ')[0] ?? name))]
  const near = nearest(first, groups)
  throw new UsageError(
    near === null
      ? `there is no command "${first}": the commands are ${groups.join(', ')}`
      : `there is no command "${first}"; did you mean ${near}?`,
  )
}
