import { describe, expect, test } from 'bun:test'

import { begin, COMMENT_BASE, newState } from '../../../../src/platforms/lemmy/series.ts'
import { begun, createServer, MINUTE, namesOf, S, T0 } from './fixture.ts'

const HOUR = 60 * MINUTE

/** A server with post 100 and comment 500, and the state of a watch that has begun there. */
describe.each(['v3', 'v4'] as const)('%s', (generation) => {
  test('the first step starts at the present end', async () => {
    await using fixture = createServer(generation)
    fixture.put('post', 100)
    expect(await fixture.step(null)).toMatchObject({
      items: [],
      proven: null,
      behind: null,
      verified_until: T0,
      partial: null,
    })
  })

  test('new posts and comments are read, oldest first', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101)
    world.now += S
    put('comment', 501)
    world.now += S
    put('post', 102)
    const next = await step(state)
    expect(namesOf(next)).toEqual(['t3_101', 't1_501', 't3_102'])
    expect(next).toMatchObject({
      proven: { from_id: 101, to_id: 102 },
      behind: null,
      verified_until: world.now,
    })
    expect(namesOf(await step(next.state))).toEqual([])
  })

  test('a post that arrives late under an old date is read by its id', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    world.page_size = 3
    for (const id of [90, 91, 92, 93, 94, 95]) put('post', id, { published: T0 - HOUR })
    put('post', 101, { published: T0 - 24 * HOUR, is_local: false })
    put('post', 102)
    const next = await step(state)
    expect(namesOf(next)).toEqual(['t3_101', 't3_102'])
  })

  test('posts that arrive under an old date are new by their ids, restored ones are not', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101, { is_unlisted: true, is_absent: true })
    put('post', 102)
    const first = await step(state)
    expect(first.arrived).toEqual(['t3_102'])
    world.now += 30 * S
    put('post', 101, { is_unlisted: true, published: T0 - HOUR })
    put('post', 103, { is_unlisted: true, published: T0 - HOUR })
    put('post', 104)
    const next = await step(first.state)
    expect(namesOf(next).toSorted()).toEqual(['t3_101', 't3_103', 't3_104'])
    expect([...(next.arrived ?? [])].toSorted()).toEqual(['t3_103', 't3_104'])
  })

  test('the newest id is read although its date is old', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    world.page_size = 1
    put('post', 101, { published: T0 - 24 * HOUR })
    expect(namesOf(await step(state))).toEqual(['t3_101'])
  })

  test('an id that no page has is requested once, and holds the verified time back while it may be late', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101, { is_absent: true })
    put('post', 102)
    const next = await step(state)
    // Its item was created after the step before.
    expect(next).toMatchObject({
      proven: { from_id: 101, to_id: 102 },
      unanswered: [],
      verified_until: T0,
    })

    world.now += 5 * S
    const young = await step(next.state)
    expect(young).toMatchObject({ items: [], verified_until: T0 })
    expect(world.requests.filter((it) => it.includes('/post?id=101'))).toHaveLength(1)

    world.now += MINUTE
    put('post', 101)
    const later = await step(young.state)
    expect(namesOf(later)).toEqual(['t3_101'])
    expect(later.verified_until).toBe(world.now)
  })

  test('a hole that a page has later is no hole', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101, { is_absent: true })
    put('post', 102)
    const next = await step(state)
    world.now += 5 * S
    put('post', 101)
    const later = await step(next.state)
    expect(namesOf(later)).toEqual(['t3_101'])
    expect(later.verified_until).toBe(world.now)
    expect(world.requests.filter((it) => it.includes('/post?id=101'))).toHaveLength(1)
  })

  test('an id without an item is requested again with growing waits, and is void after a minute', async () => {
    await using fixture = await begun(generation)
    const { world, put, step } = fixture
    put('comment', 501, { is_absent: true })
    put('comment', 502)
    let { state } = fixture
    const unanswered: number[] = []
    const asked: number[] = []
    const began = world.now
    let held_s = 0
    for (let at_s = 0; at_s <= 900; at_s += 5) {
      world.now = began + at_s * S
      world.requests.length = 0
      const next = await step(state)
      if (world.requests.some((it) => it.includes('/comment?id=501'))) asked.push(at_s)
      unanswered.push(...next.unanswered)
      state = next.state
      if (next.verified_until < world.now) held_s = at_s
    }
    expect(unanswered).toEqual([])
    expect(held_s).toBe(55)
    expect(asked).toEqual([0, 20, 60, 200, 600])
  })

  test('a comment that was listed as deleted is read when its author restores it, though it has left the list', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('comment', 501, { is_deleted: true })
    const hidden = await step(state)
    expect(hidden).toMatchObject({ items: [], unanswered: [], verified_until: world.now })
    const began = world.now
    world.now += 41 * S
    put('comment', 501, { is_unlisted: true, published: began, text: 'restored' })
    const early = await step(hidden.state)
    const names = [...namesOf(early)]
    let { state: next } = early
    for (let n = 0; n < 8; n++) {
      world.now += 5 * S
      const later = await step(next)
      names.push(...namesOf(later))
      next = later.state
    }
    expect(names).toEqual(['t1_501'])
  })

  test('a restoration in the moderation log is read within a minute', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('comment', 501, { is_removed: true })
    let next = await step(state)
    world.now += 2 * HOUR
    next = await step(next.state)
    world.now += MINUTE
    put('comment', 501, { is_unlisted: true, text: 'restored' })
    world.modlog = [{ id: 7, kind: 'comment', target: 501, restored: true }]
    expect(namesOf(await step(next.state))).toEqual(['t1_501'])
  })

  test.each([
    ['this', true, 30 * S],
    ['another', false, 0],
  ])('the time of a new post of %s server', async (_, is_local, proven_ms) => {
    await using fixture = await begun(generation)
    const { put, step, state } = fixture
    put('comment', 501)
    put('post', 101, { is_local })
    // All that arrived before a post was written here has a lower id; elsewhere it may be from before or after.
    const listed = await step(state, 100, { settles: false })
    expect(listed.verified_until).toBe(T0 + proven_ms)
  })

  test('a step reads the lists only, and the ids that they lack follow it', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101, { published: T0 - HOUR, is_unlisted: true })
    put('post', 102)
    world.requests.length = 0
    const listed = await step(state, 100, { settles: false })
    expect(namesOf(listed)).toEqual(['t3_102'])
    expect(world.requests.every((it) => it.includes('/list'))).toBe(true)
    // An id that was found just now is no backlog; it is not proven either.
    expect(listed).toMatchObject({ behind: null, requests: 2, verified_until: T0 })
    const settled = await fixture.source.watch?.settle?.(listed.state, {
      requests: 100,
      ...fixture.call(),
    })
    expect(settled).toMatchObject({
      ok: true,
      value: { items: [{ name: 't3_101' }], behind: null },
    })
  })

  test('steps and what follows them keep to 85 in 100 requests a minute', async () => {
    await using fixture = createServer(generation, { requests_per_minute: 40 })
    const { world, put, source } = fixture
    put('post', 100)
    put('comment', 500)
    let { state } = await fixture.step(null)
    let id = 101
    world.requests.length = 0
    for (let at_s = 0; at_s <= 600; at_s += 3) {
      world.now = T0 + at_s * S - fixture.slowed_ms()
      put('post', ++id, { is_unlisted: id % 2 === 0 })
      const bounds = { requests: 10, ...fixture.call() }
      const listed = await source.watch?.advance(state, bounds)
      if (!listed?.ok) continue
      state = listed.value.state
      for (let n = 0; n < 9; n++) {
        const more = await source.watch?.settle?.(state, bounds)
        if (!more?.ok || more.value.requests === 0) break
        state = more.value.state
      }
    }
    // Ten minutes at 34 a minute, and those of the first step.
    expect(world.requests.length).toBeLessThanOrEqual(350)
    expect(world.requests.length).toBeGreaterThan(290)
  })

  test('a removed post is gone, and is read again when a moderator restores it', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101)
    const seen = await step(state)
    world.now += MINUTE
    put('post', 101, { is_removed: true, published: world.now - MINUTE })
    put('post', 99, { published: T0 - HOUR })
    const removed = await step(seen.state)
    expect(removed).toMatchObject({ items: [], gone: ['t3_101'] })

    world.now += 6 * MINUTE
    put('post', 101, { is_unlisted: true, text: 'restored' })
    world.modlog = [{ id: 1, kind: 'post', target: 101, restored: true }]
    const restored = await step(removed.state)
    expect(restored.gone).toEqual([])
    expect(restored.items).toMatchObject([{ name: 't3_101', text: 'restored' }])
  })

  test('a removed comment is gone, though it stays in the list', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('comment', 501)
    const seen = await step(state)
    put('comment', 501, { is_removed: true })
    const removed = await step(seen.state)
    expect(removed).toMatchObject({ items: [], gone: ['t1_501'] })
    put('comment', 501)
    world.now += MINUTE
    expect(namesOf(await step(removed.state))).toEqual(['t1_501'])
  })

  test('a removal that only the moderation log has is reported', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101, { is_unlisted: true })
    put('post', 102)
    const seen = await step(state)
    expect(namesOf(seen).toSorted()).toEqual(['t3_101', 't3_102'])
    world.now += 6 * MINUTE
    world.modlog = [{ id: 9, kind: 'post', target: 101, restored: false }]
    expect((await step(seen.state)).gone).toEqual(['t3_101'])
  })

  test('a post that newer ones push off the pages is not requested', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    world.page_size = 2
    put('post', 101)
    put('post', 102)
    const seen = await step(state)
    world.now += MINUTE
    put('post', 103)
    put('post', 104)
    world.requests.length = 0
    expect(namesOf(await step(seen.state))).toEqual(['t3_103', 't3_104'])
    expect(world.requests.some((it) => /\/post\?id=10[12]$/.test(it))).toBe(false)
  })

  test('an edit is read again', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101)
    const seen = await step(state)
    put('post', 101, { text: 'edited', updated: world.now + S })
    const next = await step(seen.state)
    expect(next.items).toMatchObject([
      { name: 't3_101', text: 'edited', edited: expect.any(String) },
    ])
    expect((await step(next.state)).items).toEqual([])
  })

  test('a step that runs out of requests says which ids are left, and the next goes on there', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    for (let id = 101; id <= 120; id++) put('post', id, { is_unlisted: id < 120 })
    const part = await step(state, 10)
    expect(part.requests).toBeLessThanOrEqual(10)
    expect(part.behind).toEqual({ from_id: 109, to_id: 120 })
    expect(part.partial).toBeNull()
    expect(part.verified_until).toBeLessThan(world.now)
    world.now += 30 * S
    const rest = await step(part.state)
    expect(rest.behind).toBeNull()
    const all = new Set([...namesOf(part), ...namesOf(rest)])
    expect(all.size).toBe(20)
    expect(rest.verified_until).toBe(world.now)
  })

  test('pages without a single request prove nothing', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    put('post', 101, { is_unlisted: true })
    put('post', 102)
    const first = await step(state, 2, { settles: false })
    world.now += 30 * S
    expect(await step(first.state, 2, { settles: false })).toMatchObject({
      behind: { from_id: 101, to_id: 102 },
      verified_until: T0,
    })
  })

  test('comments that are too many are left behind by their range, and can be read later', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state, source } = fixture
    for (let id = 501; id <= 2600; id++) put('comment', id, { is_unlisted: id < 2600 })
    const part = await step(state, 20)
    expect(part.partial).toBe('not_affordable')
    // All but those that the pages and the requests of the step have read, with exact ids.
    const from_id = part.skipped[0]?.from_id ?? 0
    expect(part.behind).toBeNull()
    const to_id = COMMENT_BASE + 2599
    expect(part.skipped).toEqual([{ from_id, to_id }])
    expect(from_id).toBeGreaterThan(COMMENT_BASE + 500)
    const again = await source.watch?.reread(
      { from_id, to_id: from_id + 3 },
      { requests: 10, ...fixture.call() },
    )
    expect(again).toMatchObject({
      ok: true,
      value: { behind: null, requests: 4, unanswered: [] },
    })
    // For an hour, the watch is not complete.
    world.now += MINUTE
    expect(await step(part.state)).toMatchObject({ behind: null, partial: 'not_affordable' })
    world.now += HOUR
    expect(await step(part.state)).toMatchObject({ partial: null })
  })

  test('a cursor that the server refuses ends the pages, and the ids are requested', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    world.page_size = 2
    world.answer = (path, { url }) =>
      path === '/post/list' && /[?&]page(?:_cursor)?=/.test(url)
        ? Response.json({ error: 'couldnt_parse_pagination_token' }, { status: 400 })
        : null
    for (const id of [101, 102, 103, 104, 105]) {
      world.now += S
      put('post', id)
    }
    const next = await step(state)
    expect(namesOf(next)).toEqual(['t3_101', 't3_102', 't3_103', 't3_104', 't3_105'])
    expect(
      world.requests.filter((it) => /\/post\/list.*[?&]page(?:_cursor)?=/.test(it)),
    ).toHaveLength(1)
  })

  test('a failed request ends a step before its id, and nothing is skipped', async () => {
    await using fixture = await begun(generation)
    const { world, put, step, state } = fixture
    for (const id of [101, 102, 103, 104]) put('post', id, { is_unlisted: id < 104 })
    world.answer = (path, { url }) =>
      (path === '/post' && url.endsWith('id=102')) || /list.*limit=1&/.test(url)
        ? Response.json({ error: 'x' }, { status: 500 })
        : null
    const part = await step(state)
    expect(part.behind).toEqual({ from_id: 102, to_id: 104 })
    world.answer = () => null
    const all = new Set([...namesOf(part), ...namesOf(await step(part.state))])
    expect([...all].toSorted()).toEqual(['t3_101', 't3_102', 't3_103', 't3_104'])
  })

  test('an answer from a cache proves the time before its age', async () => {
    await using fixture = await begun(generation)
    const { world, step, state } = fixture
    world.now += 2 * MINUTE
    world.answer = (path) => {
      if (path !== '/post/list') return null
      return Response.json({ items: [], posts: [] }, { headers: { age: '60' } })
    }
    expect((await step(state)).verified_until).toBe(world.now - MINUTE)
  })
})

test('the state stays small', async () => {
  await using fixture = await begun('v4')
  const { put, step } = fixture
  let { state } = fixture
  for (let round = 1; round <= 2; round++) {
    for (let id = 1; id <= 1000; id++)
      put('post', 100 + round * 1000 + id, { is_absent: id % 40 !== 0, is_unlisted: id < 1000 })
    state = (await step(state, 3000)).state
  }
  expect(state.length).toBeLessThan(40_000)
})

test('the state names the newest rows only', async () => {
  await using fixture = await begun('v4')
  const { put, step } = fixture
  let { state } = fixture
  for (let round = 0; round < 3; round++) {
    for (let id = 1; id <= 300; id++) put('comment', 500 + round * 300 + id)
    state = (await step(state)).state
  }
  expect(state.length).toBeLessThan(6000)
})

test('a partial API has no ids of comments: what its page does not have is not proved', async () => {
  await using fixture = createServer('v3')
  const { world, put, step } = fixture
  world.version = '1.0.0'
  put('post', 100)
  put('comment', 500)
  const { state } = await step(null)
  put('comment', 501)
  const whole = await step(state)
  expect(whole).toMatchObject({ items: [{ name: 't1_501' }], partial: null })
  put('comment', 502, { is_unlisted: true })
  put('comment', 503)
  expect(await step(whole.state, 100, { settles: false })).toMatchObject({
    partial: 'no_paging',
    behind: { from_id: COMMENT_BASE + 502, to_id: COMMENT_BASE + 503 },
  })
  expect(world.requests.some((it) => it.includes('/comment?id='))).toBe(false)
})

test('the start is after both lists of the first step: what is written between them is from before it', async () => {
  await using fixture = createServer('v4')
  const { world, put, step } = fixture
  put('post', 100)
  put('comment', 500)
  world.answer = (path) => {
    if (path !== '/comment/list') return null
    world.now += 2 * S
    put('comment', 501)
    return null
  }
  const started = await step(null, 100, { settles: false })
  world.answer = () => null
  expect(started.items).toEqual([])
  expect(started.verified_until).toBe(world.now)
})

test('an item that is shown late below the id of a copy is no sign of ids that went back', async () => {
  await using fixture = createServer('v3')
  const { world, put, step } = fixture
  world.headers = { 'cache-control': 'public, max-age=60' }
  put('comment', 500)
  const first = await step(null)
  world.now += 40 * S
  const written = world.now - 20 * S
  put('comment', 502, { is_local: false, published: world.now - 30 * MINUTE })
  const second = await step(first.state)
  world.now += 10 * S
  put('comment', 501, { published: written })
  const third = await step(second.state)
  expect(third).not.toHaveProperty('went_back')
})

test('a start is not moved by copies from other servers, whose times are theirs', () => {
  const { post } = newState(T0)
  const rows = [
    { id: 200, local: false, at: T0 - HOUR },
    { id: 100, local: true, at: T0 + S },
    { id: 99, local: true, at: T0 - S },
  ]
  const views = rows.map(({ at, ...row }) => ({
    post: { ...row, published: new Date(at).toISOString() },
  }))
  begin(post, views, 'post', T0)

  expect([post.first, post.last]).toEqual([100, 99])
})
