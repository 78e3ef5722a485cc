import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseConfig } from '../../src/config/load.ts'
import { createOpenApiDocument } from '../../src/daemon.ts'
import type { Exchange } from './record.ts'
import { type Finding, replay } from './replay.ts'

// Checks the OpenAPI document with the rules of Redocly, Spectral and OWASP, and every answer that the
// integration tests receive against the document, with Prism. The tools are large and only this script needs
// them, so they are installed separately, in scripts/tools. `--lint` stops after the rules; `--tests FILE...`
// runs these tests instead of all.

const ROOT = new URL('../..', import.meta.url).pathname
const TOOLS = `${ROOT}scripts/tools`
const DOCUMENT = `${TOOLS}/dist/openapi.json`

/** Tests with their own routes, which are not in the document. */
const OTHER_ROUTES = ['http', 'http-public', 'http-billing', 'malformed-requests']
/** Paths for operators, browsers and links; the document is for callers with a key. */
const HIDDEN = /^\/(operator|dashboard|metrics|docs|openapi\.json|mcp|unsubscribe|confirm)(\/|$|\?)/

// Paths of tests with another naming in [wire]; the checked document has the default naming.
const OTHER_PLATFORM = /^\/(?:api\/)?(?:agora|board|club)\//
const OTHER_COMMUNITY = /"(?:exclude_)?boards?":|"board_[a-z_]+"/

const tool = (name: string) => `${TOOLS}/node_modules/.bin/${name}`

async function run(command: readonly string[], { cwd = ROOT, env = {} } = {}): Promise<number> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  })
  return child.exited
}

async function need(command: readonly string[], options = {}): Promise<void> {
  const code = await run(command, options)
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`)
}

async function install(): Promise<void> {
  const [wanted, had] = await Promise.all(
    [`${TOOLS}/package-lock.json`, `${TOOLS}/node_modules/.forumd-lock`].map(async (path) => {
      const file = Bun.file(path)
      return (await file.exists()) ? file.text() : null
    }),
  )
  if (wanted === had) return
  // Install scripts of the packages are not run.
  await need(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: TOOLS,
  })
  await Bun.write(`${TOOLS}/node_modules/.forumd-lock`, wanted ?? '')
}

/** Writes the document of an instance behind TLS. */
async function writeDocument(): Promise<void> {
  const config = parseConfig(
    '[server]\npublic_url = "https://forumd.example"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "https://www.forum.example"\nsession_cookie = "session"\n',
  )
  await mkdir(`${TOOLS}/dist`, { recursive: true })
  await Bun.write(DOCUMENT, JSON.stringify(await createOpenApiDocument(config), null, 2))
}

async function lint(): Promise<void> {
  const quiet = {
    cwd: TOOLS,
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }
  await need([tool('redocly'), 'lint', '--max-problems=100', 'dist/openapi.json'], quiet)
  await need(
    [
      tool('spectral'),
      'lint',
      '--ruleset=spectral.yaml',
      '--fail-severity=hint',
      'dist/openapi.json',
    ],
    quiet,
  )
}

/** The integration tests that call the real routes over HTTP, without the long ones that make few calls. */
async function testsOverHttp(): Promise<string[]> {
  const found: string[] = []
  for await (const file of new Bun.Glob('test/integration/*.test.ts').scan(ROOT)) {
    const name = file.slice('test/integration/'.length, -'.test.ts'.length)
    if (OTHER_ROUTES.includes(name) || FEW_REQUESTS.test(name)) continue
    if (STARTS_DAEMON.test(await Bun.file(ROOT + file).text())) found.push(file)
  }
  return found.toSorted()
}
const FEW_REQUESTS = /^(abuse|deb|systemd|dashboard|delivery-(fairness|crash)|egress)/
const STARTS_DAEMON =
  /from '(\.\.\/support\/(test-daemon|test-api|\w+-fixture|reads|sessions|loopback-daemon)|\.\/\w+-fixture)\.ts'/

/** Answers that the tests received, each distinct answer once. */
async function record(tests: readonly string[]): Promise<Exchange[]> {
  const folder = await mkdtemp(join(tmpdir(), 'forumd-exchanges-'))
  try {
    await need(
      [
        process.execPath,
        'test',
        '--timeout=120000',
        '--preload',
        './scripts/document/record.ts',
        ...tests,
      ],
      {
        env: { FORUMD_EXCHANGES: folder },
      },
    )
    return await exchangesIn(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function exchangesIn(folder: string): Promise<Exchange[]> {
  const exchanges = new Map<string, Exchange>()
  for await (const file of new Bun.Glob('*.jsonl').scan(folder))
    for (const line of (await Bun.file(join(folder, file)).text()).split('\n')) {
      if (line === '') continue
      const it: Exchange = JSON.parse(line)
      // A method that a path does not have is not an operation of the document.
      if (!['GET', 'POST'].includes(it.method) || it.status === 405) continue
      if (OTHER_PLATFORM.test(it.path) || OTHER_COMMUNITY.test(it.body)) continue
      // The document describes monitoring under one prefix; the other one has the same answers and is checked
      // alike.
      const path = it.path.replace(/^\/api(?=\/forum\/monitor\/)/, '')
      const key = JSON.stringify([it.method, path.replace(/\?.*/, ''), it.status, it.body])
      exchanges.set(key, { ...it, path })
    }
  return [...exchanges.values()]
}

const describeFinding = ({ exchange: { method, path, status, body }, wrong }: Finding) =>
  `${method} ${path} ${status}\n  ${wrong.join('\n  ')}\n  ${body.slice(0, 300)}`

async function judge(exchanges: readonly Exchange[]): Promise<boolean> {
  const { findings, unmatched } = await replay({
    prism: [tool('prism')],
    document: DOCUMENT,
    exchanges,
  })
  // Paths outside the document may only return errors.
  const undocumented = unmatched
    .filter(({ path, status }) => status === 200 && !HIDDEN.test(path))
    .map((exchange) => ({ exchange, wrong: ['the document has no such path'] }))
  for (const finding of [...findings, ...undocumented]) console.log(describeFinding(finding))
  console.log(
    `${exchanges.length} different answers of the tests; ${unmatched.length} of paths that the document leaves out; ${findings.length + undocumented.length} that break it`,
  )
  return findings.length + undocumented.length === 0 && exchanges.length > unmatched.length
}

const [choice, ...named] = process.argv.slice(2)
await install()
await writeDocument()
await lint()
if (choice !== '--lint') {
  const given = process.env['FORUMD_EXCHANGES']
  const exchanges =
    given === undefined
      ? await record(choice === '--tests' ? named : await testsOverHttp())
      : await exchangesIn(given)
  if (!(await judge(exchanges))) process.exitCode = 1
}
