// Goal: from an empty folder to a signed-in browser session without an editor. Method: the program
// in its own process, on a pseudo-terminal where it asks, with a simulated source.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { run as forumd } from '../../src/cli/run.ts'
import { parseConfig } from '../../src/config/load.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { freePort } from '../support/port.ts'
import { PROGRAM, startProcess } from '../support/process.ts'
import { surroundings } from '../unit/cli/environment.ts'

setDefaultTimeout(60_000)

let site: Awaited<ReturnType<typeof startKind>>
beforeAll(async () => {
  site = await startKind('hackernews', { port: 0, seed: 7, speed: 0, now: Date.now })
})
afterAll(() => site[Symbol.asyncDispose]())

const TERMINAL = `
import os, pty, select, sys
answers = sys.stdin.read().split('\\n')[:-1]
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
seen = b''
while True:
    try: text = os.read(fd, 65536)
    except OSError: break
    if not text: break
    seen += text
    sys.stdout.buffer.write(text); sys.stdout.buffer.flush()
    if seen.rstrip(b' ').endswith(b']:') and answers:
        os.write(fd, answers.pop(0).encode() + b'\\n'); seen = b''
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

/** One run in a folder; with `answers` on a terminal, each typed after a question. */
async function run(folder: Folder, args: readonly string[], answers?: readonly string[]) {
  const under = answers === undefined ? [] : ['/usr/bin/python3', '-c', TERMINAL]
  const child = Bun.spawn([...under, ...PROGRAM, ...args], {
    cwd: folder.path,
    stdin: answers === undefined ? null : new Blob([answers.map((it) => `${it}\n`).join('')]),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', TERM: 'dumb' },
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out: out.replaceAll('\r\n', '\n'), err }
}

const configOf = (folder: Folder) => {
  const text = readFileSync(folder.file('forumd.toml'), 'utf8')
  return { text, config: parseConfig(text) }
}

test('on a terminal it asks, repeats a question after a wrong answer, and the result works', async () => {
  using folder = tempFolder()
  const port = freePort()
  const { code, out } = await run(
    folder,
    ['init'],
    ['reddish', `hn ${site.url}`, '', '', 'me@example.org', './here', String(port)],
  )

  expect(code).toBe(0)
  expect(out).toContain(
    '"reddish" is not a source; allowed:\n    discourse ADDRESS, rss ADDRESS, hn',
  )
  expect(out.match(/\]: /g)).toHaveLength(7)
  expect(out).toMatch(/\nhn +works +Hacker News\n/)
  const { config } = configOf(folder)
  expect(config).toMatchObject({
    server: { port },
    storage: { dir: folder.file('here') },
    requests: { user_agent: 'forumd/1.0 (me@example.org)' },
    source: [{ name: 'hn', kind: 'hackernews', base_url: site.url }],
    billing: { enabled: false },
  })
  // Nothing that others may read, and no temporary file.
  expect(statSync(folder.file('forumd.toml')).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder.path).toSorted()).toEqual(['forumd.instance', 'forumd.toml', 'here'])
  const widest = Math.max(...out.split('\n').map((line) => line.length))
  expect(widest).toBeLessThanOrEqual(120)

  await using stack = new AsyncDisposableStack()
  const daemon = await startProcess(folder.file('forumd.toml'))
  stack.defer(async () => void (await daemon.end('SIGTERM')))
  const [, link = ''] = /\n {2}(http:\S+#\S+)\n/.exec(out) ?? []
  const [page = '', token = ''] = link.split('#')
  expect(page).toBe(`${daemon.url}/dashboard/sign-in`)
  expect((await fetch(page)).status).toBe(200)
  const signIn = (body: object) =>
    fetch(`${daemon.url}/dashboard/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(body),
    })
  const first = await signIn({ link: token })
  expect([first.status, await first.json()]).toMatchObject([
    200,
    { role: 'owner', is_alone: true, customer: { name: 'me' } },
  ])
  expect((await signIn({ link: token })).status).toBe(403)
  const keys = out.match(/f[ko]_\w{43}/g) ?? []
  expect(keys).toHaveLength(1)
  expect(await (await signIn({ key: keys[0] })).json()).toMatchObject({ role: 'owner' })
  // One key for the calls of a customer and for those of the operator.
  for (const path of ['/account/me', '/operator/overview']) {
    const answer = await fetch(`${daemon.url}${path}`, {
      headers: { authorization: `Bearer ${keys[0]}` },
    })
    expect([path, answer.status]).toEqual([path, 200])
  }

  const operator = await run(folder, ['key', 'sign-in-link', '--operator'])
  expect(operator.out).toMatch(new RegExp(`^${daemon.url}/dashboard/sign-in#[\\w-]{22}\n$`))
  const by_operator = await signIn({ link: operator.out.trim().split('#')[1] })
  expect(await by_operator.json()).toMatchObject({ role: 'operator' })
})

test('with options it asks nothing and answers in JSON', async () => {
  using folder = tempFolder()
  const { code, out } = await run(folder, [
    'init',
    '--yes',
    '--offline',
    '--json',
    '--sources',
    'discourse meta.forum.example, lemmy https://lemmy.forum.example, piefed pie.forum.example, discourse meta.forum.example, discourse meta.forum.example',
    '--public-url',
    'https://watch.forum.example',
    '--port',
    '8443',
    '--customer',
    'ann',
  ])

  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    file: folder.file('forumd.toml'),
    customer: 'ann',
    key: expect.stringMatching(/^fk_/),
    link: expect.stringMatching(/^https:\/\/watch\.forum\.example\/dashboard\/sign-in#/),
    sources: null,
    unit: null,
  })
  const { config } = configOf(folder)
  expect(config.server).toMatchObject({
    port: 8443,
    public_url: 'https://watch.forum.example',
    trusted_proxies: ['127.0.0.1'],
  })
  expect(config.source.map(({ name, kind, base_url }) => [name, kind, base_url])).toEqual([
    ['meta-forum-example', 'discourse', 'https://meta.forum.example'],
    ['lemmy-forum-example', 'lemmy', 'https://lemmy.forum.example'],
    ['pie-forum-example', 'piefed', 'https://pie.forum.example'],
    ['meta-forum-example-2', 'discourse', 'https://meta.forum.example'],
    ['meta-forum-example-3', 'discourse', 'https://meta.forum.example'],
  ])
})

test('words and an address for alerts make a monitor, a webhook and a test alert', async () => {
  using folder = tempFolder()
  const received: unknown[] = []
  using receiver = Bun.serve({
    port: 0,
    async fetch(request) {
      received.push(await request.json())
      return Response.json({ id: 'm1' })
    },
  })
  const alert = `ntfy http://127.0.0.1:${receiver.port}/my-topic`
  const args = ['init', '--yes', '--sources', `hn ${site.url}`, '--words', 'tea, "green tea"']
  const { code, out } = await run(folder, [...args, '--alert', alert])

  expect(out).toContain('A test alert was sent to http://127.0.0.1')
  expect(received).toMatchObject([{ topic: 'my-topic' }])
  expect(code).toBe(0)
  expect(configOf(folder).config.guard).toMatchObject({ allow_http: true })
  const exported = await run(folder, ['export'])
  expect(exported.out).toContain('green tea')
})

test('a receiver that refuses the test alert is reported, with everything written', async () => {
  using folder = tempFolder()
  const alert = `http://127.0.0.1:${freePort()}/hook`
  const { code, out } = await run(folder, ['init', '--yes', '--offline', '--alert', alert])

  expect(code).toBe(1)
  expect(out).toContain('No alert can be sent yet: ')
  expect(out).toContain('/dashboard/sign-in#')
})

test('a platform is written with its cookie', async () => {
  using folder = tempFolder()
  const sources = `reddit ${site.url} session, hn`
  const { code } = await run(folder, ['init', '--yes', '--offline', '--sources', sources])

  expect(code).toBe(0)
  expect(configOf(folder).config).toMatchObject({
    source: [
      { name: 'reddit', kind: 'reddit', base_url: site.url, session_cookie: 'session' },
      { name: 'hn', kind: 'hackernews' },
    ],
  })
})

test('a source that does not answer is reported, with everything written', async () => {
  using folder = tempFolder()
  const sources = `lemmy http://127.0.0.1:${freePort()}, hn ${site.url}`
  const { code, out } = await run(folder, ['init', '--yes', '--sources', sources])

  expect(code).toBe(1)
  expect(out).toMatch(/\nlemmy +127\.0\.0\.1:\d+ refuses connections/)
  expect(out).toContain('\n  forumd doctor')
  expect(out).toMatch(/\nhn +works/)
  expect(out).toContain('/dashboard/sign-in#')
})

describe('nothing is written', () => {
  test.each([
    [['init'], 'standard input is not a terminal: add --yes'],
    [['init', '--yes', '--sources', 'discourse'], 'source[0].base_url: missing'],
    [
      ['init', '--yes', '--sources', 'usenet x'],
      '"usenet x" is not a source; allowed:\n    discourse ADDRESS, rss ADDRESS, hn,',
    ],
    [['init', '--yes', '--sources', 'platform x.example'], 'is not a source'],
    [['init', '--yes', '--sources', ' , '], 'found 0 sources; allowed: 1 to 20'],
    [['init', '--yes', '--contact', 'ö'], 'requests.user_agent: found "forumd/1.0 (ö)"'],
    [['init', '--yes', '--port', '0'], '--port is "0": allowed is a whole number from 1 to 65535'],
    [['init', '--yes', '--public-url', 'nowhere'], 'server.public_url: found "nowhere"'],
    [['init', '--yes', '--dir', '/proc/none'], 'storage.dir: found "/proc/none"'],
    [['init', '--yes', '--customer', ' x'], '" x" is not a valid name'],
  ])('%j', async (args, message) => {
    using folder = tempFolder()
    const { around, said } = surroundings()
    const code = await forumd([...args, '--config', folder.file('forumd.toml')], around)

    expect([code, said.out]).toEqual([2, ''])
    expect(said.err).toContain(message)
    expect(readdirSync(folder.path)).toEqual([])
  })

  test('where there is a configuration, or a link to nothing', async () => {
    using folder = tempFolder()
    writeFileSync(folder.file('forumd.toml'), 'mine')
    symlinkSync('nowhere', folder.file('other.toml'))
    for (const name of ['forumd.toml', 'other.toml']) {
      const { around, said } = surroundings()
      const args = ['init', '--yes', '--offline', '--config', folder.file(name)]

      expect(await forumd(args, around)).toBe(1)
      expect(said.err).toContain(`${name} exists, and init overwrites nothing`)
    }
    expect(readFileSync(folder.file('forumd.toml'), 'utf8')).toBe('mine')
    expect(readdirSync(folder.path).toSorted()).toEqual(['forumd.toml', 'other.toml'])
  })

  test('if the keys cannot be made, so that a second run is possible', async () => {
    using folder = tempFolder()
    mkdirSync(folder.file('data'))
    writeFileSync(folder.file('data/forumd.sqlite'), 'not a database')
    const { code } = await run(folder, ['init', '--yes', '--offline'])

    expect(code).not.toBe(0)
    expect(readdirSync(folder.path)).not.toContain('forumd.toml')
  })
})

test('serve in an empty folder names init', async () => {
  using folder = tempFolder()
  const { code, err } = await run(folder, ['serve'])

  expect(code).toBe(2)
  expect(err).toContain('Write one with forumd init')
})

test.each([
  ['on a terminal serve prints a link', true],
  ['without a terminal serve prints no link', false],
])('%s', async (_, is_terminal) => {
  using folder = tempFolder()
  const port = String(freePort())
  await run(folder, ['init', '--yes', '--offline', '--sources', `hn ${site.url}`, '--port', port])
  const under = is_terminal ? ['/usr/bin/python3', '-c', TERMINAL] : []
  const child = Bun.spawn([...under, ...PROGRAM, 'serve'], {
    cwd: folder.path,
    stdin: null,
    stdout: 'pipe',
    stderr: 'ignore',
    env: { PATH: process.env['PATH'] ?? '', TERM: 'dumb' },
  })
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true })
    // It ends with its terminal.
    if (text.includes('serve.listening')) child.kill()
  }
  await child.exited

  expect(text).toContain('serve.listening')
  const printed = `Sign in to the dashboard as me (once, within 15 minutes):\r\n  http://127.0.0.1:${port}/dashboard/sign-in#`
  if (is_terminal) expect(text).toContain(printed)
  else expect(text).not.toContain('sign-in')
})

test('config example prints the example', async () => {
  using folder = tempFolder()
  const { out } = await run(folder, ['config', 'example'])

  expect(out).toBe(readFileSync(join(import.meta.dir, '../../config.example.toml'), 'utf8'))
})

test('key list fits 80 columns, with the whole ids', async () => {
  using folder = tempFolder()
  const name = '長い名前の顧客'.repeat(6)
  await run(folder, ['init', '--yes', '--offline', '--customer', name])
  const purpose = 'a purpose that is longer than any column'
  const more = ['--customer', name, '--name', purpose, '--expires-at', '2099-01-31']
  await run(folder, ['key', 'create', ...more])
  const listed = JSON.parse((await run(folder, ['key', 'list', '--json'])).out)
  await run(folder, ['key', 'revoke', listed.keys[0].id])
  const { keys } = JSON.parse((await run(folder, ['key', 'list', '--json'])).out)
  const { out } = await run(folder, ['key', 'list'])
  const lines = out.trimEnd().split('\n')

  expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(80)
  for (const { id } of keys) expect(lines).toContain(`  ${id}`)
  expect(out).toContain('until 2099-01-31')
  expect(out).toContain(`revoked ${keys[0].revoked_at.slice(0, 10)}`)
  expect(out).toContain('a purpose tha…')
})
