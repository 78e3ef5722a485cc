// Tests /mcp and `forumd mcp` with the protocol's own tools: its conformance suites of both eras, and its
// inspector, whose strict schema check finds schemas that some models reject. Checks that need fixtures or parts
// of the protocol that forumd does not offer are listed in mcp-tools/not-offered-REVISION.yaml; a listed check
// that passes is a failure too.
import { existsSync } from 'node:fs'

import { startMcpDaemon } from '../../test/integration/mcp-daemon.ts'
import { PROGRAM } from '../../test/support/process.ts'

const here = import.meta.dir
const installed = `${here}/node_modules/@modelcontextprotocol`
const CONFORMANCE = `${installed}/conformance/dist/index.js`
const INSPECTOR = `${installed}/inspector/clients/launcher/build/index.js`

async function run(title: string, command: readonly string[]) {
  const child = Bun.spawn([...command], {
    cwd: here,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  const code = await child.exited
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${title}`)
  if (code !== 0) {
    console.log(`${out}${err}`)
    process.exitCode = 1
  }
  return out
}

if (!existsSync(CONFORMANCE)) await run('install', [process.execPath, 'install', '--no-save'])
await using it = await startMcpDaemon()

// The suite sends no keys: a relay adds one and forwards the request unchanged, because the suite also sends a
// foreign Origin header.
const relay = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${it.key}`)
    const { method } = request
    const body = method === 'GET' ? null : await request.arrayBuffer()
    return fetch(`${it.url}/mcp`, { method, headers, body, proxy: false })
  },
})
const relayed = `http://localhost:${relay.port}/mcp`
for (const revision of ['2025-11-25', '2026-07-28']) {
  const output = await run(`conformance: requirements of ${revision}`, [
    process.execPath,
    CONFORMANCE,
    'server',
    '--url',
    relayed,
    '--requirements',
    revision,
    '--output-dir',
    'dist',
    '--expected-failures',
    `${here}/not-offered-${revision}.yaml`,
  ])
  console.log(output.slice(output.lastIndexOf('=== SUMMARY')).trim())
}
await relay.stop(true)

const [program = '', ...before] = PROGRAM
const HTTP = [`${it.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${it.key}`]
await Bun.write(it.file('key'), it.key)
const STDIO = [program, ...before, 'mcp', '--url', it.url, '--key-file', it.file('key')]
for (const [name, server] of [
  ['http', HTTP],
  ['stdio', STDIO],
] as const) {
  const inspect = (title: string, ...args: string[]) =>
    run(`inspector over ${name}: ${title}`, ['node', INSPECTOR, '--cli', ...server, ...args])
  await inspect('lists the tools, whose schemas are portable', '--method', 'tools/list', '--strict')
  const search = ['--method', 'tools/call', '--tool-name', 'forum_posts']
  const posts = await inspect('calls a tool', ...search, '--tool-arg', 'subforum=cats')
  if (!posts.includes('A cat')) {
    console.log(`FAIL inspector over ${name}: the answer holds no post\n${posts}`)
    process.exitCode = 1
  }
}
