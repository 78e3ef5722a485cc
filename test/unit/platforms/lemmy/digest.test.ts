import { expect, test } from 'bun:test'

import { begun, MINUTE, namesOf, S } from './fixture.ts'

test.each([
  ['v3', { text: 'other' }],
  ['v4', { url: 'https://example.com/' }],
  ['v4', { nsfw: true }],
  ['piefed', { nsfw: true }],
] as const)(
  '%s: a post that shows %p is read again, without an edit time',
  async (generation, more) => {
    await using fixture = await begun(generation)
    const { world, put, step } = fixture
    const published = world.now - 3 * MINUTE
    put('post', 101, { published })
    const first = await step(fixture.state)
    expect(namesOf(first)).toEqual(['t3_101'])
    put('post', 101, { published, ...more })
    const next = await step(first.state)
    expect(namesOf(next)).toEqual(['t3_101'])
    expect(namesOf(await step(next.state))).toEqual([])
  },
)

test('piefed: a post that is published in steps is delivered whole, at its second agreeing read', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  const published = world.now
  put('post', 101, { published, text: '' })
  const first = await step(fixture.state)
  expect(first).toMatchObject({ items: [], verified_until: published })
  world.now += 5 * S
  put('post', 101, { published, text: 'whole', url: 'https://example.com/', nsfw: true })
  const second = await step(first.state)
  expect(second.items).toEqual([])
  world.now += 5 * S
  const third = await step(second.state)
  expect(third).toMatchObject({
    items: [{ name: 't3_101', text: 'whole', link_url: 'https://example.com/', over_18: true }],
    verified_until: world.now,
  })
  expect(namesOf(await step(third.state))).toEqual([])
})

test('piefed: a title whose link takes eight seconds is delivered with it', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  const published = world.now
  let { state } = fixture
  const seen: unknown[] = []
  for (let at = 0; at <= 16; at += 4) {
    world.now = published + at * S
    put('post', 101, { published, ...(at < 8 ? { text: '' } : { url: 'https://example.com/' }) })
    const next = await step(state)
    seen.push(...next.items)
    state = next.state
  }
  expect(seen).toMatchObject([{ name: 't3_101', link_url: 'https://example.com/' }])
})

test('piefed: an item under an id that is given again waits for its own second read', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  put('post', 101)
  const first = await step(fixture.state)
  world.now += 20 * S
  put('post', 101, { text: '' })
  const second = await step(first.state)
  expect(second.items).toEqual([])
  world.now += 5 * S
  put('post', 101, { published: world.now - 5 * S, text: 'whole' })
  const third = await step(second.state)
  world.now += 5 * S
  expect((await step(third.state)).items).toMatchObject([{ name: 't3_101', text: 'whole' }])
})

test('piefed: a post that keeps changing is delivered after 15 seconds', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  const published = world.now
  let { state } = fixture
  const seen: number[] = []
  for (let at = 0; at <= 20; at += 5) {
    world.now = published + at * S
    put('post', 101, { published, text: `form ${at}` })
    const next = await step(state)
    if (next.items.length > 0) seen.push(at)
    state = next.state
  }
  expect(seen[0]).toBe(15)
})

test('piefed: at a slow cadence the second read follows the step', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step, source, call, clock } = fixture
  put('post', 101)
  const listed = await step(fixture.state, 100, { settles: false })
  expect(listed.items).toEqual([])
  const began = clock.now()
  const bounds = { requests: 100, interval_s: 60, ...call() }
  const settled = await source.watch?.settle?.(listed.state, bounds)
  expect(settled).toMatchObject({ ok: true, value: { items: [{ name: 't3_101' }] } })
  expect(clock.now() - began).toBeLessThanOrEqual(15 * S)
  expect(
    world.requests.filter((it) => it.includes('/post/list?') && !it.includes('community_id')),
  ).toHaveLength(3)
})

test('piefed: items that left the newest page before their second read are requested by their ids', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  put('post', 101)
  put('comment', 501)
  put('comment', 502)
  const first = await step(fixture.state)
  expect(first.items).toEqual([])
  world.now += 5 * S
  put('comment', 502, { is_absent: true })
  for (let id = 1; id <= 60; id++) {
    put('post', 101 + id)
    put('comment', 502 + id)
  }
  const second = await step(first.state)
  expect(namesOf(second)).toEqual(['t3_101', 't1_501'])
  let { state } = second
  for (let round = 0; round < 3; round++) {
    world.now += 20 * S
    ;({ state } = await step(state))
  }
  world.now += 20 * S
  expect((await step(state)).verified_until).toBeGreaterThan(world.now - MINUTE)
})

test('piefed: a held item that no list confirms yet is requested again, and delivered once', async () => {
  await using fixture = await begun('piefed')
  const { world, put, step } = fixture
  put('post', 101)
  const first = await step(fixture.state)
  world.now += 20 * S
  // Neither the newest page nor the list of its place has it for a while.
  put('post', 101, { is_unlisted: true })
  let { state } = await step(first.state)
  put('post', 101)
  const seen: string[] = []
  for (let round = 0; round < 8; round++) {
    world.now += 20 * S
    const next = await step(state)
    seen.push(...namesOf(next))
    ;({ state } = next)
  }
  expect(seen).toEqual(['t3_101'])
})
