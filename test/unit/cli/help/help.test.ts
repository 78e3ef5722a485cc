import { expect, test } from 'bun:test'

import { allCommands, loadAll, run } from '../../../../src/cli/run.ts'
import { REMOVED } from '../../../../src/core/base/removed.ts'
import { surroundings } from '../environment.ts'

const commands = await allCommands()

async function forumd(...args: string[]) {
  const { around: environment, said: output } = surroundings()
  return { code: await run(args, environment), ...output }
}

test('the overview names every command', async () => {
  const { code, out } = await forumd('help')

  expect(code).toBe(0)
  for (const name of commands.keys()) expect(out).toContain(`\n  ${name} `)
})

test('the overview of a group names its commands and no others', async () => {
  const { out } = await forumd('help', 'key')

  expect(out).toContain('key create')
  expect(out).not.toContain('customer create')
})

test.each([...commands.keys()])(
  'help of %s shows how it is called, its options and an example',
  async (name) => {
    const { code, out } = await forumd('help', ...name.split(' '))

    expect(code).toBe(0)
    expect(out).toStartWith(`Usage: forumd ${name} [options]`)
    expect(out).toContain('\n  --config <FILE> ')
    const examples_text = out.slice(out.indexOf('\nExamples:\n')).replaceAll(' \\\n   ', '')
    const examples = examples_text.split('\n').slice(2, -1)
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) expect(example).toContain(`forumd ${name}`)
  },
)

test.each([[['key', 'create', '--help']], [['key', 'create', '--customer', 'x', '-h']]])(
  '%j shows help and does nothing',
  async (args) => {
    const { code, out } = await forumd(...args)

    expect(code).toBe(0)
    expect(out).toContain('Usage: forumd key create')
  },
)

test.each(['--help', '-h'])('key %s shows the commands of the group', async (option) => {
  expect(await forumd('key', option)).toEqual(await forumd('help', 'key'))
})

test.each([[['--config', 'x.toml', 'serve']], [['--custmer']]])(
  'an option before the command is refused with its correct position: %j',
  async (args) => {
    const { code, err } = await forumd(...args)

    expect(code).toBe(2)
    expect(err).toBe(`forumd: options must follow the command: forumd COMMAND ${args[0]}\n`)
  },
)

test('the overview has few groups, and one line for each command', async () => {
  const { out } = await forumd('help')
  const list = out.slice(out.indexOf('\nStart:\n'), out.indexOf('\nEvery command'))
  const lines = list.split('\n').filter((line) => line !== '')

  expect(lines.filter((line) => line.endsWith(':')).length).toBeLessThanOrEqual(5)
  expect(
    lines.filter((line) => !line.endsWith(':')).map((line) => line.trim().split(/ {2,}/)[0] ?? ''),
  ).toEqual([...commands.keys()])
})

test('no line of help is longer than a terminal is wide', async () => {
  const texts = [await forumd('help'), await forumd('help', 'key')]
  for (const name of commands.keys()) texts.push(await forumd('help', ...name.split(' ')))
  const lines = texts.flatMap(({ out }) => out.split('\n'))
  expect(lines.filter((line) => line.length > 80)).toEqual([])
})

test('help shows each option with its value, and the required ones as such', async () => {
  for (const { name, options } of await loadAll()) {
    const words = (await forumd('help', ...name.split(' '))).out.replaceAll(/\s+/g, ' ')
    for (const [option, { value, help, required }] of Object.entries(options))
      expect(words).toContain(
        ` --${option}${value ? ` <${value}>` : ''} ${help}${required ? ' (required)' : ''} `,
      )
  }
})

test.each([
  [['help', 'kye'], "unknown command 'kye' (did you mean key?)"],
  [['kye', '--help'], "unknown command 'kye' (did you mean key?)"],
  [['help', 'key', 'crate'], "unknown command 'crate' (did you mean create?)"],
  [['key', 'crate', '-h'], "unknown command 'crate' (did you mean create?)"],
  [['help', 'help'], "unknown command 'help' (did you mean health?)"],
])('%j is not answered with the help of something else', async (args, sentence) => {
  expect(await forumd(...args)).toEqual({
    code: 2,
    out: '',
    err: `forumd: ${sentence}: see forumd help\n`,
  })
})

test.each(Object.entries(REMOVED.commands))(
  'the removed command %s is bad usage, and the message says what replaces it',
  async (name, sentence) => {
    const words = name.split(' ')
    for (const args of [words, [...words, 'x', '--y'], ['help', ...words], [...words, '--help']])
      expect(await forumd(...args)).toEqual({ code: 2, out: '', err: `forumd: ${sentence}\n` })
  },
)

test('a group without a command is answered with its commands, and the exit code of bad usage', async () => {
  const { code, out, err } = await forumd('key')

  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain('\n  key create ')
})

test('an unknown option is reported without its value, which may be a secret', async () => {
  const { code, err } = await forumd('account', 'add', 'x', "--password=it's\nhunter2")

  expect(code).toBe(2)
  expect(err).toBe("forumd: unknown option '--password': see forumd help account add\n")
})

test.each([[['--customer', '--json']], [['--customer', '--jsn']], [['--customer', '-h']]])(
  '%j is refused: an option is no value of another',
  async (args) => {
    const { code, err } = await forumd('key', 'create', ...args)

    expect(code).toBe(2)
    expect(err).toContain("option '--customer <CUSTOMER>' argument")
  },
)

test('an example that is too long for a line continues after a backslash', async () => {
  const { out } = await forumd('help', 'key', 'create')

  expect(out).toContain('--scopes read,monitor \\\n    --expires-at 2027-01-31\n')
})

test('each command is registered under its own name', async () => {
  for (const [name, load] of commands) expect((await load()).name).toBe(name)
})

test('every command that lists or tests something supports --json', async () => {
  const listing =
    /(^| )(list|show|test|doctor|check-config|backup|restore|redrive|apply|export|purge)$/
  for (const { name, options } of await Promise.all([...commands.values()].map((load) => load())))
    if (listing.test(name)) expect([name, options['json']?.type]).toEqual([name, 'boolean'])
})

test('only the general overview contains the first steps', async () => {
  expect((await forumd('help')).out).toContain('\n  forumd init ')
  expect((await forumd('help', 'key')).out).not.toContain('check-config')
})
