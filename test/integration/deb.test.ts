// Goal: the Debian package puts everything where Debian looks for it, makes its user, and comes and goes without taking
// anything along that is the operator's. Method: dpkg itself, on a root of the test's own. The program in it is a script
// that runs the source: what a package does to 130 MB of executable, it does to that.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { version } from '../../package.json'
import { type Folder, tempFolder } from '../support/folder.ts'

setDefaultTimeout(60_000)

const root = join(import.meta.dir, '../..')
const can = Bun.which('dpkg-deb') !== null && process.getuid?.() === 0
if (!can) console.log('no package is made or installed here: it takes dpkg and root')

let folder: Folder
let program = ''
let deb = ''

function ask(...command: string[]): string {
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
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${root}/src/main.ts "$@"\n`)
  deb = packed(folder.path)
})
afterAll(() => folder?.[Symbol.dispose]())

/** A package of the program in this folder, made as told. */
const packed = (out: string, ...told: string[]) =>
  ask(
    process.execPath,
    join(root, 'scripts/deb.ts'),
    '--binary',
    program,
    '--out',
    out,
    ...told,
  ).trim()

/** An empty system but for the two files that say who is on it, and dpkg working on it. */
function system() {
  const made = tempFolder()
  const at = (path: string) => made.file(path)
  for (const dir of ['var/lib/dpkg/updates', 'var/lib/dpkg/info', 'etc', 'tmp'])
    mkdirSync(at(dir), { recursive: true })
  for (const file of ['status', 'available']) writeFileSync(at(`var/lib/dpkg/${file}`), '')
  writeFileSync(at('etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  writeFileSync(at('etc/group'), 'root:x:0:\n')
  return {
    at,
    // What it depends on is not on so small a system.
    dpkg: (...args: string[]) =>
      ask('dpkg', `--root=${made.path}`, '--force-script-chrootless', '--force-depends', ...args),
    [Symbol.dispose]: made[Symbol.dispose],
  }
}

test.skipIf(!can)('the package says what it is, and what of it is configuration', () => {
  const field = (name: string) => ask('dpkg-deb', '--field', deb, name).trim()

  expect([field('Package'), field('Version'), field('Architecture')]).toEqual([
    'forumd',
    version,
    ask('dpkg', '--print-architecture').trim(),
  ])
  expect(ask('dpkg-deb', '--info', deb, 'conffiles')).toBe('/etc/forumd/forumd.toml\n')
  expect(Number(field('Installed-Size'))).toBeGreaterThan(0)
})

test.skipIf(!can)(
  'every file is root’s, where Debian looks for it, and written by nobody else',
  () => {
    const lines = ask('dpkg-deb', '--contents', deb)
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/))

    const files = lines.filter(([mode = '']) => mode.startsWith('-')).map((it) => it[5])
    expect(files).toEqual([
      './etc/forumd/forumd.toml',
      './usr/bin/forumd',
      './usr/lib/systemd/system/forumd.service',
      './usr/lib/sysusers.d/forumd.conf',
      './usr/share/bash-completion/completions/forumd',
      './usr/share/doc/forumd/CHANGELOG.md.gz',
      './usr/share/doc/forumd/README.md.gz',
      './usr/share/doc/forumd/copyright',
      './usr/share/fish/vendor_completions.d/forumd.fish',
      './usr/share/man/man1/forumd.1.gz',
      './usr/share/zsh/vendor-completions/_forumd',
    ])
    expect(new Set(lines.map((it) => it[1]))).toEqual(new Set(['root/root']))
    // What is not configuration is everybody's to read, and root's alone to write.
    const modes = new Map(lines.map((it) => [it[5], it[0]]))
    expect(modes.get('./etc/forumd/forumd.toml')).toBe('-rw-r-----')
    expect(modes.get('./usr/bin/forumd')).toBe('-rwxr-xr-x')
    expect([...modes.values()].filter((mode = '') => mode[8] === 'w')).toEqual([])
  },
)

test.skipIf(!can)('made again of the same program it has the same bytes', () => {
  using another = tempFolder()

  expect(readFileSync(packed(another.path)).equals(readFileSync(deb))).toBe(true)
})

test.skipIf(!can)('it is made for another machine, with the licences of what is in it', () => {
  using other = tempFolder()
  writeFileSync(other.file('notices'), 'by which licence\n')

  const for_other = packed(other.path, '--arch', 'arm64', '--notices', other.file('notices'))

  expect(for_other).toBe(other.file(`forumd_${version}_arm64.deb`))
  expect(ask('dpkg-deb', '--field', for_other, 'Architecture').trim()).toBe('arm64')
  ask('dpkg-deb', '--extract', for_other, other.file('tree'))
  const notices = readFileSync(other.file('tree/usr/share/doc/forumd/THIRD-PARTY-NOTICES.gz'))
  expect(Buffer.from(Bun.gunzipSync(notices)).toString()).toBe('by which licence\n')
  expect(() => packed(other.path, '--arch', 'mips')).toThrow(
    '--arch is amd64 or arm64, and is mips',
  )
})

test.skipIf(!can)('installed, it runs, its configuration is valid, and it has its user', () => {
  using it = system()

  const said = it.dpkg('--install', deb)

  expect(said).toContain('edit /etc/forumd/forumd.toml, then: systemctl enable --now forumd')
  expect(ask(it.at('usr/bin/forumd'), 'version')).toStartWith(`forumd ${version} `)
  expect(
    ask(it.at('usr/bin/forumd'), 'check-config', '--config', it.at('etc/forumd/forumd.toml')),
  ).toContain('is valid')
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
  // What was installed is what was packed.
  expect(it.dpkg('--verify', 'forumd')).toBe('')
})

test.skipIf(!can)('installed again it keeps the configuration and who may read it', () => {
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
  'an upgrade that does not start again is installed all the same, and said',
  () => {
    using it = tempFolder()
    ask('dpkg-deb', '--control', deb, it.file('control'))
    mkdirSync(it.file('bin'))
    for (const name of ['systemctl', 'systemd-sysusers']) {
      writeFileSync(it.file(`bin/${name}`), '#!/bin/sh\n[ "$1" != try-restart ]\n')
      chmodSync(it.file(`bin/${name}`), 0o755)
    }
    const inside = `
    mount -t tmpfs none /run && mkdir -p /run/systemd/system
    PATH="$0/bin:$PATH" sh "$0/control/postinst" configure 0.9.0 2>&1`

    expect(ask('unshare', '--mount', 'sh', '-ec', inside, it.path)).toBe(
      'forumd: it did not start again: forumd check-config; journalctl --unit forumd\n',
    )
  },
)

test.skipIf(!can)(
  'removed it leaves configuration and data; purged, the data alone, and says so',
  () => {
    using it = system()
    it.dpkg('--install', deb)
    mkdirSync(it.at('var/lib/forumd'), { recursive: true })
    writeFileSync(it.at('var/lib/forumd/forumd.sqlite'), 'money')

    it.dpkg('--remove', 'forumd')
    const removed = [it.at('usr/bin/forumd'), it.at('etc/forumd/forumd.toml')].map((path) =>
      existsSync(path),
    )
    const said = it.dpkg('--purge', 'forumd')

    expect(removed).toEqual([false, true])
    expect(existsSync(it.at('etc/forumd'))).toBe(false)
    expect(readFileSync(it.at('var/lib/forumd/forumd.sqlite'), 'utf8')).toBe('money')
    expect(said).toContain('/var/lib/forumd is left where it is')
  },
)

test.skipIf(!can)(
  'the manual page and the completions in it are those that the program prints',
  () => {
    using it = system()
    it.dpkg('--install', deb)
    const print = (...args: string[]) => ask(it.at('usr/bin/forumd'), ...args)

    expect(
      Buffer.from(Bun.gunzipSync(readFileSync(it.at('usr/share/man/man1/forumd.1.gz')))).toString(),
    ).toBe(print('man'))
    expect(readFileSync(it.at('usr/share/bash-completion/completions/forumd'), 'utf8')).toBe(
      print('completion', 'bash'),
    )
  },
)
