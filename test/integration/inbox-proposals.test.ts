// Goal: what dismissed matches have in common is proposed, and nothing else; a preview of a proposal is the edit of the filter
// with the effect that the counts promise.
import { expect, test } from 'bun:test'

import { encodeRelevance, relevanceSchema } from '../../src/core/relevance/rules.ts'
import { startInbox } from '../support/inbox-fixture.ts'
import { postOf } from '../support/items.ts'

const kitten = (n: number, fields: object = {}) =>
  postOf({
    id: `k${n}`,
    name: `t3_k${n}`,
    title: `A kitten for some reason, number ${n}`,
    subforum: 'Cats',
    text: 'words that everybody writes',
    ...fields,
  })

type Inbox = Awaited<ReturnType<typeof startInbox>>

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `t3_k${from + n}`)

/** Twelve matches: those of Spam sell something and are dismissed; jane is answered, the others are open. */
async function decide(it: Inbox) {
  for (let n = 0; n < 12; n++)
    it.match(
      n < 4
        ? kitten(n, { author: 'Spam', text: 'words that everybody writes: discount voucher' })
        : kitten(n, { author: n < 8 ? 'jane' : 'bob' }),
      'mon_all',
    )
  await it.call('/update', { ids: names(0, 4), set: { state: 'dismissed' } })
  await it.call('/update', { ids: names(4, 8), set: { state: 'answered' } })
}

test('authors and words of dismissed matches are proposed, common ones are not', async () => {
  await using it = startInbox()
  await decide(it)
  const { status, body } = await it.call('/proposals?monitor=mon_all')

  expect(status).toBe(200)
  expect(body).toMatchObject({
    monitor_id: 'mon_all',
    days: 30,
    examined: 12,
    complete: true,
    dismissed: 4,
    kept: 4,
    open: 4,
    prompt: null,
  })
  expect(body.proposals.map(({ mute, value, dismissed }: any) => [mute, value, dismissed])).toEqual(
    [
      ['author', 'Spam', 4],
      ['phrase', 'discount', 4],
      ['phrase', 'voucher', 4],
    ],
  )
})

test('the preview of each proposal removes the matches that were counted', async () => {
  await using it = startInbox()
  await decide(it)
  const { body } = await it.call('/proposals?monitor=mon_all')

  for (const { preview, dismissed, kept, open } of body.proposals) {
    expect(preview.path).toBe('/forum/inbox/mute')
    const shown = await it.call('/mute', preview.body)
    expect(shown.status).toBe(200)
    expect(shown.body.effect.removed).toBe(dismissed + kept + open)
  }
})

test('one match that was kept speaks against an exclusion, and two dismissed ones are too few', async () => {
  await using it = startInbox()
  await decide(it)
  await it.call('/update', { ids: ['t3_k0'], set: { starred: true } })
  expect((await it.call('/proposals?monitor=mon_all')).body.proposals).toEqual([])
  await it.call('/update', { ids: ['t3_k0'], set: { starred: false, state: 'read' } })
  await it.call('/update', { ids: ['t3_k1'], set: { state: 'read' } })
  expect((await it.call('/proposals?monitor=mon_all')).body.proposals).toEqual([])
})

test('a monitor with relevance rules gets an addition to its prompt', async () => {
  await using it = startInbox()
  await decide(it)
  const rules = relevanceSchema().parse({ prompt: 'Kittens to adopt.', min_score: 0.7 })
  it.db
    .query('UPDATE monitors SET relevance = $rules WHERE id = $id')
    .run({ rules: encodeRelevance(rules), id: 'mon_all' })
  const { prompt } = (await it.call('/proposals?monitor=mon_all')).body

  expect(prompt).toEqual({
    before: 'Kittens to adopt.',
    after: 'Kittens to adopt. Not relevant: matches about discount, voucher.',
    apply: {
      path: '/forum/monitor/update',
      body: { id: 'mon_all', relevance: { ...rules, prompt: prompt.after } },
    },
  })
})

test('a monitor of another customer is not there', async () => {
  await using it = startInbox()
  expect((await it.call('/proposals?monitor=mon_bob')).status).toBe(404)
  expect((await it.call('/proposals')).status).toBe(400)
})
