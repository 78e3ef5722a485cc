import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'

import type * as z from 'zod'

import { createWriteShapes } from '../../src/api/writes/shapes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { PRICES } from '../support/app-options.ts'
import { startWriting, type Writing } from '../support/writes-fixture.ts'
import { inBrowser, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

const shapes = createWriteShapes(createNaming({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []

inBrowser('a daemon with a browser', () => {
  let it: Writing
  let spent_before = 0
  beforeAll(async () => {
    it = await startWriting({ start_at: Date.now() })
  }, TEST_MS)
  beforeEach(async () => {
    it.sandbox.clearFaults()
    spent_before = await it.spent()
  })
  afterAll(() => it[Symbol.asyncDispose](), TEST_MS)

  test('signs in, comments with the returned session, and repeats neither', async () => {
    const who = { username: 'ann', password: 'open-sesame', method: 'browser' }
    const signed = await it.send('login', { ...who, locale: 'de-at', timezone: 'europe/vienna' })
    const { cookies } = signed.body
    const { post_url } = it.WRITES['v2/comment']
    const postComment = () =>
      it.send(
        'comment',
        { ...cookies, post_url, text: 'From a page' },
        { 'idempotency-key': 'mine' },
      )
    const first = await postComment()
    const second = await postComment()

    expect([signed.status, signed.body.method]).toEqual([200, 'browser'])
    expect(misfits(shapes.login, signed.body)).toEqual([])
    expect(first.status).toBe(200)
    expect(misfits(shapes.comment, first.body)).toEqual([])
    expect(first.body).toMatchObject({
      transport: 'browser',
      comment: { author: 'ann', body: 'From a page', post_id: it.post.id },
    })
    expect(second.body).toEqual(first.body)
    expect(it.comments()).toEqual(['From a page'])
    expect((await it.spent()) - spent_before).toBe(2 * PRICES.write)
  })

  test('uses a browser if the HTTP response is unreadable', async () => {
    it.sandbox.addFault({
      path: '/svc/shreddit/account/login',
      fault: 'answer',
      body: '',
      times: 1,
      skip: 1,
    })

    const { status, body } = await it.send('login', { username: 'ann', password: 'open-sesame' })

    expect([status, body.method, body.username]).toEqual([200, 'browser', 'ann'])
  })

  test('reports refusals of the page and a lost response', async () => {
    const { post_url } = it.WRITES['v2/comment']
    it.sandbox.edit({ name: it.post.name, locked: true })
    const locked = await it.act('comment', { post_url, text: 'Too late' })
    it.sandbox.edit({ name: it.post.name, locked: false })
    it.sandbox.addFault({ path: '/svc/*/create-comment', fault: 'lost_answer' })
    const lost = await it.act('comment', { post_url, text: 'Once' })

    expect([locked.status, locked.body.code]).toEqual([409, 'THREAD_LOCKED'])
    expect([lost.status, lost.body.code]).toEqual([502, 'OUTCOME_UNKNOWN'])
    expect(it.comments().filter((text) => text !== 'From a page')).toEqual(['Once'])
    expect((await it.spent()) - spent_before).toBe(2 * PRICES.write)
  })
})
