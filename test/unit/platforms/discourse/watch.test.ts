import { describe, expect, test } from 'bun:test'

import { idsOf, MINUTE, range, SECOND, startForum } from './fixture.ts'

const GENERATIONS = ['current', 'old'] as const
const TAIL = 11 * MINUTE

describe.each(GENERATIONS)('the list of the %s generation', (generation) => {
  test('the first step starts at the present end', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const first = await it.step(null)
    expect(first).toMatchObject({ items: [], proven: null, behind: null, partial: null })
    expect(first.verified_until).toBe(it.forum.now)
  })

  test('new posts over gaps in the ids are read in order, and prove the range', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    it.forum.now += MINUTE
    const ids = [81, 82, 190, 191, 300, 431]
    for (const id of ids) it.put(id)
    const next = await it.step(state)
    expect(idsOf(next)).toEqual(ids)
    expect(next).toMatchObject({ proven: { from_id: 81, to_id: 431 }, behind: null })
    expect(next.verified_until).toBe(it.forum.now)
  })

  test('hundreds of dense posts are read completely', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    for (const id of range(81, 400)) it.put(id)
    const next = await it.step(state)
    expect(idsOf(next)).toEqual(range(81, 400))
  })

  test('a hole of hundreds of ids without a visible row does not end the walk', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    it.put(81)
    it.put(700)
    const next = await it.step(state)
    expect(idsOf(next)).toEqual([81, 700])
    expect(next.proven).toEqual({ from_id: 81, to_id: 700 })
  })

  test('a step that runs out of requests names the ids, and later steps read them', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    const before = it.forum.now
    it.forum.now += MINUTE
    for (const id of range(81, 400)) it.put(id)
    const part = await it.step(state, 2)
    expect(part.behind?.from_id).toBe(81)
    expect(idsOf(part)).toEqual(range((part.behind?.to_id ?? 0) + 1, 400))
    expect(part).toMatchObject({ proven: null, verified_until: before, requests: 2 })
    it.put(401)
    const rest = await it.step(part.state)
    expect(idsOf(rest)).toEqual([...range(81, part.behind?.to_id ?? 0), 401])
    expect(rest).toMatchObject({ proven: { from_id: 81, to_id: 401 }, behind: null })
    expect(rest.verified_until).toBe(it.forum.now)
  })

  test('items above the head have arrived, and those below it came late', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    it.forum.hidden.add(70)
    const { state, ...first } = await it.step(null)
    expect(first.arrived).toEqual([])
    it.forum.hidden.delete(70)
    it.put(81)
    const next = await it.step(state)
    expect(idsOf(next)).toEqual([70, 81])
    expect(next.arrived).toEqual(['t1_81'])
  })

  test('a range that was left behind can be read again', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 400)) it.put(id)
    const bounds = { requests: 50, deadline_at: it.forum.now + MINUTE }
    const read = await it.watch.reread({ from_id: 101, to_id: 260 }, bounds)
    expect(read).toMatchObject({ ok: true, value: { behind: null } })
    expect(read.ok && idsOf(read.value)).toEqual(range(101, 260))
    const cut = await it.watch.reread({ from_id: 101, to_id: 260 }, { ...bounds, requests: 1 })
    expect(cut.ok && cut.value.behind?.from_id).toBe(101)
  })

  test('a row that is committed below the head is read with the next step', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    it.put(85)
    const { state: later } = await it.step(state)
    it.put(84)
    // The newest page ends with the old head.
    for (const id of range(86, 134)) it.put(id)
    expect(idsOf(await it.step(later))).toEqual([84, ...range(86, 134)])
  })

  test('a hidden post far below the head is read once it is shown', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 500)) it.put(id)
    it.forum.hidden.add(330)
    const { state } = await it.step(null)
    it.forum.hidden.delete(330)
    it.forum.now += MINUTE
    const early = await it.step(state)
    expect(early.items).toEqual([])
    it.forum.now += TAIL
    const late = await it.step(early.state)
    expect(idsOf(late)).toEqual([330])
    it.forum.now += TAIL
    expect((await it.step(late.state)).items).toEqual([])
  })

  test('an edited text is read again, a new time of update alone is not', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    it.put(78, { raw: 'a better text' })
    it.put(79, { updated_at: '2026-02-01T00:00:00.000Z' })
    const next = await it.step(state)
    expect(next.items).toMatchObject([{ id: '78', body: 'a better text' }])
  })

  test('a post whose author has deleted it is gone, once', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    it.put(81, { post_number: 1, topic_id: 40 })
    const { state } = await it.step(null)
    it.put(80, { user_deleted: true, raw: '(post deleted by author)' })
    it.put(81, { post_number: 1, topic_id: 40, user_deleted: true })
    const next = await it.step(state)
    expect(next.items).toEqual([])
    expect(next.gone.toSorted()).toEqual(['t1_80', 't3_40'])
    expect((await it.step(next.state)).gone).toEqual([])
  })

  test('a post that leaves the list is gone once two answers a minute apart say so', async () => {
    await using it = startForum({ generation })
    for (const id of range(1, 80)) it.put(id)
    const { state } = await it.step(null)
    it.forum.posts.delete(80)
    it.forum.posts.delete(70)
    const missing = await it.step(state)
    expect(missing.gone).toEqual([])
    it.forum.now += 2 * MINUTE
    const next = await it.step(missing.state)
    expect(next.gone.toSorted()).toEqual(['t1_70', 't1_80'])
  })
})

test('an idle step costs one request, the topics one a minute, the tail some every ten minutes', async () => {
  await using it = startForum()
  for (const id of range(1, 500)) it.put(id)
  let { state } = await it.step(null)
  for (let half = 1; half < 18; half++) {
    it.forum.now += MINUTE / 2
    const next = await it.step(state)
    expect(next.requests).toBe(half % 2 === 0 ? 2 : 1)
    ;({ state } = next)
  }
  it.forum.now += 2 * MINUTE
  expect((await it.step(state)).requests).toBe(5)
})

const at = (ms: number): string => new Date(ms).toISOString()

const startHidden = async () => {
  const it = startForum()
  it.put(40, { post_number: 1, topic_id: 9, raw: 'written weeks ago' })
  it.put(41, { post_number: 2, topic_id: 9 })
  for (const id of range(100, 700)) it.put(id)
  for (const id of [40, 41]) it.forum.hidden.add(id)
  const { state } = await it.step(null)
  it.forum.now += 5 * SECOND
  const publish = () => {
    for (const id of [40, 41]) {
      it.forum.hidden.delete(id)
      it.put(id, { ...it.forum.posts.get(id), created_at: new Date(it.forum.now).toISOString() })
    }
  }
  return { it, state, publish }
}

describe('a topic that a timer publishes under its old id', () => {
  test('is read with its replies within a minute, once', async () => {
    const { it, state, publish } = await startHidden()
    await using _ = it
    publish()
    const early = await it.step(state)
    expect(early.items).toEqual([])
    it.forum.now += MINUTE
    const next = await it.step(early.state)
    expect(next.items).toMatchObject([
      { id: '9', kind: 'post', created_utc: Math.floor(it.forum.now / 1000) - 60 },
      { id: '41', kind: 'comment', post_id: '9' },
    ])
    it.forum.now += MINUTE
    expect((await it.step(next.state)).items).toEqual([])
  })

  test('lies after the instant that is proven until it is read', async () => {
    const { it, state, publish } = await startHidden()
    await using _ = it
    const published_at = it.forum.now
    publish()
    it.forum.now += 30 * SECOND
    const early = await it.step(state)
    expect(early.verified_until).toBeLessThan(published_at)
  })

  test('is read again later if it could not be read', async () => {
    const { it, state, publish } = await startHidden()
    await using _ = it
    publish()
    it.forum.override = ({ path }) =>
      path.startsWith('/t/') ? new Response('', { status: 503 }) : null
    it.forum.now += MINUTE
    const failed = await it.step(state)
    expect(failed.items).toEqual([])
    expect(failed.verified_until).toBeLessThan(it.forum.now - MINUTE)
    it.forum.override = () => null
    expect(idsOf(await it.step(failed.state))).toEqual([9, 41])
  })
})

test.each([100, 6])(
  'hundreds of topics since the last list are read to its end, over steps of %d requests',
  async (requests) => {
    const { it, state: begun, publish } = await startHidden()
    await using _ = it
    publish()
    it.forum.now += MINUTE
    const published_at = it.forum.now
    for (const n of range(1, 300))
      it.put(1000 + n, { post_number: 1, topic_id: 5000 + n, created_at: at(it.forum.now + n) })
    it.forum.now += 60 * MINUTE
    let state = begun
    const found = new Set<number>()
    let verified_until = 0
    for (let steps = 0; verified_until < published_at && steps < 400; steps++) {
      const next = await it.step(state, requests)
      for (const id of idsOf(next)) found.add(id)
      ;({ state, verified_until } = next)
      if (!found.has(9)) expect(verified_until).toBeLessThan(published_at - MINUTE)
      it.forum.now += 10 * SECOND
    }
    expect(found.size).toBe(302)
  },
)

test('a first step without the list of topics fails, as no later list could show what is new', async () => {
  await using it = startForum()
  it.put(1)
  it.forum.override = ({ path }) =>
    path === '/latest.json' ? new Response('', { status: 404 }) : null
  const bounds = { requests: 5, places: [], deadline_at: it.forum.now + MINUTE }
  expect(await it.watch.advance(null, bounds)).toMatchObject({ ok: false })
})

test('an empty first page is no observation', async () => {
  await using it = startForum()
  for (const id of range(1, 80)) it.put(id)
  const { state, verified_until } = await it.step(null)
  it.forum.now += MINUTE
  const posts = new Map(it.forum.posts)
  it.forum.posts.clear()
  const empty = await it.step(state)
  expect(empty).toMatchObject({ items: [], gone: [], verified_until })
  it.forum.posts = posts
  it.put(81)
  expect(idsOf(await it.step(empty.state))).toEqual([81])
})

test('a forum that is empty at first is read from its first page on', async () => {
  await using it = startForum()
  const empty = await it.step(null)
  expect(empty).toMatchObject({ proven: null, verified_until: 0 })
  it.put(10)
  const first = await it.step(empty.state)
  expect(idsOf(first)).toEqual([10])
  it.put(11)
  expect(idsOf(await it.step(first.state))).toEqual([11])
})

test.each(['true', null])(
  'an answer from a cache (%p) proves the time a minute before',
  async (cached) => {
    await using it = startForum({ cached })
    it.put(10)
    expect((await it.step(null)).verified_until).toBe(it.forum.now - MINUTE)
  },
)

test.each([
  ['skip', 45, 45],
  ['true', 45, 60],
  ['true', 90, 90],
])(
  'an answer (%p) that a proxy may keep for %d s proves the time %d s before',
  async (cached, max_age_s, before_s) => {
    await using it = startForum({ cached })
    it.forum.max_age_s = max_age_s
    it.put(10)
    expect((await it.step(null)).verified_until).toBe(it.forum.now - before_s * SECOND)
  },
)

test('an older page from a cache makes no post look deleted', async () => {
  await using it = startForum({ cached: 'true' })
  for (const id of range(1, 80)) it.put(id)
  const { state } = await it.step(null)
  const created_at = new Date(it.forum.now).toISOString()
  it.put(82, { created_at })
  const seen = await it.step(state)
  expect(idsOf(seen)).toEqual([82])
  it.forum.posts.delete(82)
  it.forum.now += 30 * SECOND
  const old = await it.step(seen.state)
  it.forum.now += 20 * SECOND
  const older = await it.step(old.state)
  expect(older.gone).toEqual([])
  it.put(82, { created_at })
  it.forum.now += 2 * MINUTE
  expect(await it.step(older.state)).toMatchObject({ items: [], gone: [] })
})

test('an anonymous answer to a key proves nothing, and its new posts are read once', async () => {
  await using it = startForum({ credential: 'secret' })
  for (const id of range(1, 80)) it.put(id)
  const { state, verified_until } = await it.step(null)
  expect(it.forum.keys[0]).toBe('secret')
  it.forum.anonymous = true
  it.forum.now += MINUTE
  it.put(82)
  const seen = await it.step(state)
  expect(seen).toMatchObject({ partial: 'seen_as_anonymous', verified_until, proven: null })
  expect(idsOf(seen)).toEqual([82])
  it.forum.anonymous = false
  it.put(81)
  const next = await it.step(seen.state)
  expect(idsOf(next)).toEqual([81])
  expect(next).toMatchObject({ partial: null, proven: { from_id: 81, to_id: 82 } })
})

test('an anonymous page in the middle of a walk leaves its ids behind', async () => {
  await using it = startForum({ credential: 'secret' })
  for (const id of range(1, 80)) it.put(id)
  const { state } = await it.step(null)
  for (const id of range(81, 300)) it.put(id)
  it.forum.override = ({ path, query }) => {
    it.forum.anonymous = path === '/posts.json' && query.has('before')
    return null
  }
  const part = await it.step(state)
  expect(part).toMatchObject({
    partial: 'seen_as_anonymous',
    behind: { from_id: 81, to_id: 250 },
    proven: null,
  })
  it.forum.override = () => null
  it.forum.anonymous = false
  expect(idsOf(await it.step(part.state))).toEqual(range(81, 250))
})

test.each([
  () =>
    Response.json(
      { errors: ['slow down'], error_type: 'rate_limit', extras: { wait_seconds: 17 } },
      { status: 429 },
    ),
  () => new Response('Slow down.\nPlease retry again in 17 seconds.', { status: 429 }),
])('a limit in the body is waited out (%#)', async (answer) => {
  await using it = startForum()
  it.put(10)
  it.forum.override = (_, count) => (count === 1 ? answer() : null)
  await it.step(null)
  expect(it.skipped()).toBe(17 * SECOND)
})

test('a limit in the middle of a walk keeps what was read', async () => {
  await using it = startForum()
  for (const id of range(1, 80)) it.put(id)
  const { state } = await it.step(null)
  for (const id of range(81, 300)) it.put(id)
  it.forum.override = ({ query }) =>
    query.has('before')
      ? new Response('Slow down.\nPlease retry again in 900 seconds.', { status: 429 })
      : null
  const part = await it.step(state)
  expect(idsOf(part)).toEqual(range(251, 300))
  expect(part.behind).toEqual({ from_id: 81, to_id: 250 })
})

test.each([
  [
    'a login wall',
    () => Response.json({ error_type: 'not_logged_in' }, { status: 403 }),
    'login_required',
  ],
  [
    'an invalid key',
    () => Response.json({ error_type: 'invalid_access' }, { status: 403 }),
    'forbidden',
  ],
  [
    'a page',
    () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }),
    'blocked',
  ],
  ['another object', () => Response.json({ posts: [] }), 'unreadable'],
])('%s in place of the list is a fault', async (_, answer, kind) => {
  await using it = startForum()
  it.forum.override = answer
  const outcome = await it.watch.advance(null, { requests: 5, deadline_at: it.forum.now + MINUTE })
  expect(outcome).toMatchObject({ ok: false, fault: { kind } })
})

test('a server that changes its generation is followed', async () => {
  await using it = startForum({ generation: 'old' })
  for (const id of range(1, 80)) it.put(id)
  let { state } = await it.step(null)
  for (const id of range(81, 300)) it.put(id)
  ;({ state } = await it.step(state))
  it.forum.generation = 'current'
  for (const id of range(301, 360)) it.put(id * 3)
  const sparse = await it.step(state)
  expect(idsOf(sparse)).toEqual(range(301, 360).map((id) => id * 3))
  it.forum.generation = 'old'
  for (const id of range(1101, 1300)) it.put(id)
  expect(idsOf(await it.step(sparse.state))).toEqual(range(1101, 1300))
})

test('the state stays small after any number of posts', async () => {
  await using it = startForum()
  for (const id of range(1, 80)) it.put(id)
  let { state } = await it.step(null)
  for (let round = 1; round <= 100; round++) {
    for (const id of range(1, 55)) it.put(round * 1000 + id)
    ;({ state } = await it.step(state, 1))
  }
  expect(state.length).toBeLessThan(16_000)
  const last = await it.step(state, 10_000)
  expect(last.behind).toBeNull()
}, 30_000)

test('notes of the software are no items, and count as read', async () => {
  await using it = startForum()
  for (const id of range(1, 80)) it.put(id)
  const { state } = await it.step(null)
  it.put(81, { post_type: 3, action_code: 'closed.enabled' })
  const next = await it.step(state)
  expect(next).toMatchObject({ items: [], proven: { from_id: 81, to_id: 81 } })
})

test('a topic starter is a post with the id of its topic; replies name their parent', async () => {
  await using it = startForum()
  it.put(80)
  const { state } = await it.step(null)
  it.put(81, { post_number: 1, topic_id: 40, topic_title: 'Fish &amp; chips', posts_count: 3 })
  it.put(82, { post_number: 2, topic_id: 40, user_id: 9 })
  it.put(83, { post_number: 3, topic_id: 40, reply_to_post_number: 2 })
  it.put(84, { post_number: 9, topic_id: 41, reply_to_post_number: 4 })
  const { items } = await it.step(state)
  expect(items).toMatchObject([
    {
      kind: 'post',
      id: '40',
      name: 't3_40',
      title: 'Fish &amp; chips',
      comments: 2,
      subforum: 'help/linux',
    },
    { kind: 'comment', id: '82', post_id: '40', parent_id: 't3_40', is_submitter: false },
    { kind: 'comment', id: '83', parent_id: 't1_82', is_submitter: true },
    { kind: 'comment', id: '84', parent_id: null },
  ])
})
