import { expect, test } from 'bun:test'

import type * as z from 'zod'

import { createWriteShapes } from '../../src/api/writes/shapes.ts'
import { createWords } from '../../src/core/wire.ts'
import { PRICES } from '../support/quiet-app.ts'
import { startWriting } from '../support/writing.ts'
import { inBrowser, TEST_MS } from './stage.ts'

const shapes = createWriteShapes(createWords({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []

const started = () => startWriting({ start_at: Date.now() })

inBrowser('a daemon with a browser', () => {
  test(
    'signs in, comments with the session it was given, and repeats neither',
    async () => {
      await using it = await started()
      const who = { username: 'ann', password: 'open-sesame', method: 'browser' }
      const signed = await it.send('login', { ...who, locale: 'de-at', timezone: 'europe/vienna' })
      const { cookies } = signed.body
      const { post_url } = it.WRITES['v2/comment']
      const say = () =>
        it.send(
          'comment',
          { ...cookies, post_url, text: 'From a page' },
          { 'idempotency-key': 'mine' },
        )
      const first = await say()
      const second = await say()

      expect([signed.status, signed.body.method]).toEqual([200, 'browser'])
      expect(misfits(shapes.login, signed.body)).toEqual([])
      expect(first.status).toBe(200)
      expect(misfits(shapes.comment, first.body)).toEqual([])
      expect(first.body).toMatchObject({
        transport: 'browser',
        comment: { author: 'ann', body: 'From a page', post_id: it.post.id },
      })
      expect(second.body).toEqual(first.body)
      expect(it.said()).toEqual(['From a page'])
      expect(await it.spent()).toBe(2 * PRICES.write)
    },
    TEST_MS,
  )

  test(
    'asks a browser where an answer over http cannot be read',
    async () => {
      await using it = await started()
      it.sandbox.weather({
        path: '/svc/shreddit/account/login',
        fault: 'answer',
        body: '',
        times: 1,
        skip: 1,
      })

      const { status, body } = await it.send('login', { username: 'ann', password: 'open-sesame' })

      expect([status, body.method, body.username]).toEqual([200, 'browser', 'ann'])
    },
    TEST_MS,
  )

  test(
    'tells what the page says no to, and an answer that is lost',
    async () => {
      await using it = await started()
      const { post_url } = it.WRITES['v2/comment']
      it.sandbox.edit({ name: it.post.name, locked: true })
      const locked = await it.act('comment', { post_url, text: 'Too late' })
      it.sandbox.edit({ name: it.post.name, locked: false })
      it.sandbox.weather({ path: '/svc/*/create-comment', fault: 'lost_answer' })
      const lost = await it.act('comment', { post_url, text: 'Once' })

      expect([locked.status, locked.body.code]).toEqual([409, 'THREAD_LOCKED'])
      expect([lost.status, lost.body.code]).toEqual([502, 'OUTCOME_UNKNOWN'])
      expect(it.said()).toEqual(['Once'])
      expect(await it.spent()).toBe(2 * PRICES.write)
    },
    TEST_MS,
  )
})
