// Goal: a start loads only modules that every start needs; the others are loaded by the first call
// that needs them. Method: the program in its own process, from its source, prints its loaded
// modules at its end.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join, relative } from 'node:path'

import * as z from 'zod'

import { tempFolder } from '../support/folder.ts'
import { LOADED_PROBE } from '../support/loaded-files.ts'

setDefaultTimeout(60_000)
const root = join(import.meta.dir, '../..')
const Loaded = z.object({ files: z.array(z.string()), requested: z.array(z.string()) })

const folder = tempFolder()
let loaded: z.infer<typeof Loaded>
beforeAll(async () => {
  const [config, file] = [folder.file('forumd.toml'), folder.file('loaded.json')]
  await Bun.write(
    config,
    `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
source = [{ name = "forum", kind = "reddit", base_url = "http://127.0.0.1:1", session_cookie = "s" }]
log = { json = true }
`,
  )
  const child = Bun.spawn(
    [process.execPath, '--preload', LOADED_PROBE, 'src/main.ts', 'serve', '--config', config],
    { cwd: root, env: { ...process.env, FORUMD_LOADED: file }, stdout: 'pipe', stderr: 'inherit' },
  )
  expect((await fetch(`${await listening(child.stdout)}/health`)).status).toBe(200)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  loaded = Loaded.parse(await Bun.file(file).json())
})
afterAll(() => folder[Symbol.dispose]())

/** Its address, from its log. */
async function listening(log: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of log) {
    text += decoder.decode(chunk, { stream: true })
    const url = /"event":"serve.listening".*?"url":"([^"]+)"/.exec(text)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`it ended before it listened:\n${text}`)
}

/** Loaded files of the project, by their paths in the repository. */
const ours = () =>
  loaded.files.map((file) => relative(root, file)).filter((file) => /^(src|sandbox)\//.test(file))

test('a start loads only libraries that every daemon needs', () => {
  const libraries = loaded.files.flatMap(
    (file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
  )

  expect([...new Set(libraries)].toSorted()).toEqual([
    '@sinclair/typebox',
    'commander',
    'cookie',
    'croner',
    'elysia',
    'exact-mirror',
    'fast-decode-uri-component',
    'lru-cache',
    'memoirist',
    'smol-toml',
    'zod',
  ])
})

test.each(['src/mcp/', 'sandbox/', 'src/page/', 'src/net/proxy-agents.ts'])(
  'a start does not load %s',
  (place) => {
    expect(ours().filter((file) => file.startsWith(place))).toEqual([])
  },
)

test('a start does not load TLS, nor the list of public certificate authorities', async () => {
  const transpiler = new Bun.Transpiler({ loader: 'ts' })
  const importers: string[] = []
  for (const file of ours().filter((it) => it.endsWith('.ts')))
    for (const { path, kind } of transpiler.scanImports(await Bun.file(join(root, file)).text()))
      if (kind !== 'dynamic-import' && /^(node:)?(tls|https)$/.test(path)) importers.push(file)

  expect(ours()).toContain('src/net/transport.ts')
  expect(importers).toEqual([])
  expect(loaded.requested).toEqual([])
})
