// Terminal output: colours and transient lines. The program runs on a pseudo-terminal created by
// Python.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { tempFolder } from '../support/folder.ts'

setDefaultTimeout(60_000)

const MAIN = join(import.meta.dir, '../../src/main.ts')
const ON_A_TERMINAL = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)'
const ESCAPE = '\u001b['

/** Output of `forumd doctor`, on a terminal or not. */
async function doctor(terminal: boolean, env: Record<string, string> = {}): Promise<string> {
  using folder = tempFolder()
  writeFileSync(
    folder.file('forumd.toml'),
    '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\nretries = 0\n[features]\nlogin = false\ncomment = false\n',
  )
  const under = terminal ? ['/usr/bin/python3', '-c', ON_A_TERMINAL] : []
  const child = Bun.spawn([...under, process.execPath, MAIN, 'doctor'], {
    cwd: folder.path,
    stdin: null,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm', ...env },
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return out + err
}

test('a terminal gets colours, and a progress line that is erased afterwards', async () => {
  const output = await doctor(true)

  expect(output).toContain(`${ESCAPE}32mok  ${ESCAPE}0m`)
  expect(output).toContain(`${ESCAPE}31mfail${ESCAPE}0m`)
  expect(output).toContain(
    `\r${ESCAPE}K[------------------------]   0 %  checking the data folder\r${ESCAPE}K`,
  )
  const left = output
    .split('\n')
    .map((line) => Bun.stripANSI(line.split(`\r${ESCAPE}K`).at(-1) ?? ''))
  expect(left.join('\n')).not.toContain('[#')
})

test.each([
  ['with NO_COLOR set', true, { NO_COLOR: '1' }, false],
  ['with NO_COLOR empty, which is not set', true, { NO_COLOR: '' }, true],
  ['without a terminal', false, {}, false],
])('%s', async (_, terminal, env, coloured) => {
  const output = await doctor(terminal, env)

  expect(output).toContain('source')
  expect(output.includes(`${ESCAPE}33m`)).toBe(coloured)
  // The progress line is no colour: a terminal gets it in any case.
  expect(output.includes(`\r${ESCAPE}K`)).toBe(terminal)
})
