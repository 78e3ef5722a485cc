// Goal: a client that was written for the real Hacker News works with the simulated one: node-hn-api, unmodified. It has the
// host of the database built in; the fetch of this process leads that host to the sandbox.
import { afterAll, beforeAll, expect, test } from 'bun:test'

import {
  fetchAskStories,
  fetchItem,
  fetchJobStories,
  fetchNewStories,
  fetchShowStories,
  fetchTopStories,
  fetchUser,
} from 'node-hn-api'

import { HACKERNEWS } from '../../sandbox/hackernews/kind.ts'
import type { NewsWorld } from '../../sandbox/hackernews/model.ts'
import { type SourceSandbox, startSource } from '../../sandbox/sources/start.ts'

const HOST = 'https://hacker-news.firebaseio.com'
const real_fetch = globalThis.fetch
let site: SourceSandbox<NewsWorld>

beforeAll(async () => {
  site = await startSource(HACKERNEWS, {
    port: 0,
    seed: 3,
    speed: 0,
    world: 'seeded',
    now: () => Date.UTC(2026, 10, 20, 12),
  })
  globalThis.fetch = Object.assign(
    (input: Parameters<typeof fetch>[0], init?: RequestInit) =>
      real_fetch(typeof input === 'string' ? input.replace(HOST, site.url) : input, init),
    { preconnect: real_fetch.preconnect },
  )
})

afterAll(async () => {
  globalThis.fetch = real_fetch
  await site.stop()
})

test('it reads the newest stories with their fields', async () => {
  const stories = await fetchNewStories(30)
  const ids = stories.map(({ id }) => id)

  expect(stories).toHaveLength(30)
  expect(ids).toEqual(ids.toSorted((one, other) => other - one))
  for (const { id, by, title, time } of stories) {
    const item = site.world.items.get(id)
    expect([by, title, time]).toEqual([
      item?.by.id ?? '',
      item?.title ?? '',
      Math.floor((item?.time ?? 0) / 1000),
    ])
  }
})

test('the lists of questions, presentations and jobs hold what they are named for', async () => {
  const [asked, shown, jobs, top] = await Promise.all([
    fetchAskStories(5),
    fetchShowStories(5),
    fetchJobStories(2),
    fetchTopStories(5),
  ])

  expect(asked.every(({ title = '' }) => title.startsWith('Ask HN:'))).toBe(true)
  expect(shown.every(({ title = '' }) => title.startsWith('Show HN:'))).toBe(true)
  expect(jobs.map(({ type }) => type)).toEqual(['job', 'job'])
  expect(top).toHaveLength(5)
})

test('it follows the comments of a story, and their author', async () => {
  const [story] = (await fetchTopStories(100)).filter(({ kids }) => (kids?.length ?? 0) > 2)
  const comment = await fetchItem(story?.kids?.[0] ?? 0)
  const name = site.world.items.get(comment.id)?.by.id ?? ''
  const user = await fetchUser(name)

  expect([comment.type, comment.parent]).toEqual(['comment', story?.id ?? 0])
  expect(user.submitted).toContain(comment.id)
})

test('an item that the site does not answer yet is null', async () => {
  const { id } = site.call('post', { title: 'In a minute', visible_in_s: 60 }) as { id: number }

  expect((await fetchItem(id)) as unknown).toBeNull()
  site.advance(61)
  expect((await fetchItem(id)).title).toBe('In a minute')
})
