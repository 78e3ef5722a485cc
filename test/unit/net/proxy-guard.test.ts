import { expect, test } from 'bun:test'

import { createAllowed } from '../../../src/core/base/address.ts'
import { parseProxy } from '../../../src/core/forum/proxy.ts'
import { createGuard, createProxyGuard } from '../../../src/net/guard.ts'
import { fakeClock } from '../../support/clock.ts'

/** A guard whose resolver gives these answers, one per lookup. */
function guarded(...answers: string[][]) {
  return allowing([], answers)
}

function allowing(allow_targets: string[], answers: string[][]) {
  const lookups: string[] = []
  const guard = createGuard({
    resolve: (host) => {
      lookups.push(host)
      return Promise.resolve(answers.shift() ?? [])
    },
    clock: fakeClock(() => Promise.resolve()),
    allowed: createAllowed({ allow_targets, allow_http: false }),
    timeout_ms: 1_000,
  })
  return { lookups, guardProxy: createProxyGuard(guard) }
}

function proxyAt(text: string) {
  const parsed = parseProxy(text)
  if (!parsed.ok) throw new Error(parsed.why)
  return parsed.proxy
}

test('a name is resolved once, and the proxy keeps that address from then on', async () => {
  const { lookups, guardProxy } = guarded(['8.8.8.8'], ['169.254.169.254'])

  const proxy = await guardProxy(proxyAt('socks5://ann:pw@p.example.com:1080'))

  expect(proxy).toMatchObject({ scheme: 'socks5', host: '8.8.8.8', port: 1080, username: 'ann' })
  expect(lookups).toEqual(['p.example.com'])
})

test('an https proxy keeps the name of its certificate', async () => {
  const { guardProxy } = guarded(['8.8.8.8'])

  expect(await guardProxy(proxyAt('https://p.example.com:443'))).toMatchObject({
    host: 'p.example.com',
  })
})

test('a host that the operator allows by name keeps it, because its address alone would be refused', async () => {
  const { guardProxy } = allowing(['proxy.lan'], [['10.0.0.9']])

  expect(await guardProxy(proxyAt('http://proxy.lan:3128'))).toMatchObject({ host: 'proxy.lan' })
})

test('a public address needs no lookup', async () => {
  const { lookups, guardProxy } = guarded()

  expect(await guardProxy(proxyAt('http://[2606:4700::1111]:8080'))).toMatchObject({
    host: '2606:4700::1111',
  })
  expect(lookups).toEqual([])
})

test.each([
  ['http://127.0.0.1:3128', []],
  ['http://[::ffff:10.0.0.1]:3128', []],
  ['socks4://p.example.com:1080', ['10.0.0.1']],
  ['socks5h://p.example.com:1080', ['8.8.8.8', '192.168.1.1']],
  ['http://p.example.com:25', ['8.8.8.8']],
  ['http://proxy:3128', ['8.8.8.8']],
  ['http://p.example.com:3128', []],
])('%s that resolves to %p must not be dialled', async (text, addresses) => {
  expect(await guarded(addresses).guardProxy(proxyAt(text))).toBeNull()
})
