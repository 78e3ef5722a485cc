// Goal: the executable loads only documented files from its current folder. Method: the executable
// itself, in a folder with every file that Bun would load by itself.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'

import { compile } from '../../scripts/build/compile.ts'
import { tempFolder } from '../support/folder.ts'

setDefaultTimeout(120_000)

const folder = tempFolder()
// `bun run test` has built it.
const built = process.env['FORUMD_BINARY']
const program = built ?? folder.file('forumd')
beforeAll(async () => {
  if (built === undefined) await compile(program)
})
afterAll(() => folder[Symbol.dispose]())

const KEY = 'fk_from_a_file_that_nobody_named'

test('no .env, bunfig.toml, package.json, tsconfig.json or module of the current folder is loaded', () => {
  using trap = tempFolder()
  writeFileSync(trap.file('loaded.js'), 'console.error("LOADED")')
  writeFileSync(trap.file('bunfig.toml'), 'preload = ["./loaded.js"]\n')
  writeFileSync(trap.file('.bunfig.toml'), 'preload = ["./loaded.js"]\n')
  for (const name of ['.env', '.env.local', '.env.production', '.env.development'])
    writeFileSync(trap.file(name), `FORUMD_KEY=${KEY}\nBUN_OPTIONS=--preload=./loaded.js\n`)
  writeFileSync(trap.file('package.json'), '{"imports":{"elysia":"./loaded.js"}}')
  writeFileSync(
    trap.file('tsconfig.json'),
    '{"compilerOptions":{"paths":{"elysia":["./loaded.js"],"zod":["./loaded.js"]}}}',
  )
  for (const name of ['commander', 'elysia', 'zod', 'smol-toml']) {
    mkdirSync(trap.file(`node_modules/${name}`), { recursive: true })
    writeFileSync(trap.file(`node_modules/${name}/index.js`), 'console.error("LOADED")')
  }
  const forumd = (...args: string[]) => {
    const { stdout, stderr } = Bun.spawnSync([program, ...args], {
      cwd: trap.path,
      env: { PATH: process.env['PATH'] ?? '', HOME: trap.path, XDG_CONFIG_HOME: trap.path },
    })
    return stdout.toString() + stderr.toString()
  }

  // With a key it would report that the address does not answer.
  expect(forumd('mcp', '--url', 'http://127.0.0.1:1')).toStartWith('forumd: an API key is needed')
  expect(forumd('version') + forumd('check-config') + forumd('openapi')).not.toContain('LOADED')
})
