// Goal: the steps of docs/install.md for downloads work as they are typed. Method: each block is run by bash in a folder of
// downloads with a home of its own; the archive is packed from a script that starts the program, and brew is a stand-in.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'

import { version } from '../../package.json'
import { pack } from '../../scripts/release/archive.ts'
import { formulaOf } from '../../scripts/release/formula.ts'
import { parseConfig } from '../../src/config/load.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'
import { readText } from './documentation.ts'

setDefaultTimeout(60_000)

const NAME = `forumd-${version}-linux-x64`
const sha256 = (file: string) =>
  new Bun.CryptoHasher('sha256').update(readFileSync(file)).digest('hex')

let folder: Folder
beforeAll(async () => {
  folder = tempFolder()
  for (const name of ['home', 'downloads', 'packed', 'bin']) mkdirSync(folder.file(name))
  const executable = folder.file('program')
  const program = `#!/bin/sh\nexec ${PROGRAM.join(' ')} "$@"\n`
  writeFileSync(executable, program, { mode: 0o755 })
  const created_at = new Date('2026-11-20T00:00:00Z')
  const out = folder.file('downloads')
  const archive = await pack({ name: NAME, executable, notices: '', created_at, out })
  const bottle = { cpu: 'intel' as const, file: basename(archive), sha256: sha256(archive) }
  const formula = folder.file('downloads/forumd.rb')
  writeFileSync(formula, formulaOf(version, [bottle]))
  const lines = [archive, formula].map((it) => `${sha256(it)}  ${basename(it)}\n`)
  const absent = `${'0'.repeat(64)}  forumd_${version}_amd64.deb\n`
  writeFileSync(folder.file('downloads/SHA256SUMS'), [...lines, absent].join(''))
})
afterAll(() => folder[Symbol.dispose]())

/** The first block of shell under a heading of the page. */
function stepsOf(heading: string): string {
  const pattern = new RegExp(`^## ${heading}\n[^]*?\`\`\`sh\n([^]*?)\`\`\``, 'm')
  return pattern.exec(readText('docs/install.md'))?.[1] ?? 'false'
}

function run(steps: string) {
  const PATH = `${folder.file('bin')}:${process.env['PATH'] ?? ''}`
  const { exitCode, stdout, stderr } = Bun.spawnSync(['bash', '-euc', steps], {
    cwd: folder.file('downloads'),
    env: { PATH, HOME: folder.file('home') },
  })
  return { exitCode, out: stdout.toString(), errors: stderr.toString() }
}

const shared = (path: string): string =>
  readFileSync(folder.file(`home/.local/share/${path}`), 'utf8')

test('the archive is unpacked into the home, with its manual and completions', () => {
  const { exitCode, out, errors } = run(stepsOf('Archive'))

  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
  expect(out).toStartWith(`${NAME}.tar.gz: OK\nforumd.rb: OK\nforumd ${version} `)
  expect(shared('man/man1/forumd.1').includes('\n.TH FORUMD 1 ')).toBe(true)
  expect(shared('bash-completion/completions/forumd')).toContain('complete ')
  expect(shared('doc/forumd/config.example.toml')).toBe(readText('config.example.toml'))
})

test('a damaged download stops the steps before anything is unpacked', () => {
  using damaged = tempFolder()
  const steps = stepsOf('Archive')
  const spoilt = damaged.file(`${NAME}.tar.gz`)
  writeFileSync(spoilt, readFileSync(folder.file(`downloads/${NAME}.tar.gz`)))
  appendFileSync(spoilt, 'x')
  const copy = `cd ${dirname(spoilt)}; cp ${folder.file('downloads/SHA256SUMS')} .; HOME=$PWD`

  const { exitCode, out } = run(`${copy}; ${steps}`)

  expect({ exitCode, out }).toEqual({ exitCode: 1, out: `${NAME}.tar.gz: FAILED\n` })
})

test('the formula is put into a tap with the address of the downloads', () => {
  const tap = folder.file('tap')
  mkdirSync(`${tap}/Formula`, { recursive: true })
  const brew = `#!/bin/sh\n[ "$1" = --repository ] && echo ${tap} || echo "$@" >&2\n`
  writeFileSync(folder.file('bin/brew'), brew, { mode: 0o755 })

  const { exitCode, errors } = run(stepsOf('Homebrew'))

  expect({ exitCode, errors }).toEqual({
    exitCode: 0,
    errors: 'tap-new --no-git me/forumd\ninstall me/forumd/forumd\n',
  })
  expect(readFileSync(`${tap}/Formula/forumd.rb`, 'utf8')).toBe(
    readFileSync(folder.file('downloads/forumd.rb'), 'utf8').replace(
      'https://downloads.example',
      `file://${folder.file('downloads')}`,
    ),
  )
})

test('the compose file names this release, its volumes and ports as the configuration beside it has them', () => {
  const { services, volumes } = Object(Bun.YAML.parse(readText('examples/container/compose.yaml')))
  const { server, storage } = parseConfig(readText('examples/container/forumd.toml'))
  const { image, ports, volumes: mounts, healthcheck } = services.forumd

  expect(image).toBe(`forumd:${version}`)
  expect(ports).toEqual([`127.0.0.1:${server.port}:${server.port}`])
  expect(mounts).toEqual([
    {
      type: 'bind',
      source: './forumd.toml',
      target: '/etc/forumd/forumd.toml',
      read_only: true,
    },
    { type: 'volume', source: 'data', target: storage.dir },
    { type: 'volume', source: 'instance', target: dirname(storage.instance_file) },
  ])
  expect(Object.keys(volumes)).toEqual(['data', 'instance'])
  // The keys that this service uses, as the specification spells them: https://github.com/compose-spec/compose-spec
  expect(Object.keys(services.forumd)).toEqual([
    'image',
    'restart',
    'mem_limit',
    'memswap_limit',
    'ulimits',
    'read_only',
    'cap_drop',
    'security_opt',
    'tmpfs',
    'ports',
    'volumes',
    'healthcheck',
  ])
  expect(healthcheck.test.slice(0, 3)).toEqual(['CMD', 'forumd', 'health'])
})
