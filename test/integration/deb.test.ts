// Goal: the Debian package installs its files in Debian's places, creates its user, and leaves the
// operator's data on removal. Method: dpkg itself, on a root of the test's own. The program in the
// package is a script that starts it instead of an executable of 130 MB.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../package.json'
import { type Folder, tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'

setDefaultTimeout(60_000)

const root = join(import.meta.dir, '../..')
const can = Bun.which('dpkg-deb') !== null && process.getuid?.() === 0
if (!can) console.log('no package is made or installed here: it takes dpkg and root')

let folder: Folder
let program = ''
let deb = ''

function runCommand(...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    env: { ...process.env, SOURCE_DATE_EPOCH: '1795132800' },
  })
  if (exitCode !== 0)
    throw new Error(`${command.join(' ')} ended with ${exitCode}: ${stderr.toString()}`)
  return stdout.toString()
}

beforeAll(() => {
  if (!can) return
  folder = tempFolder()
  program = folder.file('forumd')
  writeFileSync(program, `#!/bin/sh\nexec ${PROGRAM.join(' ')} "$@"\n`)
  deb = packed(folder.path)
})
afterAll(() => folder?.[Symbol.dispose]())

/** Builds a package of the program in this folder with these options. */
const packed = (out: string, ...args: string[]) =>
  runCommand(
    process.execPath,
    join(root, 'scripts/packages/deb.ts'),
    '--binary',
    program,
    '--out',
    out,
    ...args,
  ).trim()

/** An empty system except for the user database, and dpkg on it. */
function system() {
  const data_folder = tempFolder()
  const at = (path: string) => data_folder.file(path)
  for (const dir of ['var/lib/dpkg/updates', 'var/lib/dpkg/info', 'etc', 'tmp'])
    mkdirSync(at(dir), { recursive: true })
  for (const file of ['status', 'available']) writeFileSync(at(`var/lib/dpkg/${file}`), '')
  writeFileSync(at('etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  writeFileSync(at('etc/group'), 'root:x:0:\n')
  return {
    at,
    // Its dependencies are not installed on so small a system.
    dpkg: (...args: string[]) =>
      runCommand(
        'dpkg',
        `--root=${data_folder.path}`,
        '--force-script-chrootless',
        '--force-depends',
        ...args,
      ),
    [Symbol.dispose]: data_folder[Symbol.dispose],
  }
}

test.skipIf(!can)('the package declares its name, version and configuration files', () => {
  const field = (name: string) => runCommand('dpkg-deb', '--field', deb, name).trim()

  expect([field('Package'), field('Version'), field('Architecture')]).toEqual([
    'forumd',
    version,
    runCommand('dpkg', '--print-architecture').trim(),
  ])
  expect(runCommand('dpkg-deb', '--info', deb, 'conffiles')).toBe('/etc/forumd/forumd.toml\n')
  expect(Number(field('Installed-Size'))).toBeGreaterThan(0)
})

test.skipIf(!can)(
  "every file is owned by root, in Debian's places, and not writable by others",
  () => {
    const lines = runCommand('dpkg-deb', '--contents', deb)
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/))

    const packed_files = lines.filter(([mode = '']) => mode.startsWith('-')).map((it) => it[5])
    const files = packed_files.filter((it) => !it?.startsWith('./usr/share/doc/'))
    const documents = packed_files.filter((it) => it?.startsWith('./usr/share/doc/'))
    expect(documents).toEqual(
      expect.arrayContaining([
        './usr/share/doc/forumd/README.md',
        './usr/share/doc/forumd/changelog.gz',
        './usr/share/doc/forumd/config.example.toml',
        './usr/share/doc/forumd/copyright',
        './usr/share/doc/forumd/docs/grafana/alerts.yml',
        './usr/share/doc/forumd/docs/grafana/dashboard.json',
        './usr/share/doc/forumd/docs/install.md',
      ]),
    )
    expect(files).toEqual([
      './etc/forumd/forumd.toml',
      './usr/bin/forumd',
      './usr/lib/systemd/system/forumd.service',
      './usr/lib/sysusers.d/forumd.conf',
      './usr/share/bash-completion/completions/forumd',
      './usr/share/fish/vendor_completions.d/forumd.fish',
      './usr/share/lintian/overrides/forumd',
      './usr/share/man/man1/forumd.1.gz',
      './usr/share/zsh/vendor-completions/_forumd',
    ])
    expect(new Set(lines.map((it) => it[1]))).toEqual(new Set(['root/root']))
    // Everything except the configuration is world-readable, and writable by root only.
    const modes = new Map(lines.map((it) => [it[5], it[0]]))
    expect(modes.get('./etc/forumd/forumd.toml')).toBe('-rw-r-----')
    expect(modes.get('./usr/bin/forumd')).toBe('-rwxr-xr-x')
    expect([...modes.values()].filter((mode = '') => mode[8] === 'w')).toEqual([])
  },
)

test.skipIf(!can)('rebuilt from the same program it has the same bytes', () => {
  using another = tempFolder()

  expect(readFileSync(packed(another.path)).equals(readFileSync(deb))).toBe(true)
})

test.skipIf(!can)('it is built for another architecture, with the licences of its contents', () => {
  using other = tempFolder()
  writeFileSync(other.file('notices'), 'by which licence\n')

  const for_other = packed(other.path, '--arch', 'arm64', '--notices', other.file('notices'))

  expect(for_other).toBe(other.file(`forumd_${version}_arm64.deb`))
  expect(runCommand('dpkg-deb', '--field', for_other, 'Architecture').trim()).toBe('arm64')
  runCommand('dpkg-deb', '--extract', for_other, other.file('tree'))
  const notices = readFileSync(other.file('tree/usr/share/doc/forumd/THIRD-PARTY-NOTICES.gz'))
  expect(Buffer.from(Bun.gunzipSync(notices)).toString()).toBe('by which licence\n')
  expect(() => packed(other.path, '--arch', 'mips')).toThrow(
    '--arch must be amd64 or arm64, not mips',
  )
})

test.skipIf(!can)('installed, it runs with a valid configuration and its own user', () => {
  using it = system()

  const output = it.dpkg('--install', deb)

  expect(output).toContain('sudo -u forumd forumd key sign-in-link')
  expect(runCommand(it.at('usr/bin/forumd'), 'version')).toStartWith(`forumd ${version} `)
  const conffile = it.at('etc/forumd/forumd.toml')
  const shipped = readFileSync(conffile, 'utf8')
  writeFileSync(conffile, shipped.replace('/var/lib/forumd', it.at('data')))
  expect(runCommand(it.at('usr/bin/forumd'), 'check-config', '--config', conffile)).toContain(
    'is valid',
  )
  writeFileSync(conffile, shipped)
  expect(readFileSync(it.at('etc/forumd/forumd.toml'), 'utf8')).toContain(
    '\ndir = "/var/lib/forumd"\n',
  )
  const [, uid, gid, home, shell] =
    /^forumd:[^:]*:(\d+):(\d+):[^:]*:([^:]*):(.*)$/m.exec(
      readFileSync(it.at('etc/passwd'), 'utf8'),
    ) ?? []
  expect([home, shell]).toEqual(['/var/lib/forumd', '/usr/sbin/nologin'])
  expect(Number(uid)).toBeGreaterThan(0)
  const { uid: owner, gid: group, mode } = statSync(it.at('etc/forumd/forumd.toml'))
  expect([owner, group, (mode & 0o777).toString(8)]).toEqual([0, Number(gid), '640'])
  expect(readFileSync(it.at('usr/lib/systemd/system/forumd.service'), 'utf8')).toContain(
    '\nExecStart=/usr/bin/forumd serve --config /etc/forumd/forumd.toml\n',
  )
  // The installed files equal the packed ones.
  expect(it.dpkg('--verify', 'forumd')).toBe('')
})

test.skipIf(!can)('an upgrade with an edited configuration asks nothing', () => {
  using it = system()
  using other = tempFolder()
  it.dpkg('--install', deb)
  const path = it.at('etc/forumd/forumd.toml')
  writeFileSync(path, '# mine\n')
  runCommand('dpkg-deb', '--raw-extract', deb, other.file('tree'))
  const control = other.file('tree/DEBIAN/control')
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*/m, 'Version: 99.0'))
  runCommand('dpkg-deb', '-Znone', '--build', other.file('tree'), other.file('next.deb'))

  // A question would end dpkg: standard input is closed.
  it.dpkg('--install', other.file('next.deb'))

  expect(readFileSync(path, 'utf8')).toBe('# mine\n')
})

test.skipIf(!can)('a reinstallation keeps the configuration and its permissions', () => {
  using it = system()
  it.dpkg('--install', deb)
  const path = it.at('etc/forumd/forumd.toml')
  writeFileSync(path, '# mine\n')
  chmodSync(path, 0o600)

  it.dpkg('--force-confold', '--install', deb)

  expect(readFileSync(path, 'utf8')).toBe('# mine\n')
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
})

const has_namespace = can && Bun.spawnSync(['unshare', '--mount', 'true']).exitCode === 0

test.skipIf(!has_namespace)(
  'an upgrade is installed even if the restart fails, which is reported',
  () => {
    using it = tempFolder()
    runCommand('dpkg-deb', '--control', deb, it.file('control'))
    mkdirSync(it.file('bin'))
    for (const name of ['systemctl', 'systemd-sysusers']) {
      writeFileSync(it.file(`bin/${name}`), '#!/bin/sh\n[ "$1" != try-restart ]\n')
      chmodSync(it.file(`bin/${name}`), 0o755)
    }
    const script = `
    mount -t tmpfs none /run && mkdir -p /run/systemd/system
    PATH="$0/bin:$PATH" sh "$0/control/postinst" configure 0.9.0 2>&1`

    expect(runCommand('unshare', '--mount', 'sh', '-ec', script, it.path)).toBe(
      'forumd: restart failed: forumd check-config; journalctl --unit forumd\n',
    )
  },
)

test.skipIf(!can)(
  'removal keeps configuration and data; purging keeps only the data and reports it',
  () => {
    using it = system()
    it.dpkg('--install', deb)
    mkdirSync(it.at('var/lib/forumd'), { recursive: true })
    writeFileSync(it.at('var/lib/forumd/forumd.sqlite'), 'money')

    it.dpkg('--remove', 'forumd')
    const removed = [it.at('usr/bin/forumd'), it.at('etc/forumd/forumd.toml')].map((path) =>
      existsSync(path),
    )
    const output = it.dpkg('--purge', 'forumd')

    expect(removed).toEqual([false, true])
    expect(existsSync(it.at('etc/forumd'))).toBe(false)
    expect(readFileSync(it.at('var/lib/forumd/forumd.sqlite'), 'utf8')).toBe('money')
    expect(output).toContain('/var/lib/forumd is kept; remove it')
  },
)

test.skipIf(!can)(
  'the packaged manual page and completions equal those that the program prints',
  () => {
    using it = system()
    it.dpkg('--install', deb)
    const print = (...args: string[]) => runCommand(it.at('usr/bin/forumd'), ...args)

    expect(
      Buffer.from(Bun.gunzipSync(readFileSync(it.at('usr/share/man/man1/forumd.1.gz')))).toString(),
    ).toBe(print('man'))
    expect(readFileSync(it.at('usr/share/bash-completion/completions/forumd'), 'utf8')).toBe(
      print('completion', 'bash'),
    )
  },
)
