import { expect, test } from 'bun:test'

import {
  cookieOf,
  fetchPath,
  names,
  NOON,
  open,
  type Page,
  page,
  titles,
  walk,
} from './fetch-path.ts'

const MINUTE = 60_000

test('250 posts come in three pages, each post once, newest first', async () => {
  await using sandbox = await open()
  const posts = Array.from({ length: 250 }, (_, index) =>
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * MINUTE }),
  )

  const pages = await walk(sandbox, '/r/cats/new.json?limit=100')

  expect(pages.map(({ data }) => data.children.length)).toEqual([100, 100, 50])
  expect(pages.flatMap(names)).toEqual(posts.map(({ name }) => name))
})

test('new posts between two pages neither repeat nor hide a row', async () => {
  await using sandbox = await open()
  const old = Array.from({ length: 30 }, (_, index) =>
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * MINUTE }),
  )
  const first = await page(sandbox, '/r/cats/new.json?limit=20')
  for (let index = 0; index < 5; index++) sandbox.post({ subforum: 'cats', title: 'newer' })

  const second = await page(sandbox, `/r/cats/new.json?limit=20&after=${first.data.after}`)

  expect([...names(first), ...names(second)]).toEqual(old.map(({ name }) => name))
})

test('a listing ends after a thousand rows, even if older ones exist', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const pages = await walk(sandbox, '/r/worldwire/new.json?limit=100')

  expect(pages).toHaveLength(10)
  const rows = pages.flatMap(names)
  expect(new Set(rows).size).toBe(rows.length)
  expect(sandbox.world.subforums.get('worldwire')?.posts.length).toBeGreaterThan(1_100)
})

test('a page may be short before the end: removed rows are filtered after the fetch', async () => {
  await using sandbox = await open()
  const posts = Array.from({ length: 10 }, (_, index) =>
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * MINUTE }),
  )
  sandbox.remove({ name: posts[1]?.name ?? '', by: 'moderator' })

  const first = await page(sandbox, '/r/cats/new.json?limit=5')

  expect(titles(first)).toEqual(['cat 0', 'cat 2', 'cat 3', 'cat 4'])
  expect(first.data).toMatchObject({ dist: 4, after: posts[4]?.name })
})

test('a removed row is still a valid cursor', async () => {
  await using sandbox = await open()
  const posts = Array.from({ length: 6 }, (_, index) =>
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * MINUTE }),
  )
  sandbox.remove({ name: posts[2]?.name ?? '', by: 'author' })

  const rest = await page(sandbox, `/r/cats/new.json?after=${posts[2]?.name}`)

  expect(titles(rest)).toEqual(['cat 3', 'cat 4', 'cat 5'])
})

test('an earlier post that appears late is sorted by its time', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'old', created_at: NOON - 2 * MINUTE })
  sandbox.post({ subforum: 'cats', title: 'young', created_at: NOON })

  sandbox.post({ subforum: 'cats', title: 'approved late', created_at: NOON - MINUTE })

  expect(titles(await page(sandbox, '/r/cats/new.json'))).toEqual(['young', 'approved late', 'old'])
})

test.each([
  ['limit=0', 1],
  ['limit=7', 7],
  ['limit=1000', 100],
  ['limit=many', 25],
  ['', 25],
])('?%s gives %i rows', async (query, rows) => {
  await using sandbox = await open()
  for (let index = 0; index < 120; index++)
    sandbox.post({ subforum: 'cats', title: `cat ${index}` })

  expect((await page(sandbox, `/r/cats/new.json?${query}`)).data.children).toHaveLength(rows)
})

test('two pinned posts precede the first page of hot, beyond the limit, and appear once', async () => {
  await using sandbox = await open()
  for (const title of ['rules', 'weekly'])
    sandbox.post({ subforum: 'cats', title, stickied: true, created_at: NOON - 90 * 86_400_000 })
  for (let index = 0; index < 120; index++)
    sandbox.post({ subforum: 'cats', title: `cat ${index}` })

  const [first, second] = await walk(sandbox, '/r/cats/hot.json?limit=100')

  expect(first?.data.children).toHaveLength(102)
  expect(first && titles(first).slice(0, 2)).toEqual(['rules', 'weekly'])
  expect(second?.data.children).toHaveLength(20)
  expect(second && titles(second)).not.toContain('rules')
})

test('before gives newer rows, and nothing once its row is removed', async () => {
  await using sandbox = await open()
  const posts = Array.from({ length: 4 }, (_, index) =>
    sandbox.post({ subforum: 'cats', title: `cat ${index}`, created_at: NOON - index * MINUTE }),
  )

  const newer = await page(sandbox, `/r/cats/new.json?before=${posts[2]?.name}`)
  const vanished = await page(sandbox, '/r/cats/new.json?before=t3_zzzzz')

  expect(titles(newer)).toEqual(['cat 0', 'cat 1'])
  expect(vanished.data.children).toEqual([])
})

test('an unknown cursor is ignored: the first page is repeated', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'only' })

  expect(titles(await page(sandbox, '/r/cats/new.json?after=t3_zzzzz'))).toEqual(['only'])
})

test('several subforums are one listing, in one order', async () => {
  await using sandbox = await open()
  for (let index = 0; index < 6; index++)
    sandbox.post({
      subforum: index % 2 === 0 ? 'cats' : 'dogs',
      title: `pet ${index}`,
      created_at: NOON - index * MINUTE,
    })

  const pages = await walk(sandbox, '/r/cats+dogs/new.json?limit=4')

  expect(pages.flatMap(titles)).toEqual(Array.from({ length: 6 }, (_, index) => `pet ${index}`))
})

test('top respects its time range and order', async () => {
  await using sandbox = await open()
  const DAY = 86_400_000
  sandbox.post({ subforum: 'cats', title: 'good', score: 50, created_at: NOON - DAY / 2 })
  sandbox.post({ subforum: 'cats', title: 'best', score: 90, created_at: NOON - DAY / 4 })
  sandbox.post({ subforum: 'cats', title: 'classic', score: 900, created_at: NOON - 3 * DAY })

  expect(titles(await page(sandbox, '/r/cats/top.json'))).toEqual(['best', 'good'])
  expect(titles(await page(sandbox, '/r/cats/top.json?t=week'))).toEqual([
    'classic',
    'best',
    'good',
  ])
})

const free = (rows: string[], stuck: string[]) => rows.filter((name) => !stuck.includes(name))

test('hot prefers the young, controversial the disputed, rising the fast', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const hot = await page(sandbox, '/r/homelab/hot.json?limit=100')
  const best = await page(sandbox, '/r/homelab/best.json?limit=100')
  const disputed = await page(sandbox, '/r/homelab/controversial.json?limit=5&t=all')
  const rising = await page(sandbox, '/r/homelab/rising.json?limit=100')

  // The same order except for the pinned posts of hot.
  const stuck = hot.data.children.filter((it) => it.data['stickied']).map((it) => it.data['name'])
  expect(stuck).toHaveLength(2)
  expect(free(names(best), stuck).slice(0, 50)).toEqual(free(names(hot), stuck).slice(0, 50))
  for (const row of disputed.data.children) expect(row.data['upvote_ratio']).toBeLessThan(0.6)
  for (const row of rising.data.children)
    expect(NOON / 1000 - row.data['created_utc']).toBeLessThan(86_400)
})

test('new comments come newest first, with the post of each', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat', author: 'anna' })
  sandbox.comment({ parent: post.name, text: 'first', created_at: NOON - MINUTE })
  const second = sandbox.comment({ parent: post.name, text: 'second' })

  const { data } = await page(sandbox, '/r/cats/comments.json')

  expect(data.children.map((it) => it.data['body'])).toEqual(['second', 'first'])
  expect(data.children[0]?.data).toMatchObject({
    name: second.name,
    link_title: 'a cat',
    link_author: 'anna',
    link_id: post.name,
    replies: '',
    over_18: false,
  })
})

const placesOf = ({ data }: Page) => new Set(data.children.map((it) => it.data['subreddit']))

test('the front page has the viewer’s subscriptions, or everything for an anonymous viewer', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const carla = sandbox.world.users.get('carla_quiet')

  const anyone = await page(sandbox, '/new.json?limit=100')
  const own = await page(sandbox, '/new.json?limit=100', {
    cookie: cookieOf(sandbox, 'carla_quiet'),
  })

  expect(anyone.data.modhash).toBe('')
  expect(own.data.modhash).toHaveLength(50)
  const subscribed = new Set([...(carla?.subscribed ?? [])].map(({ name }) => name))
  expect([...placesOf(own)].every((name) => subscribed.has(name))).toBe(true)
  expect(placesOf(anyone).size).toBeGreaterThan(placesOf(own).size)
})

test('new rows appear at once, also in cached listings', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'old' })
  sandbox.subforum({ name: 'dogs' })
  const paths = ['/r/cats/hot.json', '/r/cats+dogs/new.json', '/search.json?q=old+OR+young']
  const fetchListing = () =>
    Promise.all(paths.map(async (path) => titles(await page(sandbox, path)).toSorted()))

  expect(await fetchListing()).toEqual([['old'], ['old'], ['old']])
  sandbox.post({ subforum: 'cats', title: 'young' })
  expect(await fetchListing()).toEqual(paths.map(() => ['old', 'young']))
})

test('an unknown path gets an empty response', async () => {
  await using sandbox = await open()

  expect(await fetchPath(sandbox, '/nowhere/at/all.json')).toMatchObject({ status: 404, text: '' })
})
