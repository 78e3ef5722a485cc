import { expect, test } from 'bun:test'

import { certificate } from '../support/certificate.ts'
import { inBrowser, startStage, TEST_MS } from './stage.ts'

inBrowser('a platform under TLS', () => {
  test(
    'whose authority the operator names is used like any other',
    async () => {
      const tls = await certificate(['127.0.0.1'])
      await using it = await startStage({ tls, ca: tls.cert })
      const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })

      const signed = await it.signIn('ann')
      const done = await it.answer('ann', { post })

      expect({ signed, done }).toMatchObject({ signed: { ok: true }, done: { ok: true } })
      expect(signed.ok && signed.jar.cookies().length).toBe(8)
    },
    TEST_MS,
  )

  test.each([
    ['no authority vouches for', async () => ({ tls: await certificate(['127.0.0.1']) })],
    [
      'another authority vouches for',
      async () => ({
        tls: await certificate(['127.0.0.1']),
        ca: (await certificate(['other.test'])).cert,
      }),
    ],
    [
      'the authority vouches for under another name',
      async () => {
        const tls = await certificate(['other.test'])
        return { tls, ca: tls.cert }
      },
    ],
  ])(
    'that %s is told nothing',
    async (_, choice) => {
      await using it = await startStage(await choice())

      const signed = await it.signIn('ann')

      expect(signed).toEqual({ ok: false, code: 'UPSTREAM_ERROR' })
      expect(it.sandbox.requests).toEqual([])
    },
    TEST_MS,
  )

  test(
    'on which an answer is lost on a connection that was in use before is asked once all the same',
    async () => {
      const tls = await certificate(['127.0.0.1'])
      await using it = await startStage({ tls, ca: tls.cert })
      const { name: post } = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye' })
      it.sandbox.weather({ path: '/svc/*/create-comment', fault: 'lost_answer' })

      const done = await it.answer('ann', { post })

      const sent = it.sandbox.requests.filter(({ path }) => path.endsWith('/create-comment'))
      expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
      expect(sent.length).toBe(1)
    },
    TEST_MS,
  )
})
