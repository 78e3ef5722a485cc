import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { certify } from '../../src/core/certificate/signed.ts'
import { startLoopbackDaemon, watchCoffee } from '../support/loopback-daemon.ts'
import { PROGRAM } from '../support/process.ts'

// Each run starts a process, and the machine may be busy.
setDefaultTimeout(120_000)

const MAIN = join(import.meta.dir, '../../src/main.ts')

async function forumd(args: string[], env: Record<string, string> = {}) {
  const run = Bun.spawn([...PROGRAM, ...args], {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(run.stdout).text(),
    new Response(run.stderr).text(),
    run.exited,
  ])
  return { code, out, err }
}

test('a certificate is fetched, verified, found changed, and refused after its key is revoked', async () => {
  await using daemon = await startLoopbackDaemon()
  await using stack = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'forumd-certificate-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const id = await watchCoffee(daemon)
  const url = daemon.url()
  const file = join(dir, 'coverage.json')
  const verify = (...args: string[]) => forumd(['certificate', 'verify', file, ...args])

  const got = await forumd(['certificate', 'get', id, '--url', url], { FORUMD_KEY: daemon.key })
  writeFileSync(file, got.out)

  expect({ ...got, out: '' }).toEqual({ code: 0, out: '', err: '' })
  const { key_id, public_key, statement } = JSON.parse(got.out)
  expect(statement.monitor.id).toBe(id)
  const valid = await verify('--url', url)
  expect({ code: valid.code, out: valid.out }).toEqual({
    code: 0,
    out: expect.stringMatching(new RegExp(`^VALID: .*${key_id}\n$`)),
  })
  expect((await verify('--key', public_key)).code).toBe(0)
  const alone = await verify()
  expect({ code: alone.code, out: alone.out }).toEqual({
    code: 2,
    out: expect.stringMatching(/^UNTRUSTED: /),
  })

  const forged = certify(new Uint8Array(32).fill(1), statement)
  for (const text of [
    got.out.replace('"matched":', '"matched" :'),
    `${JSON.stringify(forged)}\n`,
  ]) {
    writeFileSync(file, text)
    const found = await verify('--url', url, '--json')
    expect({ code: found.code, out: JSON.parse(found.out).result }).toEqual({
      code: 1,
      out: 'invalid',
    })
  }

  writeFileSync(file, got.out)
  const config = join(dir, 'forumd.toml')
  writeFileSync(
    config,
    `[platform]\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n[storage]\ndir = ${JSON.stringify(daemon.dir)}\n`,
  )
  const rotated = await forumd([
    'certificate',
    'rotate-key',
    '--revoke',
    '--json',
    '--config',
    config,
  ])
  expect(JSON.parse(rotated.out)).toEqual({ id: expect.any(String), former: key_id })
  const revoked = await verify('--url', url)
  expect({ code: revoked.code, out: revoked.out }).toEqual({
    code: 1,
    out: expect.stringContaining('was revoked'),
  })
  // The running daemon signs with the new key.
  const next = await forumd(['certificate', 'get', id, '--url', url], { FORUMD_KEY: daemon.key })
  expect(JSON.parse(next.out).key_id).toBe(JSON.parse(rotated.out).id)
})

test.each([
  [['verify'], 'FILE'],
  [['verify', MAIN, MAIN], 'argument'],
  [['verify', '/absent.json'], '/absent.json cannot be read'],
  [['verify', MAIN, '--key', '/absent.json'], '--key: /absent.json cannot be read'],
  [['verify', MAIN, '--key', MAIN], 'holds no key'],
  [['verify', MAIN, '--url', 'http://forumd.example'], 'must begin with https://'],
  [['verify', MAIN, '--url', 'http://127.0.0.1:1'], 'does not answer'],
  [['get'], 'MONITOR'],
  [['get', 'mon_1', '--url', 'http://127.0.0.1:1'], 'an API key is needed'],
])('refused with 2: certificate %j', async (args, message) => {
  const { code, out, err } = await forumd(['certificate', ...args])
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(message)
})
