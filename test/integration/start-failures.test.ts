// Goal: a start that meets trouble of its disk waits for the end of it, says which trouble it is, and then serves; a start
// that cannot succeed says why, with the priority of an error. Method: the program on real file systems of its own.
import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { RESERVE_FILE_NAME } from '../../src/store/maintenance/disk.ts'
import { type Mounted, mountMemory, unavailableReason } from '../chaos/mounts.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { freePort } from '../support/port.ts'
import { endServing, PROGRAM, serve } from '../support/process.ts'

// Each start is a process of its own, and the machine may be busy.
setDefaultTimeout(60_000)

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

afterAll(endServing)

function configured(folder: Folder, dir: string, { port = 0, more = '' } = {}): string {
  const path = folder.file('forumd.toml')
  writeFileSync(
    path,
    `[server]\nport = ${port}\n[storage]\ndir = "${dir}"\n${more}\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n[browser]\nexecutable = "/nowhere/chromium"\n`,
  )
  return path
}

/** Serves once, so that the folder holds an instance, and ends. */
async function begin(config: string): Promise<void> {
  const daemon = serve(config)
  await daemon.until('serve.listening')
  daemon.stop()
  expect((await daemon.ended()).code).toBe(0)
}

const remount = (path: string, how: string) =>
  expect(Bun.spawnSync(['mount', '-o', `remount,${how}`, path]).exitCode).toBe(0)

/** Takes everything that a disk has left, in one file. */
function fill(path: string): void {
  expect(() => writeFileSync(path, new Uint8Array(256 << 20))).toThrow('ENOSPC')
}

function fillInodes(dir: string): void {
  mkdirSync(dir)
  expect(() => {
    for (let n = 0; ; n++) writeFileSync(join(dir, String(n)), '')
  }).toThrow('ENOSPC')
}

const TROUBLES = [
  [
    'a full disk',
    'disk_full',
    /disk is full/,
    ({ path }: Mounted) => fill(join(path, 'fill')),
    ({ path }: Mounted) => rmSync(join(path, 'fill')),
  ],
  [
    'a disk without inodes',
    'no_inodes',
    /no inodes left/,
    ({ path }: Mounted) => fillInodes(join(path, 'files')),
    ({ path }: Mounted) => rmSync(join(path, 'files'), { recursive: true }),
  ],
  [
    'a disk that is mounted read-only',
    'read_only',
    /mounted read-only/,
    ({ path }: Mounted) => remount(path, 'ro'),
    ({ path }: Mounted) => remount(path, 'rw'),
  ],
] as const

for (const age of ['an instance', 'nothing yet'] as const)
  test.concurrent.skipIf(no_memory !== null).each(TROUBLES)(
    `%s with ${age} is reported; only health is served until it is available`,
    async (_, reason, words, harm, repair) => {
      using folder = tempFolder()
      await using disk = await mountMemory(80, 400)
      const port = freePort()
      const config = configured(folder, join(disk.path, 'data'), { port })
      if (age === 'an instance') await begin(config)
      // The reserve file, which a start on a full disk gives free.
      rmSync(join(disk.path, 'data', RESERVE_FILE_NAME), { force: true })
      harm(disk)

      const daemon = serve(config)
      const waiting = await daemon.until('storage.waiting')
      const url = `http://127.0.0.1:${port}`
      const health = await fetch(`${url}/health`)
      const ready = await fetch(`${url}/health/ready`)
      const read = await fetch(`${url}/api/forum/posts?subforum=coffee`)

      expect(waiting).toMatchObject({ level: 'error', reason, why: expect.stringMatching(words) })
      expect([health.status, await health.json()]).toEqual([
        200,
        { ok: false, reads: 'unknown', storage: reason },
      ])
      expect([ready.status, await ready.json()]).toEqual([503, { ready: false, reason }])
      expect(Number(ready.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(read.status).toBe(503)

      repair(disk)
      await daemon.until('serve.listening')
      const after = await fetch(`${url}/health/ready`)
      expect(after.status).toBe(200)
      daemon.stop()
      expect((await daemon.ended()).code).toBe(0)
      expect(daemon.lines.map(({ event }) => event)).toContain('storage.recovered')
      expect(daemon.lines.filter(({ event }) => event === 'storage.waiting')).toHaveLength(1)
    },
  )

const no_tracer = Bun.which('strace') === null
if (no_tracer) console.warn('skipped: I/O errors at the start need strace')

/** A tracer by which a call on a file fails with EIO; `when`: the occurrences. */
const failing = (call: string, file: string, when: string) => [
  'strace',
  '-f',
  '-qq',
  '--seccomp-bpf',
  '-o',
  '/dev/null',
  '-P',
  file,
  '-e',
  `trace=${call}`,
  '-e',
  `inject=${call}:error=EIO${when}`,
]

test.concurrent.skipIf(no_tracer)(
  'a disk that returns I/O errors is named, waited for, and served from by itself',
  async () => {
    using folder = tempFolder()
    const dir = folder.file('data')
    const config = configured(folder, dir)
    await begin(config)

    const daemon = serve(config, { under: failing('read', join(dir, 'secrets.key'), ':when=1..2') })
    const waiting = await daemon.until('storage.waiting')

    expect(waiting).toMatchObject({ level: 'error', dir, reason: 'io_error' })
    expect(waiting['why']).toContain(`at ${dir} the disk returns I/O errors`)
    await daemon.until('storage.recovered')
    await daemon.until('serve.listening')
    daemon.stop()
    expect((await daemon.ended()).code).toBe(0)
  },
)

test.concurrent.skipIf(no_tracer)(
  'a database whose pages SQLite cannot read for I/O errors ends the start with 75, and says so',
  async () => {
    using folder = tempFolder()
    const dir = folder.file('data')
    const config = configured(folder, dir)
    await begin(config)

    // The first read is the header, by the program itself; the others are SQLite's.
    const under = failing('pread64', join(dir, 'forumd.sqlite'), ':when=2+')
    const { code, err } = await serve(config, { under }).ended()

    expect(code).toBe(75)
    expect(err).toContain('returns I/O errors')
  },
)

test.concurrent(
  'a port that a program without HTTP holds ends the start at once, and is named',
  async () => {
    using holder = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    using folder = tempFolder()
    const config = configured(folder, folder.file('data'), { port: holder.port })

    const { code, err } = await serve(config).ended()

    expect(code).toBe(1)
    expect(err).toContain(`port ${holder.port} is in use by another program`)
  },
)

test.concurrent.skipIf(no_memory !== null)(
  'a daemon that waits for its disk stops on SIGTERM',
  async () => {
    using folder = tempFolder()
    await using disk = await mountMemory(80)
    const config = configured(folder, join(disk.path, 'data'))
    remount(disk.path, 'ro')

    const daemon = serve(config)
    await daemon.until('storage.waiting')
    daemon.stop()

    expect((await daemon.ended()).code).toBe(0)
    remount(disk.path, 'rw')
  },
)

test.concurrent.skipIf(no_memory !== null)(
  'an unmounted data volume makes a start exit with 78; after mounting it serves the same data',
  async () => {
    using folder = tempFolder()
    const dir = folder.file('volume')
    mkdirSync(dir)
    const disk = await mountMemory(80)
    const bind = () => expect(Bun.spawnSync(['mount', '--bind', disk.path, dir]).exitCode).toBe(0)
    bind()
    const config = configured(folder, dir)
    await begin(config)
    const id = readFileSync(join(dir, 'instance.id'), 'utf8')
    expect(Bun.spawnSync(['umount', dir]).exitCode).toBe(0)

    const { code, err } = await serve(config).ended()
    const left = readdirSync(dir)
    const command = Bun.spawnSync(
      [...PROGRAM, 'key', 'create', '--customer', 'ann', '--config', config],
      { stderr: 'pipe' },
    )

    expect(code).toBe(78)
    expect(err).toContain(`mount the volume that belongs at ${dir}`)
    expect(err).toContain('forumd serve --new')
    expect(left).toEqual([])
    expect([command.exitCode, readdirSync(dir)]).toEqual([78, []])

    bind()
    await begin(config)
    expect(readFileSync(join(dir, 'instance.id'), 'utf8')).toBe(id)
    expect(Bun.spawnSync(['umount', dir]).exitCode).toBe(0)
    await disk[Symbol.asyncDispose]()
  },
)

test.concurrent(
  '--new creates a database if the recorded one is missing, never beside an existing one',
  async () => {
    using folder = tempFolder()
    const config = configured(folder, folder.file('data'))
    await begin(config)
    const record = () => readFileSync(folder.file('forumd.instance'), 'utf8')
    const before = record()

    const refused = await serve(config, { options: ['--new'] }).ended()
    expect([refused.code, record()]).toEqual([2, before])
    expect(refused.err).toContain('leave --new out')

    renameSync(folder.file('data'), folder.file('gone'))
    const daemon = serve(config, { options: ['--new'] })
    await daemon.until('serve.listening')
    daemon.stop()
    await daemon.ended()
    expect(record()).not.toBe(before)
    await begin(config)
  },
)

test.concurrent(
  'a backup is restored after the loss of a volume and becomes the recorded instance',
  async () => {
    using folder = tempFolder()
    const config = configured(folder, folder.file('data'))
    await begin(config)
    const forumd = (...args: string[]) =>
      Bun.spawnSync([...PROGRAM, ...args, '--config', config]).exitCode
    expect(forumd('backup', folder.file('backup.sqlite'))).toBe(0)
    const key = readFileSync(folder.file('data/secrets.key'))
    rmSync(folder.file('data'), { recursive: true })
    mkdirSync(folder.file('data'))
    writeFileSync(folder.file('data/secrets.key'), key)
    rmSync(folder.file('forumd.instance'))

    expect(forumd('restore', folder.file('backup.sqlite'))).toBe(0)

    const id = readFileSync(folder.file('data/instance.id'), 'utf8').split('\n')[0] ?? ''
    expect(readFileSync(folder.file('forumd.instance'), 'utf8')).toStartWith(id)
    await begin(config)
  },
)

/** Runs doctor; answers its exit code and its verdict on the database. */
function doctor(config: string) {
  const { exitCode, stdout } = Bun.spawnSync([...PROGRAM, 'doctor', '--json', '--config', config], {
    stderr: 'ignore',
  })
  const { checks }: { checks: { check: string; verdict: string; found: string }[] } = JSON.parse(
    stdout.toString(),
  )
  const { verdict, found } = checks.find(({ check }) => check === 'database') ?? {}
  return { code: exitCode, verdict, found }
}

test.concurrent(
  'a database of an unreleased revision makes a start exit with 78 and a message, which doctor repeats',
  async () => {
    using folder = tempFolder()
    const config = configured(folder, folder.file('data'))
    await begin(config)
    const db = new Database(folder.file('data/forumd.sqlite'))
    db.run('ALTER TABLE feeds RENAME TO streams')
    db.close()

    const { code, err } = await serve(config).ended()

    expect(code).toBe(78)
    expect(err).toContain('made by an unreleased revision of forumd')
    expect(doctor(config)).toEqual({
      code: 1,
      verdict: 'fail',
      found: expect.stringContaining('made by an unreleased revision of forumd'),
    })
  },
)

test.concurrent('doctor reports an unmounted volume with the message of a start', async () => {
  using folder = tempFolder()
  const config = configured(folder, folder.file('data'))
  await begin(config)
  renameSync(folder.file('data'), folder.file('elsewhere'))
  mkdirSync(folder.file('data'))

  expect(doctor(config)).toEqual({
    code: 1,
    verdict: 'fail',
    found: expect.stringContaining('mount the volume that belongs at'),
  })
})

test.concurrent('an instance_file inside the data folder is refused with its line', async () => {
  using folder = tempFolder()
  const dir = folder.file('data')
  const config = configured(folder, dir, { more: `instance_file = "${dir}/id"` })

  const { code, err } = await serve(config).ended()

  expect(code).toBe(2)
  expect(err).toContain('forumd.toml:5:')
  expect(err).toContain('storage.instance_file: found')
})

/** Runs the program as a user who is not root, and answers what it said. */
function runUnprivileged(config: string) {
  const { exitCode, stderr } = Bun.spawnSync(
    [
      'setpriv',
      '--reuid',
      '65534',
      '--regid',
      '65534',
      '--clear-groups',
      ...PROGRAM,
      'serve',
      '--config',
      config,
    ],
    { stdout: 'ignore', stderr: 'pipe', env: { ...process.env, HOME: '/' } },
  )
  return { code: exitCode, err: stderr.toString() }
}

/** The program has to be readable to a user who is not root. */
const canDrop =
  process.getuid?.() === 0 &&
  Bun.spawnSync(`setpriv --reuid 65534 --clear-groups test -r ${PROGRAM.at(-1)}`.split(' '))
    .exitCode === 0

test.concurrent.skipIf(!canDrop)(
  'an unreadable key file is reported as a file problem',
  async () => {
    using folder = tempFolder()
    const dir = folder.file('data')
    const config = configured(folder, dir)
    await begin(config)
    chmodSync(folder.path, 0o755)
    for (const name of readdirSync(dir)) chownSync(join(dir, name), 65534, 65534)
    chownSync(dir, 65534, 65534)
    chownSync(join(dir, 'secrets.key'), 0, 0)

    const { code, err } = runUnprivileged(config)

    expect(code).toBe(1)
    expect(err).toContain(join(dir, 'secrets.key'))
    expect(err).toContain('check its owner')
    expect(err).not.toContain('port')
  },
)

test.concurrent.skipIf(!canDrop)('running out of file descriptors is reported', async () => {
  using folder = tempFolder()
  const config = configured(folder, folder.file('data'))
  await begin(config)

  const tried = await Promise.all(
    [11, 10, 9].map((count) => serve(config, { under: ['prlimit', `--nofile=${count}`] }).ended()),
  )
  const said = tried.map(({ err }) => err).join('\n')

  expect(said).toContain('too many files open: raise LimitNOFILE')
  expect(said).not.toContain('cannot be used')
})

test.concurrent('every line of the exit message has error priority in the journal', async () => {
  using folder = tempFolder()
  const config = configured(folder, folder.file('data'), { more: 'instance_file = -1\nkey = 1' })
  const journal = openSync(folder.file('journal'), 'w')
  const { dev, ino } = fstatSync(journal)
  const run = (stream: string) => {
    const { exitCode } = Bun.spawnSync([...PROGRAM, 'serve', '--config', config], {
      stdout: 'ignore',
      stderr: journal,
      env: { ...process.env, JOURNAL_STREAM: stream },
    })
    return exitCode
  }

  const codes = [run(`${dev}:${ino}`), run('1:1')]
  closeSync(journal)

  expect(codes).toEqual([2, 2])
  const lines = readFileSync(folder.file('journal'), 'utf8').trim().split('\n')
  expect(lines.map((line) => line.startsWith('<3>'))).toEqual([true, true, false, false])
  expect(existsSync(folder.file('data'))).toBe(false)
})
