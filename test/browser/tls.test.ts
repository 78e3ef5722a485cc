import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { certificate } from '../support/certificate.ts'
import { type BrowserFixture, inBrowser, startBrowserFixture, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

inBrowser('a platform with TLS', () => {
  describe('with an authority that the operator configures', () => {
    let it: BrowserFixture
    beforeAll(async () => {
      const tls = await certificate(['127.0.0.1'])
      it = await startBrowserFixture({ tls, ca: tls.cert })
    }, TEST_MS)
    afterAll(() => it[Symbol.asyncDispose](), TEST_MS)

    test('is accepted', async () => {
      const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })

      const signed = await it.signIn('ann')
      const done = await it.answer('ann', { post })

      expect({ signed, done }).toMatchObject({ signed: { ok: true }, done: { ok: true } })
      expect(signed.ok && signed.jar.cookies().length).toBe(8)
    })

    test('receives a request once, even if the response is lost on a reused connection', async () => {
      const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })
      it.sandbox.addFault({ path: '/svc/*/create-comment', fault: 'lost_answer' })

      const since = it.sandbox.requests.length
      const done = await it.answer('ann', { post })

      const sent = it.sandbox.requests
        .slice(since)
        .filter(({ path }) => path.endsWith('/create-comment'))
      expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
      expect(sent.length).toBe(1)
    })
  })

  test.each([
    ['with a self-signed certificate', async () => ({ tls: await certificate(['127.0.0.1']) })],
    [
      'signed by another authority',
      async () => ({
        tls: await certificate(['127.0.0.1']),
        ca: (await certificate(['other.test'])).cert,
      }),
    ],
    [
      'with a certificate for another name',
      async () => {
        const tls = await certificate(['other.test'])
        return { tls, ca: tls.cert }
      },
    ],
  ])('%s receives no request', async (_, choice) => {
    await using it = await startBrowserFixture(await choice())

    const signed = await it.signIn('ann')

    expect(signed).toEqual({ ok: false, code: 'UPSTREAM_ERROR' })
    expect(it.sandbox.requests).toEqual([])
  })
})
