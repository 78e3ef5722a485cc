// Goal: scripts/install.sh installs all files, keeps the operator's, and removes its own. Method:
// the script, into a folder (DESTDIR), with a script in place of the executable; and,
// if a mount namespace is available, onto a system whose /etc and /usr/local are the test's own.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

import { parseConfig } from '../../src/config/load.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'
import { readText, root } from './documentation.ts'

setDefaultTimeout(60_000)

const script = join(root, 'scripts/install.sh')

/** Starts the program, which is not copied. */
const REAL = `exec ${PROGRAM.join(' ')} "$@"`
/** Prints its arguments, where that is enough. */
const ECHO = 'echo "$@"'

function programIn(folder: Folder, does = ECHO): string {
  const program = folder.file('forumd')
  writeFileSync(program, `#!/bin/sh\n${does}\n`)
  chmodSync(program, 0o755)
  return program
}

function run(env: Record<string, string>, ...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['sh', script, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  return { exitCode, output: stdout.toString() + stderr.toString() }
}

/** Installs into a folder of its own. */
function installed(folder: Folder, { does, ...env }: { does?: string; PREFIX?: string } = {}) {
  const dest = folder.file('dest')
  const environment = { BINARY: programIn(folder, does), DESTDIR: dest, ...env }
  return { ...run(environment), dest, again: (...args: string[]) => run(environment, ...args) }
}

const FILES = [
  '/etc/systemd/system/forumd.service',
  '/usr/local/bin/forumd',
  '/usr/local/lib/sysusers.d/forumd.conf',
  '/usr/local/share/bash-completion/completions/forumd',
  '/usr/local/share/fish/vendor_completions.d/forumd.fish',
  '/usr/local/share/man/man1/forumd.1',
  '/usr/local/share/zsh/site-functions/_forumd',
]
const CONFIG = '/etc/forumd/forumd.toml'

const filesIn = (dest: string) =>
  [...new Bun.Glob('**/*').scanSync({ cwd: dest, dot: true })].map((it) => `/${it}`).toSorted()

test.skipIf(Bun.which('shellcheck') === null && !process.env['CI'])(
  'shellcheck reports nothing',
  () => {
    const { exitCode, stdout } = Bun.spawnSync(['shellcheck', script])

    expect({ exitCode, output: stdout.toString() }).toEqual({ exitCode: 0, output: '' })
  },
)

describe('installed into a folder', () => {
  test('it installs the program, unit, user, manual, completions and configuration, and nothing else', () => {
    using folder = tempFolder()
    const { dest, exitCode } = installed(folder)

    expect(exitCode).toBe(0)
    expect(filesIn(dest)).toEqual([...FILES, CONFIG].toSorted())
    expect(statSync(`${dest}/usr/local/bin/forumd`).mode & 0o777).toBe(0o755)
    expect(statSync(dest + CONFIG).mode & 0o777).toBe(0o640)
    expect(statSync(`${dest}/etc/forumd`).mode & 0o777).toBe(0o750)
  })

  test('the unit runs that program with that configuration, whose data folder the unit makes writable', () => {
    using folder = tempFolder()
    const { dest } = installed(folder, { does: REAL, PREFIX: '/opt/forumd' })

    expect(readFileSync(dest + FILES[0], 'utf8')).toContain(
      'ExecStart=/opt/forumd/bin/forumd serve --config /etc/forumd/forumd.toml',
    )
    expect(existsSync(`${dest}/opt/forumd/bin/forumd`)).toBe(true)
    const config = parseConfig(readFileSync(dest + CONFIG, 'utf8'))
    expect(config.storage.dir).toBe('/var/lib/forumd')
  })

  test("a second run keeps the operator's configuration and updates the rest", () => {
    using folder = tempFolder()
    const { dest, again } = installed(folder)
    writeFileSync(dest + CONFIG, '# mine\n')
    writeFileSync(dest + FILES[0], 'old')

    expect(again().output).toContain(`${CONFIG} is there already`)
    expect(readFileSync(dest + CONFIG, 'utf8')).toBe('# mine\n')
    expect(readFileSync(dest + FILES[0], 'utf8')).toStartWith(
      'service-unit --binary /usr/local/bin/forumd',
    )
    expect(filesIn(dest).filter((it) => it.endsWith('.new'))).toEqual([])
  })

  test('--remove removes the installed files, and keeps the configuration', () => {
    using folder = tempFolder()
    const { dest, again } = installed(folder)

    expect(again('--remove').exitCode).toBe(0)
    expect(filesIn(dest)).toEqual([CONFIG])
  })
})

test('a program that does not run here is reported before anything is written', () => {
  using folder = tempFolder()
  const broken = folder.file('broken')
  writeFileSync(broken, '#!/bin/sh\nexit 3\n')
  chmodSync(broken, 0o755)
  const dest = folder.file('dest')

  expect(run({ BINARY: broken, DESTDIR: dest })).toEqual({
    exitCode: 1,
    output: `forumd: ${broken} does not run here\n`,
  })
  expect(existsSync(dest)).toBe(false)
})

test('a failed print of the program is reported, and no partial file stays', () => {
  using folder = tempFolder()
  const { dest, exitCode, output } = installed(folder, { does: 'echo half; test "$1" = version' })

  expect({ exitCode, output }).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('service-unit'),
  })
  expect(existsSync(dest + FILES[0])).toBe(false)
  expect(filesIn(dest).filter((it) => it.endsWith('.new'))).toEqual([])
})

test("a partial configuration is removed, so that it is not taken for the operator's own", () => {
  using folder = tempFolder()
  // A sed that fails half way, as on a full disk.
  const bin = folder.file('bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'sed'), '#!/bin/sh\necho half\nexit 4\n')
  chmodSync(join(bin, 'sed'), 0o755)
  const dest = folder.file('dest')
  const path = `${bin}:${process.env['PATH'] ?? ''}`

  expect(run({ BINARY: programIn(folder), DESTDIR: dest, PATH: path })).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining(`${CONFIG} could not be made`),
  })
  expect(filesIn(dest).filter((it) => it.startsWith(CONFIG))).toEqual([])
})

// A release is named after the machine and libc of this system.
const RELEASE = `linux-${process.arch}${existsSync('/etc/alpine-release') ? '-musl' : ''}`

/** The files of an archive that are installed. */
function stage(to: string, does: string, example: string): void {
  mkdirSync(join(to, 'bin'), { recursive: true })
  mkdirSync(join(to, 'share/doc/forumd'), { recursive: true })
  writeFileSync(join(to, 'bin/forumd'), `#!/bin/sh\n${does}\n`, { mode: 0o755 })
  writeFileSync(join(to, 'share/doc/forumd/config.example.toml'), example)
}

/**
 * A folder of downloads with an archive of the program for this machine, and its entry in
 * SHA256SUMS.
 */
function downloads(folder: Folder, version = '1.0.0') {
  const name = `forumd-${version}-${RELEASE}`
  const packed = folder.file(name)
  stage(packed, ECHO, readText('config.example.toml'))
  const archive = `${packed}.tar.gz`
  Bun.spawnSync(['tar', '-C', folder.path, '-czf', archive, name])
  rmSync(packed, { recursive: true })
  const sum = new Bun.CryptoHasher('sha256').update(readFileSync(archive)).digest('hex')
  const sums = folder.file('SHA256SUMS')
  writeFileSync(sums, `${'0'.repeat(64)}  forumd_1.0.0_amd64.deb\n${sum}  ${name}.tar.gz\n`)
  const dest = folder.file('dest')
  return {
    name: `${name}.tar.gz`,
    archive,
    sum,
    sums,
    dest,
    install: (env = {}) =>
      run({ DESTDIR: dest, TMPDIR: folder.path, ...env }, '--from', folder.path),
  }
}

describe('from a folder of downloads', () => {
  test('the archive for this machine is installed after its checksum matches, and no unpacked files stay', () => {
    using folder = tempFolder()
    const { dest, name, install } = downloads(folder)
    writeFileSync(folder.file(`forumd-1.0.0-${RELEASE}-other.tar.gz`), 'for another machine')

    const { exitCode, output } = install()

    expect({ exitCode, output }).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining(`forumd: ${name} is what SHA256SUMS says\n`),
    })
    expect(filesIn(dest)).toEqual([...FILES, CONFIG].toSorted())
    expect(readdirSync(folder.path).filter((it) => it.startsWith('tmp.'))).toEqual([])
  })

  test('the hashed archive is the unpacked one, even if it is exchanged in between', () => {
    using folder = tempFolder()
    const { dest, archive, install } = downloads(folder)
    using elsewhere = tempFolder()
    const evil = downloads(elsewhere)
    const packed = elsewhere.file(evil.name.replace('.tar.gz', ''))
    stage(packed, 'echo evil', 'evil')
    Bun.spawnSync(['tar', '-C', elsewhere.path, '-czf', evil.archive, basename(packed)])
    const sha256sum = Bun.which('sha256sum') ?? 'sha256sum'
    const bin = elsewhere.file('bin')
    mkdirSync(bin)
    writeFileSync(
      join(bin, 'sha256sum'),
      `#!/bin/sh\n${sha256sum} "$@" && cp ${evil.archive} ${archive}\n`,
      { mode: 0o755 },
    )

    const { exitCode } = install({ PATH: `${bin}:${process.env['PATH'] ?? ''}` })

    expect(exitCode).toBe(0)
    expect(readFileSync(join(dest, 'usr/local/bin/forumd'), 'utf8')).not.toContain('evil')
  })

  test.each<[string, (it: ReturnType<typeof downloads>, folder: Folder) => string]>([
    [
      'that was changed',
      ({ archive, name, sum }) => {
        appendFileSync(archive, 'x')
        const found = new Bun.CryptoHasher('sha256').update(readFileSync(archive)).digest('hex')
        return `${name} is not what was released: its SHA-256 is ${found}, and SHA256SUMS says ${sum}`
      },
    ],
    [
      'that SHA256SUMS does not name',
      ({ sums, name }) => {
        writeFileSync(sums, `${'0'.repeat(64)}  another-${name}\n`)
        return `SHA256SUMS does not tell of ${name}`
      },
    ],
    [
      'without SHA256SUMS',
      ({ sums, name }, { path }) => {
        rmSync(sums)
        return `${path} has no SHA256SUMS to hold ${name} to`
      },
    ],
    [
      'that is not there',
      ({ archive }, { path }) => {
        rmSync(archive)
        return `${path} has no forumd-VERSION-${RELEASE}.tar.gz, which is the one for this machine`
      },
    ],
    [
      'beside another version',
      ({ archive }, folder) => {
        const other = downloads(folder, '1.0.1').archive
        return `${folder.path} has more than one for this machine: ${archive} ${other}`
      },
    ],
  ])('an archive %s is refused, and nothing is installed', (_, spoil) => {
    using folder = tempFolder()
    const it = downloads(folder)
    const reason = spoil(it, folder)

    expect(it.install()).toEqual({ exitCode: 1, output: `forumd: ${reason}\n` })
    expect(existsSync(it.dest)).toBe(false)
  })
})

test('the manual steps install everything on a system with the folders of a small Debian', () => {
  using folder = tempFolder()
  const { path } = folder
  for (const there of ['usr/local/bin', 'usr/local/share/man', 'etc/systemd/system', 'usr/share'])
    mkdirSync(join(path, there), { recursive: true })
  const page = readText('docs/install.md')
  const [, by_hand = ''] = /^## Manual installation\n[^]*?```sh\n([^]*?)```/m.exec(page) ?? []
  const lines = by_hand
    .replaceAll(/(?<= )\/(?=usr|etc)/g, `${path}/`)
    .replace('-g forumd ', '')
    .replace('dist/forumd', programIn(folder))
  // Commands on the system itself are replaced.
  const as_if =
    'sudo() { case $1 in useradd | systemctl) ;; *) "$@" ;; esac; }; sudoedit() { test -f "$1"; }'
  const bin = `${path}/usr/local/bin:${process.env['PATH'] ?? ''}`

  const { exitCode, stderr } = Bun.spawnSync(
    ['bash', '-ec', `set -o pipefail; ${as_if}\n${lines}`],
    { cwd: root, env: { PATH: bin } },
  )

  expect({ exitCode, output: stderr.toString() }).toEqual({ exitCode: 0, output: '' })
  expect(readFileSync(path + CONFIG, 'utf8')).toContain('\ndir = "/var/lib/forumd"\n')
  expect(readFileSync(`${path}/usr/local/share/man/man1/forumd.1`, 'utf8')).toBe('man\n')
  expect(lines.indexOf('sudoedit')).toBeLessThan(lines.indexOf('enable --now'))
})

test.each([
  [['--purge'], {}, 'it takes nothing, --from FOLDER or --remove, not --purge'],
  [['--from'], {}, '--from takes a folder, and nothing is none'],
  [['--from', '/absent'], {}, '--from takes a folder, and /absent is none'],
  [['--from', '/'], { BINARY: '/bin/true' }, 'it is --from or BINARY, not both'],
  [[], { PREFIX: 'opt' }, 'PREFIX has to begin with /, and is opt'],
])('%j with %j is refused', (args, env, output) => {
  using folder = tempFolder()

  expect(run({ DESTDIR: folder.path, ...env }, ...args)).toEqual({
    exitCode: 1,
    output: `forumd: ${output}\n`,
  })
})

// As root, in a mount namespace whose /etc, /usr/local and /run are copies, so the user is created
// for real.
const can =
  process.getuid?.() === 0 &&
  Bun.which('systemd-sysusers') !== null &&
  Bun.spawnSync(['unshare', '--mount', 'true']).exitCode === 0

test.skipIf(!can)(
  'on a system the user is created, and the configuration is readable by its group',
  () => {
    using folder = tempFolder()
    const namespace_script = `
    mount --make-rprivate /
    mkdir "$0/etc" "$0/local" && cp /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/nsswitch.conf "$0/etc"
    mount --bind "$0/etc" /etc && mount --bind "$0/local" /usr/local && mount -t tmpfs none /run
    sed -i /^forumd:/d /etc/passwd /etc/group /etc/shadow /etc/gshadow
    BINARY="$1" sh "$2"
    getent passwd forumd | cut -d: -f6,7
    stat -c '%A %U %G' /etc/forumd /etc/forumd/forumd.toml`
    const { exitCode, stdout, stderr } = Bun.spawnSync(
      ['unshare', '--mount', 'sh', '-ec', namespace_script, folder.path, programIn(folder), script],
      { env: { PATH: process.env['PATH'] ?? '' } },
    )

    expect({ exitCode, stderr: stderr.toString() }).toMatchObject({ exitCode: 0 })
    expect(stdout.toString().split('\n').slice(-4)).toEqual([
      '/var/lib/forumd:/usr/sbin/nologin',
      'drwxr-x--- root forumd',
      '-rw-r----- root forumd',
      '',
    ])
  },
)
