// Goal: a proposed mute is the edit that the monitor's filter needs, and its effect is the truth of the stored matches; the
// figures of the charts equal a count by hand.
import { expect, test } from 'bun:test'

import { decodeFilterSpec, parseFilterSpec } from '../../src/core/filter/parse.ts'
import { startInbox } from '../support/inbox-fixture.ts'
import { postOf } from '../support/items.ts'

const kitten = (n: number, fields: object = {}) =>
  postOf({ id: `k${n}`, name: `t3_k${n}`, title: `A kitten, number ${n}`, ...fields })
const DAY_MS = 86_400_000

/** Matches of three authors in two places; every third has a phrase. */
function fill(it: Awaited<ReturnType<typeof startInbox>>) {
  const authors = ['Spam', 'jane', 'bob']
  for (let n = 0; n < 12; n++)
    it.match(
      kitten(n, {
        author: authors[n % 3],
        subforum: n % 2 === 0 ? 'Cats' : 'dogs',
        text: n % 4 === 0 ? 'Buy   NOW!' : 'a story',
      }),
      'mon_all',
    )
}

test.each([
  [{ mute: 'author' }, 'exclude_authors', { added: 'Spam', removed: null, after: ['Spam'] }, 4],
  [
    { mute: 'phrase', phrase: 'buy now' },
    'exclude_terms',
    { added: 'buy now', removed: null, after: ['buy now'] },
    3,
  ],
  [{ mute: 'place' }, 'subforum', { added: null, removed: 'Cats', after: ['dogs'] }, 6],
])('%j is an edit of %s', async (body, field, edit, removed) => {
  await using it = startInbox()
  fill(it)

  const answer = await it.call('/mute', { id: 't3_k0', ...body })

  expect(answer.status).toBe(200)
  const { monitor_id, filter_spec, apply, effect } = answer.body
  expect(monitor_id).toBe('mon_all')
  expect(answer.body.edit).toMatchObject({ field, ...edit })
  expect(filter_spec[field]).toEqual(edit.after)
  expect(apply).toEqual({
    path: '/forum/monitor/update',
    body: { id: 'mon_all', filter_spec },
  })
  expect(effect).toMatchObject({
    days: 30,
    examined: 12,
    complete: true,
    removed,
    kept: 12 - removed,
  })
  expect(effect.samples.length).toBe(Math.min(5, removed))
  const before = decodeFilterSpec(it.monitor('mon_all')?.filter_spec ?? '')
  const after = parseFilterSpec(filter_spec, it.words)
  expect(
    Object.keys(after).filter(
      (name) =>
        JSON.stringify(Reflect.get(after, name)) !== JSON.stringify(Reflect.get(before, name)),
    ),
  ).toEqual([field])
})

test('a monitor of the whole platform excludes a place', async () => {
  await using it = startInbox()
  it.addMonitor('mon_wide', { include_any: ['kitten'] })
  it.match(kitten(1, { subforum: 'Spam' }), 'mon_wide')

  const { body } = await it.call('/mute', { id: 't3_k1', mute: 'place' })

  expect(body.edit).toEqual({
    field: 'exclude_subforums',
    added: 'Spam',
    removed: null,
    before: [],
    after: ['Spam'],
  })
  expect(body.effect).toMatchObject({ removed: 1, kept: 0 })
})

test('matches from before 30 days are not part of the effect', async () => {
  await using it = startInbox()
  it.match(kitten(1, { author: 'spam' }))
  it.advance(31 * DAY_MS)
  it.match(kitten(2, { author: 'spam' }))

  const { body } = await it.call('/mute', { id: 't3_k2', mute: 'author' })

  expect(body.effect).toMatchObject({ examined: 1, removed: 1 })
})

test.each([
  [{ id: 't3_gone', mute: 'author' }, 404, undefined],
  [{ id: 't3_k1', mute: 'author' }, 400, 'monitor_id'],
  [{ id: 't3_k1', mute: 'author', monitor_id: 'mon_bob' }, 400, 'monitor_id'],
  [{ id: 't3_k1', mute: 'place', monitor_id: 'mon_cats' }, 400, 'mute'],
  [{ id: 't3_k1', mute: 'phrase', monitor_id: 'mon_cats' }, 400, 'phrase'],
  [{ id: 't3_k1', mute: 'author', phrase: 'x', monitor_id: 'mon_cats' }, 400, 'phrase'],
  [{ id: 't3_k8', mute: 'phrase', phrase: 'one more' }, 400, 'mute'],
  [{ id: 't3_k9', mute: 'author' }, 400, 'mute'],
  [{ id: 't3_k1', mute: 'everything' }, 400, 'mute'],
])('%j is refused with %i', async (body, status, field) => {
  await using it = startInbox()
  it.match(kitten(1))
  it.match(kitten(1), 'mon_all')
  it.addMonitor('mon_muted', { subforum: ['cats'], exclude_authors: ['SomeOne'] })
  it.match(kitten(9), 'mon_muted')
  const exclude_terms = Array.from({ length: 50 }, (_, n) => `term ${n}`)
  it.addMonitor('mon_full', { subforum: ['cats'], exclude_terms })
  it.match(kitten(8), 'mon_full')

  const answer = await it.call('/mute', body)

  expect([answer.status, answer.body.field]).toEqual([status, field])
})

test('figures equal a count of the matches', async () => {
  await using it = startInbox()
  it.match([
    kitten(1, { author: 'Jane', text: 'I love this, it is wonderful and great' }),
    kitten(2),
  ])
  it.advance(DAY_MS)
  it.match(kitten(3, { author: 'jane', subforum: 'Dogs' }), 'mon_all')
  it.match(kitten(2), 'mon_all')
  it.match(kitten(4), 'mon_bob')
  await it.set(['t3_k3'], { state: 'answered' })

  const { status, body } = await it.call('/stats?from=2026-05-01&to=2026-05-04')

  expect(status).toBe(200)
  expect(body).toEqual({
    from: '2026-05-01T00:00:00.000Z',
    to: '2026-05-04T00:00:00.000Z',
    bucket: 'day',
    examined: 3,
    complete: true,
    mentions: {
      at: ['2026-05-01T00:00:00.000Z', '2026-05-02T00:00:00.000Z', '2026-05-03T00:00:00.000Z'],
      series: [
        // An item counts at its first match, for each monitor that matched it.
        { monitor_id: 'mon_all', name: 'mon_all', removed: false, counts: [1, 1, 0] },
        { monitor_id: 'mon_cats', name: 'mon_cats', removed: false, counts: [2, 0, 0] },
      ],
      total: [2, 1, 0],
    },
    share: [
      { monitor_id: 'mon_all', name: 'mon_all', removed: false, mentions: 2, share: 0.5 },
      { monitor_id: 'mon_cats', name: 'mon_cats', removed: false, mentions: 2, share: 0.5 },
    ],
    sentiment: { positive: 1, negative: 0, mixed: 0, neutral: 2, unknown: 0 },
    sentiment_over_time: {
      positive: [1, 0, 0],
      negative: [0, 0, 0],
      mixed: [0, 0, 0],
      neutral: [1, 1, 0],
      unknown: [0, 0, 0],
    },
    places: [
      { source: 'main', place: 'cats', mentions: 2 },
      { source: 'main', place: 'dogs', mentions: 1 },
    ],
    authors: [
      { source: 'main', author: 'jane', mentions: 2 },
      { source: 'main', author: 'someone', mentions: 1 },
    ],
    states: { unread: 2, read: 0, answered: 1, dismissed: 0 },
  })
})

test('figures of one monitor, by hour, count its items only', async () => {
  await using it = startInbox()
  it.match(kitten(1))
  it.match(kitten(2), 'mon_all')
  const query = '?from=2026-05-01T10:00:00Z&to=2026-05-01T13:00:00Z&bucket=hour&monitor=mon_all'

  const { body } = await it.call(`/stats${query}`)

  expect(body.mentions.at.length).toBe(3)
  expect(body.mentions.series.map((one: any) => [one.monitor_id, one.counts])).toEqual([
    ['mon_all', [0, 0, 1]],
  ])
})

test('more items than one slice are all counted', async () => {
  await using it = startInbox()
  for (let n = 0; n < 110; n++) it.match(Array.from({ length: 20 }, (_, of) => kitten(n * 20 + of)))

  const { body } = await it.call('/stats')

  expect([body.examined, body.complete, body.share[0].mentions]).toEqual([2200, true, 2200])
})

test.each([
  ['?from=2026-01-01&to=2026-05-01', 'from'],
  ['?from=2026-05-01&to=2026-05-20&bucket=hour', 'from'],
  ['?from=2026-05-02&to=2026-05-01', 'to'],
  ['?bucket=week', 'bucket'],
])('%s is refused', async (query, field) => {
  await using it = startInbox()

  const answer = await it.call(`/stats${query}`)

  expect([answer.status, answer.body.field]).toEqual([400, field])
})
