import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

const preview = (daemon: TestDaemon, body: object) => daemon.send('/forum/monitor/preview', body)

/** Ten posts of cats, an hour apart, the last one just now: every other one is about a laser. */
async function furnished(change?: Parameters<typeof startTestDaemon>[0]) {
  const daemon = await startTestDaemon(change)
  for (let n = 0; n < 10; n++) {
    daemon.sandbox.post({
      subforum: 'cats',
      title: n % 2 === 0 ? `a cat and a laser, number ${n}` : `a cat asleep, number ${n}`,
      created_at: daemon.clock.now() - (10 - n) * 3_600_000,
    })
  }
  return daemon
}

test('a preview applies a filter to its current feed: matches, items per condition, estimate per day', async () => {
  await using daemon = await furnished()
  const { status, body } = await preview(daemon, {
    filter_spec: {
      subforum: 'cats',
      include_any: ['laser', 'asleep', 'unheard of'],
      exclude_terms: ['asleep'],
    },
    limit: 2,
  })

  expect(status).toBe(200)
  expect(body).toMatchObject({
    filter_spec: { subforum: ['cats'], kind: 'post' },
    matched: 5,
    scanned: 10,
    truncated: false,
    low_relevance: 0,
    not_yet: 0,
    terms: [
      { term: 'laser', role: 'wanted', items: 5 },
      { term: 'asleep', role: 'wanted', items: 5 },
      { term: 'unheard of', role: 'wanted', items: 0 },
      { term: 'asleep', role: 'excluded', items: 5 },
    ],
    criteria: [
      { criterion: 'kind', left: 10 },
      { criterion: 'subforum', left: 10 },
      { criterion: 'include_any', left: 10 },
      { criterion: 'exclude_terms', left: 5 },
    ],
    feeds: [
      { kind: 'posts', subforums: ['cats'], query: null, scanned: 10, matched: 5, error: null },
    ],
    feeds_left_out: 0,
    item: null,
  })
  // Five in the ten hours since the oldest.
  expect(body.estimate_per_day).toBe(12)
  expect(body.matches.map((it: any) => [it.title, it.enrichment.relevance.matched_terms])).toEqual([
    ['a cat and a laser, number 8', ['laser']],
    ['a cat and a laser, number 6', ['laser']],
  ])
})

test('a preview delivers, bills and stores nothing', async () => {
  await using daemon = await furnished()
  await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
  const before = (await daemon.call('/account/me')).body

  await preview(daemon, { filter_spec: { subforum: 'cats' } })
  await daemon.clock.advance(2 * MINUTE_MS)

  expect(daemon.receiver.received).toEqual([])
  expect((await daemon.call('/forum/monitor/list')).body.monitors).toEqual([])
  expect((await daemon.call('/account/me')).body.credits_remaining).toBe(before.credits_remaining)
})

test('an item is explained even if no feed of the filter lists it', async () => {
  await using daemon = await furnished()
  const dog = daemon.sandbox.post({ subforum: 'dogs', title: 'a laser for a dog' })
  const { body } = await preview(daemon, {
    filter_spec: { subforum: 'cats', include_any: ['laser'] },
    item_id: dog.id,
  })

  expect(body.item).toMatchObject({
    item_id: dog.name,
    in_feeds: false,
    verdict: 'does_not_match',
    criteria: [
      { criterion: 'kind', verdict: 'met' },
      { criterion: 'subforum', verdict: 'not_met', detail: 'dogs' },
      { criterion: 'include_any', verdict: 'met', detail: 'laser' },
    ],
    row: { title: 'a laser for a dog', enrichment: { relevance: { matched_terms: ['laser'] } } },
  })
})

test('a comment fetched by its id is judged with the title of its thread', async () => {
  await using daemon = await furnished()
  const post = daemon.sandbox.post({ subforum: 'dogs', title: 'the best laser pointer' })
  const comment = daemon.sandbox.comment({ parent: post.name, text: 'bark' })
  const { body } = await preview(daemon, {
    filter_spec: { subforum: 'cats', kind: 'comment', q: 'thread_title:laser' },
    item_id: comment.id,
  })

  expect(body.item.row).toMatchObject({ name: comment.name, link_title: 'the best laser pointer' })
  expect(body.item.criteria).toContainEqual({ criterion: 'q', verdict: 'met', detail: 'laser' })
})

test('items below a threshold and irrelevant items are counted separately from matches', async () => {
  await using daemon = await furnished()
  const filter_spec = { subforum: 'cats', include_any: ['cat', 'laser'] }
  const strict = await preview(daemon, { filter_spec: { ...filter_spec, min_score: 1_000_000 } })
  const dull = await preview(daemon, { filter_spec: { ...filter_spec, min_relevance: 90 } })

  expect(strict.body).toMatchObject({ matched: 0, not_yet: 10, low_relevance: 0, matches: [] })
  expect(dull.body).toMatchObject({ matched: 5, not_yet: 0, low_relevance: 5 })
})

test('the whole platform is read by searches', async () => {
  await using daemon = await furnished()
  const { body } = await preview(daemon, { filter_spec: { include_any: ['laser'] } })

  expect(body.feeds).toMatchObject([{ kind: 'search', subforums: null, query: 'laser' }])
  expect(body.matched).toBe(5)
})

test('posts and comments of many places are read in four requests', async () => {
  await using daemon = await furnished()
  for (const name of ['a1', 'b1', 'c1', 'd1', 'e1'])
    daemon.sandbox.comment({
      parent: daemon.sandbox.post({ subforum: name, title: 'a laser' }).name,
      text: 'pew',
    })
  const { body } = await preview(daemon, {
    filter_spec: { subforum: ['a1', 'b1', 'c1', 'd1', 'e1', 'cats'], kind: 'both' },
  })

  expect(body.feeds.map((it: any) => [it.kind, it.subforums, it.scanned])).toEqual([
    ['posts', ['a1', 'c1', 'e1'], 3],
    ['posts', ['b1', 'd1', 'cats'], 12],
    ['comments', ['a1', 'c1', 'e1'], 3],
    ['comments', ['b1', 'd1', 'cats'], 2],
  ])
  expect(body.matched).toBe(20)
})

test('an empty feed has a null estimate, not zero', async () => {
  await using daemon = await furnished()
  daemon.sandbox.subforum({ name: 'quiet' })
  const { body } = await preview(daemon, { filter_spec: { subforum: 'quiet' } })

  expect(body).toMatchObject({ scanned: 0, matched: 0, estimate_per_day: null })
})

describe('refusals', () => {
  let daemon: TestDaemon
  beforeAll(async () => {
    daemon = await furnished()
  })
  afterAll(() => daemon[Symbol.asyncDispose]())

  test.each<[string, object, string, RegExp]>([
    ['no filter', {}, 'filter_spec', /filter_spec is required/],
    ['a filter that is none', { filter_spec: { q: '(' } }, 'filter_spec.q', /position 2/],
    ['too many matches', { filter_spec: { q: 'cat' }, limit: 101 }, 'limit', /1 to 100/],
    ['no number of matches', { filter_spec: { q: 'cat' }, limit: '5' }, 'limit', /1 to 100/],
    ['no id', { filter_spec: { q: 'cat' }, item_id: 't2_abc' }, 'item_id', /t3_abc123/],
    ['an id of another type', { filter_spec: { q: 'cat' }, item_id: 7 }, 'item_id', /t3_abc123/],
    [
      'an unknown item',
      { filter_spec: { q: 'cat' }, item_id: 'zzzzzz' },
      'item_id',
      /no item t3_zz/,
    ],
    ['an unknown field', { filter_spec: { q: 'cat' }, webhook_ids: [] }, 'webhook_ids', /allowed/],
  ])('400 names the field: %s', async (_, body, field, sentence) => {
    const answer = await preview(daemon, body)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field })
    expect(answer.body.error).toMatch(sentence)
  })

  test('an unreadable place is refused like in a monitor', async () => {
    daemon.sandbox.subforum({ name: 'club', access: 'private' })
    const answer = await preview(daemon, { filter_spec: { subforum: 'club' } })

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      code: 'subforum_not_found',
      names: ['club'],
      reason: 'private',
    })
  })

  test.each([
    [{ thread: ['zzzzz'] }, 'filter_spec.thread', 'zzzzz'],
    [{ author: ['Nobody_There'], kind: 'comment' }, 'filter_spec.author', 'nobody_there'],
  ])('a missing object, as in %j, is refused by field', async (spec, field, name) => {
    const answer = await preview(daemon, { filter_spec: spec })

    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: `${field}: ${name} cannot be watched`,
      code: 'INVALID_REQUEST',
      field,
      names: [name],
      reason: 'absent',
    })
  })

  test('previews are rate-limited by customer, and a repeated preview is free', async () => {
    await using paced = await furnished({
      change: (config) => (config.limits.management_per_minute = 0),
    })
    const statuses = []
    for (let n = 0; n < 41; n++)
      statuses.push((await preview(paced, { filter_spec: { q: `word${n}` } })).status)
    const refused = await preview(paced, { filter_spec: { q: 'word0' } })

    expect(statuses).toEqual([...Array.from({ length: 40 }, () => 200), 429])
    expect(refused.body).toMatchObject({ code: 'rate_limited', retry_after: 2 })

    await paced.clock.advance(3_000)
    const again = [0, 1, 2, 3, 4].map(() => preview(paced, { filter_spec: { q: 'word39' } }))
    expect((await Promise.all(again)).map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 200,
    ])
  })
})

test('under other words the answer uses those', async () => {
  await using daemon = await furnished({
    change: (config) => {
      config.wire = { platform: 'club', community: 'board' }
    },
  })
  const { status, body } = await daemon.send('/club/monitor/preview', {
    filter_spec: { board: 'cats', include_any: ['laser'] },
    limit: 1,
  })

  expect(status).toBe(200)
  expect(body.matches[0].board).toBe('cats')
  expect(body.feeds[0].boards).toEqual(['cats'])
  expect(body.criteria.map((it: any) => it.criterion)).toContain('board')
  expect(JSON.stringify(body)).not.toContain('subforum')
})

test('a small feed is previewed over a day or an hour', async () => {
  await using daemon = await startTestDaemon()
  daemon.sandbox.post({
    subforum: 'cats',
    title: 'a laser',
    created_at: daemon.clock.now() - 4 * DAY_MS,
  })
  const { body } = await preview(daemon, { filter_spec: { subforum: 'cats' } })

  expect(body.estimate_per_day).toBe(0.3)
})
