// Goal: the container image is valid, reproducible, runs as its user with a read-only root, and answers its health check.
// Method: the built executable (FORUMD_IMAGE_BINARY), skopeo as the independent reader of the layout, and podman to run it, where
// this machine lets it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { version } from '../../package.json'
import { type Folder, tempFolder } from '../support/folder.ts'

setDefaultTimeout(180_000)

const root = join(import.meta.dir, '../..')
const binary = process.env['FORUMD_IMAGE_BINARY']
const can =
  binary !== undefined &&
  ['skopeo', 'dpkg-deb', 'apt-get'].every((tool) => Bun.which(tool) !== null)
if (!can) console.log('no image is built here: it takes FORUMD_IMAGE_BINARY, skopeo and dpkg')

const EPOCH_S = '1795132800'
const IMAGE = `docker.io/library/forumd:${version}`
const PORT_FILE = 'forumd.address'

let folder: Folder
let image = ''

function run(...command: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    env: { ...process.env, SOURCE_DATE_EPOCH: EPOCH_S },
    timeout: 90_000,
  })
  return { code: exitCode, out: stdout.toString().trim(), errors: stderr.toString().trim() }
}

function build(out: string): string {
  const script = join(root, 'scripts/packages/image.ts')
  const built = run(process.execPath, script, '--binary', binary ?? '', '--out', out)
  if (built.code !== 0) throw new Error(built.errors)
  return built.out
}

const sha256 = async (file: string) =>
  new Bun.CryptoHasher('sha256').update(await Bun.file(file).bytes()).digest('hex')

beforeAll(() => {
  if (!can) return
  folder = tempFolder()
  image = build(folder.path)
})
afterAll(() => folder?.[Symbol.dispose]())

/** podman with a store of its own. */
const podmanCommand = (...args: string[]) => [
  'podman',
  ...(Bun.which('runc') === null ? [] : ['--runtime', 'runc']),
  '--root',
  folder.file('pods'),
  '--runroot',
  folder.file('pods-run'),
  '--storage-driver',
  'vfs',
  '--cgroup-manager',
  'cgroupfs',
  ...args,
]
const podman = (...args: string[]) => run(...podmanCommand(...args))
// A machine may refuse to raise limits, so these are lower than any default.
const LIMITS = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1000:1000', '--network', 'host']
const HARDENED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']

describe.skipIf(!can)('the container image', () => {
  test('is a layout that skopeo reads, for a user without rights', () => {
    const config = run('skopeo', 'inspect', '--config', `oci-archive:${image}`)

    expect(config.errors).toBe('')
    expect(JSON.parse(config.out)).toMatchObject({
      os: 'linux',
      config: {
        User: '10001:10001',
        Entrypoint: ['/usr/bin/forumd'],
        Volumes: { '/data': {}, '/instance': {} },
        Labels: { 'org.opencontainers.image.version': version },
      },
    })
  })

  test('has no program but forumd, and nothing that its user may change outside of its volumes', () => {
    const to = folder.file('layout')
    expect(run('skopeo', 'copy', `oci-archive:${image}`, `dir:${to}`).errors).toBe('')
    const manifest = z
      .object({ layers: z.array(z.object({ digest: z.string() })) })
      .parse(JSON.parse(run('cat', join(to, 'manifest.json')).out))
    const lines = manifest.layers.flatMap(({ digest }) =>
      run('tar', '-tzvf', join(to, digest.slice('sha256:'.length)), '--numeric-owner').out.split(
        '\n',
      ),
    )
    const files = lines.map((line) => {
      const [mode = '', owner = '', , , , path = ''] = line.split(/\s+/)
      return { mode, owner, path: path.replace(/^\.\//, '').replace(/\/$/, '') }
    })

    const programs = files.filter(
      ({ mode, path }) => /^-..x/.test(mode) && !path.startsWith('usr/lib/'),
    )
    expect(programs.map(({ path }) => path)).toEqual(['usr/bin/forumd'])
    const owned = files.filter(({ owner }) => owner !== '0/0')
    expect(owned.map(({ path }) => path)).toEqual(['data', 'instance'])
    const open = files.filter(({ mode }) => /^[-d].{7}w/.test(mode))
    expect(open.map(({ path }) => path)).toEqual(['tmp'])
    expect(files.filter(({ mode }) => /s/i.test(mode.slice(1)))).toEqual([])
  })

  test('two builds have the same bytes', async () => {
    mkdirSync(folder.file('again'))
    expect(await sha256(build(folder.file('again')))).toBe(await sha256(image))
  })

  test('runs hardened, is healthy, keeps its data in the volume and stops with 0', async () => {
    if (Bun.which('podman') === null) {
      console.log('the image is not run here: there is no podman')
      return
    }
    expect(podman('load', '-i', image)).toMatchObject({ code: 0 })
    const first = podman('run', '--rm', ...LIMITS, IMAGE, 'version')
    if (/OCI|cgroup|not permitted/i.test(first.errors)) {
      console.log(`the image is not run here: ${first.errors}`)
      return
    }
    expect(first.errors).toBe('')
    expect(first.out).toStartWith(`forumd ${version} `)
    const checked = podman('run', '--rm', ...LIMITS, IMAGE, 'check-config')
    expect(checked.out).toBe('/etc/forumd/forumd.toml is valid')

    const file = folder.file('forumd.toml')
    writeFileSync(
      file,
      '[server]\nport = 0\n[storage]\ndir = "/data"\ninstance_file = "/instance/id"\n' +
        '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:9"\nsession_cookie = "session"\n',
      { mode: 0o644 },
    )
    const volumes = [
      '-v',
      `${file}:/etc/forumd/forumd.toml:ro`,
      '-v',
      'data:/data',
      '-v',
      'inst:/instance',
    ]
    const name = `forumd-test-${process.pid}`
    // Detached, podman leaves its monitor with the pipes of the caller: the output goes to a file.
    const started = run(
      'sh',
      '-c',
      'out=$1; shift; "$@" >"$out" 2>&1 </dev/null',
      'sh',
      folder.file('started'),
      ...podmanCommand(
        'run',
        '--detach',
        '--name',
        name,
        ...LIMITS,
        ...HARDENED,
        ...volumes,
        IMAGE,
      ),
    )
    expect(started.code).toBe(0)
    try {
      let health = podman('exec', name, 'forumd', 'health')
      for (let tries = 0; health.code !== 0 && tries < 40; tries += 1) {
        await Bun.sleep(250)
        health = podman('exec', name, 'forumd', 'health')
      }
      expect(health).toMatchObject({ code: 0, out: '{"ready":true}' })
      expect(podman('exec', name, 'forumd', 'key', 'create', '--customer', 'me').out).toStartWith(
        'fk_',
      )
      const data = folder.file('pods/volumes/data/_data')
      expect(existsSync(join(data, 'forumd.sqlite'))).toBe(true)
      expect(existsSync(join(data, PORT_FILE))).toBe(true)
      expect(podman('stop', name).code).toBe(0)
      expect(podman('inspect', '--format', '{{.State.ExitCode}}', name).out).toBe('0')
      expect(existsSync(join(data, PORT_FILE))).toBe(false)
    } finally {
      podman('rm', '--force', name)
      podman('system', 'reset', '--force')
    }
  })
})
