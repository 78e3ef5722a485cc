// Goal: the nginx and Caddy sites in examples/ forward every kind of call, and trust no client
// header. Method: the files, with other addresses and certificates, run by the real servers in
// front of a daemon.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'

import { certificate } from '../support/certificate.ts'
import { type Folder, tempFolder } from '../support/folder.ts'
import { postGrinder, startLoopbackDaemon, watchCoffee } from '../support/loopback-daemon.ts'
import { freePort } from '../support/port.ts'
import { startListening } from '../support/receivers.ts'
import { root } from './documentation.ts'

setDefaultTimeout(90_000)

const examples = join(root, 'examples')
const HOST = 'forumd.example.org'
const PATH = `${process.env['PATH']}:/usr/sbin`

type TestDaemon = Awaited<ReturnType<typeof startLoopbackDaemon>>
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

/** A daemon configured for a proxy. */
async function behind(): Promise<TestDaemon> {
  return startLoopbackDaemon((config) => {
    config.server.public_url = `https://${HOST}`
    config.server.trusted_proxies = ['127.0.0.1']
  })
}

const names = Object.keys(SERVERS).filter((it): it is keyof typeof SERVERS => it in SERVERS)
const absent = names.filter((it) => Bun.which(it, { PATH }) === null)
if (absent.length > 0 && process.env['CI']) throw new Error(`not installed: ${absent.join(', ')}`)
if (absent.length > 0) console.log(`sites not tried, for want of: ${absent.join(', ')}`)

describe.each(names.filter((it) => !absent.includes(it)))('the site for %s', (name) => {
  test('forwards reads, bodies and the dashboard', async () => {
    using folder = tempFolder()
    await using daemon = await behind()
    await using front = await SERVERS[name].start(folder, daemon.url())
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
    using folder = tempFolder()
    await using daemon = await behind()
    await using front = await SERVERS[name].start(folder, daemon.url())
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
    using folder = tempFolder()
    await using daemon = await behind()
    await using front = await SERVERS[name].start(folder, daemon.url())

    expect((await curl(front, '/dashboard')).body).toContain('/dashboard/assets/')
    expect((await curl(front, '/dashboard', { host: 'evil.example' })).body).not.toContain(
      '/dashboard/assets/',
    )
  })

  test('is not treated as this machine, with any address that a client claims', async () => {
    using folder = tempFolder()
    await using daemon = await behind()
    await using front = await SERVERS[name].start(folder, daemon.url())
    const claims = { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' }
    expect((await fetch(`${daemon.url()}/metrics`)).status).toBe(200)

    expect((await curl(front, '/metrics')).status).toBeGreaterThanOrEqual(401)
    expect((await curl(front, '/metrics', claims)).status).toBeGreaterThanOrEqual(401)
  })
})
