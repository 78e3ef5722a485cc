// Goal: the quick start of README ends with an alert. Method: its lines, in a new folder and a new
// home, with free ports; `bun run newcomer` does the same on a clean Debian, after a build.
import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'

import { newcomerOf } from '../../scripts/docs/blocks.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/port.ts'
import { readText, root } from './documentation.ts'

const readme = readText('README.md')

/** The text with every port replaced by a free one, and a shorter interval of polls than a minute. */
async function adapted(text: string): Promise<string> {
  const serve = 'forumd serve >forumd.log &'
  if (!text.includes(serve)) throw new Error(`README does not type ${serve}`)
  let out = text.replace(
    serve,
    () => `printf '[plans.entry]\\ncadence_s = 2\\n' >>forumd.toml\n${serve}`,
  )
  for (const port of ['8080', '8090', '9000']) out = out.replaceAll(port, String(freePort()))
  return out
}

/** Ends remaining processes of a shell; there are none if it reached its last line. */
function endGroup(pid: number) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

test.skipIf(['curl'].some((it) => Bun.which(it) === null) && !process.env['CI'])(
  'the lines of README, typed one after the other, end with an alert',
  async () => {
    using folder = tempFolder()
    mkdirSync(folder.file('dist'))
    const program = process.env['FORUMD_BINARY'] ?? `${process.execPath} ${root}/src/main.ts`
    writeFileSync(folder.file('dist/forumd'), `#!/bin/sh\nexec ${program} "$@"\n`)
    chmodSync(folder.file('dist/forumd'), 0o755)

    const child = Bun.spawn(['bash', '-ec', await adapted(newcomerOf(readme).walk)], {
      cwd: folder.path,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder.path },
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
      timeout: 60_000,
    })
    const output = new Response(child.stdout).text()
    const trouble = new Response(child.stderr).text()
    const code = await child.exited
    endGroup(child.pid)

    expect({ code, trouble: await trouble }).toMatchObject({ code: 0 })
    expect(await output).toContain('"posts":[{')
    expect(await output).toMatch(/^"title":"A quiet grinder for under 100 €\?"$/m)
  },
  120_000,
)

test('the lines before them build it', () => {
  expect(newcomerOf(readme).install).toContain('bun run build')
})
