import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { certificate } from '../support/certificate.ts'
import { tempFolder } from '../support/folder.ts'
import { PROGRAM } from '../support/process.ts'

// Each run starts a process, and the machine may be busy.
setDefaultTimeout(60_000)

const MAIN = `${import.meta.dir}/../../src/main.ts`
const LAST_LINE = /^token_url = .*\n/m

/** Runs the command until it has printed its address. */
async function started(...args: string[]) {
  const child = Bun.spawn([...PROGRAM, 'sandbox', '--speed', '0', ...args], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let out = ''
  while (!LAST_LINE.test(out)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`it ended with ${await child.exited}: ${out}`)
    out += value
  }
  const settings = [...out.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ])
  return {
    settings: Object.fromEntries(settings) as Record<string, string>,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

type Overview = {
  application: { client_id: string; client_secret: string }
  accounts: { username: string; refresh_token: string }[]
}

test('sandbox prints the hosts that grant and accept tokens', async () => {
  await using sandbox = await started('--bearer-port', '0')
  const { base_url = '', api_url = '', token_url = '' } = sandbox.settings
  const overview = (await (await fetch(`${base_url}/__sandbox/`)).json()) as Overview
  const { client_id, client_secret } = overview.application
  const [account] = overview.accounts

  const granted = await fetch(token_url, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: account?.refresh_token ?? '',
    }),
  })
  const { access_token } = (await granted.json()) as { access_token: string }
  const headers = { authorization: `Bearer ${access_token}` }

  expect(await (await fetch(`${api_url}/api/v1/me`, { headers })).json()).toMatchObject({
    name: account?.username,
  })
})

test('sandbox answers under TLS to the names of a domain, on one port', async () => {
  using folder = tempFolder()
  const [cert_file, key_file] = [folder.file('cert.pem'), folder.file('key.pem')]
  const { cert, key } = await certificate(['forum.test', '*.forum.test'])
  writeFileSync(cert_file, cert)
  writeFileSync(key_file, key)
  const tls = ['--tls-cert', cert_file, '--tls-key', key_file]
  await using sandbox = await started('--domain', 'forum.test', ...tls)
  const { base_url = '', api_url = '' } = sandbox.settings
  const { port } = new URL(base_url)
  const status = async (host: string) => {
    const response = await fetch(`https://127.0.0.1:${port}/r/coffee/new.json`, {
      headers: { host },
      tls: { ca: cert, serverName: host },
    })
    return response.status
  }

  expect([base_url, api_url]).toEqual([
    `https://www.forum.test:${port}`,
    `https://oauth.forum.test:${port}`,
  ])
  expect([await status('www.forum.test'), await status('oauth.forum.test')]).toEqual([200, 401])
})

test.each([
  ['discourse', '/site/basic-info.json', 'title'],
  ['hackernews', '/v0/updates.json', 'items'],
  ['lemmy', '/api/v3/site', 'version'],
])(
  'sandbox --kind %s prints where the platform is, and serves it with its controls',
  async (kind, path, field) => {
    const args = ['sandbox', '--kind', kind, '--speed', '0']
    const child = Bun.spawn([...PROGRAM, ...args], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value } = await child.stdout.pipeThrough(new TextDecoderStream()).getReader().read()
    const url = /is at (http:\S+)\. /.exec(value ?? '')?.[1] ?? ''
    const [body, overview] = await Promise.all(
      [path, '/__sandbox/'].map(
        async (each) => (await fetch(url + each)).json() as Promise<Record<string, unknown>>,
      ),
    )
    child.kill('SIGTERM')

    expect(value).toContain(`${url}/__sandbox/`)
    expect(body).toHaveProperty(field)
    expect(overview).toMatchObject({ seed: 1, faults: expect.arrayContaining(['rate_limit']) })
    expect(await child.exited).toBe(0)
  },
)

test.each([
  [
    ['--kind', 'usenet'],
    '--kind is "usenet": allowed are reddit, discourse, hackernews, lemmy, piefed',
  ],
  [
    ['--kind', 'lemmy', '--chat-port', '0'],
    '--bearer-port and --chat-port belong to --kind reddit',
  ],
  [['--tls-cert', 'cert.pem'], '--tls-cert and --tls-key must be used together'],
  [['--tls-cert', 'no.pem', '--tls-key', 'no.pem'], '--tls-cert is "no.pem", which cannot be read'],
  [['--tls-cert', MAIN, '--tls-key', MAIN], 'is not PEM'],
  [['--domain', 'Forum Test'], '--domain is "Forum Test": allowed is a name in lower case'],
  [['--bearer-port', '70000'], '--bearer-port is "70000": allowed is a whole number from 0'],
])('sandbox refuses %j in one line, with 2', (args, sentence) => {
  const { exitCode, stderr } = Bun.spawnSync([...PROGRAM, 'sandbox', ...args])

  expect(exitCode).toBe(2)
  expect(stderr.toString()).toContain(sentence)
  expect(stderr.toString().trim().split('\n')).toHaveLength(1)
})
