/**
 * Builds a container image without a container daemon: `bun run image`, or bun scripts/packages/image.ts [--binary FILE]
 * [--arch amd64|arm64] [--libc DEB] [--notices FILE] [--out FOLDER]. The result is an OCI image layout
 * (https://github.com/opencontainers/image-spec) in a tar file that docker, podman and skopeo load; its path is
 * printed. The image has the executable, the C library of this Debian (or of the package --libc), a user and nothing
 * else: no shell. With SOURCE_DATE_EPOCH in the environment and the same library the build is reproducible.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

import { description, license, version } from '../../package.json'
import { runCommand } from '../release/run-command.ts'
import { PACKAGE_OPTIONS, packaged, ROOT, runHere, sha256Of } from './package-options.ts'

const { values } = parseArgs({ options: { ...PACKAGE_OPTIONS, libc: { type: 'string' } } })

/** User and group of the image, which owns /data and /instance. */
const USER = 10_001
/** The libraries of the executable, and the name service that the C library loads to resolve host names. */
const LIBRARIES = /^(?:ld-linux-.*|lib(?:c|dl|m|pthread|rt|resolv|nss_dns|nss_files)\.so\.\d+)$/
const SECOND_NS = 1_000_000_000

const ARCHITECTURES = {
  amd64: { folder: 'x86_64-linux-gnu', loader: 'lib64/ld-linux-x86-64.so.2' },
  arm64: { folder: 'aarch64-linux-gnu', loader: 'lib/ld-linux-aarch64.so.1' },
} as const

const { binary, arch, own } = await packaged(values)
if (arch !== own && values.libc === undefined)
  throw new Error(`--arch ${arch} needs --libc FILE, the package libc6 of that architecture`)
const epoch_s = Number(process.env['SOURCE_DATE_EPOCH'] ?? Math.floor(Date.now() / 1000))

const work = mkdtempSync(join(tmpdir(), 'forumd-image-'))
const layout = join(work, 'layout')
const blobs = join(layout, 'blobs/sha256')

type Blob = { digest: string; size: number }
type Layer = Blob & { diff_id: string; comment: string }

function keep(file: string): Blob {
  const digest = sha256Of(file)
  const size = statSync(file).size
  renameSync(file, join(blobs, digest))
  return { digest: `sha256:${digest}`, size }
}

function keepJson(value: unknown): Blob {
  const file = join(work, 'blob.json')
  writeFileSync(file, JSON.stringify(value))
  return keep(file)
}

type Packing = { owner?: number; members?: readonly string[] }

/** A tar file of a folder with fixed order, times and owner. */
const packFolder = (folder: string, file: string, { owner = 0, members = ['.'] }: Packing = {}) =>
  runHere(
    'tar',
    '--sort=name',
    `--mtime=@${epoch_s}`,
    '--numeric-owner',
    '--format=gnu',
    `--owner=${owner}`,
    `--group=${owner}`,
    '-C',
    folder,
    '-cf',
    file,
    ...members,
  )

async function makeLayer(folder: string, comment: string, packing: Packing = {}): Promise<Layer> {
  const tar = join(work, 'layer.tar')
  await packFolder(folder, tar, packing)
  const diff_id = `sha256:${sha256Of(tar)}`
  // Without a name and a timestamp inside.
  await runHere('gzip', '-6', '--no-name', '--force', tar)
  return { ...keep(`${tar}.gz`), diff_id, comment }
}

/** Folders of the image's user: a new volume begins as a copy of its folder. */
function makeVolumes(): Promise<Layer> {
  const folder = join(work, 'volumes')
  const members = ['data', 'instance']
  for (const name of members) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 })
  return makeLayer(folder, 'volumes', { owner: USER, members })
}

/** The system below the executable. */
async function makeSystem(): Promise<{ folder: string; libc: string }> {
  const folder = join(work, 'system')
  const downloads = join(work, 'libc')
  mkdirSync(downloads)
  if (values.libc === undefined)
    await runCommand(['apt-get', 'download', 'libc6'], { cwd: downloads })
  else copyFileSync(values.libc, join(downloads, 'libc6.deb'))
  const [name = ''] = readdirSync(downloads)
  const deb = join(downloads, name)
  const libc = (
    await runHere('dpkg-deb', '--showformat=${Package} ${Version} ${Architecture}', '--show', deb)
  ).trim()
  if (!libc.endsWith(` ${arch}`)) throw new Error(`${libc} is not a library for ${arch}`)
  const unpacked = join(work, 'unpacked')
  await runHere('dpkg-deb', '--extract', deb, unpacked)
  const { folder: triplet, loader } = ARCHITECTURES[arch]
  const libraries = join('usr/lib', triplet)
  const from = ['lib', 'usr/lib']
    .map((it) => join(unpacked, it, triplet))
    .find((it) => existsSync(join(it, 'libc.so.6')))
  if (from === undefined) throw new Error(`${libc} has no libc.so.6`)
  const put = (path: string, content: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content, { mode })
  }
  mkdirSync(join(folder, libraries), { recursive: true })
  for (const library of readdirSync(from).filter((it) => LIBRARIES.test(it)))
    copyFileSync(join(from, library), join(folder, libraries, library))
  for (const library of readdirSync(join(folder, libraries)))
    chmodSync(join(folder, libraries, library), 0o755)
  symlinkSync('usr/lib', join(folder, 'lib'))
  const link = join(folder, loader)
  if (loader.startsWith('lib64/')) mkdirSync(dirname(link))
  symlinkSync(`/${libraries}/${basename(loader)}`, link)
  put('etc/passwd', `root:x:0:0:root:/:/nologin\nforumd:x:${USER}:${USER}:forumd:/data:/nologin\n`)
  put('etc/group', `root:x:0:\nforumd:x:${USER}:\n`)
  put('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
  mkdirSync(join(folder, 'usr/share/doc/libc6'), { recursive: true })
  copyFileSync(
    join(unpacked, 'usr/share/doc/libc6/copyright'),
    join(folder, 'usr/share/doc/libc6/copyright'),
  )
  mkdirSync(join(folder, 'tmp'))
  chmodSync(join(folder, 'tmp'), 0o1777)
  chmodSync(folder, 0o755)
  return { folder, libc }
}

function makeProgram(): string {
  const folder = join(work, 'program')
  for (const path of ['usr/bin', 'usr/share/doc/forumd', 'etc/forumd'])
    mkdirSync(join(folder, path), { recursive: true })
  copyFileSync(binary, join(folder, 'usr/bin/forumd'))
  chmodSync(join(folder, 'usr/bin/forumd'), 0o755)
  const notices = values.notices === undefined ? [] : [values.notices]
  for (const file of [join(ROOT, 'LICENSE'), join(ROOT, 'config.example.toml'), ...notices]) {
    copyFileSync(file, join(folder, 'usr/share/doc/forumd', basename(file)))
    chmodSync(join(folder, 'usr/share/doc/forumd', basename(file)), 0o644)
  }
  copyFileSync(join(ROOT, 'examples/container/forumd.toml'), join(folder, 'etc/forumd/forumd.toml'))
  chmodSync(join(folder, 'etc/forumd/forumd.toml'), 0o644)
  chmodSync(folder, 0o755)
  return folder
}

try {
  mkdirSync(blobs, { recursive: true })
  const { folder, libc } = await makeSystem()
  const layers = [
    await makeLayer(folder, libc),
    await makeVolumes(),
    await makeLayer(makeProgram(), `forumd ${version}`),
  ]
  const created = new Date(epoch_s * 1000).toISOString()
  const config = keepJson({
    created,
    architecture: arch,
    os: 'linux',
    config: {
      User: `${USER}:${USER}`,
      Entrypoint: ['/usr/bin/forumd'],
      // Docker restarts what ended, but nothing that is unhealthy.
      Cmd: ['serve', '--config', '/etc/forumd/forumd.toml', '--watchdog', '8'],
      Env: ['PATH=/usr/bin'],
      WorkingDir: '/data',
      ExposedPorts: { '8080/tcp': {} },
      Volumes: { '/data': {}, '/instance': {} },
      StopSignal: 'SIGTERM',
      // Not part of the OCI specification; docker reads it from the configuration of either format.
      Healthcheck: {
        Test: ['CMD', '/usr/bin/forumd', 'health', '--config', '/etc/forumd/forumd.toml'],
        Interval: 30 * SECOND_NS,
        Timeout: 10 * SECOND_NS,
        StartPeriod: 60 * SECOND_NS,
        Retries: 3,
      },
      Labels: {
        'org.opencontainers.image.title': 'forumd',
        'org.opencontainers.image.description': description,
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': license,
        'org.opencontainers.image.base.name': libc,
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diff_id }) => diff_id) },
    history: layers.map(({ comment }) => ({
      created,
      created_by: 'scripts/packages/image.ts',
      comment,
    })),
  })
  const media = 'application/vnd.oci.image'
  const manifest = keepJson({
    schemaVersion: 2,
    mediaType: `${media}.manifest.v1+json`,
    config: { mediaType: `${media}.config.v1+json`, ...config },
    layers: layers.map(({ digest, size }) => ({
      mediaType: `${media}.layer.v1.tar+gzip`,
      digest,
      size,
    })),
  })
  const name = `forumd:${version}`
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  writeFileSync(
    join(layout, 'index.json'),
    JSON.stringify({
      schemaVersion: 2,
      mediaType: `${media}.index.v1+json`,
      manifests: [
        {
          mediaType: `${media}.manifest.v1+json`,
          ...manifest,
          platform: { architecture: arch, os: 'linux' },
          annotations: {
            'io.containerd.image.name': `docker.io/library/${name}`,
            'org.opencontainers.image.ref.name': version,
          },
        },
      ],
    }),
  )
  mkdirSync(values.out, { recursive: true })
  const file = join(values.out, `forumd-${version}-oci-${arch}.tar`)
  rmSync(file, { force: true })
  await packFolder(layout, file)
  console.log(file)
} finally {
  rmSync(work, { recursive: true, force: true })
}
