import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { SMTPServer } from 'smtp-server'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { headerOf, SESSION_COOKIE } from '../support/accounts.ts'
import { createCanaries } from '../support/canaries.ts'
import { certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'
import { PROGRAM, startProcess } from '../support/process.ts'

// Goal: a secret exists only where it was stored and where it is sent. Method: some fifty secrets
// in a scenario logged at debug level, with faults; then all output, files and answers of the
// daemon are searched for each of them, also in base64, hex and percent encoding.

setDefaultTimeout(120_000)
const canaries = createCanaries()
const { addCanary } = canaries
const random = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes)))
const invent = (name: string) => addCanary(name, `cnry-${random(12).toString('hex')}`)
/** Percent signs, colons and slashes distinguish the encodings. */
const inventOdd = (name: string) => addCanary(name, `c/n%:${random(12).toString('base64url')}+&`)

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

/** A forward proxy with name and password, which counts the requests of each. */
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

/** A mail server with name and password, which records both, and accepts no mail. */
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
  const child = Bun.spawn([...PROGRAM, ...args], {
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

/** Snapshots and processes may disappear meanwhile. */
function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}

const pathOf = (url: string): string => new URL(url).pathname

const post = (body: unknown): RequestInit => ({ method: 'POST', body: JSON.stringify(body) })

/** Headers for a read as the caller's own account. */
const session = (cookies: Readonly<Record<string, string>>, proxied?: string): RequestInit => ({
  headers: {
    'x-forum-session': cookies[SESSION_COOKIE] ?? '',
    'x-forum-loid': cookies['loid'] ?? '',
    'x-forum-token-v2': cookies['token_v2'] ?? '',
    'x-forum-csrf-token': cookies['csrf_token'] ?? '',
    ...(proxied !== undefined && { 'x-forum-proxy': proxied }),
  },
})

test('none of fifty secrets appears in logs, errors, metrics, lists, the database or the process', async () => {
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
  const sources: string[] = []
  const receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      sources.push(`${request.headers.get('authorization') ?? ''} ${await request.text()}`)
      return new Response('', { status: new URL(request.url).pathname === '/fails' ? 500 : 200 })
    },
  })
  stack.defer(() => receiver.stop(true))
  const proxy = await startProxy()
  const tls = await certificate(['127.0.0.1'])
  const mail_server = await startMailServer(tls)
  const folder = stack.use(tempFolder())
  const at = (name: string) => folder.file(name)

  // Secrets shown once on purpose are not searched; all other output is.
  const responses: string[] = []
  const run = async (args: string, stdin = '', env = {}) => {
    const { out, err } = await forumd(folder.path, args.split(' '), stdin, env)
    responses.push(out, err)
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
    `smtp://${mailer.user}:${encodeURIComponent(mailer.pass)}@127.0.0.1:${mail_server.port}`,
  )
  writeFileSync(at('ca.pem'), tls.cert)
  writeFileSync(
    at('forumd.toml'),
    `[server]
port = 0
[storage]
dir = "${at('data')}"
[requests]
timeout_s = 2
read_deadline_s = 3
[[source]]
name = "forum"
kind = "reddit"
base_url = "${sandbox.url}"
session_cookie = "${SESSION_COOKIE}"
api_url = "${sandbox.bearer_url}"
token_url = "${sandbox.url}/api/v1/access_token"
retries = 1
[source.accounts]
session_requests_per_minute = 60000
[plans.entry]
cadence_s = 1
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
[maintenance]
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
  const addCookieCanaries = (owner: string, cookies: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(cookies)) addCanary(`${owner} ${name}`, value)
    return cookies
  }

  // The operator's proxies, accounts and keys.
  const proxy_login = { user: invent('pool proxy user'), pass: inventOdd('pool proxy password') }
  await run(
    'proxy add home --address-file -',
    `http://${proxy_login.user}:${encodeURIComponent(proxy_login.pass)}@127.0.0.1:${proxy.port}`,
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
  addCookieCanaries('first account', first_jar)
  await run(
    `account add first --username ${plain.username} --jar - --password-file env:PW --proxy home`,
    headerOf(first_jar),
    { PW: addCanary('first password', plain.password) },
  )
  await run(
    `account add second --username ${second.username} --password-file env:PW --totp-file env:TOTP`,
    '',
    {
      PW: addCanary('second password', second.password),
      TOTP: addCanary('second factor', second.totp_secret ?? ''),
    },
  )
  await run(
    `account add wrong --username ${plain.username} --password-file -`,
    invent('wrong password'),
  )
  await run('account add anon --jar -', `${SESSION_COOKIE}=${invent('cookie of anon')}`)
  const granted = sandbox.session({ username: plain.username })
  addCookieCanaries('granted', granted.cookies)
  await run(
    `account add app --kind oauth --client-id ${application.client_id} --client-secret-file env:S --refresh-token-file -`,
    addCanary('refresh token', granted.refresh_token),
    { S: addCanary('client secret', application.client_secret) },
  )
  await run('proxy add typo --address-file -', `gopher://${invent('typo proxy')}@127.0.0.1:1`)
  const mint = async (args: string) => (await forumd(folder.path, args.split(' '))).out.trim()
  const key = addCanary('key', await mint('key create --customer ann --credits 10'))
  const poor = addCanary('poor key', await mint('key create --customer bob'))
  const fo = addCanary('operator key', await mint('key create --operator'))
  await run('key import --customer cat', invent('imported key'))
  for (const list of ['account list', 'account test', 'proxy list', 'proxy test', 'key list'])
    await run(`${list} --json`)

  // The daemon, and every input of callers.
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
  const responseText = async (path: string, init: RequestInit = {}, token = key) => {
    const { status, text, head } = await call(path, init, token)
    responses.push(text, head)
    return status
  }
  const posts = '/api/forum/posts?subforum=coffee&limit=2'

  for (let n = 0; n < 6; n++) expect(await responseText(posts)).toBe(200)
  expect(proxy.given).toContain(`${proxy_login.user}:${proxy_login.pass}`)
  for (const token of [invent('unknown key'), fo, poor]) await responseText(posts, {}, token)

  const live = addCookieCanaries('caller', sandbox.session({ username: second.username }).cookies)
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
  expect(await responseText('/api/forum/feed', session(live))).toBe(200)
  expect(
    await responseText('/api/forum/feed', session(live, proxyAt(`127.0.0.1:${proxy.port}`))),
  ).toBe(200)
  expect(proxy.given).toContain(`${theirs.user}:${theirs.pass}`)
  expect(await responseText('/api/forum/feed', session(live, proxyAt('127.0.0.1:1')))).toBe(502)
  expect(await responseText('/api/forum/feed', session(live, proxyAt('10.1.2.3:8080')))).toBe(400)
  expect(await responseText('/api/forum/feed', session(live, `${proxyAt('h')}:99999999`))).toBe(400)
  expect(await responseText('/api/forum/feed', session(dead))).toBe(401)
  await responseText(posts, session(dead))
  await responseText(posts, session(live, `ftp://${theirs.pass}@x`))
  expect(await responseText(own, session(live))).toBe(200)
  const query = new URLSearchParams({
    forum_session: dead[SESSION_COOKIE] ?? '',
    loid: dead.loid,
  }).toString()
  expect(await responseText(`${own}?${query}`)).toBe(401)
  await responseText(`${own}?${query}&proxy=${encodeURIComponent(proxyAt('x'))}`)
  await responseText(`${posts}&${query}`)
  await responseText(`/api/forum/feed`, {
    headers: { 'x-forum-session': dead[SESSION_COOKIE] ?? '' },
  })
  await responseText(`/api/forum/feed`, {
    headers: { 'x-forum-session': `a;${dead.token_v2}`, 'x-forum-loid': dead.loid },
  })

  const created = await call(
    '/forum/monitor/webhook/create',
    post({ kind: 'webhook', url: `http://127.0.0.1:${receiver.port}/fails` }),
  )
  const webhook = JSON.parse(created.text) as { id: string; secret: string }
  addCanary('webhook secret', webhook.secret)
  addCanary(
    'bytes of the webhook secret',
    Buffer.from(webhook.secret.slice(6), 'base64').toString('latin1'),
  )
  await responseText('/forum/monitor/webhook/list')
  await responseText('/forum/monitor/webhook/test', post({ id: webhook.id }))
  await responseText(
    '/forum/monitor/webhook/create',
    post({ kind: 'webhook', url: `https://${theirs.user}:${theirs.user}@127.0.0.1/` }),
  )
  // A mail that is refused, by a server that received the password.
  await responseText('/forum/monitor/webhook/create', post({ url: 'mailto:reader@forum.example' }))
  // Gives all that it got back, as some receivers do.
  const mirror = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url, headers }) => new Response(`${url} ${JSON.stringify(headers)}`, { status: 500 }),
  })
  stack.defer(() => mirror.stop(true))
  const at_receiver = `http://127.0.0.1:${mirror.port}`
  const bot = invent('bot token')
  const services = [
    { kind: 'ntfy', url: `${at_receiver}/fails`, token: invent('ntfy token') },
    { kind: 'telegram', url: `${at_receiver}/bot110201543:${bot}?chat_id=1` },
    { kind: 'gotify', url: `${at_receiver}/message?token=${invent('gotify token')}` },
    { kind: 'matrix', url: `${at_receiver}/!a:b`, token: invent('matrix token') },
    { url: `mqtt://${invent('broker user')}:${invent('broker password')}@127.0.0.1:1/topic` },
    { kind: 'gotify', url: `${at_receiver}/`, token: `${invent('refused token')} ` },
    { kind: 'slack', url: `${at_receiver}/`, token: invent('misplaced token') },
  ]
  const statuses: number[] = []
  for (const body of services)
    statuses.push(await responseText('/forum/monitor/webhook/create', post(body)))
  expect(statuses).toEqual([200, 200, 200, 200, 200, 400, 400])
  const listed = await call('/forum/monitor/webhook/list')
  for (const { id, kind } of JSON.parse(listed.text).webhooks as { id: string; kind: string }[])
    if (services.some((it) => it.kind === kind) || kind === 'mqtt')
      await responseText('/forum/monitor/webhook/test', post({ id }))
  expect(mail_server.given).toContain(`${mailer.user}:${mailer.pass}`)

  // The address of a feed grants access: its token is shown to its owner only, here and in the
  // list.
  const added = await call(
    '/forum/monitor/add',
    post({ filter_spec: { subforum: 'coffee', q: 'zebra' } }),
  )
  expect(added.status).toBe(200)
  const monitor = JSON.parse(added.text) as { id: string; feed_url: string }
  const addFeedCanary = (name: string, feed_url: string) =>
    addCanary(name, pathOf(feed_url).split('/').at(-1)?.split('~').at(-1) ?? '')
  addFeedCanary('feed token', monitor.feed_url)
  await call(pathOf(monitor.feed_url), {}, '')
  const rotated = await call('/forum/monitor/feed/rotate', post({ id: monitor.id }))
  expect(rotated.status).toBe(200)
  const { feed_url } = JSON.parse(rotated.text) as { feed_url: string }
  addFeedCanary('new feed token', feed_url)
  expect((await call(pathOf(feed_url), {}, '')).status).toBe(200)
  await responseText(pathOf(monitor.feed_url), {}, '')

  // A write with an Idempotency-Key is stored for a day: its request, and its answer.
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
  await named('/api/forum/dm', { to: 'unknown', subject: 'x', text: invent('a message') }, 'twice')
  await named('/api/forum/vote', { id: post_name, direction: 'up' }, 'thrice')
  await responseText(
    '/api/forum/vote',
    post({ ...fields, id: post_name, direction: invent('no direction') }),
  )

  sandbox.post({ subforum: 'coffee', title: 'a zebra' })
  while (!sources.some((it) => it.includes('zebra'))) await Bun.sleep(50)

  // Faults of every kind while those cookies are sent, an account that ends, and one that is
  // repaired.
  for (const fault of [
    '429_html',
    'block_403_html',
    'challenge_200_html',
    'login_page_200',
    '5xx',
    'reset',
  ] as const) {
    sandbox.addFault({ path: '/', fault, times: 2 })
    await responseText(posts)
    await responseText('/api/forum/feed', session(live))
    sandbox.clearFaults()
  }
  sandbox.revoke({ username: plain.username })
  // Its token is refused, and so is a renewal. Other accounts have more budget left and would serve
  // every read, and the blocks above have paused this one.
  for (const command of ['pause first', 'pause second', 'pause app', 'resume app'])
    await run(`account ${command}`)
  // Without a pause thousands of answers a second would be kept and searched.
  while (!sources.some((it) => it.includes('account_needs_login'))) {
    await responseText(posts)
    await Bun.sleep(50)
  }

  await responseText('/forum/monitor/deliveries')
  await responseText('/account/me')
  await responseText('/account/payments')
  await responseText('/health', {}, '')
  await responseText('/openapi.json', {}, '')
  await responseText('/metrics', {}, readFileSync(at('metrics.token'), 'utf8'))
  await responseText('/metrics', {}, invent('wrong metrics token'))
  await run('account resume second')
  await run('account test')

  // Data of the process that the machine shows while it runs, and files that it leaves.
  const saved = await forumd(folder.path, ['backup', at('backup.sqlite')])
  expect(saved.err).toBe('')
  responses.push(saved.out)
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
    ...responses.map((text) => ({
      where: `answer: ${text.slice(0, 200)}`,
      bytes: Buffer.from(text),
    })),
    ...sources.map((text) => ({
      where: 'operator or webhook',
      // Credentials in their own header are expected.
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
    'operator.notified',
  ])
    expect(events).toContain(event)
  const searched = running.map(({ where }) => where)
  expect(searched).toContain('data/forumd.sqlite-wal')
  expect(searched).toContain('backup.sqlite')
  expect(searched.filter((it) => it.startsWith('data/snapshots/'))).not.toEqual([])
  const rows = new Database(at('backup.sqlite'), { readonly: true })
  expect(
    rows.query('SELECT count(*) AS n FROM idempotent_writes WHERE answer IS NOT NULL').get(),
  ).toEqual({ n: 3 })
  rows.close()
  const basic = Buffer.from(`${operator.user}:${operator.pass}`).toString('base64')
  expect(sources.some((it) => it.startsWith(`Basic ${basic} `))).toBe(true)
  const leaks = everything.flatMap(({ where, bytes }) =>
    canaries.foundIn(bytes).map((name) => `${name} in ${where}`),
  )
  expect(leaks).toEqual([])
})

test('a canary is found in every encoding, and in no other text', () => {
  const own = createCanaries()
  const secret = own.addCanary('it', 'p%ss/w:rd+&=0')

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
