import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

import { version } from '../../package.json'
import { compile, type Runtime } from '../build/compile.ts'
import { pack } from '../release/archive.ts'
import { elfFaults, readElf } from '../release/elf.ts'
import { formulaOf } from '../release/formula.ts'
import { machOFaults, readMachO } from '../release/macho.ts'
import { type Bundled, bundledOf } from '../release/materials/bundled.ts'
import { newestIn } from '../release/materials/changelog.ts'
import { type Artifact, notesOf } from '../release/materials/notes.ts'
import { noticesOf } from '../release/materials/notices.ts'
import { provenanceOf } from '../release/materials/provenance.ts'
import { sbomOf } from '../release/materials/sbom.ts'
import { signed } from '../release/materials/signature.ts'
import { runCommand } from '../release/run-command.ts'
import { BUN, executableOf, fetchRuntimes, runtimeSha512 } from '../release/runtimes.ts'
import { LINUX, type Target, TARGETS } from '../release/targets.ts'
import { type Run, tryOut } from '../release/try-run.ts'
import { ROOT, runHere, sha256Of } from './package-options.ts'

// Builds a release in dist/release: an archive per target, a Homebrew formula, Debian packages, a container image, a bill
// of materials, a statement of provenance, licences, notes and checksums. Each executable is built twice and must have the
// same bytes; its system requirements are checked, and it runs where this machine can run it. `bun run release`, or bun
// scripts/packages/release.ts [--out FOLDER] [--url ADDRESS] [--sign KEY], where ADDRESS is the folder from which the formula
// downloads, and KEY the file of an Ed25519 key in PEM that signs the checksums; `--here` does this without the demo and the
// packing, for this machine and with the running Bun: a check for every change.

const { values } = parseArgs({
  options: {
    here: { type: 'boolean', default: false },
    out: { type: 'string', default: join(ROOT, 'dist/release') },
    url: { type: 'string' },
    sign: { type: 'string' },
  },
})
const work = mkdtempSync(join(tmpdir(), 'forumd-release-'))

/** Files of the checkout that are released as they are, and their modes. */
const COPIED: Readonly<Record<string, number>> = {
  'scripts/install.sh': 0o755,
  'examples/container/compose.yaml': 0o644,
  'examples/container/forumd.toml': 0o644,
}

type Executable = { target: Target; file: string; inputs: string[]; run: Run }

async function make(target: Target, runtime?: Runtime): Promise<Executable> {
  const folder = join(work, target.name)
  // The file's name is part of its content.
  const [file, again] = [join(folder, 'forumd'), join(folder, 'again/forumd')]
  const inputs = await compile(file, runtime)
  await compile(again, runtime)
  if (sha256Of(file) !== sha256Of(again))
    throw new Error(`${target.name} differs between two builds; did a source change meanwhile?`)
  rmSync(join(folder, 'again'), { recursive: true })
  const faults =
    'elf' in target
      ? elfFaults(await readElf(file), target.elf)
      : machOFaults(readMachO(file), target.macho)
  if (faults.length > 0)
    throw new Error(`${target.name} does not match its name: ${faults.join('; ')}`)
  const run = await tryOut(target, file, { work: folder, demo: !values.here })
  console.log(`${target.name}: ${sha256Of(file)}, ${run.ran ? 'run' : 'NOT run'}: ${run.how}`)
  return { target, file, inputs, run }
}

/** Third-party packages of the executables, which are the same for all of them. */
function packagesOf(executables: readonly Executable[]): Map<string, Bundled> {
  const all = executables.map(({ inputs }) => bundledOf(inputs))
  const listings = all.map((it) => JSON.stringify([...it]))
  if (new Set(listings).size !== 1)
    throw new Error('the executables are made of different packages')
  return all[0] ?? new Map()
}

const runtimesOf = (targets: readonly Target[]) =>
  new Map(targets.map(({ runtime }) => [runtime, runtimeSha512(runtime)]))

async function here(): Promise<void> {
  const target = LINUX.find(({ name }) => name === `linux-${process.arch}`)
  if (target === undefined)
    throw new Error(`there is no release for ${process.platform} ${process.arch}`)
  const executable = await make(target)
  const packages = packagesOf([executable])
  const sbom = await sbomOf(packages, runtimesOf([target]), new Date(0))
  const notices = noticesOf(packages)
  console.log(
    `${packages.size} packages; ${sbom.length} bytes of materials, valid; ${notices.length} of licences`,
  )
}

async function release(): Promise<void> {
  const news = newestIn(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))
  if (news.version !== version)
    throw new Error(`package.json says ${version}, and CHANGELOG.md ${news.version}`)
  // Read first: a wrong path is found before the work.
  const key = values.sign === undefined ? null : readFileSync(values.sign, 'utf8')
  const runtimes = runtimesOf(TARGETS)
  await fetchRuntimes()
  const executables: Executable[] = []
  for (const target of TARGETS)
    executables.push(
      await make(target, { target: target.target, executable: executableOf(target.runtime) }),
    )
  const packages = packagesOf(executables)

  rmSync(values.out, { recursive: true, force: true })
  mkdirSync(values.out, { recursive: true })
  const put = (name: string, text: string) => {
    writeFileSync(join(values.out, name), text, { mode: 0o644 })
    return join(values.out, name)
  }
  const notices = put('THIRD-PARTY-NOTICES', noticesOf(packages))
  const sbom = put(`forumd-${version}.cdx.json`, await sbomOf(packages, runtimes, news.created_at))
  const files: Artifact[] = []
  for (const { target, file, run } of executables)
    for (const packed of await packAll(target, file, { notices, created_at: news.created_at }))
      files.push({ file: basename(packed), bytes: statSync(packed).size, run })
  const notes = put('RELEASE-NOTES.md', notesOf(version, news.text, files))
  const formula = put('forumd.rb', formulaHere())
  const copied = Object.entries(COPIED).map(([path, mode]) => {
    const file = join(values.out, basename(path))
    copyFileSync(join(ROOT, path), file)
    chmodSync(file, mode)
    return file
  })
  const packed = files.map(({ file }) => join(values.out, file))
  // Without the notes, which name what this machine could run.
  const described = [...packed, notices, sbom, formula, ...copied]
  const provenance = put(
    `forumd-${version}.provenance.json`,
    provenanceOf(
      described.map((it) => ({ name: basename(it), sha256: sha256Of(it) })),
      { ...(await checkout()), lock_sha256: sha256Of(join(ROOT, 'bun.lock')) },
      runtimes,
    ),
  )
  const sums = [...described, notes, provenance]
    .map((it) => `${sha256Of(it)}  ${basename(it)}\n`)
    .toSorted()
    .join('')
  put('SHA256SUMS', sums)
  if (key === null) console.log('SHA256SUMS is not signed: --sign KEY')
  else {
    const { signature, public_key } = signed(sums, key)
    writeFileSync(join(values.out, 'SHA256SUMS.sig'), signature, { mode: 0o644 })
    put('forumd-release.pub', public_key)
  }
  console.log(await Bun.file(notes).text())
}

/** Revision of the checkout, and whether it has no other changes. */
async function checkout(): Promise<{ revision: string | null; is_clean: boolean }> {
  if (!existsSync(join(ROOT, '.git'))) return { revision: null, is_clean: false }
  const revision = (await runHere('git', 'rev-parse', 'HEAD')).trim()
  return { revision, is_clean: (await runHere('git', 'status', '--porcelain')).trim() === '' }
}

/** The formula of the packed archives for glibc, which are those that Homebrew on Linux runs. */
function formulaHere(): string {
  const of = (cpu: 'intel' | 'arm', name: Target['name']) => {
    const file = `forumd-${version}-${name}.tar.gz`
    return { cpu, file, sha256: sha256Of(join(values.out, file)) }
  }
  return formulaOf(version, [of('intel', 'linux-x64'), of('arm', 'linux-arm64')], values.url)
}

async function packAll(
  { name, ...target }: Target,
  executable: string,
  { notices, created_at }: { notices: string; created_at: Date },
): Promise<string[]> {
  const folder = `forumd-${version}-${name}`
  const staged = await pack({
    name: folder,
    executable,
    notices: readFileSync(notices, 'utf8'),
    created_at,
    out: join(work, name),
  })
  const archive = join(values.out, basename(staged))
  copyFileSync(staged, archive)
  const deb = 'deb' in target ? target.deb : undefined
  if (deb === undefined) return [archive]
  const own = (await runCommand(['dpkg', '--print-architecture'])).trim()
  // The image contains this machine's C library.
  const scripts = ['deb.ts', ...(deb === own ? ['image.ts'] : [])]
  const packages = scripts.map((script) =>
    runCommand(
      [
        process.execPath,
        join(import.meta.dir, script),
        '--binary',
        executable,
        '--arch',
        deb,
        '--notices',
        notices,
        '--out',
        values.out,
      ],
      { env: { SOURCE_DATE_EPOCH: String(created_at.getTime() / 1000) } },
    ),
  )
  return [archive, ...(await Promise.all(packages)).map((it) => it.trim())]
}

if (Bun.version !== BUN) throw new Error(`forumd needs Bun ${BUN}; this is ${Bun.version}`)
process.chdir(ROOT)
try {
  await (values.here ? here() : release())
} finally {
  rmSync(work, { recursive: true, force: true })
}
