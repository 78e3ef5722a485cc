import { nearest } from '../core/nearest.ts'
import type { Command, Surroundings } from './command.ts'
import { EXIT, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'
import { explain } from './failures.ts'
import { describe, overview } from './help.ts'
import { parse } from './parse.ts'

/** Runs the program with `argv` and answers its exit code. Errors are told in a sentence or two, never thrown. */
export async function run(argv: readonly string[], around: Surroundings): Promise<number> {
  try {
    const [first = '', ...rest] = argv
    if (first === '') {
      around.warn((await helpOf([])).trimEnd())
      return EXIT.usage
    }
    if (['help', '--help', '-h'].includes(first)) return await showHelp(rest, around)
    if (['--version', '-v'].includes(first)) return await run(['version'], around)
    if (first.startsWith('-'))
      throw new UsageError(`options stand after the command: forumd COMMAND ${first}`)
    if (rest.length === 1 && isGroup(first) && ['--help', '-h'].includes(rest[0] ?? ''))
      return await showHelp([first], around)
    const { command, args } = await find(argv)
    const { values, operands } = parse(command, args)
    if (values['help'] === true) return await showHelp(command.name.split(' '), around)
    return await command.run({ ...around, values, operands })
  } catch (error) {
    const { code, message } = explain(error)
    // What begins with a place in a file stays so: editors jump there.
    const isPlaced = error instanceof Error && error.name === 'ConfigError'
    around.warn(isPlaced ? message : `forumd: ${message}`)
    return code
  }
}

/** Whether it takes a second word to name a command: `key`. */
const isGroup = (word: string) =>
  !COMMANDS.has(word) && [...COMMANDS.keys()].some((name) => name.startsWith(`${word} `))

async function showHelp(words: readonly string[], { stdout }: Surroundings): Promise<number> {
  stdout.write(await helpOf(words))
  return EXIT.done
}

async function helpOf(words: readonly string[]): Promise<string> {
  const prefix = words.join(' ')
  const isOne = COMMANDS.has(words.slice(0, 2).join(' ')) || COMMANDS.has(words[0] ?? '')
  if (isOne) return describe((await find(words)).command)
  const inside = [...COMMANDS].filter(([name]) => prefix === '' || name.startsWith(`${prefix} `))
  if (inside.length === 0) await find(words)
  const shown = await Promise.all(inside.map(([, load]) => load()))
  return overview(shown, { whole: prefix === '' })
}

/** The command that the first one or two words name. */
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
