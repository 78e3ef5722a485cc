// Goal: the sites of examples/ forward every kind of call, trust no client header, and pass on the answer to a refused
// upload. Method: the files, with other addresses and certificates, run by the real servers in
// front of a daemon.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'

import { certificate } from '../support/certificate.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { cases, installsAll, isLongForm } from '../support/long-form.ts'
import { postGrinder, startLoopbackDaemon, watchCoffee } from '../support/loopback-daemon.ts'
import { freePort } from '../support/port.ts'
import { startListening } from '../support/receivers.ts'
import { root } from './documentation.ts'

setDefaultTimeout(isLongForm ? 900_000 : 90_000)

const examples = join(root, 'examples')
const HOST = 'forumd.example.org'
const PATH = `${process.env['PATH']}:/usr/sbin`

type Front = AsyncDisposable & { port: number }

/** A text of examples/ with these replacements; each of them must occur. */
function adapted(file: string, changes: Record<string, string>): string {
  let text = readFileSync(join(examples, file), 'utf8')
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`${file} does not say ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}

async function run(folder: Folder, command: string[], port: number): Promise<Front> {
  const running = await startListening(command, { HOME: folder.path, PATH }, port)
  return { port, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

const SERVERS = {
  nginx: {
    version: ['-v'],
    async start(folder: Folder, upstream: string): Promise<Front> {
      const [port, plain] = [freePort(), freePort()]
      const { key, cert } = await certificate()
      writeFileSync(folder.file('key.pem'), key)
      writeFileSync(folder.file('cert.pem'), cert)
      const site = adapted('nginx/forumd.conf', {
        'listen 443': `listen 127.0.0.1:${port}`,
        'listen 80': `listen 127.0.0.1:${plain}`,
        'http://127.0.0.1:8080': upstream,
        '/etc/letsencrypt/live/forumd.example.org/fullchain.pem': folder.file('cert.pem'),
        '/etc/letsencrypt/live/forumd.example.org/privkey.pem': folder.file('key.pem'),
      })
      // Its worker, which is not root, keeps bodies there.
      chmodSync(folder.path, 0o755)
      const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (it) => `${it}_temp_path ${folder.file(it)};`,
      )
      writeFileSync(
        folder.file('nginx.conf'),
        `daemon off; pid ${folder.file('pid')}; error_log stderr; events {}
http { access_log off; ${temp.join(' ')}\n${site}\n}`,
      )
      const command = ['nginx', '-c', folder.file('nginx.conf'), '-e', 'stderr']
      const judged = Bun.spawnSync([Bun.which('nginx', { PATH }) ?? '', ...command.slice(1), '-t'])
      expect({ code: judged.exitCode, output: judged.stderr.toString() }).toMatchObject({ code: 0 })
      return run(folder, command, port)
    },
  },
  caddy: {
    version: ['version'],
    async start(folder: Folder, upstream: string): Promise<Front> {
      const port = freePort()
      const { key, cert } = await certificate()
      writeFileSync(folder.file('key.pem'), key)
      writeFileSync(folder.file('cert.pem'), cert)
      const whole = ['--adapter', 'caddyfile', '--config']
      const judged = Bun.spawnSync(
        ['caddy', 'validate', ...whole, join(examples, 'caddy/Caddyfile')],
        { env: { ...process.env, HOME: folder.path } },
      )
      expect(judged.exitCode).toBe(0)
      const site = adapted('caddy/Caddyfile', {
        'forumd.example.org {': `https://forumd.example.org:${port} {\n\ttls ${folder.file('cert.pem')} ${folder.file('key.pem')}`,
        '127.0.0.1:8080': upstream.replace('http://', ''),
      })
      writeFileSync(
        folder.file('Caddyfile'),
        `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`,
      )
      return run(folder, ['caddy', 'run', ...whole, folder.file('Caddyfile')], port)
    },
  },
  apache2: {
    version: ['-v'],
    async start(folder: Folder, upstream: string): Promise<Front> {
      const port = freePort()
      const { key, cert } = await certificate()
      writeFileSync(folder.file('key.pem'), key)
      writeFileSync(folder.file('cert.pem'), cert)
      const site = adapted('apache/forumd.conf', {
        '*:443': `127.0.0.1:${port}`,
        'http://127.0.0.1:8080': upstream,
        '/etc/letsencrypt/live/forumd.example.org/fullchain.pem': folder.file('cert.pem'),
        '/etc/letsencrypt/live/forumd.example.org/privkey.pem': folder.file('key.pem'),
      })
      const modules = ['mpm_event', 'authz_core', 'ssl', 'http2', 'proxy', 'proxy_http', 'headers']
        .map((it) => `LoadModule ${it}_module /usr/lib/apache2/modules/mod_${it}.so`)
        .join('\n')
      writeFileSync(
        folder.file('apache.conf'),
        `ServerRoot ${folder.path}\nServerName localhost\nPidFile ${folder.file('pid')}\nDefaultRuntimeDir ${folder.path}
ErrorLog ${folder.file('errors')}\nUser www-data\nGroup www-data\nListen 127.0.0.1:${port}\n${modules}\n${site}`,
      )
      return run(folder, ['apache2', '-f', folder.file('apache.conf'), '-D', 'FOREGROUND'], port)
    },
  },
  haproxy: {
    version: ['-v'],
    async start(folder: Folder, upstream: string): Promise<Front> {
      const port = freePort()
      const { key, cert } = await certificate()
      writeFileSync(folder.file('both.pem'), `${cert}\n${key}`)
      const site = adapted('haproxy/haproxy.cfg', {
        'bind :443': `bind 127.0.0.1:${port}`,
        '127.0.0.1:8080': upstream.replace('http://', ''),
        '/etc/haproxy/forumd.example.org.pem': folder.file('both.pem'),
      })
      writeFileSync(folder.file('haproxy.cfg'), site)
      return run(folder, ['haproxy', '-db', '-f', folder.file('haproxy.cfg')], port)
    },
  },
}

type Answer = { status: number; body: string }

/**
 * One call to the site by its name, as by a remote client; `until` ends a stream once it has
 * occurred.
 */
function curl(
  { port }: Front,
  path: string,
  headers: Record<string, string> = {},
  { method = 'GET', body = '', until }: { method?: string; body?: string; until?: string } = {},
): Promise<Answer> & { began: Promise<void> } {
  const began = Promise.withResolvers<void>()
  const whole = new Promise<Answer>((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        servername: HOST,
        // The certificate is the test's own; the check of names is not tested here.
        rejectUnauthorized: false,
        headers: { host: HOST, 'content-length': Buffer.byteLength(body), ...headers },
      },
      (response) => {
        began.resolve()
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
          if (until !== undefined && text.includes(until)) {
            resolve({ status: response.statusCode ?? 0, body: text })
            call.destroy()
          }
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
      },
    )
    call.on('error', reject)
    call.end(body)
  })
  return Object.assign(whole, { began: began.promise })
}

let daemon: Awaited<ReturnType<typeof startLoopbackDaemon>>
beforeAll(async () => {
  daemon = await startLoopbackDaemon((config) => {
    config.server.public_url = `https://${HOST}`
    config.server.trusted_proxies = ['127.0.0.1']
    // The same client sends all refused uploads.
    const many = 1_000_000
    Object.assign(config.limits, {
      uploads_per_minute: many,
      writes_per_minute: many,
      management_per_minute: many,
      failed_auth_per_minute: many,
      unknown_routes_per_minute: many,
      health_per_minute: many,
    })
  })
})
afterAll(() => daemon[Symbol.asyncDispose]())

const names = Object.keys(SERVERS).filter((it): it is keyof typeof SERVERS => it in SERVERS)
const absent = names.filter((it) => Bun.which(it, { PATH }) === null)
/** CI installs these two in the long form only. */
const is_needed = absent.some((it) => installsAll || it === 'nginx' || it === 'caddy')
if (is_needed && process.env['CI']) throw new Error(`not installed: ${absent.join(', ')}`)
if (absent.length > 0) console.log(`sites not tried, for want of: ${absent.join(', ')}`)

describe.each(names.filter((it) => !absent.includes(it)))('the site for %s', (name) => {
  let folder: Folder
  let front: Front
  beforeAll(async () => {
    folder = tempFolder()
    front = await SERVERS[name].start(folder, daemon.url())
  })
  afterAll(async () => {
    await front[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test('forwards reads, bodies and the dashboard', async () => {
    const bearer = { authorization: `Bearer ${daemon.key}` }

    const health = await curl(front, '/health')
    const account = await curl(front, '/account/me', bearer)
    const dashboard = await curl(front, '/dashboard')
    const filter_spec = { subforum: 'coffee', include_any: ['grinder'] }
    daemon.sandbox.post({ subforum: 'coffee', title: 'An old one' })
    const json = { ...bearer, 'content-type': 'application/json' }
    const body = JSON.stringify({ filter_spec })
    const monitor = await curl(front, '/forum/monitor/add', json, { method: 'POST', body })

    expect(JSON.parse(health.body)).toMatchObject({ ok: true })
    expect(JSON.parse(account.body)).toMatchObject({ name: 'ann' })
    expect([dashboard.status, monitor.status]).toEqual([200, 200])
  })

  test('forwards events of a stream as they happen', async () => {
    const id = await watchCoffee(daemon)

    const response = curl(
      front,
      `/forum/monitor/stream?id=${id}`,
      { authorization: `Bearer ${daemon.key}` },
      { until: 'A quiet grinder' },
    )
    await response.began
    await postGrinder(daemon, 'A quiet grinder')

    expect((await response).status).toBe(200)
  })

  test('serves the dashboard under its own name only', async () => {
    expect((await curl(front, '/dashboard')).body).toContain('/dashboard/assets/')
    expect((await curl(front, '/dashboard', { host: 'evil.example' })).body).not.toContain(
      '/dashboard/assets/',
    )
  })

  test('is not treated as this machine, with any address that a client claims', async () => {
    const claims = { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' }
    expect((await fetch(`${daemon.url()}/metrics`)).status).toBe(200)

    expect((await curl(front, '/metrics')).status).toBeGreaterThanOrEqual(401)
    expect((await curl(front, '/metrics', claims)).status).toBeGreaterThanOrEqual(401)
  })

  test.each(['--http1.1', '--http2'])(
    'passes on the answer to each refused upload by %s, beside another client',
    async (protocol) => {
      writeFileSync(folder.file('large'), new Uint8Array(7_000_000))
      writeFileSync(folder.file('small'), '{"half')
      const bearer = `Authorization: Bearer ${daemon.key}`
      const json = 'Content-Type: application/json'
      const upload = async (
        path: string,
        file: string,
        headers: string[],
        how = '--data-binary',
      ) => {
        const status = await send(front, folder, protocol, path, [
          ...['Expect:', ...headers].flatMap((header) => ['-H', header]),
          '-X',
          'POST',
          how,
          how === '-T' ? folder.file(file) : `@${folder.file(file)}`,
        ])
        return `${path} ${status}`
      }
      const uploads = [
        () => upload('/api/forum/profile/avatar', 'large', [bearer, 'Content-Type: image/png']),
        () => upload('/api/forum/profile/banner', 'large', ['Authorization: Bearer fk_none', json]),
        () => upload('/forum/monitor/add', 'large', [bearer, json]),
        () => upload('/forum/monitor/list', 'large', [bearer, json, 'Transfer-Encoding: chunked']),
        () =>
          upload(
            '/forum/monitor/preview',
            'large',
            [bearer, json, 'Transfer-Encoding: chunked'],
            '-T',
          ),
        () => upload('/forum/monitor/update', 'small', [bearer, json]),
        () => upload('/nowhere', 'large', [bearer, json]),
      ]
      const found = new Map<string, number>()
      const note = (line: string) => found.set(line, (found.get(line) ?? 0) + 1)
      const rounds = cases({ short: 1, long: 30 })
      const over = new AbortController()
      const others = (async () => {
        while (!over.signal.aborted)
          note(`/health ${await send(front, folder, protocol, '/health')}`)
      })()
      for (let round = 0; round < rounds; round++)
        await Promise.all(uploads.map(async (one) => note(await one())))
      over.abort()
      await others

      found.delete('/health 200')
      expect(Object.fromEntries(found)).toEqual({
        '/api/forum/profile/avatar 400': rounds,
        '/api/forum/profile/banner 403': rounds,
        '/forum/monitor/add 413': rounds,
        '/forum/monitor/list 405': rounds,
        '/forum/monitor/preview 413': rounds,
        '/forum/monitor/update 400': rounds,
        '/nowhere 404': rounds,
      })
    },
  )
})

/** The status of one call by a client of its own, such as HTTP/2. */
async function send(
  { port }: Front,
  folder: Folder,
  protocol: string,
  path: string,
  options: string[] = [],
): Promise<string> {
  const child = Bun.spawn(
    'curl -sk --max-time 60 -o /dev/null -w %{http_code}'
      .split(' ')
      .concat(protocol, '--resolve', `${HOST}:${port}:127.0.0.1`, options)
      .concat(`https://${HOST}:${port}${path}`),
    { cwd: folder.path, stdout: 'pipe' },
  )
  return new Response(child.stdout).text()
}
