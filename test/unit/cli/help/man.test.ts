import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { command } from '../../../../src/cli/command.ts'
import { manPage } from '../../../../src/cli/help/man.ts'
import { allCommands, loadAll } from '../../../../src/cli/run.ts'
import { tempFolder } from '../../../support/folder.ts'

const commands = await allCommands()

const page = async () => manPage(await loadAll(), '1.2.3')

/** Output of a program for the page, on both streams. */
async function runTool(program: readonly string[]): Promise<string> {
  using folder = tempFolder()
  writeFileSync(folder.file('forumd.1'), await page())
  const { stdout, stderr } = Bun.spawnSync([...program, folder.file('forumd.1')], {
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8', MANWIDTH: '100', MANROFFSEQ: '' },
  })
  return stdout.toString() + stderr.toString()
}

test('the manual has a section for every command, with its options and examples', async () => {
  const text = (await page()).replace(/\\-/g, '-').replaceAll(' \\e\n ', '')

  for (const name of commands.keys()) expect(text).toContain(`\n.SS ${name}\n`)
  for (const { options, examples } of await loadAll()) {
    for (const option of Object.keys(options)) expect(text).toContain(`\n.B --${option}`)
    for (const example of examples) expect(text).toContain(`\n${example.replace(/\\/g, '\\e')}\n`)
  }
})

test('text that looks like a roff request is escaped', () => {
  const it = command({
    name: 'x',
    summary: 'does \\fB nothing',
    options: {},
    examples: ['.SH evil', "'br"],
    notes: '.so /etc/passwd',
    run: () => Promise.resolve(0),
  })

  const lines = manPage([it], '1').split('\n')

  expect(lines).toContain('\\&.SH evil')
  expect(lines).toContain("\\&'br")
  expect(lines).toContain('\\&.so /etc/passwd')
  expect(lines).toContain('Does \\efB nothing.')
})

test('no line of text is parsed as a roff request', async () => {
  const requests = new Set(
    (await page()).split('\n').flatMap((line) => /^\.(\S+)/.exec(line)?.[1] ?? []),
  )

  expect([...requests].toSorted()).toEqual([
    'B',
    'BR',
    'I',
    'PP',
    'RE',
    'RS',
    'SH',
    'SS',
    'TH',
    'TP',
    '\\"',
    'fi',
    'nf',
  ])
})

test.skipIf(Bun.which('mandoc') === null)('mandoc reports no problem', async () => {
  const output = await runTool(['mandoc', '-T', 'lint', '-W', 'style'])

  // The page has a version: the day on which it was printed would say nothing.
  expect(output.replace(/^.*: missing date, using "": TH\n/, '')).toBe('')
})

test.skipIf(Bun.which('groff') === null)('no line of it is wider than 80 columns', async () => {
  const lines = (await runTool(['groff', '-man', '-Tutf8', '-P-cbou', '-rLL=78n'])).split('\n')

  expect(lines.filter((line) => line.length > 80)).toEqual([])
})

test.skipIf(Bun.which('groff') === null)('groff reports no warning', async () => {
  expect(await runTool(['groff', '-man', '-Tutf8', '-ww', '-z'])).toBe('')
})
