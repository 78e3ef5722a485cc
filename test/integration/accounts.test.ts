import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'

import { type Sandbox, startSandbox } from '../../sandbox/server/sandbox.ts'
import type { PlatformTools } from '../../src/cli/account/platform-tools.ts'
import { type OpenInstance, withInstance } from '../../src/cli/configuration.ts'
import { run as forumd } from '../../src/cli/run.ts'
import { exchangeSecrets, listAccounts } from '../../src/store/accounts/accounts.ts'
import { openPlatformTools } from '../../src/wiring/tools.ts'
import { tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'
import { surroundings } from '../unit/cli/environment.ts'

// Each run starts a process, and the machine may be busy.
setDefaultTimeout(60_000)

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({
    port: 0,
    bearer_port: 0,
    seed: 1,
    speed: 0,
    world: 'seeded',
    now: Date.now,
  })
  sandbox.user({ name: plain().username, blocks: [] })
})
afterAll(() => sandbox.stop())

type Ended = { code: number; out: string; err: string }

/** A folder with a configuration, and the program run in it. */
function createTools() {
  const folder = tempFolder()
  mkdirSync(folder.file('data'))
  writeFileSync(
    folder.file('forumd.toml'),
    `[storage]
dir = "${folder.file('data')}"
[[source]]
name = "forum"
kind = "reddit"
base_url = "${sandbox.url}"
session_cookie = "${sandbox.session_cookie}"
api_url = "${sandbox.bearer_url}"
token_url = "${sandbox.url}/api/v1/access_token"
`,
  )
  return {
    [Symbol.dispose]: folder[Symbol.dispose],
    config: folder.file('forumd.toml'),
    write: (name: string, text: string) => writeFileSync(folder.file(name), text),
    async run(args: string, { stdin = '', env = {} } = {}): Promise<Ended> {
      const child = Bun.spawn([...PROGRAM, ...args.split(' ')], {
        cwd: folder.path,
        stdin: Buffer.from(stdin),
        stdout: 'pipe',
        stderr: 'pipe',
        env: { PATH: process.env['PATH'] ?? '', ...env },
      })
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ])
      return { code, out, err: err }
    },
    /** Runs the program in this process, with `answer` as the platform. */
    async testedBy(
      args: string,
      answer: PlatformTools['test'],
    ): Promise<{ code: number; out: string }> {
      const { around: environment, said: output } = surroundings()
      const code = await forumd([...args.split(' '), '--config', this.config], {
        ...environment,
        factories: {
          ...environment.factories,
          openPlatformTools: (config, runtime) =>
            Promise.resolve({ ...openPlatformTools(config, runtime), test: answer }),
        },
      })
      return { code, out: output.out }
    },
    within: (work: (opened: OpenInstance) => void) =>
      withInstance(
        {
          ...surroundings().around,
          configuration: { named: folder.file('forumd.toml'), caller: 0 },
        },
        work,
      ),
    /** Adds a platform account to the pool under this name, with the cookies of a new session. */
    async add(name: string) {
      const { cookies } = sandbox.session({ username: plain().username })
      await this.run(`account add ${name} --jar -`, { stdin: header(cookies) })
    },
    async accounts() {
      const { out } = await this.run('account list --json')
      return (JSON.parse(out) as { accounts: Record<string, unknown>[] }).accounts
    },
  }
}

const account = (wanted: (it: ReturnType<Sandbox['overview']>['accounts'][number]) => boolean) =>
  sandbox.overview().accounts.find(wanted) ?? expect.unreachable('no such account')
const plain = () => account(({ totp_secret, flags }) => totp_secret === null && !flags.suspended)
const guarded = () => account(({ totp_secret }) => totp_secret !== null)
const header = (cookies: Record<string, string>) =>
  Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')

const ALIVE = { kind: 'alive' } as const
const GRANT = {
  kind: 'oauth',
  client_id: 'app',
  client_secret: 'secret',
  refresh_token: 'one',
} as const

describe('account add', () => {
  test('accepts cookies from a file, standard input and the environment, and shows their user', async () => {
    using it = createTools()
    const { username, cookies } = sandbox.session({ username: plain().username })
    const { hostname } = new URL(sandbox.url)
    const netscape = Object.entries(cookies).map(
      ([name, value]) => `${hostname}\tFALSE\t/\tFALSE\t2000000000\t${name}\t${value}`,
    )
    it.write('cookies.txt', `# Netscape HTTP Cookie File\n${netscape.join('\n')}\n`)
    const json = JSON.stringify(
      Object.entries(cookies).map(([name, value]) => ({
        name,
        value,
        domain: hostname,
        path: '/',
      })),
    )

    const all = [
      await it.run('account add a --jar cookies.txt'),
      await it.run('account add b --jar -', { stdin: json }),
      await it.run('account add c --jar env:COOKIES', { env: { COOKIES: header(cookies) } }),
    ]
    expect(all).toEqual(
      ['a', 'b', 'c'].map((name) => ({
        code: 0,
        out: `${name} is in the pool, ${username} on the platform: ready\n`,
        err: '',
      })),
    )
    expect((await it.accounts()).map(({ username: who, status }) => [who, status])).toEqual([
      [username, 'ready'],
      [username, 'ready'],
      [username, 'ready'],
    ])
  })

  test('signs in with a password and a second factor, once, and stores the cookies', async () => {
    using it = createTools()
    const { username, password, totp_secret } = guarded()
    it.write('pw', `${password}\n`)
    it.write('totp', totp_secret ?? '')
    const before = sandbox.requests.length

    const added = await it.run(
      `account add main --username ${username} --password-file pw --totp-file totp --json`,
    )
    expect(added.code).toBe(0)
    expect(JSON.parse(added.out)).toMatchObject({ name: 'main', username, status: 'ready' })
    const posts = sandbox.requests.slice(before).filter(({ method }) => method === 'POST')
    expect(posts.length).toBeLessThanOrEqual(3)
    expect(await it.run('account test main')).toMatchObject({ code: 0 })
  })

  test.each<[string, string, string, RegExp]>([
    [
      'a wrong password',
      '--username {plain} --password-file -',
      'nope',
      /password must be one that the platform accepts/,
    ],
    [
      'a missing second factor',
      '--username {guarded} --password-file env:PW',
      '',
      /totp_secret is required, because the account has a second factor/,
    ],
    [
      'anonymous cookies',
      '--jar -',
      '{cookie}=made.up.value',
      /jar is not of a session that the platform recognises/,
    ],
  ])('refuses %s, and stores nothing', async (_, options, stdin, sentence) => {
    using it = createTools()
    const args = options
      .replace('{plain}', plain().username)
      .replace('{guarded}', guarded().username)
    const ended = await it.run(`account add x ${args}`, {
      stdin: stdin.replace('{cookie}', sandbox.session_cookie),
      env: { PW: guarded().password },
    })

    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toMatch(sentence)
    expect(await it.accounts()).toEqual([])
  })

  test.each<[string, string, RegExp]>([
    ['x', '', /password is required, or a jar/],
    ['x --jar nope.txt', '', /--jar: the file nope.txt cannot be read \(ENOENT\)/],
    ['x --jar -', 'a=b', /jar is not usable: /],
    ['x --jar env:NOPE', '', /--jar: the environment variable NOPE is not set/],
    ['x --jar - --password-file -', 'a=b', /cannot both be read from standard input/],
    ['x --password-file - --totp-file env:T', 'pw', /totp_secret must be the base32 secret/],
    ['x --kind bot', '', /kind must be session or oauth/],
    ['x --kind oauth', '', /client_id is required/],
    ['x --kind oauth --jar -', '', /jar must be left out/],
    ['x --client-id me --jar -', '', /client_id must be left out/],
    ['../x --jar -', 'a=b', /name must be 1 to 64 letters/],
    ['x --password hunter2', '', /unknown option '--password'/],
    ['x --proxy home --password-file -', 'pw', /proxy must be the name of a proxy/],
  ])('reports the problem of: %s', async (args, stdin, sentence) => {
    using it = createTools()
    const ended = await it.run(`account add ${args}`, { stdin, env: { T: 'not base 32!' } })

    expect(ended.code).toBeGreaterThan(0)
    expect(ended.out).toBe('')
    expect(ended.err).toMatch(sentence)
    expect(ended.err).not.toMatch(/not base 32|a=b/)
    expect(ended.err.trim().split('\n')).toHaveLength(1)
  })

  test('adds an OAuth application, which uses its own tokens', async () => {
    using it = createTools()
    const { application } = sandbox.overview()
    const { username, refresh_token } = sandbox.session({ username: plain().username })
    const ended = await it.run(
      `account add app --kind oauth --client-id ${application?.client_id} --client-secret-file env:S --refresh-token-file -`,
      { stdin: refresh_token, env: { S: application?.client_secret ?? '' } },
    )

    expect(ended).toEqual({
      code: 0,
      out: `app is in the pool, ${username} on the platform: ready\n`,
      err: '',
    })
    expect(await it.accounts()).toMatchObject([{ name: 'app', kind: 'oauth', username }])

    const refused = await it.run(
      `account add bad --kind oauth --client-id ${application?.client_id} --client-secret-file -`,
      { stdin: 'wrong' },
    )
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toContain('client_secret must be one that the platform accepts')
  })
})

describe('an account', () => {
  test('is tested alive, dead or blocked, by name', async () => {
    using it = createTools()
    const { username } = plain()
    const cookies = sandbox.session({ username }).cookies
    await it.run('account add main --jar -', { stdin: header(cookies) })
    expect((await it.run('account test')).out).toMatch(/^main +alive +\S+/m)

    const rule = { path: '/api/me.json', fault: 'block_403_html', times: 20 } as const
    sandbox.addFault(rule)
    const blocked = await it.run('account test main --json')
    sandbox.clearFaults()
    expect(blocked.code).toBe(1)
    expect(JSON.parse(blocked.out)).toMatchObject({
      accounts: [{ name: 'main', verdict: 'blocked' }],
    })
    expect(await it.accounts()).toMatchObject([{ status: 'ready' }])

    sandbox.revoke({ username })
    const dead = await it.run('account test')
    expect(dead.code).toBe(1)
    expect(dead.out).toMatch(/^main +dead /m)
    expect(await it.accounts()).toMatchObject([{ status: 'cooling', last_error: 'logged_out' }])

    const fresh = sandbox.session({ username }).cookies
    const again = await it.run('account login main --jar -', { stdin: header(fresh) })
    expect(again).toMatchObject({ code: 0 })
    expect(await it.accounts()).toMatchObject([{ status: 'ready', last_error: null }])
  })

  test('with a block list is added and tested with a warning that names the blocked users', async () => {
    using it = createTools()
    const { username } = plain()
    sandbox.user({ name: username, blocks: ['noisy_ned', 'loud_lou'] })
    sandbox.post({ subforum: 'cats', title: 'by ned', author: 'noisy_ned' })
    const { cookies } = sandbox.session({ username })
    const listed = await fetch(`${sandbox.url}/r/cats/new.json?show=all`, {
      headers: { cookie: header(cookies) },
    })
    expect(await listed.text()).not.toContain('by ned')

    const added = await it.run('account add main --jar -', { stdin: header(cookies) })
    expect(added.code).toBe(0)
    expect(added.err).toContain('it has blocked noisy_ned, loud_lou')
    const tested = JSON.parse((await it.run('account test --json')).out)
    expect(tested.accounts[0]).toMatchObject({ verdict: 'alive' })
    expect(tested.accounts[0].means).toContain('it has blocked noisy_ned, loud_lou')
    sandbox.user({ name: username, blocks: [] })
  })

  test('keeps a change made during its test', async () => {
    using it = createTools()
    const { cookies } = sandbox.session({ username: plain().username })
    await it.run('account add main --jar -', { stdin: header(cookies) })
    const { code, out } = await it.testedBy('account test main', async () => {
      await it.run('account pause main')
      return { finding: { kind: 'logged_out' }, username: null }
    })

    expect([code, out]).toEqual([1, expect.stringMatching(/^main +dead /m)])
    expect(await it.accounts()).toMatchObject([{ status: 'paused', last_error: 'operator' }])
  })

  test('keeps its rotated refresh token when the test of the next account fails', async () => {
    using it = createTools()
    for (const name of ['first', 'second']) await it.add(name)
    const questions: unknown[] = []
    const answer: PlatformTools['test'] = ({ secrets }) => {
      questions.push(secrets)
      if (questions.length === 2) return Promise.reject(new Error('the cable was pulled'))
      return Promise.resolve({ finding: ALIVE, username: null, secrets: GRANT })
    }
    expect(await it.testedBy('account test', answer)).toMatchObject({ code: 1 })
    expect(await it.testedBy('account test first', answer)).toMatchObject({ code: 0 })

    expect(questions[2]).toEqual(GRANT)
  })

  test('is tested again if the daemon has rotated its refresh token meanwhile', async () => {
    using it = createTools()
    await it.add('main')
    await it.testedBy('account test', () =>
      Promise.resolve({ finding: ALIVE, username: null, secrets: GRANT }),
    )
    const after = { ...GRANT, refresh_token: 'a newer one' }
    const questions: unknown[] = []
    const ended = await it.testedBy('account test', async ({ secrets }) => {
      questions.push(secrets)
      if (questions.length > 1) return { finding: ALIVE, username: null }
      const change = { before: GRANT, after }
      await it.within(({ db, ring }) => {
        exchangeSecrets(db, ring, listAccounts(db)[0]?.id ?? '', change)
      })
      return { finding: { kind: 'logged_out' }, username: null }
    })

    expect(questions).toEqual([GRANT, after])
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/^main +alive /m) })
    expect(await it.accounts()).toMatchObject([{ status: 'ready' }])
  })

  test('is paused, resumed and removed; an unknown name is an error', async () => {
    using it = createTools()
    const { cookies } = sandbox.session({ username: plain().username })
    await it.run('account add main --jar -', { stdin: header(cookies) })

    expect((await it.run('account pause main')).out).toBe('main is paused\n')
    expect(await it.accounts()).toMatchObject([{ status: 'paused', last_error: 'operator' }])
    expect((await it.run('account resume main')).out).toBe('main is in use again\n')
    expect(await it.accounts()).toMatchObject([{ status: 'ready' }])
    expect((await it.run('account remove main')).out).toBe('main is removed\n')
    expect(await it.accounts()).toEqual([])
    expect(await it.run('account pause main')).toEqual({
      code: 1,
      out: '',
      err: 'forumd: there is no account "main"\n',
    })
  })

  test('is listed without secrets', async () => {
    using it = createTools()
    const { username, password, totp_secret } = guarded()
    const { cookies } = sandbox.session({ username })
    await it.run('proxy add home --address-file -', {
      stdin: 'http://prx-user:prx-pass@127.0.0.1:9',
    })
    await it.run(
      'account add main --untested --jar - --password-file env:PW --totp-file env:T --proxy home',
      {
        stdin: header(cookies),
        env: { PW: password, T: totp_secret ?? '' },
      },
    )
    expect(await it.accounts()).toMatchObject([{ name: 'main', proxy: 'home', status: 'ready' }])

    const listed = [
      await it.run('account list'),
      await it.run('account list --json'),
      await it.run('proxy list'),
      await it.run('proxy list --json'),
      await it.run('account pause main'),
    ]
      .map(({ out, err }) => out + err)
      .join('')
    for (const secret of [
      password,
      totp_secret ?? '-',
      'prx-user',
      'prx-pass',
      ...Object.values(cookies),
    ])
      expect(listed).not.toContain(secret)
  })
})

describe('a proxy', () => {
  test('is added by an address without credentials, or by a file with them, and listed without', async () => {
    using it = createTools()
    expect((await it.run('proxy add home socks5h://127.0.0.1:9')).out).toBe(
      'home uses socks5h://127.0.0.1:9\n',
    )
    const paid = await it.run('proxy add paid --address-file env:P', {
      env: { P: 'http://me:s3cret@proxy.example:3128' },
    })
    expect(paid.out).toBe('paid uses http://proxy.example:3128\n')
    expect(JSON.parse((await it.run('proxy list --json')).out)).toMatchObject({
      proxies: [
        { name: 'home', scheme: 'socks5h', host: '127.0.0.1:9', credentials: false, accounts: 0 },
        {
          name: 'paid',
          scheme: 'http',
          host: 'proxy.example:3128',
          credentials: true,
          accounts: 0,
        },
      ],
    })
  })

  test.each<[string, RegExp]>([
    ['home http://me:secret@127.0.0.1:9', /credentials on the command line are visible/],
    ['home ftp://127.0.0.1', /the address of a proxy must begin with http:\/\//],
    ['home', /address is required/],
  ])('is refused: %s', async (args, sentence) => {
    using it = createTools()
    const { code, err } = await it.run(`proxy add ${args}`)

    expect(code).toBe(2)
    expect(err).toMatch(sentence)
    expect(err).not.toContain('secret@')
  })

  test('without a listener fails its test; one in use by an account is not removed', async () => {
    using it = createTools()
    await it.run('proxy add home http://127.0.0.1:9')
    const tested = await it.run('proxy test --json')
    expect(tested.code).toBe(1)
    expect(JSON.parse(tested.out)).toEqual({
      proxies: [{ name: 'home', verdict: 'fails', error: 'unreachable' }],
    })

    const { cookies } = sandbox.session({ username: plain().username })
    await it.run('account add main --untested --jar - --proxy home', { stdin: header(cookies) })
    expect((await it.run('proxy remove home')).err).toBe(
      'forumd: main would lose its proxy: remove the account first\n',
    )
    await it.run('account remove main')
    expect(await it.run('proxy remove home')).toMatchObject({ code: 0, out: 'home is removed\n' })
  })
})
