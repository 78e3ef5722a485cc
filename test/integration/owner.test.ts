// Goal: the command line, run as root, gives none of root's rights to the owner of the data folder
// or of the current folder. Method: real users and real files; each attack once succeeded.
import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { PROGRAM } from '../support/process.ts'
import { AS_DAEMON, can_be_others, createPlace, DAEMON_ID, forumd } from './owner-fixture.ts'

setDefaultTimeout(60_000)

const SERVED = '[server]\nport = 0\n[log]\njson = true\n'

/** Serves until it listens, and ends after `look`. */
async function serveOnce(config: string, look: (pid: number) => void = () => {}) {
  const child = Bun.spawn([...PROGRAM, 'serve', '--config', config], {
    cwd: '/',
    stdout: 'pipe',
    stderr: 'ignore',
    env: { PATH: process.env['PATH'] ?? '' },
  })
  let log = ''
  const decoder = new TextDecoder()
  for await (const chunk of child.stdout) {
    log += decoder.decode(chunk, { stream: true })
    // Its last lines come while it ends, when /proc may not have it any more.
    if (child.killed || !log.includes('"serve.listening"')) continue
    look(child.pid)
    child.kill('SIGTERM')
  }
  expect(await child.exited).toBe(0)
}

/** The text of a thread's file; null if the thread ended after it was listed. */
function statusOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

const ownersIn = (dir: string): number[] => [
  ...new Set(readdirSync(dir).map((name) => statSync(join(dir, name)).uid)),
]

describe.skipIf(!can_be_others)('the owner of the data folder', () => {
  test.concurrent('cannot misuse a link in place of the lock', async () => {
    const it = createPlace()
    symlinkSync(join(it.vault, 'made'), join(it.data, 'lock.db'))
    const backup = await backupIn(createPlace())

    const { code } = await forumd(['restore', backup, '--config', it.config, '--without-secrets'])

    expect(code).toBe(1)
    expect(readdirSync(it.vault)).toEqual([])
  })

  // Alone: it keeps a core busy.
  test('cannot misuse links planted while root restores', async () => {
    const source = createPlace()
    const backup = await backupIn(source)
    // A large WAL leaves time between the first copy and the second.
    writeFileSync(`${backup}-wal`, Buffer.alloc(64 * 2 ** 20))
    const it = createPlace()
    const target = join(it.vault, 'target')
    writeFileSync(target, 'untouched', { mode: 0o600 })
    const racer = Bun.spawn([...AS_DAEMON, process.execPath, '-e', PLANT_LINKS, it.data, target], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const reader = racer.stdout.getReader()
    await reader.read()

    for (let n = 0; n < 3; n++)
      await forumd(['restore', backup, '--config', it.config, '--without-secrets'])

    // The attack was made.
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('planted')
    racer.kill()
    expect(readFileSync(target, 'utf8')).toBe('untouched')
  })

  test.concurrent(
    'cannot misuse a link in place of a temporary file when root serves',
    async () => {
      const it = createPlace({ extra: SERVED })
      const target = join(it.vault, 'target')
      writeFileSync(target, 'untouched', { mode: 0o600 })
      symlinkSync(target, join(it.data, 'forumd.address.new'))

      await serveOnce(it.config)

      expect(readFileSync(target, 'utf8')).toBe('untouched')
    },
  )

  test.concurrent('cannot use a file of root’s as the WAL of a backup', async () => {
    const it = createPlace()
    const shared = it.file('shared')
    mkdirSync(shared)
    chmodSync(shared, 0o1777)
    const backup = join(shared, 'backup.sqlite')
    writeFileSync(backup, readFileSync(await backupIn(createPlace())), { mode: 0o600 })
    const restore = ['restore', backup, '--config', it.config, '--without-secrets']

    symlinkSync(join(it.vault, 'secret'), `${backup}-wal`)
    writeFileSync(join(it.vault, 'secret'), 'root only', { mode: 0o600 })
    expect(await forumd(restore)).toMatchObject({ code: 1, err: expect.stringContaining('ELOOP') })

    rmSync(`${backup}-wal`)
    writeFileSync(`${backup}-wal`, 'planted')
    chownSync(`${backup}-wal`, DAEMON_ID, DAEMON_ID)
    expect((await forumd(restore)).err).toContain('-wal is not a file of the user')

    rmSync(`${backup}-wal`)
    expect((await forumd(restore)).code).toBe(0)
  })

  test.concurrent('cannot use a file of root’s by a link in place of a backup', async () => {
    const it = createPlace()
    const secret = await backupIn(createPlace())
    const named = join(it.data, 'backup.sqlite')
    symlinkSync(secret, named)

    const { code, err } = await forumd(['restore', named, '--config', it.config])

    expect(code).toBe(1)
    expect(err).toContain('EACCES')
    expect(readdirSync(it.data)).toEqual(['backup.sqlite'])
  })

  test.concurrent('owns the files that root creates in it', async () => {
    const it = createPlace()

    const { code, err } = await forumd(['customer', 'create', 'me', '--config', it.config])

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(ownersIn(it.data)).toEqual([DAEMON_ID])
  })

  test.concurrent(
    'is the user of a daemon that root starts: no thread keeps a right or a group of root’s',
    async () => {
      const it = createPlace({ extra: SERVED })
      const seen = new Set<string>()

      await serveOnce(it.config, (pid) => {
        for (const task of readdirSync(`/proc/${pid}/task`)) {
          const status = statusOf(`/proc/${pid}/task/${task}/status`)
          if (status === null) continue
          const lines = status.match(/^(Uid|Gid|Groups|CapPrm|CapEff):.*/gm) ?? []
          seen.add(lines.map((line) => line.replace(/\s+/g, ' ').trim()).join(', '))
        }
      })

      expect([...seen]).toEqual([
        'Uid: 1 1 1 1, Gid: 1 1 1 1, Groups: 1, ' +
          'CapPrm: 0000000000000000, CapEff: 0000000000000000',
      ])
    },
  )
})

describe.skipIf(!can_be_others)('root, acting as the owner of the data folder,', () => {
  test.concurrent(
    'restores a backup that only root may read, with a key that only root may read',
    async () => {
      const source = createPlace()
      const backup = await backupIn(source)
      const it = createPlace({ key_file: 'vault/secrets.key' })
      writeFileSync(join(it.vault, 'secrets.key'), readFileSync(join(source.data, 'secrets.key')), {
        mode: 0o600,
      })

      const restored = await forumd(['restore', backup, '--config', it.config])
      const listed = await forumd(['customer', 'list', '--json', '--config', it.config])

      expect(restored).toMatchObject({ code: 0, out: expect.stringContaining('is restored') })
      expect(listed.out).toContain('"ann"')
      expect(ownersIn(it.data)).toEqual([DAEMON_ID])
      expect(readdirSync(it.data)).not.toContain('secrets.key')
    },
  )

  test.concurrent('reads the files that options name as root', async () => {
    const it = createPlace()
    const file = join(it.vault, 'address')
    writeFileSync(file, 'socks5h://me:pw@127.0.0.1:9', { mode: 0o600 })

    const added = ['proxy', 'add', 'home', '--address-file', file, '--config', it.config]

    expect(await forumd(added)).toMatchObject({ code: 0, out: expect.stringContaining('home') })
  })

  test.concurrent(
    'writes a backup where the owner may, and names a folder where it may not',
    async () => {
      const it = createPlace()
      await forumd(['customer', 'create', 'ann', '--config', it.config])
      const made = join(it.data, 'made.sqlite')
      const closed = join(it.vault, 'made.sqlite')

      const refused = await forumd(['backup', closed, '--config', it.config])

      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('(EACCES)') })
      expect((await forumd(['backup', made, '--config', it.config])).code).toBe(0)
      expect(statSync(made)).toMatchObject({ uid: DAEMON_ID })
    },
  )

  test.concurrent('does not act in a folder that another user can exchange', async () => {
    const it = createPlace({ dir: 'stranger/data' })
    mkdirSync(it.file('stranger'))
    chownSync(it.file('stranger'), DAEMON_ID, DAEMON_ID)
    symlinkSync(it.vault, it.file('stranger/data'))

    const { code, err } = await forumd(['customer', 'create', 'ann', '--config', it.config])

    expect(code).toBe(1)
    expect(err).toContain(`${it.file('stranger')} belongs to daemon, who could put another folder`)
    expect(readdirSync(it.vault)).toEqual([])
  })

  test.concurrent('creates a missing folder as root where only root may', async () => {
    const it = createPlace({ dir: 'a/b' })

    expect((await forumd(['customer', 'create', 'ann', '--config', it.config])).code).toBe(0)
    expect(ownersIn(it.file('a/b'))).toEqual([0])
  })
})

test.concurrent(
  'a backup with an injected trigger is refused, and no part of it stays',
  async () => {
    const it = createPlace()
    chownSync(it.data, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
    await forumd(['customer', 'create', 'ann', '--config', it.config])
    const backup = it.file('backup.sqlite')
    await forumd(['backup', backup, '--config', it.config])
    using db = new Database(backup)
    db.run(
      'CREATE TRIGGER gift AFTER INSERT ON api_keys BEGIN UPDATE customers SET unlimited = 1; END',
    )
    db.close()
    const before = readdirSync(it.data).toSorted()

    const { code, err } = await forumd(['restore', backup, '--config', it.config])

    expect(code).toBe(78)
    expect(err).toContain('has the trigger gift')
    expect(readdirSync(it.data).toSorted()).toEqual(before)
  },
)

/** Plants a link in place of each temporary file as soon as its name appears. */
const PLANT_LINKS = `
const { readdirSync, symlinkSync } = require('node:fs')
const [dir, target] = process.argv.slice(1)
console.log('ready')
let planted = false
for (;;)
  for (const name of readdirSync(dir)) {
    const of = /^(forumd\\.sqlite\\.[0-9a-f-]{36})/.exec(name)?.[1]
    for (const end of of === undefined ? [] : ['', '-wal', '-shm', '-journal'])
      try {
        symlinkSync(target, dir + '/' + of + end)
        if (!planted) console.log('planted')
        planted = true
      } catch {}
  }`

/** A backup in a folder that only root may write. */
async function backupIn(it: ReturnType<typeof createPlace>): Promise<string> {
  const made = join(it.data, 'backup.sqlite')
  const under = AS_DAEMON
  await forumd(['customer', 'create', 'ann', '--config', it.config], { under })
  await forumd(['backup', made, '--config', it.config], { under })
  const backup = join(it.vault, 'backup.sqlite')
  writeFileSync(backup, readFileSync(made), { mode: 0o600 })
  return backup
}

/** A folder of another user, with a configuration that runs a program and sends a file out. */
function createTrap(it: ReturnType<typeof createPlace>, port: number) {
  const dir = it.file('stranger')
  mkdirSync(dir)
  const program = join(dir, 'program')
  const ran = join(dir, 'ran')
  writeFileSync(program, `#!/bin/sh\nid -u >${ran}\n`)
  chmodSync(program, 0o755)
  writeFileSync(join(it.vault, 'secret'), 'root-only', { mode: 0o600 })
  writeFileSync(
    join(dir, 'forumd.toml'),
    `[storage]\ndir = "${dir}/data"\n[browser]\nexecutable = "${program}"\n` +
      `[requests]\nuser_agent = "file:${it.vault}/secret"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:${port}"\nsession_cookie = "s"\n`,
  )
  for (const path of [dir, program, join(dir, 'forumd.toml')]) chownSync(path, DAEMON_ID, DAEMON_ID)
  return { dir, ran, config: join(dir, 'forumd.toml') }
}

describe.skipIf(!can_be_others)('root, in the folder of a stranger,', () => {
  test.concurrent.each([[[]], [['--config', 'forumd.toml']]])(
    'runs no program and sends no file by doctor %j',
    async (named) => {
      const agents: (string | null)[] = []
      using server = Bun.serve({
        port: 0,
        fetch(request) {
          agents.push(request.headers.get('user-agent'))
          return new Response('{}')
        },
      })
      const it = createPlace()
      const trap = createTrap(it, server.port ?? 0)

      const { code, err, out } = await forumd(['doctor', ...named], { cwd: trap.dir })

      expect(existsSync(trap.ran)).toBe(false)
      expect(agents).toEqual([])
      expect(code).not.toBe(0)
      expect(err + out).toContain(`${trap.dir} belongs to daemon`)
    },
  )
})

test.concurrent.skipIf(!can_be_others).each(['forumd.sqlite', 'secrets.key', 'instance.id'])(
  'doctor fails and names %s where another user owns it, and serve ends with 1',
  async (name) => {
    // A doctor that finds no browser starts none.
    const it = createPlace({ extra: '[browser]\nexecutable = "/nowhere/chromium"\n' })
    const made = await forumd(['customer', 'create', 'ann', '--config', it.config], {
      under: AS_DAEMON,
    })
    expect(made.code).toBe(0)
    const file = join(it.data, name)
    chownSync(file, 0, 0)
    chmodSync(file, name === 'forumd.sqlite' ? 0o644 : 0o600)

    const doctor = await forumd(['doctor', '--json', '--config', it.config], { under: AS_DAEMON })
    const serve = await forumd(['serve', '--config', it.config], { under: AS_DAEMON })

    expect([doctor.code, serve.code]).toEqual([1, 1])
    const { checks } = JSON.parse(doctor.out)
    expect(
      checks.filter(
        ({ verdict, check }: Record<string, string>) => verdict === 'fail' && check === 'database',
      ),
    ).toEqual([expect.objectContaining({ found: expect.stringContaining(file) })])
  },
)
