import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { SMTPServer } from 'smtp-server'

import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { headerOf, SESSION_COOKIE } from '../support/accounts.ts'
import { createCanaries } from '../support/canaries.ts'
import { certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'
import { startProcess } from '../support/process.ts'

// Goal: a secret is where it was put and where it is sent to, and nowhere else.
// Method: some fifty secrets in a story told at debug level, faults and all; then everything that a daemon writes, shows
// or answers is searched for each of them, also in base64, hex and percent signs.

setDefaultTimeout(120_000)
const MAIN = join(import.meta.dir, '../../src/main.ts')

const canaries = createCanaries()
const { plant } = canaries
const random = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes)))
const invent = (name: string) => plant(name, `cnry-${random(12).toString('hex')}`)
/** Percent signs, colons and slashes are where spellings differ. */
const inventOdd = (name: string) => plant(name, `c/n%:${random(12).toString('base64url')}+&`)

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

/** A forward proxy that wants a name and a password, and counts who has given them. */
async function startProxy() {
  const given: string[] = []
  const server = createServer((request, response) => {
    const [, basic = ''] = (request.headers['proxy-authorization'] ?? '').split(' ')
    given.push(Buffer.from(basic, 'base64').toString())
    const { host: _, 'proxy-authorization': __, ...headers } = request.headers
    fetch(request.url ?? '', { headers: headers as Record<string, string>, redirect: 'manual' })
      .then(async (answer) => {
        response.writeHead(answer.status, {
          'content-type': answer.headers.get('content-type') ?? '',
        })
        response.end(await answer.text())
      })
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => void server.close())
  return { port: (server.address() as AddressInfo).port, given }
}

/** A mail server that wants a name and a password, keeps who has given which, and takes no mail. */
async function startMailServer(tls: { cert: string; key: string }) {
  const given: string[] = []
  const server = new SMTPServer({
    ...tls,
    onAuth({ username = '', password = '' }, _, done) {
      given.push(`${username}:${password}`)
      done(null, { user: username })
    },
    onData(data, _, done) {
      data.resume()
      data.on('end', () => done(Object.assign(new Error('no'), { responseCode: 550 })))
    },
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  stack.defer(() => server.close())
  const address = server.server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0, given }
}

async function forumd(dir: string, args: readonly string[], stdin = '', env = {}) {
  const child = Bun.spawn([process.execPath, MAIN, ...args], {
    cwd: dir,
    stdin: Buffer.from(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { out, err }
}

/** The paths below a folder, to a depth. */
function names(dir: string, depth = 3): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((it) => {
    const path = join(dir, it.name)
    return it.isDirectory() && depth > 1 ? names(path, depth - 1) : [path]
  })
}

/** Snapshots and processes come and go. */
function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}

const pathOf = (url: string): string => new URL(url).pathname

const post = (body: unknown): RequestInit => ({ method: 'POST', body: JSON.stringify(body) })

/** The headers by which a caller reads as an account of its own. */
const session = (cookies: Readonly<Record<string, string>>, proxied?: string): RequestInit => ({
  headers: {
    'x-forum-session': cookies[SESSION_COOKIE] ?? '',
    'x-forum-loid': cookies['loid'] ?? '',
    'x-forum-token-v2': cookies['token_v2'] ?? '',
    'x-forum-csrf-token': cookies['csrf_token'] ?? '',
    ...(proxied !== undefined && { 'x-forum-proxy': proxied }),
  },
})

test('of fifty secrets none comes out in logs, errors, metrics, lists, the database or the process', async () => {
  const sandbox = stack.use(
    await startSandbox({
      port: 0,
      bearer_port: 0,
      seed: 7,
      speed: 0,
      world: 'seeded',
      now: Date.now,
      session_allowance: 100_000,
      allowance: 100_000,
    }),
  )
  const told: string[] = []
  const receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      told.push(`${request.headers.get('authorization') ?? ''} ${await request.text()}`)
      return new Response('', { status: new URL(request.url).pathname === '/fails' ? 500 : 200 })
    },
  })
  stack.defer(() => receiver.stop(true))
  const proxy = await startProxy()
  const tls = await certificate(['127.0.0.1'])
  const post_office = await startMailServer(tls)
  const folder = stack.use(tempFolder())
  const at = (name: string) => folder.file(name)

  // What was shown on purpose, once, is not searched; all the rest is.
  const shown: string[] = []
  const run = async (args: string, stdin = '', env = {}) => {
    const { out, err } = await forumd(folder.path, args.split(' '), stdin, env)
    shown.push(out, err)
  }

  const operator = { user: invent('operator user'), pass: inventOdd('operator password') }
  writeFileSync(at('operator.secret'), invent('operator secret'))
  writeFileSync(at('metrics.token'), invent('metrics token'))
  writeFileSync(
    at('operator.url'),
    `http://${operator.user}:${encodeURIComponent(operator.pass)}@127.0.0.1:${receiver.port}/operator`,
  )
  const mailer = { user: invent('mail user'), pass: inventOdd('mail password') }
  writeFileSync(
    at('smtp.url'),
    `smtp://${mailer.user}:${encodeURIComponent(mailer.pass)}@127.0.0.1:${post_office.port}`,
  )
  writeFileSync(at('ca.pem'), tls.cert)
  writeFileSync(
    at('forumd.toml'),
    `[server]
port = 0
[storage]
dir = "${at('data')}"
[platform]
base_url = "${sandbox.url}"
session_cookie = "${SESSION_COOKIE}"
api_url = "${sandbox.bearer_url}"
token_url = "${sandbox.url}/api/v1/access_token"
retries = 1
timeout_s = 2
read_deadline_s = 3
[plans.entry]
cadence_s = 1
[pool]
session_requests_per_minute = 60000
[guard]
allow_targets = ["127.0.0.1/32"]
allow_http = true
[operator]
webhook = "file:${at('operator.url')}"
secret = "file:${at('operator.secret')}"
[delivery]
ca_file = "${at('ca.pem')}"
[smtp]
url = "file:${at('smtp.url')}"
from = "forumd <alerts@forum.example>"
[upkeep]
snapshots = "*/2 * * * * *"
keep_hourly = 2
[limits]
read_cache_s = 0
key_burst = 1000
[metrics]
token = "file:${at('metrics.token')}"
[log]
level = "debug"
json = true
`,
  )
  const plantCookies = (whose: string, cookies: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(cookies)) plant(`${whose} ${name}`, value)
    return cookies
  }

  // The operator's ways out, accounts and keys.
  const way = { user: invent('pool proxy user'), pass: inventOdd('pool proxy password') }
  await run(
    'proxy add home --address-file -',
    `http://${way.user}:${encodeURIComponent(way.pass)}@127.0.0.1:${proxy.port}`,
  )
  const { accounts, application } = sandbox.overview()
  const usable = accounts.filter(({ flags }) => !flags.suspended)
  const [plain, second] = [
    usable.find(({ totp_secret }) => totp_secret === null),
    usable.find(({ totp_secret }) => totp_secret !== null),
  ]
  if (!plain || !second || !application) throw new Error('the sandbox has too few accounts')
  const first_jar = {
    ...sandbox.session({ username: plain.username }).cookies,
    edgebucket: invent('first edgebucket'),
  }
  plantCookies('first account', first_jar)
  await run(
    `account add first --username ${plain.username} --jar - --password-file env:PW --proxy home`,
    headerOf(first_jar),
    { PW: plant('first password', plain.password) },
  )
  await run(
    `account add second --username ${second.username} --password-file env:PW --totp-file env:TOTP`,
    '',
    {
      PW: plant('second password', second.password),
      TOTP: plant('second factor', second.totp_secret ?? ''),
    },
  )
  await run(
    `account add wrong --username ${plain.username} --password-file -`,
    invent('wrong password'),
  )
  await run('account add nobody --jar -', `${SESSION_COOKIE}=${invent('cookie of nobody')}`)
  const granted = sandbox.session({ username: plain.username })
  plantCookies('granted', granted.cookies)
  await run(
    `account add app --kind oauth --client-id ${application.client_id} --client-secret-file env:S --refresh-token-file -`,
    plant('refresh token', granted.refresh_token),
    { S: plant('client secret', application.client_secret) },
  )
  await run('proxy add typo --address-file -', `gopher://${invent('typo proxy')}@127.0.0.1:1`)
  const mint = async (args: string) => (await forumd(folder.path, args.split(' '))).out.trim()
  const key = plant('key', await mint('key create --customer ann --credits 10'))
  const poor = plant('poor key', await mint('key create --customer bob'))
  const fo = plant('operator key', await mint('key create --operator'))
  await run('key import --customer cat', invent('imported key'))
  for (const list of ['account list', 'account test', 'proxy list', 'proxy test', 'key list'])
    await run(`${list} --json`)

  // The daemon, and everything that callers send it.
  const daemon = await startProcess(at('forumd.toml'))
  stack.defer(async () => void (await daemon.end('SIGKILL')))
  let answers = 0
  const call = async (path: string, init: RequestInit = {}, token = key) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(daemon.url + path, {
      ...init,
      headers: { ...headers, ...(init.headers as Record<string, string>) },
    })
    const text = await response.text()
    answers += 1
    return { status: response.status, text, head: JSON.stringify([...response.headers]) }
  }
  const said = async (path: string, init: RequestInit = {}, token = key) => {
    const { status, text, head } = await call(path, init, token)
    shown.push(text, head)
    return status
  }
  const posts = '/api/forum/posts?subforum=coffee&limit=2'

  for (let n = 0; n < 6; n++) expect(await said(posts)).toBe(200)
  expect(proxy.given).toContain(`${way.user}:${way.pass}`)
  for (const token of [invent('unknown key'), fo, poor]) await said(posts, {}, token)

  const live = plantCookies('caller', sandbox.session({ username: second.username }).cookies)
  const dead = {
    [SESSION_COOKIE]: invent('dead session'),
    loid: invent('dead loid'),
    token_v2: invent('dead token'),
    csrf_token: invent('dead csrf'),
  }
  const theirs = { user: invent('caller proxy user'), pass: inventOdd('caller proxy password') }
  const proxyAt = (place: string) =>
    `http://${theirs.user}:${encodeURIComponent(theirs.pass)}@${place}`
  const own = `/api/forum/user/${second.username}/saved`
  expect(await said('/api/forum/feed', session(live))).toBe(200)
  expect(await said('/api/forum/feed', session(live, proxyAt(`127.0.0.1:${proxy.port}`)))).toBe(200)
  expect(proxy.given).toContain(`${theirs.user}:${theirs.pass}`)
  expect(await said('/api/forum/feed', session(live, proxyAt('127.0.0.1:1')))).toBe(502)
  expect(await said('/api/forum/feed', session(live, proxyAt('10.1.2.3:8080')))).toBe(400)
  expect(await said('/api/forum/feed', session(live, `${proxyAt('h')}:99999999`))).toBe(400)
  expect(await said('/api/forum/feed', session(dead))).toBe(401)
  await said(posts, session(dead))
  await said(posts, session(live, `ftp://${theirs.pass}@x`))
  expect(await said(own, session(live))).toBe(200)
  const query = new URLSearchParams({
    forum_session: dead[SESSION_COOKIE] ?? '',
    loid: dead.loid,
  }).toString()
  expect(await said(`${own}?${query}`)).toBe(401)
  await said(`${own}?${query}&proxy=${encodeURIComponent(proxyAt('x'))}`)
  await said(`${posts}&${query}`)
  await said(`/api/forum/feed`, { headers: { 'x-forum-session': dead[SESSION_COOKIE] ?? '' } })
  await said(`/api/forum/feed`, {
    headers: { 'x-forum-session': `a;${dead.token_v2}`, 'x-forum-loid': dead.loid },
  })

  const created = await call(
    '/forum/monitor/webhook/create',
    post({ kind: 'webhook', url: `http://127.0.0.1:${receiver.port}/fails` }),
  )
  const webhook = JSON.parse(created.text) as { id: string; secret: string }
  plant('webhook secret', webhook.secret)
  plant(
    'bytes of the webhook secret',
    Buffer.from(webhook.secret.slice(6), 'base64').toString('latin1'),
  )
  await said('/forum/monitor/webhook/list')
  await said('/forum/monitor/webhook/test', post({ id: webhook.id }))
  await said(
    '/forum/monitor/webhook/create',
    post({ kind: 'webhook', url: `https://${theirs.user}:${theirs.user}@127.0.0.1/` }),
  )
  // A mail that is refused, by a server that was told the password.
  await said('/forum/monitor/webhook/create', post({ url: 'mailto:reader@forum.example' }))
  expect(post_office.given).toContain(`${mailer.user}:${mailer.pass}`)

  // Whoever has the address of a feed reads it: its token is shown to its owner alone, here and in the list.
  const added = await call(
    '/forum/monitor/add',
    post({ filter_spec: { subforum: 'coffee', q: 'zebra' } }),
  )
  expect(added.status).toBe(200)
  const monitor = JSON.parse(added.text) as { id: string; feed_url: string }
  const plantFeed = (name: string, feed_url: string) =>
    plant(name, pathOf(feed_url).split('/').at(-1)?.split('~').at(-1) ?? '')
  plantFeed('feed token', monitor.feed_url)
  await call(pathOf(monitor.feed_url), {}, '')
  const rotated = await call('/forum/monitor/feed/rotate', post({ id: monitor.id }))
  expect(rotated.status).toBe(200)
  const { feed_url } = JSON.parse(rotated.text) as { feed_url: string }
  plantFeed('new feed token', feed_url)
  expect((await call(pathOf(feed_url), {}, '')).status).toBe(200)
  await said(pathOf(monitor.feed_url), {}, '')

  // A write that is named is remembered for a day: what was sent, and what was answered.
  const { name: post_name, permalink } = sandbox.post({ subforum: 'coffee', title: 'to answer' })
  const fields = { forum_session: live[SESSION_COOKIE] ?? '', loid: live['loid'] ?? '' }
  const named = (route: string, body: object, name: string) =>
    call(route, {
      ...post({ ...fields, ...body }),
      headers: { 'idempotency-key': name },
    })
  const written = invent('what was written')
  const cookies = { flavour: invent('odd cookie') }
  const comment = { post_url: `${sandbox.url}${permalink}`, text: written, cookies }
  for (let n = 0; n < 2; n++)
    expect((await named('/api/forum/v2/comment', comment, 'once')).status).toBe(200)
  await named('/api/forum/dm', { to: 'nobody', subject: 'x', text: invent('a message') }, 'twice')
  await named('/api/forum/vote', { id: post_name, direction: 'up' }, 'thrice')
  await said(
    '/api/forum/vote',
    post({ ...fields, id: post_name, direction: invent('no direction') }),
  )

  sandbox.post({ subforum: 'coffee', title: 'a zebra' })
  while (!told.some((it) => it.includes('zebra'))) await Bun.sleep(50)

  // Faults of every kind while those cookies are on their way, an account that dies, and one that is mended.
  for (const fault of [
    '429_html',
    'block_403_html',
    'challenge_200_html',
    'login_page_200',
    '5xx',
    'reset',
  ] as const) {
    sandbox.weather({ path: '/', fault, times: 2 })
    await said(posts)
    await said('/api/forum/feed', session(live))
    sandbox.clearWeather()
  }
  sandbox.revoke({ username: plain.username })
  while (!told.some((it) => it.includes('account_needs_login'))) await said(posts)

  await said('/forum/monitor/deliveries')
  await said('/account/me')
  await said('/account/payments')
  await said('/health', {}, '')
  await said('/openapi.json', {}, '')
  await said('/metrics', {}, readFileSync(at('metrics.token'), 'utf8'))
  await said('/metrics', {}, invent('wrong metrics token'))
  await run('account pause first')
  await run('account test')

  // What the machine shows of the process while it runs, and what it leaves behind.
  const saved = await forumd(folder.path, ['backup', at('backup.sqlite')])
  expect(saved.err).toBe('')
  shown.push(saved.out)
  const snapshots = () =>
    names(join(at('data'), 'snapshots')).filter((it) => it.endsWith('.sqlite'))
  while (snapshots().length === 0) await Bun.sleep(50)
  const files = () =>
    [at('backup.sqlite'), ...names(at('data'))]
      .filter((path) => !path.endsWith('secrets.key'))
      .flatMap((path) => {
        const bytes = readIfThere(path)
        return bytes === null ? [] : [{ where: path.slice(folder.path.length + 1), bytes }]
      })
  const processes = names('/proc', 1).filter((path) => /^\/proc\/\d+$/.test(path))
  const running = [
    ...files(),
    ...['environ', 'cmdline'].map((name) => ({
      where: `process ${name}`,
      bytes: readFileSync(`/proc/${daemon.pid}/${name}`),
    })),
    ...processes.flatMap((path) => {
      const bytes = readIfThere(`${path}/cmdline`)
      return bytes === null ? [] : [{ where: `command line of ${path}`, bytes }]
    }),
  ]
  await daemon.end('SIGTERM')
  const everything = [
    ...running,
    ...files().map(({ where, bytes }) => ({ where: `${where}, stopped`, bytes })),
    ...daemon.lines.map((line) => ({
      where: `log: ${line.slice(0, 200)}`,
      bytes: Buffer.from(line),
    })),
    ...shown.map((text) => ({ where: `answer: ${text.slice(0, 200)}`, bytes: Buffer.from(text) })),
    ...told.map((text) => ({
      where: 'operator or webhook',
      // Credentials that belong into this very header are where they should be.
      bytes: Buffer.from(text.replace(/^Basic \S+/, '')),
    })),
  ]

  expect(canaries.count()).toBeGreaterThanOrEqual(50)
  expect(answers).toBeGreaterThan(40)
  const events = new Set(daemon.lines.map((line) => (JSON.parse(line) as { event: string }).event))
  for (const event of [
    'platform.refused',
    'account.needs_login',
    'delivery.attempted',
    'operator.told',
  ])
    expect(events).toContain(event)
  const searched = running.map(({ where }) => where)
  expect(searched).toContain('data/forumd.sqlite-wal')
  expect(searched).toContain('backup.sqlite')
  expect(searched.filter((it) => it.startsWith('data/snapshots/'))).not.toEqual([])
  const rows = new Database(at('backup.sqlite'), { readonly: true })
  expect(
    rows.query('SELECT count(*) AS n FROM named_writes WHERE answer IS NOT NULL').get(),
  ).toEqual({ n: 3 })
  rows.close()
  const basic = Buffer.from(`${operator.user}:${operator.pass}`).toString('base64')
  expect(told.some((it) => it.startsWith(`Basic ${basic} `))).toBe(true)
  const leaks = everything.flatMap(({ where, bytes }) =>
    canaries.foundIn(bytes).map((name) => `${name} in ${where}`),
  )
  expect(leaks).toEqual([])
})

test('a canary is found in every spelling, and not where it is not', () => {
  const own = createCanaries()
  const secret = own.plant('it', 'p%ss/w:rd+&=0')

  for (const text of [
    `x${secret}x`,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('hex'),
    Buffer.from(`a${secret}z`).toString('base64'),
    Buffer.from(`ab${secret}zz`).toString('base64'),
    Buffer.from(`user:${secret}`).toString('base64url'),
  ])
    expect(own.foundIn(text)).toEqual(['it'])
  expect(own.foundIn(secret.slice(1))).toEqual([])
})
