import { expect, test } from 'bun:test'

import { fetchPath, NOON, open, page, walk } from './fetch-path.ts'

const HOUR_S = 3_600

async function snapshotOf(seed: number) {
  await using sandbox = await open({ world: 'seeded', seed })
  const { overview, world } = sandbox
  const rows = [...world.things.values()].map((it) => [
    it.name,
    it.created_s,
    it.author.name,
    it.kind === 't3' ? it.title : it.text,
    it.ups - it.downs,
    it.removed,
  ])
  return JSON.stringify([overview().accounts, rows])
}

test('the same seed gives the same world, another seed another one', async () => {
  const [one, same, other] = [await snapshotOf(3), await snapshotOf(3), await snapshotOf(4)]

  expect(same).toBe(one)
  expect(other).not.toBe(one)
})

test('a seeded world has every kind of post, in every state', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const posts = [...sandbox.world.things.values()].filter((it) => it.kind === 't3')
  const comments = [...sandbox.world.things.values()].filter((it) => it.kind === 't1')

  for (const shape of ['self', 'link', 'image', 'gallery', 'video', 'gif', 'crosspost'])
    expect(posts.filter((it) => it.shape === shape).length).toBeGreaterThan(0)
  for (const by of ['author', 'moderator', 'platform'])
    for (const things of [posts, comments])
      expect(things.filter((it) => it.removed === by).length).toBeGreaterThan(0)
  for (const flag of ['over_18', 'spoiler', 'locked', 'stickied'] as const)
    expect(posts.filter((it) => it[flag]).length).toBeGreaterThan(0)
  expect(posts.some((it) => it.edited_s !== null)).toBe(true)
  expect(posts.some((it) => it.author.standing === 'deleted')).toBe(true)
  expect(posts.some((it) => it.flair !== null)).toBe(true)
})

test('media is in the fields that clients read', async () => {
  await using sandbox = await open({ world: 'seeded', allowance: 10_000 })
  const pages = await Promise.all(
    ['selfhosting', 'homelab', 'coffee', 'BikeWrench', 'gardening', 'worldwire'].map((name) =>
      walk(sandbox, `/r/${name}/new.json?limit=100&raw_json=1`),
    ),
  )
  const rows = pages.flat().flatMap(({ data }) => data.children.map((it) => it.data))
  const one = (predicate: (row: Record<string, any>) => boolean) => rows.find(predicate)

  expect(one((it) => it['is_gallery'])).toMatchObject({
    gallery_data: { items: expect.any(Array) },
    media_metadata: expect.any(Object),
    domain: 'reddit.com',
  })
  expect(one((it) => it['is_video'])).toMatchObject({
    post_hint: 'hosted:video',
    media: { reddit_video: { duration: expect.any(Number) } },
  })
  expect(one((it) => it['post_hint'] === 'image' && it['url'].endsWith('.gif'))).toMatchObject({
    preview: { images: [{ variants: { gif: expect.any(Object), mp4: expect.any(Object) } }] },
  })
  expect(one((it) => it['crosspost_parent'] !== undefined)).toMatchObject({
    crosspost_parent_list: [{ subreddit: 'selfhosting' }],
  })
  const text = one((it) => it['is_self'] && it['removed_by_category'] === null)
  for (const absent of [
    'preview',
    'post_hint',
    'is_gallery',
    'crosspost_parent',
    'url_overridden_by_dest',
  ])
    expect(text).not.toHaveProperty(absent)
})

test('a busy sandbox generates content at the pace of its clock', async () => {
  await using sandbox = await open({ world: 'seeded', speed: 1 })
  const before = sandbox.overview().counts
  const newest = async () =>
    (await page(sandbox, '/r/all/new.json?limit=1')).data.children[0]?.data['created_utc']

  expect(sandbox.overview().counts).toEqual(before)
  sandbox.advance(HOUR_S)

  const after = sandbox.overview().counts
  expect(after.posts - before.posts).toBeGreaterThan(200)
  expect(after.posts - before.posts).toBeLessThan(2_000)
  expect(after.comments - before.comments).toBeGreaterThan(after.posts - before.posts)
  const young_s = await newest()
  expect(young_s).toBeGreaterThan(NOON / 1000 + HOUR_S - 120)
  expect(young_s).toBeLessThanOrEqual(NOON / 1000 + HOUR_S)
})

async function grow(requests: number) {
  await using sandbox = await open({ world: 'seeded', speed: 1 })
  for (let turn = 0; turn < requests; turn++) await fetchPath(sandbox, '/r/coffee/new.json')
  sandbox.advance(HOUR_S)
  return [...sandbox.world.things.keys()].join()
}

test('requests do not change the generated content', async () => {
  expect(await grow(5)).toBe(await grow(0))
})

test('a long jump of time adds a bounded amount of content', async () => {
  await using sandbox = await open({ world: 'seeded', speed: 1 })
  const before = sandbox.world.things.size

  sandbox.advance(365 * 24 * HOUR_S)

  expect(sandbox.world.things.size - before).toBeLessThanOrEqual(20_000)
})

test('with a sleeping clock, content appears without requests', async () => {
  let now = NOON
  const naps: (() => void)[] = []
  await using sandbox = await open({
    world: 'seeded',
    speed: 1,
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve())
        naps.push(() => {
          now += ms
          resolve()
        })
      }),
  })
  const before = sandbox.world.version

  for (let turn = 0; turn < 50; turn++) {
    naps.shift()?.()
    await Promise.resolve()
    await Promise.resolve()
  }

  expect(sandbox.world.version).toBeGreaterThan(before + 20)
})

test('at speed 0 nothing is generated', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const before = sandbox.world.version

  sandbox.advance(24 * HOUR_S)

  expect(sandbox.world.version).toBe(before)
})
