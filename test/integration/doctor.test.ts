// Goal: an operator whose forumd does not do what it should finds out what it is, and how to mend it, from one command.
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
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { SMTPServer } from 'smtp-server'

import { run as forumd } from '../../src/cli/run.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { openDesk } from '../../src/upstream.ts'
import { mountMemory, whyNot } from '../chaos/mounting.ts'
import { tempFolder } from '../support/folder.ts'
import { startProcess } from '../support/process.ts'
import { surroundings } from '../unit/cli/surroundings.ts'

// A daemon and a browser are started, and the machine may be busy.
setDefaultTimeout(60_000)

const no_memory = await whyNot(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

/** No browser is started where it is not what is asked about. */
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
  mend: string | null
}

/** A folder with a configuration, and the doctor in it. */
function setUp({ platform = sandbox.url, more = NO_BROWSER, dir = '' } = {}) {
  const folder = tempFolder()
  const data = dir || folder.file('data')
  const configure = (text: string) => writeFileSync(folder.file('forumd.toml'), text)
  configure(
    `[server]\nport = 0\n[storage]\ndir = "${data}"\n[platform]\nbase_url = "${platform}"\nsession_cookie = "${sandbox.session_cookie}"\ntimeout_s = 2\nretries = 0\n${more}`,
  )
  /** The program as a person runs it, within this process: there are many runs of it. */
  async function run(args: string, stdin = '') {
    const { around, said } = surroundings()
    const code = await forumd([...args.split(' '), '--config', folder.file('forumd.toml')], {
      ...around,
      readStdin: () => Promise.resolve(stdin),
      parts: {
        ...around.parts,
        openDesk: (config, outside) => Promise.resolve(openDesk(config, outside)),
      },
    })
    return { code, ...said }
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

test('where all is well every line is ok, and it ends with 0', async () => {
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
    'ok    dns       the configuration names no host that has to be looked up',
    `ok    platform  ${sandbox.url} answers`,
    "ok    clock     ours agrees with the platform's",
    `ok    account   main: signed in as ${username}`,
    'ok    browser   none is needed: login and comment are switched off',
    '',
    '9 ok, 0 to look at, 0 to mend',
  ])
  expect(code).toBe(0)
})

test('before the first start nothing is made, and nothing has failed', async () => {
  using it = setUp()

  const { code, of } = await it.examine()

  expect(code).toBe(0)
  expect(
    [...of('storage'), ...of('database'), ...of('daemon')].map(({ verdict }) => verdict),
  ).toEqual(['warn', 'warn', 'warn'])
  expect(of('accounts')[0]?.found).toContain('reads are anonymous')
  expect(existsSync(it.file('data'))).toBe(false)
})

test('each problem of the configuration is a line, and nothing further is asked', async () => {
  using it = setUp()
  it.configure('[platform]\nbase_url = "x"\n[limits]\nkey_rat = 1\n')

  const { code, checks } = await it.examine()

  expect(code).toBe(1)
  expect(
    checks.map(({ check, verdict, found }) => [check, verdict, found.split(': ', 2)[1]]),
  ).toEqual([
    ['config', 'fail', 'platform.session_cookie'],
    ['config', 'fail', 'platform.base_url'],
    ['config', 'fail', 'limits.key_rat'],
  ])
})

async function withDatabase() {
  const it = setUp()
  await it.run('key create --customer ann')
  return it
}

describe('of the storage it finds', () => {
  test('a database that is damaged', async () => {
    using it = await withDatabase()
    const path = it.file('data/forumd.sqlite')
    truncateSync(path, Math.floor(readFileSync(path).length / 2 / 4096) * 4096)

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('database')[0]).toMatchObject({ verdict: 'fail' })
    expect(of('database')[0]?.found).toMatch(/damaged|malformed|cannot be used/)
  })

  test('a log that is damaged in the middle, and leaves what may still be saved of it', async () => {
    using it = await withDatabase()
    const log = it.file('data/forumd.sqlite-wal')
    const db = new Database(it.file('data/forumd.sqlite'))
    for (let n = 0; n < 9; n++) db.run(`UPDATE instance SET last_seen_at = ${n}`)
    const bytes = readFileSync(log)
    db.close()
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(log, bytes)

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('database')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('damaged in the middle'),
    })
    expect(readFileSync(log)).toEqual(bytes)
  })

  test('a database that is gone', async () => {
    using it = await withDatabase()
    for (const name of readdirSync(it.file('data')))
      if (name.startsWith('forumd.sqlite')) rmSync(it.file(`data/${name}`))

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('database')[0]?.mend).toContain('forumd restore FILE')
    expect(existsSync(it.file('data/forumd.sqlite'))).toBe(false)
  })

  test('a key file that is gone', async () => {
    using it = await withDatabase()
    renameSync(it.file('data/secrets.key'), it.file('elsewhere'))

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('database')[0]?.found).toContain('secrets.key is missing')
    expect(existsSync(it.file('data/secrets.key'))).toBe(false)
  })

  test('a key file that every user of the machine may read', async () => {
    using it = await withDatabase()
    const key = it.file('data/secrets.key')
    expect((await it.examine()).of('key')).toEqual([])
    chmodSync(key, 0o644)

    const { code, of } = await it.examine()

    expect([code, of('key')]).toEqual([
      0,
      [expect.objectContaining({ verdict: 'warn', mend: `chmod 600 ${key}` })],
    ])
  })

  test('an older schema, which it leaves as it is', async () => {
    using it = await withDatabase()
    const sql = `import sqlite3; db = sqlite3.connect("${it.file('data/forumd.sqlite')}"); db.execute("PRAGMA user_version = 0"); db.commit()`
    Bun.spawnSync(['/usr/bin/python3', '-c', sql])

    const { code, of } = await it.examine()

    expect(code).toBe(0)
    expect(of('database')[0]).toMatchObject({
      verdict: 'warn',
      found: expect.stringContaining('it is at schema 0,'),
    })
    const again = await it.examine()
    expect(again.of('database')[0]?.found).toContain('it is at schema 0,')
  })

  test('a link to a folder that is not mounted', async () => {
    using it = setUp()
    symlinkSync(it.file('nowhere'), it.file('data'))

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('storage')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('leads nowhere'),
    })
  })

  test('a folder that may not be made', async () => {
    using it = setUp()
    writeFileSync(it.file('data'), 'a file')

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('storage')[0]).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('is no folder'),
    })
  })

  test.skipIf(no_memory !== null)('a disk that can only be read', async () => {
    await using disk = await mountMemory(4)
    const dir = join(disk.path, 'data')
    using it = setUp({ dir })
    await it.run('key create --customer ann')
    Bun.spawnSync(['mount', '-o', 'remount,ro', disk.path])

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    for (const check of ['storage', 'database'])
      expect(of(check)[0]).toMatchObject({
        verdict: 'fail',
        mend: expect.stringContaining('mount it'),
      })
  })

  test('a daemon that does not answer where it said it listens', async () => {
    using it = await withDatabase()
    writeFileSync(it.file('data/forumd.address'), 'http://127.0.0.1:1\n')

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('daemon')[0]?.found).toContain('http://127.0.0.1:1 does not answer')
  })
})

describe('of the network it finds', () => {
  test('a platform that cannot be reached, and then says nothing of the clock', async () => {
    using it = setUp({ platform: 'http://127.0.0.1:1' })

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('platform')[0]).toMatchObject({
      verdict: 'fail',
      found: 'http://127.0.0.1:1 cannot be reached',
    })
    expect(of('clock')[0]?.verdict).toBe('warn')
  })

  test('what answers but is no such platform', async () => {
    using other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => Response.json([1]),
    })
    using it = setUp({ platform: `http://127.0.0.1:${other.port}` })

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('platform')[0]?.found).toContain('not as the platform does')
  })

  test('a name that nobody knows, with the key that names it', async () => {
    using it = setUp({ more: `api_url = "http://nobody.invalid"\n${NO_BROWSER}` })

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('dns')).toMatchObject([
      {
        name: 'nobody.invalid',
        verdict: 'fail',
        mend: expect.stringContaining('platform.api_url'),
      },
    ])
  })

  test.each([
    [30, 'warn', 'ours is 30 s behind'],
    [-300, 'fail', 'ours is 300 s ahead of'],
  ])('a clock that is %i s off', async (seconds, verdict, sentence) => {
    const other = await start(() => Date.now() + seconds * 1000)
    using it = setUp({ platform: other.url })

    const { of } = await it.examine()

    expect(of('clock')[0]).toMatchObject({ verdict, found: expect.stringContaining(sentence) })
  })

  test('a mail server that does not accept the password, without sending it a mail', async () => {
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

describe('of the pool it finds', () => {
  test('an account that is signed out, one that is paused, and a way out that leads nowhere', async () => {
    using it = setUp()
    const { header, username } = jarOf()
    await it.run('account add gone --jar -', header)
    await it.run('account add resting --jar -', jarOf().header)
    await it.run('account pause resting')
    await it.run('proxy add nowhere socks5://127.0.0.1:1')
    sandbox.revoke({ username })

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect([...of('proxy'), ...of('account')]).toMatchObject([
      { name: 'nowhere', verdict: 'fail', found: 'it fails: unreachable' },
      { name: 'gone', verdict: 'fail', mend: 'forumd account login gone' },
      { name: 'resting', verdict: 'warn', mend: 'forumd account resume resting' },
    ])
  })

  test('that there is nobody in it where nobody reads anonymously', async () => {
    using it = setUp({ more: `${NO_BROWSER}[pool]\nallow_anonymous = false\n` })

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('accounts')[0]?.verdict).toBe('fail')
  })
})

describe('of the browser it finds', () => {
  test('that one which is named is not there', async () => {
    using it = setUp({ more: '[browser]\nexecutable = "/nowhere/chromium"\n' })

    const { code, of } = await it.examine()

    expect(code).toBe(1)
    expect(of('browser')[0]).toMatchObject({ verdict: 'fail' })
  })

  test.skipIf(Bun.which('chromium') === null)('that it starts, and in which version', async () => {
    using it = setUp({ more: '' })

    const { of } = await it.examine()

    expect(of('browser')[0]?.found).toMatch(/^\S+\/[\d.]+ starts/)
    expect(of('browser')[0]?.verdict).not.toBe('fail')
  })
})
