import { expect, test } from 'bun:test'

import { cookieOf, fetchPath, open, page, titles } from './fetch-path.ts'

test.each([
  ['RoastersLounge', 403, 'private'],
  ['patronlounge', 403, 'gold_only'],
  ['fringephysics', 403, 'quarantined'],
  ['grimhistory', 403, 'gated'],
  ['quickbets', 404, 'banned'],
])('%s is refused with %i and the reason %s', async (name, status, reason) => {
  await using sandbox = await open({ world: 'seeded' })

  for (const path of ['/new', '/comments', '/about', '/about/moderators', '']) {
    const answer = await fetchPath(sandbox, `/r/${name}${path}.json`)
    expect(answer).toMatchObject({ status, json: { reason, error: status } })
  }
})

test('a refusal also applies to a post of the subforum', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const hidden = sandbox.world.subforums.get('roasterslounge')?.posts.at(-1)

  expect(await fetchPath(sandbox, `/comments/${hidden?.id}.json`)).toMatchObject({
    status: 403,
    json: { reason: 'private' },
  })
  expect((await page(sandbox, `/api/info.json?id=${hidden?.name}`)).data.children).toEqual([])
})

test('a member reads a private subforum, a patron a premium one', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const carla = cookieOf(sandbox, 'carla_quiet')
  const bruno = cookieOf(sandbox, 'bruno_keeps')

  const lounge = await page(sandbox, '/r/RoastersLounge/new.json', { cookie: carla })
  const patrons = await page(sandbox, '/r/patronlounge/new.json', { cookie: bruno })

  expect(lounge.data.children.length).toBeGreaterThan(5)
  expect(patrons.data.children.length).toBeGreaterThan(5)
})

test('restricted and adult subforums are readable', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const adult = await page(sandbox, '/r/lifedrawing/new.json')
  expect(adult.data.children.every((it) => it.data['over_18'] === true)).toBe(true)
  expect((await fetchPath(sandbox, '/r/forum_updates/about.json')).json.data).toMatchObject({
    subreddit_type: 'restricted',
    over18: false,
  })
})

test('a missing subforum redirects to a search without results', async () => {
  await using sandbox = await open()

  const away = await fetchPath(sandbox, '/r/nosuchplace/new.json')
  const there = await page(sandbox, '/subreddits/search.json?q=nosuchplace')

  expect(away.status).toBe(302)
  expect(away.headers.get('location')).toEndWith('/subreddits/search.json?q=nosuchplace')
  expect(there.data.children).toEqual([])
  expect((await fetchPath(sandbox, '/r/nosuchplace/about.json')).status).toBe(404)
})

test('an invalid subforum name is not found, without JSON', async () => {
  await using sandbox = await open()

  const answer = await fetchPath(sandbox, '/r/no-such.place!/new.json')

  expect(answer).toMatchObject({ status: 404, text: '' })
})

test('one private subforum among several refuses all', async () => {
  await using sandbox = await open({ world: 'seeded' })

  expect(await fetchPath(sandbox, '/r/coffee+RoastersLounge/new.json')).toMatchObject({
    status: 403,
    json: { reason: 'private' },
  })
})

test('or is omitted, if the sandbox is configured so', async () => {
  await using sandbox = await open({ world: 'seeded', private_in_multi: 'drop' })

  const { data } = await page(sandbox, '/r/coffee+RoastersLounge/new.json')

  expect(new Set(data.children.map((it) => it.data['subreddit']))).toEqual(new Set(['coffee']))
})

test('banned and unknown subforums among several are ignored', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { data } = await page(sandbox, '/r/coffee+quickbets+nosuchplace/comments.json')

  expect(new Set(data.children.map((it) => it.data['subreddit']))).toEqual(new Set(['coffee']))
})

test('the access of a subforum can change', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'hello' })
  expect(titles(await page(sandbox, '/r/cats/new.json'))).toEqual(['hello'])

  sandbox.subforum({ name: 'cats', access: 'private' })

  expect((await fetchPath(sandbox, '/r/cats/new.json')).status).toBe(403)
})

test('moderators are listed for sessions only, in a list of its own kind', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')

  const listed = await fetchPath(sandbox, '/r/coffee/about/moderators.json', { cookie })

  expect((await fetchPath(sandbox, '/r/coffee/about/moderators.json')).status).toBe(403)
  expect(listed.json).toMatchObject({ kind: 'UserList' })
  expect(listed.json.data.children[0]).toMatchObject({
    name: 'bruno_keeps',
    mod_permissions: ['all'],
    id: expect.stringMatching(/^t2_/),
  })
})

test('rules are public', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { json } = await fetchPath(sandbox, '/r/coffee/about/rules.json')

  expect(json.rules[0]).toMatchObject({ short_name: 'Be civil', priority: 0, kind: 'all' })
  expect(json.site_rules.length).toBeGreaterThan(0)
})

test('subforums are found by name before they are found by description', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const found = await page(sandbox, '/subreddits/search.json?q=coffee')
  const short = await page(sandbox, '/subreddits/search.json?q=co')
  const adult = await page(sandbox, '/subreddits/search.json?q=drawing&include_over_18=on')

  expect(found.data.children[0]?.data['display_name']).toBe('coffee')
  expect(short.data.children).toEqual([])
  expect(adult.data.children[0]?.data['display_name']).toBe('lifedrawing')
})
