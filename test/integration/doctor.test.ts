// Goal: one command shows the operator each problem of an installation and its fix.
// Method: a whole set-up that is well, and then each thing broken alone.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { SMTPServer } from 'smtp-server'

import { type Sandbox, startSandbox } from '../../sandbox/server/sandbox.ts'
import { run as forumd } from '../../src/cli/run.ts'
import { openPlatformTools } from '../../src/wiring/tools.ts'
import { mountMemory, unavailableReason } from '../chaos/mounts.ts'
import { tempFolder } from '../support/folder.ts'
import { startProcess } from '../support/process.ts'
import { surroundings } from '../unit/cli/environment.ts'

// A daemon and a browser are started, and the machine may be busy.
setDefaultTimeout(60_000)

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

/** Disables the browser where it is not tested. */
const NO_BROWSER = '[features]\nlogin = false\ncomment = false\n'

let sandbox: Sandbox
const sandboxes: Sandbox[] = []
const start = async (now: () => number) => {
  const it = await startSandbox({ port: 0, seed: 1, speed: 0, world: 'seeded', now })
  sandboxes.push(it)
  return it
}
beforeAll(async () => {
  sandbox = await start(Date.now)
})
afterAll(() => Promise.all(sandboxes.map((it) => it.stop())))

type Finding = {
  check: string
  name: string | null
  verdict: string
  found: string
  fix: string | null
}

/** A folder with a configuration, and doctor in it. */
function setUp({ platform = sandbox.url, more = NO_BROWSER, dir = '' } = {}) {
  const folder = tempFolder()
  const data = dir || folder.file('data')
  const configure = (text: string) => writeFileSync(folder.file('forumd.toml'), text)
  configure(
    `[server]\nport = 0\n[storage]\ndir = "${data}"\n[requests]\ntimeout_s = 2\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${platform}"\nsession_cookie = "${sandbox.session_cookie}"\nretries = 0\n${more}`,
  )
  /** Runs the program within this process: there are many runs. */
  async function run(args: string, stdin = '') {
    const { around: environment, said: output } = surroundings()
    const code = await forumd([...args.split(' '), '--config', folder.file('forumd.toml')], {
      ...environment,
      readStdin: () => Promise.resolve(stdin),
      factories: {
        ...environment.factories,
        openPlatformTools: (config, runtime) => Promise.resolve(openPlatformTools(config, runtime)),
      },
    })
    return { code, ...output }
  }
  return {
    ...folder,
    configure,
    run,
    [Symbol.dispose]: folder[Symbol.dispose],
    async examine(): Promise<{
      code: number
      checks: Finding[]
      of: (check: string) => Finding[]
    }> {
      const { code, out } = await run('doctor --json')
      const { checks, ok }: { checks: Finding[]; ok: boolean } = JSON.parse(out)
      expect(ok).toBe(code === 0)
      return { code, checks, of: (check) => checks.filter((it) => it.check === check) }
    },
    /** The findings of a check, once doctor has ended with this code. */
    async examined(expected: number) {
      const { code, of } = await this.examine()
      expect(code).toBe(expected)
      return of
    },
  }
}

const jarOf = () => {
  const { username } =
    sandbox.overview().accounts.find(({ flags }) => !flags.suspended) ?? expect.unreachable()
  const { cookies } = sandbox.session({ username })
  return {
    username,
    header: Object.entries(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; '),
  }
}

test('in a healthy set-up every line is ok, and it exits with 0', async () => {
  using it = setUp()
  const { username, header } = jarOf()
  await it.run('account add main --jar -', header)
  const daemon = await startProcess(it.file('forumd.toml'))

  const { code, out } = await it.run('doctor')
  await daemon.end('SIGTERM')

  expect(out.trimEnd().split('\n')).toEqual([
    `ok    config    ${it.file('forumd.toml')} is valid`,
    expect.stringMatching(/^ok    storage   \S+ may be written to, [\d.]+ GiB free$/),
    expect.stringMatching(
      /^ok    database  every page is sound, schema \d+, and the key file is its own$/,
    ),
    `ok    daemon    it serves at ${daemon.url}`,
    'ok    dns       the configuration names no host that needs resolving',
    `ok    source    forum: ${sandbox.url} answers`,
    "ok    clock     it agrees with the source's",
    `ok    account   main: signed in as ${username}`,
    'ok    browser   not needed: login and comment are disabled',
    '',
    '9 ok, 0 warnings, 0 failed',
  ])
  expect(code).toBe(0)
})

test('before the first start nothing is created, and every line is ok', async () => {
  using it = setUp()

  const { code, of, checks } = await it.examine()

  expect(code).toBe(0)
  expect(
    [...of('storage'), ...of('database'), ...of('daemon')].map(({ verdict }) => verdict),
  ).toEqual(['ok', 'ok', 'ok'])
  expect(checks.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
  expect(of('accounts')[0]?.found).toContain('reads are anonymous')
  expect(existsSync(it.file('data'))).toBe(false)
})

test('each problem of the configuration is a line, and no further check runs', async () => {
  using it = setUp()
  it.configure(
    '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "x"\n[limits]\nkey_rat = 1\n',
  )

  const { code, checks } = await it.examine()

  expect(code).toBe(1)
  expect(
    checks.map(({ check, verdict, found }) => [check, verdict, found.split(': ', 2)[1]]),
  ).toEqual([
    ['config', 'fail', 'source[0].session_cookie'],
    ['config', 'fail', 'source[0].base_url'],
    ['config', 'fail', 'limits.key_rat'],
  ])
})

async function withDatabase() {
  const it = setUp()
  await it.run('key create --customer ann')
  return it
}

describe('storage checks report', () => {
  test('a database that is damaged', async () => {
    using it = await withDatabase()
    const path = it.file('data/forumd.sqlite')
    truncateSync(path, Math.floor(readFileSync(path).length / 2 / 4096) * 4096)

    const of = await it.examined(1)

    expect(of('database')[0]).toMatchObject({ verdict: 'fail' })
    expect(of('database')[0]?.found).toMatch(/damaged|malformed|cannot be used/)
  })

  test('a WAL that is damaged in the middle, and keeps what may still be recovered', async () => {
    using it = await withDatabase()
    const log = it.file('data/forumd.sqlite-wal')
    const db = new Database(it.file('data/forumd.sqlite'))
    for (let n = 0; n < 9; n++) db.run(`UPDATE instance SET packed_to = ${n}`)
    const bytes = readFileSync(log)
    db.close()
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(log, bytes)

    const of = await it.examined(1)

    expect(of('database')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('damaged in the middle'),
    })
    expect(readFileSync(log)).toEqual(bytes)
  })

  test('a missing database', async () => {
    using it = await withDatabase()
    for (const name of readdirSync(it.file('data')))
      if (name.startsWith('forumd.sqlite')) rmSync(it.file(`data/${name}`))

    const of = await it.examined(1)

    expect(of('database')[0]?.fix).toContain('forumd restore FILE')
    expect(existsSync(it.file('data/forumd.sqlite'))).toBe(false)
  })

  test('a missing key file', async () => {
    using it = await withDatabase()
    renameSync(it.file('data/secrets.key'), it.file('elsewhere'))

    const of = await it.examined(1)

    expect(of('database')[0]?.found).toContain('secrets.key is missing')
    expect(existsSync(it.file('data/secrets.key'))).toBe(false)
  })

  test('a world-readable key file', async () => {
    using it = await withDatabase()
    const key = it.file('data/secrets.key')
    expect((await it.examine()).of('key')).toEqual([])
    chmodSync(key, 0o644)

    const { code, of } = await it.examine()

    expect([code, of('key')]).toEqual([
      0,
      [expect.objectContaining({ verdict: 'warn', fix: `chmod 600 ${key}` })],
    ])
  })

  test('tables without a schema number, which it does not change', async () => {
    using it = await withDatabase()
    const sql = `import sqlite3; db = sqlite3.connect("${it.file('data/forumd.sqlite')}"); db.execute("PRAGMA user_version = 0"); db.commit()`
    Bun.spawnSync(['/usr/bin/python3', '-c', sql])

    const { code, of } = await it.examine()
    const again = await it.examine()

    expect(code).toBe(1)
    expect(of('database')[0]).toMatchObject({ verdict: 'fail' })
    expect(again.of('database')).toEqual(of('database'))
  })

  test('a link to an unmounted folder', async () => {
    using it = setUp()
    symlinkSync(it.file('nowhere'), it.file('data'))

    const of = await it.examined(1)

    expect(of('storage')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('leads nowhere'),
    })
  })

  test('a folder that cannot be created', async () => {
    using it = setUp()
    writeFileSync(it.file('data'), 'a file')

    const of = await it.examined(1)

    expect(of('storage')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('is no folder'),
    })
  })

  test.skipIf(no_memory !== null)('a read-only disk', async () => {
    await using disk = await mountMemory(4)
    const dir = join(disk.path, 'data')
    using it = setUp({ dir })
    await it.run('key create --customer ann')
    Bun.spawnSync(['mount', '-o', 'remount,ro', disk.path])

    const of = await it.examined(1)

    for (const check of ['storage', 'database'])
      expect(of(check)[0]).toMatchObject({
        verdict: 'fail',
        fix: expect.stringContaining('mount it'),
      })
  })

  test('a folder that not even root can write', async () => {
    using it = setUp({ dir: '/proc' })

    const of = await it.examined(1)

    expect(of('storage')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('/proc may not be written to'),
    })
  })

  test.skipIf(no_memory !== null)('a disk with free space and no free inode', async () => {
    await using disk = await mountMemory(40)
    Bun.spawnSync(['mount', '-o', 'remount,nr_inodes=20', disk.path])
    const dir = join(disk.path, 'data')
    using it = setUp({ dir })
    await it.run('key create --customer ann')
    try {
      for (let n = 0; n < 30; n++) writeFileSync(join(disk.path, String(n)), '')
    } catch {
      // Until no inode is left.
    }

    const of = await it.examined(1)

    expect(of('storage')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('not one inode is free'),
      fix: expect.stringContaining('df -i'),
    })
  })

  test('a port that another forumd holds', async () => {
    using first = setUp()
    const daemon = await startProcess(first.file('forumd.toml'))
    using it = setUp()
    it.configure(
      readFileSync(it.file('forumd.toml'), 'utf8').replace(
        'port = 0',
        `port = ${new URL(daemon.url).port}`,
      ),
    )
    const of = await it.examined(1)
    await daemon.end('SIGTERM')

    expect(of('daemon')[0]).toMatchObject({
      verdict: 'fail',
      found: `port ${new URL(daemon.url).port} is in use by another forumd, with another data folder, so that it cannot start there`,
    })
  })

  test('a port that a program without HTTP holds', async () => {
    // Waits for its client's first words, as programs of other protocols do.
    using holder = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    using it = setUp()
    it.configure(
      readFileSync(it.file('forumd.toml'), 'utf8').replace('port = 0', `port = ${holder.port}`),
    )
    const of = await it.examined(1)

    expect(of('daemon')[0]).toMatchObject({
      verdict: 'fail',
      found: `port ${holder.port} is in use by another program, so that it cannot start there`,
    })
  })

  test('a recorded address at which a program without HTTP listens', async () => {
    using holder = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    using it = await withDatabase()
    writeFileSync(it.file('data/forumd.address'), `http://127.0.0.1:${holder.port}\n`)

    const of = await it.examined(1)

    expect(of('daemon')[0]?.found).toStartWith(`port ${holder.port} is in use`)
  })

  test('a daemon that is not ready because a loop fails repeatedly', async () => {
    using it = await withDatabase()
    using daemon = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        Response.json({ ready: false, reason: 'loop_failing', loops: ['sender'] }, { status: 503 }),
    })
    writeFileSync(it.file('data/forumd.address'), `http://127.0.0.1:${daemon.port}\n`)

    const of = await it.examined(1)

    expect(of('daemon')[0]?.found).toContain('every iteration of these loops fails: sender')
  })

  test('a clock that is behind the last write, if the platform reports no time', async () => {
    using it = setUp({ platform: 'http://127.0.0.1:1' })
    await it.run('key create --customer ann')
    const later = new Date(Date.now() + 3_600_000)
    utimesSync(it.file('data/forumd.sqlite'), later, later)

    const { of } = await it.examine()

    expect(of('clock')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringMatching(/^it is 3(599|600) s behind the last write of the database/),
    })
  })

  test('a source whose access has ended', async () => {
    using it = setUp({ more: `ends_at = "2020-01-01"\n${NO_BROWSER}` })
    const { of } = await it.examine()

    expect(of('source')).toMatchObject([
      { name: 'forum', verdict: 'ok' },
      { name: 'forum', verdict: 'warn', found: 'access ended on 2020-01-01' },
    ])
  })

  test('a source that was added in the dashboard', async () => {
    using it = await withDatabase()
    const db = new Database(it.file('data/forumd.sqlite'))
    db.run("INSERT INTO sources VALUES ('added', 'lemmy', 'http://127.0.0.1:1', 0)")
    db.close()

    const of = await it.examined(1)

    expect(of('source')).toMatchObject([
      { name: 'forum', verdict: 'ok' },
      { name: 'added', verdict: 'fail', found: expect.stringContaining('http://127.0.0.1:1') },
    ])
  })

  test('paused webhooks, and failing deliveries', async () => {
    using it = await withDatabase()
    const db = new Database(it.file('data/forumd.sqlite'))
    const customer = db.query<{ id: string }, []>('SELECT id FROM customers').get()?.id ?? ''
    const insert = db.query(
      `INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at, paused_at, pause_reason, failing_since)
       VALUES ($id, $customer, 'webhook', 'https://a.test/', x'00', 0, $paused_at, $reason, $failing_since)`,
    )
    const add = (id: string, failing_since: number | null, reason: string | null = null) =>
      insert.run({
        $id: id,
        $customer: customer,
        $paused_at: reason === null ? null : 1,
        $reason: reason,
        $failing_since: failing_since,
      })
    add('wh_1', null)
    expect((await it.examine()).of('webhooks')[0]?.found).toBe('1 webhook, none fails')
    add('wh_2', 5)
    add('wh_3', null, 'gone')
    db.close()

    const of = await it.examined(0)

    expect(of('webhook')).toMatchObject([
      {
        name: 'wh_2 of ann',
        verdict: 'warn',
        found: expect.stringContaining('its deliveries fail'),
      },
      { name: 'wh_3 of ann', verdict: 'warn', found: expect.stringContaining('answered 410') },
    ])
  })

  test('a daemon that does not answer at its recorded address', async () => {
    using it = await withDatabase()
    writeFileSync(it.file('data/forumd.address'), 'http://127.0.0.1:1\n')

    const of = await it.examined(1)

    expect(of('daemon')[0]?.found).toContain('http://127.0.0.1:1 does not answer')
  })
})

describe('network checks report', () => {
  test('an unreachable platform, which reports no time', async () => {
    using it = setUp({ platform: 'http://127.0.0.1:1' })

    const of = await it.examined(1)

    expect(of('source')[0]).toMatchObject({
      verdict: 'fail',
      found: 'http://127.0.0.1:1 cannot be reached',
    })
    expect(of('clock')[0]?.verdict).toBe('warn')
  })

  test('a server that is not the platform', async () => {
    using other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => Response.json([1]),
    })
    using it = setUp({ platform: `http://127.0.0.1:${other.port}` })

    const of = await it.examined(1)

    expect(of('source')[0]?.found).toContain('not like a site of its kind')
  })

  test('an unknown host name, with the key that names it', async () => {
    using it = setUp({ more: `api_url = "http://unknown.invalid"\n${NO_BROWSER}` })

    const of = await it.examined(1)

    expect(of('dns')).toMatchObject([
      {
        name: 'unknown.invalid',
        verdict: 'fail',
        fix: expect.stringContaining('api_url of source forum'),
      },
    ])
  })

  test.each([
    [30, 'warn', 'it is 30 s behind'],
    [-300, 'fail', 'it is 300 s ahead of'],
  ])('a clock that is %i s off', async (seconds, verdict, sentence) => {
    const other = await start(() => Date.now() + seconds * 1000)
    using it = setUp({ platform: other.url })

    const { of } = await it.examine()

    expect(of('clock')[0]).toMatchObject({ verdict, found: expect.stringContaining(sentence) })
  })

  test('a mail server that refuses the password, without sending a mail', async () => {
    let mails = 0
    const server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      onAuth: (_, __, done) => done(Object.assign(new Error('no'), { responseCode: 535 })),
      onData: (stream, _, done) => {
        mails += 1
        stream.resume()
        stream.on('end', () => done())
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.server.address()
    const port = typeof address === 'object' ? address?.port : 0
    using it = setUp({
      more: `${NO_BROWSER}[smtp]\nurl = "smtp://me:no@127.0.0.1:${port}"\nfrom = "a@b.test"\n`,
    })

    const { code, of } = await it.examine()
    await new Promise<void>((resolve) => server.close(resolve))

    expect(code).toBe(1)
    expect(of('smtp')[0]).toMatchObject({
      verdict: 'fail',
      found: 'it does not accept the user and the password',
    })
    expect(mails).toBe(0)
  })
})

describe('account checks report', () => {
  test('a signed-out account, a paused one, and an unreachable proxy', async () => {
    using it = setUp()
    const { header, username } = jarOf()
    await it.run('account add gone --jar -', header)
    await it.run('account add resting --jar -', jarOf().header)
    await it.run('account pause resting')
    await it.run('proxy add nowhere socks5://127.0.0.1:1')
    sandbox.revoke({ username })

    const of = await it.examined(1)

    expect([...of('proxy'), ...of('account')]).toMatchObject([
      { name: 'nowhere', verdict: 'fail', found: 'it fails: unreachable' },
      { name: 'gone', verdict: 'fail', fix: 'forumd account login gone' },
      { name: 'resting', verdict: 'warn', fix: 'forumd account resume resting' },
    ])
  })

  test('an empty pool without anonymous reads', async () => {
    using it = setUp({ more: `${NO_BROWSER}[source.accounts]\nallow_anonymous = false\n` })

    const of = await it.examined(1)

    expect(of('accounts')[0]?.verdict).toBe('fail')
  })
})

describe('browser checks report', () => {
  test('a missing browser', async () => {
    using it = setUp({ more: '[browser]\nexecutable = "/nowhere/chromium"\n' })

    const of = await it.examined(1)

    expect(of('browser')[0]).toMatchObject({ verdict: 'fail' })
  })

  test.skipIf(Bun.which('chromium') === null)('that it starts, and in which version', async () => {
    using it = setUp({ more: '' })

    const { of } = await it.examine()

    expect(of('browser')[0]?.found).toMatch(/^\S+\/[\d.]+ starts/)
    expect(of('browser')[0]?.verdict).not.toBe('fail')
  })
})
