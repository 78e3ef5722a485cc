// Each real shell completes with its printed script.
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { allCommands, loadAll, run } from '../../../../src/cli/run.ts'
import { type Folder, tempFolder } from '../../../support/folder.ts'
import { surroundings } from '../environment.ts'

const commands = await allCommands()

// Shells are started, and the machine may be busy.
setDefaultTimeout(30_000)

const scripts = new Map<string, string>()
beforeAll(async () => {
  for (const name of ['bash', 'zsh', 'fish']) {
    const { around: environment, said: output } = surroundings()
    await run(['completion', name], environment)
    scripts.set(name, output.out)
  }
})

/** Completions of a shell for the last of these words, one a line. */
type Complete = (folder: Folder, words: readonly string[]) => string[]

function shell(command: readonly string[], folder: Folder): string[] {
  const { stdout, stderr } = Bun.spawnSync([...command], {
    cwd: folder.path,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder.path, TERM: 'dumb' },
  })
  if (stderr.length > 0) throw new Error(stderr.toString())
  return stdout
    .toString()
    .trim()
    .split('\n')
    .filter((line) => line !== '')
}

const script = (folder: Folder, name: string): string => {
  writeFileSync(folder.file(name), scripts.get(name) ?? '')
  return folder.file(name)
}
const quoted = (words: readonly string[]) => words.map((it) => `'${it}'`).join(' ')

const COMPLETE: Record<string, Complete> = {
  bash: (folder, words) =>
    shell(
      [
        'bash',
        '--norc',
        '-c',
        `source ${script(folder, 'bash')}; COMP_WORDS=(forumd ${quoted(words)}); COMP_CWORD=${words.length}; _forumd; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ],
      folder,
    ),
  zsh: (folder, words) =>
    shell(
      [
        'zsh',
        '-f',
        '-c',
        // Entries that the completion system would show on a terminal.
        `compdef() { : }
         _describe() { local it; for it in \${(P)\${@[-1]}}; do print -r -- \${it%%:*}; done }
         _files() { print -rl -- *(N) }
         _message() { : }
         source ${script(folder, 'zsh')}
         words=(forumd ${quoted(words)}); CURRENT=${words.length + 1}; _forumd`,
      ],
      folder,
    ).filter((it) => it.startsWith(words.at(-1) ?? '')),
  fish: (folder, words) =>
    shell(
      [
        'fish',
        '--no-config',
        '-c',
        `source ${script(folder, 'fish')}; complete -C 'forumd ${words.join(' ')}'`,
      ],
      folder,
    ).map((line) => line.split('\t')[0] ?? ''),
}

describe.each(Object.keys(COMPLETE))('%s', (name) => {
  const there = Bun.which(name) !== null
  if (!there) console.log(`${name} is not here, and its completion is not asked`)
  const offer = (...words: string[]) => {
    using folder = tempFolder()
    writeFileSync(folder.file('monitors.toml'), '')
    // Not one of the files to complete, but needed by the shell.
    return (COMPLETE[name]?.(folder, words) ?? []).filter((it) => it !== name).toSorted()
  }

  test.skipIf(!there)('offers every first word, and help', () => {
    const first = new Set([...commands.keys()].map((it) => it.split(' ')[0] ?? ''))

    expect(offer('')).toEqual([...first, 'help'].toSorted())
  })

  test.skipIf(!there)('offers the words that start with the typed prefix', () => {
    expect(offer('de')).toEqual(['deliveries', 'demo'])
  })

  test.skipIf(!there)('offers the second words of a group', () => {
    expect(offer('key', '')).toEqual(['create', 'import', 'list', 'revoke', 'sign-in-link'])
    expect(offer('key', 'cr')).toEqual(['create'])
  })

  test.skipIf(!there)('offers the options of this very command', async () => {
    for (const { name: command, options } of await loadAll())
      if (command === 'key create' || command === 'apply')
        expect(offer(...command.split(' '), '--')).toEqual(
          [...Object.keys(options), 'config', 'help'].map((it) => `--${it}`).toSorted(),
        )
  })

  test.skipIf(!there)('offers files for a file operand and nothing for free text', () => {
    expect(offer('apply', 'mon')).toEqual(['monitors.toml'])
    expect(offer('serve', '--config', 'mon')).toEqual(['monitors.toml'])
    expect(offer('key', 'create', '--customer', 'mon')).toEqual([])
    expect(offer('key', 'list', 'mon')).toEqual([])
  })
})

test('another shell is refused with those there are', async () => {
  const { around: environment, said: output } = surroundings()

  expect(await run(['completion', 'tcsh'], environment)).toBe(2)
  expect(output.err).toBe(
    'forumd: there is no completion for "tcsh": allowed are bash, zsh, fish\n',
  )
})
