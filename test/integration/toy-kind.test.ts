// Goal: a kind of source is a folder and one line in the list of kinds. Method: a copy of the program in which that line is
// added, run as it ships, against a board that serves one JSON document.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { tempFolder } from '../support/folder.ts'

setDefaultTimeout(120_000)
const root = join(import.meta.dir, '../..')
const LINE = "export { toy } from '../../test/toy/kind.ts'\n"
const folder = tempFolder()
const tree = folder.file('tree')
const config = folder.file('forumd.toml')
const posts = [{ id: 7, title: 'A first loaf', author: 'ann', place: 'bread', at: Date.now() }]
const board = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json(posts) })
const address = `http://127.0.0.1:${board.port}`

/** One run in the copy. */
async function run(...args: string[]): Promise<{ code: number; out: string }> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: tree,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, FORUMD_BINARY: '' },
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, out: out + err }
}
const forumd = (...args: string[]) => run('src/main.ts', ...args, '--config', config)

let daemon: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
let url = ''
let keys = { customer: '', operator: '' }
beforeAll(async () => {
  for (const part of ['src', 'test/toy', 'test/conformance', 'test/support', 'docs', 'scripts'])
    cpSync(join(root, part), join(tree, part), { recursive: true })
  for (const part of ['node_modules', 'sandbox', 'examples'])
    symlinkSync(join(root, part), join(tree, part))
  for (const part of ['package.json', 'tsconfig.json', 'config.example.toml', 'bunfig.toml'])
    cpSync(join(root, part), join(tree, part))
  appendFileSync(join(tree, 'src/platforms/list.ts'), LINE)
  writeFileSync(
    config,
    `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
billing = { enabled = false }
[plans.entry]
cadence_s = 1
[[source]]
name = "board"
kind = "toy"
base_url = "${address}"
requests_per_minute = 600
`,
  )
})
afterAll(async () => {
  daemon?.kill('SIGTERM')
  await daemon?.exited
  await board.stop(true)
  folder[Symbol.dispose]()
})

async function keyOf(...holder: string[]): Promise<string> {
  const { out } = await forumd('key', 'create', ...holder)
  return /f[ko]_\w{43}/.exec(out)?.[0] ?? ''
}

async function start() {
  keys = { customer: await keyOf('--customer', 'ann'), operator: await keyOf('--operator') }
  daemon = Bun.spawn([process.execPath, 'src/main.ts', 'serve', '--config', config], {
    cwd: tree,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of daemon.stdout) {
    text += decoder.decode(chunk, { stream: true })
    const found = /"event":"serve.listening".*?"url":"([^"]+)"/.exec(text)?.[1]
    if (found !== undefined) return found
  }
  throw new Error(`it ended before it listened:\n${text}`)
}

async function call(path: string, body?: object, key = keys.customer): Promise<any> {
  const answer = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return answer.json()
}

test('its folder has at most 150 lines', () => {
  const lines = ['kind.ts', 'adapter.ts'].flatMap((file) =>
    readFileSync(join(root, 'test/toy', file), 'utf8')
      .trimEnd()
      .split('\n'),
  )
  expect(lines.length).toBeLessThanOrEqual(150)
})

test('configuration and commands know it', async () => {
  expect((await forumd('check-config')).code).toBe(0)
  expect(await forumd('source', 'add', 'second', 'toy')).toMatchObject({
    code: 2,
    out: expect.stringContaining('the address of the site is needed for the kind "toy"'),
  })
  expect((await forumd('source', 'add', 'second', 'toy', `${address}/`)).code).toBe(0)
  const { sources } = JSON.parse(
    (await forumd('source', 'list', '--json')).out.split('\n')[0] ?? '',
  )
  expect(sources).toMatchObject([
    { name: 'board', kind: 'toy' },
    { name: 'second', kind: 'toy', requests_per_minute: 60 },
  ])
  expect((await forumd('source', 'test', 'board')).out).toContain('Toy board')
})

test('reads, monitors, health and the form of the dashboard have it', async () => {
  url = await start()
  expect((await call('/api/forum/sources')).sources).toMatchObject([
    { name: 'board', kind: 'toy', place_examples: ['tea', 'bread'], proof: 'keyset' },
    { name: 'second' },
  ])
  expect(await call('/api/forum/posts?subforum=bread&limit=5')).toMatchObject({
    posts: [{ name: 't3_7', title: 'A first loaf', source: 'board' }],
  })
  const { kinds } = await call('/operator/sources', undefined, keys.operator)
  expect(kinds).toContainEqual({
    kind: 'toy',
    title: 'Toy board',
    address: 'https://toy.example.org',
  })

  const monitor = { filter_spec: { include_any: ['loaf'] }, targets: 'none' }
  const { id } = await call('/forum/monitor/add', monitor)
  const items = async () => (await call(`/forum/monitor/items?id=${id}`)).items
  // The first poll begins at the present end, so that a post before it is no match.
  for (let post = 8; (await items()).length === 0; post++) {
    posts.push({ id: post, title: 'A later loaf', author: 'bob', place: 'bread', at: Date.now() })
    await Bun.sleep(500)
  }
  expect((await items())[0]).toMatchObject({ title: 'A later loaf', source: 'board' })
  expect(await call(`/forum/monitor/health?id=${id}`)).toMatchObject({
    sources: [{ source: 'board', proof: 'keyset' }],
  })
})

test('the page of sources shows it, and it passes the tests of every kind', async () => {
  expect(await run('scripts/docs/docs.ts')).toMatchObject({ code: 0 })
  const page = readFileSync(join(tree, 'docs/sources.md'), 'utf8')
  expect(page).toMatch(/^\| `toy` +\| a word /m)
  expect(page).toMatch(/^\| Capability .*`toy`/m)
  const { code, out } = await run('test', 'test/conformance/kinds.test.ts')
  expect(out).toContain('(pass) toy')
  expect(code).toBe(0)
})
