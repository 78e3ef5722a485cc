/**
 * Builds a Debian package of the executable: `bun run deb`, or bun scripts/packages/deb.ts [--binary FILE] [--arch
 * amd64|arm64] [--notices FILE] [--out FOLDER]. Default of --binary: dist/forumd, built first; of --arch: this
 * machine; --notices is the file of third-party licences. Prints the path of the package. With
 * SOURCE_DATE_EPOCH in the environment the build is reproducible.
 */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

import { $ } from 'bun'

import { version } from '../../package.json'
import {
  changelog,
  CONFFILE,
  CONFFILES,
  control,
  copyright,
  OVERRIDES,
  SCRIPTS,
  SYSUSERS,
} from './control.ts'
import { PACKAGE_OPTIONS, packaged, ROOT, runHere } from './package-options.ts'

/** Pages and files that an operator uses; pictures and the benchmarks' data stay in the source. */
const isDocument = (name: string): boolean =>
  /^(README\.md|CHANGELOG\.md|docs\/.+\.(md|yml|json)|examples\/(apache|caddy|haproxy|home-assistant|n8n|nginx)\/.+)$/.test(
    name,
  ) && !/benchmarks\.json$|\.test\.yml$/.test(name)

const { values } = parseArgs({ options: PACKAGE_OPTIONS })

const forumd = (...args: string[]) => runHere(process.execPath, join(ROOT, 'src/main.ts'), ...args)

const { binary, arch } = await packaged(values)
const tree = mkdtempSync(join(tmpdir(), 'forumd-deb-'))
const package_path = join(values.out, `forumd_${version}_${arch}.deb`)

function put(path: string, content: string | Uint8Array, mode = 0o644): void {
  mkdirSync(dirname(join(tree, path)), { recursive: true })
  writeFileSync(join(tree, path), content, { mode })
}
// Without a name and a timestamp inside, so that the build is reproducible.
const packed = (text: string) => Bun.gzipSync(Buffer.from(text), { level: 9 })
const file = (name: string) => readFileSync(join(ROOT, name), 'utf8')

try {
  // Not stripped: that would remove the bundle appended to it.
  mkdirSync(join(tree, 'usr/bin'), { recursive: true })
  cpSync(binary, join(tree, 'usr/bin/forumd'))
  chmodSync(join(tree, 'usr/bin/forumd'), 0o755)
  put(
    'usr/lib/systemd/system/forumd.service',
    await forumd(
      'service-unit',
      '--binary',
      '/usr/bin/forumd',
      '--config',
      '/etc/forumd/forumd.toml',
    ),
  )
  put('usr/lib/sysusers.d/forumd.conf', SYSUSERS)
  put('usr/share/man/man1/forumd.1.gz', packed(await forumd('man')))
  put('usr/share/bash-completion/completions/forumd', await forumd('completion', 'bash'))
  put('usr/share/zsh/vendor-completions/_forumd', await forumd('completion', 'zsh'))
  put('usr/share/fish/vendor_completions.d/forumd.fish', await forumd('completion', 'fish'))
  put('usr/share/doc/forumd/copyright', copyright(file('LICENSE')))
  put('usr/share/doc/forumd/changelog.gz', packed(changelog(version, file('CHANGELOG.md'))))
  put('usr/share/doc/forumd/config.example.toml', file('config.example.toml'))
  const { stdout: listed } = await $`git ls-files README.md CHANGELOG.md docs examples`
    .cwd(ROOT)
    .quiet()
  for (const name of listed.toString().trim().split('\n').filter(isDocument))
    put(`usr/share/doc/forumd/${name}`, readFileSync(join(ROOT, name)))
  put('usr/share/lintian/overrides/forumd', OVERRIDES)
  if (values.notices !== undefined)
    put('usr/share/doc/forumd/THIRD-PARTY-NOTICES.gz', packed(readFileSync(values.notices, 'utf8')))
  put('etc/forumd/forumd.toml', CONFFILE, 0o640)
  chmodSync(join(tree, 'etc/forumd'), 0o750)

  const files = [...new Bun.Glob('**/*').scanSync({ cwd: tree, dot: true })].toSorted()
  const size_kib = files.reduce(
    (sum, name) => sum + Math.ceil(statSync(join(tree, name)).size / 1024),
    0,
  )
  const digests = files
    .filter((name) => !name.startsWith('etc/'))
    .map(
      (name) =>
        `${new Bun.CryptoHasher('md5').update(readFileSync(join(tree, name))).digest('hex')}  ${name}\n`,
    )
  put('DEBIAN/control', control({ version, arch, size_kib }))
  put('DEBIAN/conffiles', CONFFILES)
  put('DEBIAN/md5sums', digests.join(''))
  for (const [name, text] of Object.entries(SCRIPTS)) put(`DEBIAN/${name}`, text, 0o755)

  chmodSync(tree, 0o755)
  mkdirSync(values.out, { recursive: true })
  await runHere('dpkg-deb', '--root-owner-group', '-Zxz', '--build', tree, package_path)
  console.log(package_path)
} finally {
  rmSync(tree, { recursive: true, force: true })
}
