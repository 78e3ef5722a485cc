import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { PROGRAM } from '../support/process.ts'

// Each run starts a process, and the machine may be busy.
setDefaultTimeout(60_000)

const CONFIG =
  '[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n'

let root = ''
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'forumd-cli-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A separate folder with a configuration. */
function folder(config: string | null = CONFIG): string {
  const dir = mkdtempSync(join(root, 'x'))
  if (config !== null) writeFileSync(join(dir, 'forumd.toml'), config)
  return dir
}

type Ended = { code: number; out: string; err: string }

/** Runs the program in `dir`. */
function forumd(dir: string, args: string[], stdin = ''): Ended {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...PROGRAM, ...args], {
    cwd: dir,
    stdin: Buffer.from(stdin),
    env: { PATH: process.env['PATH'] ?? '' },
  })
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() }
}

const UNPRIVILEGED = ['setpriv', '--reuid=65534', '--clear-groups', ...PROGRAM]
const can_be_another =
  process.getuid?.() === 0 &&
  Bun.which('setpriv') !== null &&
  Bun.spawnSync([...UNPRIVILEGED, 'version']).exitCode === 0
if (!can_be_another) console.log('skipped: running as another user needs root and setpriv')

describe('forumd without a known command', () => {
  test('shows the commands and exits with 2', () => {
    const { code, out, err } = forumd(folder(), [])

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('key create')
  })

  test.each([
    [
      ['key', 'list', '--jsn'],
      "unknown option '--jsn' (did you mean --json?): see forumd help key list",
    ],
    [['key', 'list', '--json=1'], "unknown option '--json'"],
    [['key', 'create', '--customer'], "option '--customer <CUSTOMER>' argument missing"],
    [['credit', 'add', 'me'], "missing required argument 'USD': see forumd help credit add"],
    [['customer', 'list', 'all'], "too many arguments for 'list'"],
    [['check-config', '--config', 'nope.toml'], 'nope.toml cannot be read (it does not exist)'],
    [['check-config', '--config', '.'], 'the configuration . cannot be read (it is a folder)'],
  ])('reports the problem of %j in one line, with 2', (args, sentence) => {
    const { code, out, err } = forumd(folder(), args)

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(sentence)
    expect(err.trim().split('\n')).toHaveLength(1)
  })
})

test.each([
  ['none.pem', 'found "none.pem", which cannot be read (ENOENT)'],
  ['forumd.toml', 'found "forumd.toml", which contains no certificate'],
])('certificates missing from %s are a configuration problem', (file, sentence) => {
  const dir = folder(`[delivery]\nca_file = "${file}"\n${CONFIG}`)

  expect(forumd(dir, ['check-config'])).toMatchObject({
    code: 2,
    err: expect.stringContaining(`forumd.toml:2:1: delivery.ca_file: ${sentence}`),
  })
})

test('a file that begins with a table is TOML, and its missing keys are reported as such', () => {
  const { code, err } = forumd(folder(), ['apply', '-'], '[[customers]]\nname = "me"\n')

  expect({ code, err }).toEqual({
    code: 2,
    err: 'standard input:1:1: version: missing; needed: 1: the format that this version of forumd reads\n',
  })
})

test('JSON may begin with a byte order mark', () => {
  const { code, err } = forumd(folder(), ['apply', '-'], '\uFEFF{"version":1,"customers":[]}')

  expect({ code, err }).toEqual({ code: 0, err: '' })
})

test('more than the limit of standard input is refused, never read in part', () => {
  const padding = `# ${'x'.repeat(4 * 1024 * 1024)}\n`
  const { code, out, err } = forumd(
    folder(),
    ['apply', '-'],
    `version = 1\ncustomers = []\n${padding}`,
  )

  expect({ code, out, err }).toEqual({
    code: 2,
    out: '',
    err: 'forumd: standard input holds more than 4 MiB: give it as a file\n',
  })
})

test('version prints one line', () => {
  expect(forumd(folder(null), ['version'])).toEqual({
    code: 0,
    out: expect.stringMatching(/^forumd \d+\.\d+\.\d+ \(bun \S+, \S+ \S+\)\n$/),
    err: '',
  })
})

test('output longer than a pipe buffer is complete, even for a slow reader', async () => {
  const dir = folder(null)
  const command = `${PROGRAM.map((word) => `"${word}"`).join(' ')} openapi | (sleep 0.2; cat)`

  const { stdout } = Bun.spawnSync(['sh', '-c', command], { cwd: dir })

  expect(stdout.length).toBeGreaterThan(65_536)
  expect(JSON.parse(stdout.toString())).toMatchObject({ openapi: '3.1.0' })
})

describe('check-config', () => {
  test('reports that a good file is valid', () => {
    const { code, out } = forumd(folder(), ['check-config'])

    expect({ code, out }).toEqual({ code: 0, out: 'forumd.toml is valid\n' })
  })

  const example = join(import.meta.dir, '../../config.example.toml')

  test('the example configuration lacks only the address of a platform', () => {
    const untouched = forumd(folder(null), ['check-config', '--config', example])
    expect(untouched).toMatchObject({ code: 2, out: '' })
    expect(untouched.err).toMatch(
      /config\.example\.toml:\d+:1: source\[0\]\.base_url: found "https:\/\/www\.forum\.example", the placeholder of the example; needed: the address of your site\n$/,
    )

    const text = readFileSync(example, 'utf8').replace('www.forum.example', 'forum.test')
    expect(forumd(folder(text), ['check-config'])).toMatchObject({ code: 0, err: '' })
  })

  test.each([
    ['/proc/forumd', 'ENOENT'],
    ['/proc', 'ENOENT'],
  ])('reports that %s cannot hold data, also as root', (dir) => {
    const { code, err } = forumd(folder(`${CONFIG}[storage]\ndir = "${dir}"\n`), ['check-config'])

    expect(code).toBe(2)
    expect(err).toContain(`storage.dir: found "${dir}": `)
  })

  test('reports mistakes as JSON, too', () => {
    const dir = folder(
      '[server]\nprot = 1\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://a.test"\nsession_cookie = "s"\n',
    )

    const { code, out, err } = forumd(dir, ['check-config', '--json'])

    expect({ code, err }).toEqual({ code: 2, err: '' })
    expect(JSON.parse(out)).toEqual({
      file: 'forumd.toml',
      valid: false,
      problems: [
        {
          line: 2,
          column: 1,
          key: 'server.prot',
          found: 'unknown key',
          allowed: expect.stringContaining('port'),
        },
      ],
      warnings: [],
    })
  })

  test('reports five mistakes in five lines with their places, and exits with 2', () => {
    const dir = folder(
      '[server]\nprot = 1\nhost = 5\n\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "x"\nsession_cookie = "s"\n[gaurd]\n[log]\nlevel = "env:NOT_SET"\n',
    )

    const { code, out, err } = forumd(dir, ['check-config'])

    expect({ code, out }).toEqual({ code: 2, out: '' })
    const places = err
      .trim()
      .split('\n')
      .map((line) => line.split(': ', 2).join(': '))
    expect(places).toEqual([
      'forumd.toml:2:1: server.prot',
      'forumd.toml:3:1: server.host',
      'forumd.toml:8:1: source[0].base_url',
      'forumd.toml:10:2: gaurd',
      'forumd.toml:12:1: log.level',
    ])
  })

  test('accepts probable mistakes with a warning', () => {
    const { code, err } = forumd(folder(`${CONFIG}[delivery]\nretry_delays_s = [1]\n`), [
      'check-config',
    ])

    expect(code).toBe(0)
    expect(err).toStartWith('forumd.toml: warning: delivery.retry_delays_s has 1 entries')
  })

  test('lists the searched places if there is no file', () => {
    const { code, err } = forumd(folder(null), ['check-config'])

    expect(code).toBe(2)
    expect(err).toContain('./forumd.toml')
  })

  test('doctor leads to init if there is no file', () => {
    const { code, out } = forumd(folder(null), ['doctor'])

    expect(code).toBe(1)
    expect(out).toContain('→ forumd init\n')
  })

  test.skipIf(!can_be_another)(
    'searches only folders that its user may read, as by sudo -u from a closed home',
    () => {
      chmodSync(root, 0o755)
      const home = folder()
      chmodSync(home, 0o700)
      const { exitCode, stderr } = Bun.spawnSync([...UNPRIVILEGED, 'check-config'], { cwd: home })

      expect(stderr.toString()).toStartWith('forumd: there is no configuration: neither ')
      expect(exitCode).toBe(2)
    },
  )
})

describe('key create', () => {
  test('creates a customer with the starting credit and the given amount, and shows the key once', () => {
    const dir = folder()

    const { code, out } = forumd(dir, [
      'key',
      'create',
      '--customer',
      'me',
      '--credits',
      '2.000001',
      '--json',
    ])

    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      key: expect.stringMatching(/^fk_[0-9A-Za-z]{43}$/),
      key_id: expect.stringMatching(/^key_/),
      customer: 'me',
      plan: 'entry',
      credits_remaining: 2.500001,
    })
    const { key } = JSON.parse(out)
    expect(forumd(dir, ['key', 'list', '--json']).out).not.toContain(key)
    for (const name of readdirSync(join(dir, 'data')))
      expect(Bun.spawnSync(['grep', '-c', key, join(dir, 'data', name)]).exitCode).toBe(1)
  })

  test('adds a key to an existing customer and changes nothing else', () => {
    const dir = folder()
    forumd(dir, ['key', 'create', '--customer', 'me'])

    const { out, err } = forumd(dir, ['key', 'create', '--customer', 'me', '--name', 'second'])

    // Standard output holds the key alone: KEY=$(forumd key create …) captures it.
    expect(out).toMatch(/^fk_[0-9A-Za-z]{43}\n$/)
    expect(err).toContain('me, plan entry, 0.50 USD')
    const { keys } = JSON.parse(forumd(dir, ['key', 'list', '--customer', 'me', '--json']).out)
    expect(keys).toMatchObject([
      {
        customer: 'me',
        name: null,
        scopes: ['read', 'write', 'monitor', 'webhook'],
        revoked_at: null,
      },
      { customer: 'me', name: 'second', expires_at: null },
    ])
  })

  test('creates an operator key without a customer', () => {
    const { out } = forumd(folder(), ['key', 'create', '--operator', '--json'])

    expect(JSON.parse(out)).toMatchObject({
      key: expect.stringMatching(/^fo_/),
      customer: null,
      plan: null,
      credits_remaining: null,
    })
  })

  test.each([
    [['--customer', 'x', '--plan', 'gold'], 'plan must be one of entry'],
    [['--customer', 'x', '--credits', '1e3'], 'credits must be US dollars above 0'],
    [['--customer', 'x', '--scopes', 'all'], 'scopes must be a list of read, write'],
    [['--customer', 'x', '--expires-at', '2020-01-01'], 'expires_at must be in the future'],
    [['--customer', ''], 'customer must be 1 to 64 printable characters'],
    [['--operator', '--customer', 'x'], 'an operator key has no customer'],
    [[], 'customer is required'],
  ])('refuses %j and creates no customer', (args, sentence) => {
    const dir = folder()

    const { code, err } = forumd(dir, ['key', 'create', ...args])

    expect(code).toBe(2)
    expect(err).toContain(sentence)
    expect(JSON.parse(forumd(dir, ['customer', 'list', '--json']).out)).toMatchObject({
      customers: [],
    })
  })
})

describe('key import', () => {
  test('reads a key from standard input, and refuses a duplicate', () => {
    const dir = folder()
    const args = ['key', 'import', '--customer', 'me']

    const first = forumd(dir, args, 'sk-of-another-service-0123456789\n')
    const second = forumd(dir, args, 'sk-of-another-service-0123456789\n')

    expect({ code: first.code, out: first.out }).toEqual({ code: 0, out: '' })
    expect(second.code).toBe(2)
    expect(second.err).toContain('this key exists already')
    expect(JSON.parse(forumd(dir, ['key', 'list', '--json']).out).keys).toHaveLength(1)
  })

  test('refuses a malformed key without repeating it', () => {
    const { code, err } = forumd(folder(), ['key', 'import', '--customer', 'me'], 'short\n')

    expect(code).toBe(2)
    expect(err).toContain('16 to 256')
    expect(err).not.toContain('short')
  })
})

test('a key is revoked once', () => {
  const dir = folder()
  const { key_id } = JSON.parse(forumd(dir, ['key', 'create', '--customer', 'me', '--json']).out)

  expect(forumd(dir, ['key', 'revoke', key_id]).code).toBe(0)
  expect(forumd(dir, ['key', 'revoke', key_id]).code).toBe(1)
  expect(JSON.parse(forumd(dir, ['key', 'list', '--json']).out).keys[0].revoked_at).toEndWith('Z')
})

test('a customer is created, topped up, moved, shown and removed', () => {
  const dir = folder(`${CONFIG}[plans.entry]\n[plans.pro]\nslots = 50\n`)
  const showCustomer = () => JSON.parse(forumd(dir, ['customer', 'show', 'acme', '--json']).out)

  expect(forumd(dir, ['customer', 'create', 'acme']).code).toBe(0)
  expect(forumd(dir, ['customer', 'create', 'acme']).code).toBe(2)
  expect(forumd(dir, ['credit', 'add', 'acme', '12.25', '--note', 'first']).out).toBe(
    'acme has 12.75 USD\n',
  )
  expect(forumd(dir, ['customer', 'set-plan', 'acme', 'gold']).code).toBe(2)
  expect(forumd(dir, ['customer', 'set-plan', 'acme', 'pro']).code).toBe(0)
  expect(showCustomer()).toMatchObject({
    name: 'acme',
    plan: 'pro',
    credits_remaining: 12.75,
    credits_used: 0,
    total_requests: 0,
    unlimited: false,
    keys: [],
  })
  expect(forumd(dir, ['customer', 'rename', 'acme', 'Acme Inc.']).out).toBe(
    'the customer is Acme Inc. now\n',
  )
  expect(forumd(dir, ['customer', 'remove', 'Acme Inc.']).code).toBe(0)
  expect(forumd(dir, ['customer', 'show', 'acme'])).toMatchObject({
    code: 1,
    err: 'forumd: there is no customer "acme"\n',
  })
})

test('unlimited credit is displayed as unlimited', () => {
  const dir = folder()

  const { err } = forumd(dir, ['key', 'create', '--customer', 'me', '--credits', 'unlimited'])

  expect(err).toContain('me, plan entry, unlimited')
  expect(forumd(dir, ['customer', 'list']).out).toContain('unlimited')
})

/**
 * Starts a command that keeps running, and waits until it has printed `text`. Returns its output so
 * far.
 */
async function started(dir: string, args: string[], text: string) {
  const child = Bun.spawn([...PROGRAM, ...args], { cwd: dir, stdout: 'pipe' })
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let out = ''
  while (!out.includes(text)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`it ended before it printed ${text}: ${out}`)
    out += value
  }
  return { child, out }
}

test('sandbox prints a matching configuration, and exits on SIGTERM', async () => {
  const { child, out } = await started(
    folder(null),
    ['sandbox', '--speed', '0'],
    'session_cookie = ',
  )

  const dir = folder(out.slice(out.indexOf('[[source]]')))
  expect(forumd(dir, ['check-config']).code).toBe(0)
  const { base_url } = /base_url = "(?<base_url>[^"]+)"/.exec(out)?.groups ?? {}
  const answer = await fetch(`${base_url}/__sandbox/`)
  expect(answer.status).toBe(200)
  await answer.text()
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

test('serve locks its folder, picks up keys created meanwhile, and exits with 0 on SIGTERM', async () => {
  const dir = folder(`${CONFIG}[server]\nport = 0\n`)
  const { child, out } = await started(dir, ['serve'], 'serve.listening')
  const url = readFileSync(join(dir, 'data', 'forumd.address'), 'utf8').trim()

  expect(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { level: 'info', event: 'serve.starting' },
    { level: 'info', event: 'serve.listening', url },
  ])
  expect(forumd(dir, ['serve'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('another forumd is using this data folder'),
  })
  const key = forumd(dir, ['key', 'create', '--customer', 'me']).out.trim()
  const me = await fetch(`${url}/account/me`, { headers: { authorization: `Bearer ${key}` } })
  expect(await me.json()).toMatchObject({ name: 'me', credits_remaining: 0.5 })
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect(readdirSync(join(dir, 'data'))).not.toContain('forumd.address')
})
