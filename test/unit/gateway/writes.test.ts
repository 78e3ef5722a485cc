import { expect, test } from 'bun:test'

import { ok } from '../../../src/core/base/result.ts'
import type { Proxy } from '../../../src/core/forum/proxy.ts'
import { createAccountWrites } from '../../../src/gateway/writes.ts'
import { ANONYMOUS, type Call } from '../../../src/platforms/port.ts'
import { fakeClock } from '../../support/clock.ts'

const never = () => expect.unreachable()
const proxyOf = (host: string): Proxy => ({
  scheme: 'http',
  host,
  port: 8080,
  username: null,
  password: null,
})

test('a comment is read back through the same proxy', async () => {
  const hosts = ['one.test', 'other.test']
  const calls: Call[] = []
  const acting = createAccountWrites({
    acts: {
      comment: never,
      vote: never,
      send: never,
      threads: never,
      messages: never,
      profile: never,
      picture: never,
      resolveShare: never,
      readBack: (_, call) => {
        calls.push(call)
        return Promise.resolve(ok(null))
      },
    },
    browser_comment: (_, call) => {
      calls.push(call)
      return Promise.resolve(ok({ name: 't1_abc', permalink: null, comment: null }))
    },
    // The proxies alternate.
    identities: { lease: () => ({ ...ANONYMOUS, proxy: proxyOf(hosts.shift() ?? '') }) },
    clock: fakeClock(() => Promise.resolve()),
    deadline_ms: 30_000,
    browser_deadline_ms: 60_000,
    hosts: { link: ['forum.example'], short: [] },
  })
  const link = acting.link('https://forum.example/comments/abc/')
  if (link === null) expect.unreachable()
  const request = { link, text: 'Once', locale: 'en-US', timezone: 'UTC' }
  await acting.commentInBrowser(request, { cookies: [{ name: 's', value: 'v' }], proxy: null })

  expect(calls.map(({ identity }) => identity.proxy?.host)).toEqual(['one.test', 'one.test'])
})
