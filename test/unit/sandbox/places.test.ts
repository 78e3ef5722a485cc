import { expect, test } from 'bun:test'

import { cookieOf, open, page, titles, visit } from './visit.ts'

test.each([
  ['RoastersLounge', 403, 'private'],
  ['patronlounge', 403, 'gold_only'],
  ['fringephysics', 403, 'quarantined'],
  ['grimhistory', 403, 'gated'],
  ['quickbets', 404, 'banned'],
])('%s is refused with %i and says %s', async (name, status, reason) => {
  await using sandbox = await open({ world: 'seeded' })

  for (const path of ['/new', '/comments', '/about', '/about/moderators', '']) {
    const answer = await visit(sandbox, `/r/${name}${path}.json`)
    expect(answer).toMatchObject({ status, json: { reason, error: status } })
  }
})

test('a refusal holds for a post that stands there, too', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const hidden = sandbox.world.subforums.get('roasterslounge')?.posts.at(-1)

  expect(await visit(sandbox, `/comments/${hidden?.id}.json`)).toMatchObject({
    status: 403,
    json: { reason: 'private' },
  })
  expect((await page(sandbox, `/api/info.json?id=${hidden?.name}`)).data.children).toEqual([])
})

test('a member reads what is private, a patron what is for patrons', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const carla = cookieOf(sandbox, 'carla_quiet')
  const bruno = cookieOf(sandbox, 'bruno_keeps')

  const lounge = await page(sandbox, '/r/RoastersLounge/new.json', { cookie: carla })
  const patrons = await page(sandbox, '/r/patronlounge/new.json', { cookie: bruno })

  expect(lounge.data.children.length).toBeGreaterThan(5)
  expect(patrons.data.children.length).toBeGreaterThan(5)
})

test('the restricted and the adult are readable', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const adult = await page(sandbox, '/r/lifedrawing/new.json')
  expect(adult.data.children.every((it) => it.data['over_18'] === true)).toBe(true)
  expect((await visit(sandbox, '/r/forum_updates/about.json')).json.data).toMatchObject({
    subreddit_type: 'restricted',
    over18: false,
  })
})

test('a subforum that is not there sends elsewhere, where nothing is found', async () => {
  await using sandbox = await open()

  const away = await visit(sandbox, '/r/nosuchplace/new.json')
  const there = await page(sandbox, '/subreddits/search.json?q=nosuchplace')

  expect(away.status).toBe(302)
  expect(away.headers.get('location')).toEndWith('/subreddits/search.json?q=nosuchplace')
  expect(there.data.children).toEqual([])
  expect((await visit(sandbox, '/r/nosuchplace/about.json')).status).toBe(404)
})

test('a name no subforum could have is not found, without a word of JSON', async () => {
  await using sandbox = await open()

  const answer = await visit(sandbox, '/r/no-such.place!/new.json')

  expect(answer).toMatchObject({ status: 404, text: '' })
})

test('one private member of several refuses the whole', async () => {
  await using sandbox = await open({ world: 'seeded' })

  expect(await visit(sandbox, '/r/coffee+RoastersLounge/new.json')).toMatchObject({
    status: 403,
    json: { reason: 'private' },
  })
})

test('or is passed over, where the sandbox is told so', async () => {
  await using sandbox = await open({ world: 'seeded', private_in_multi: 'drop' })

  const { data } = await page(sandbox, '/r/coffee+RoastersLounge/new.json')

  expect(new Set(data.children.map((it) => it.data['subreddit']))).toEqual(new Set(['coffee']))
})

test('banned and unknown members of several are passed over in silence', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { data } = await page(sandbox, '/r/coffee+quickbets+nosuchplace/comments.json')

  expect(new Set(data.children.map((it) => it.data['subreddit']))).toEqual(new Set(['coffee']))
})

test('a place changes while it is watched', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'hello' })
  expect(titles(await page(sandbox, '/r/cats/new.json'))).toEqual(['hello'])

  sandbox.subforum({ name: 'cats', access: 'private' })

  expect((await visit(sandbox, '/r/cats/new.json')).status).toBe(403)
})

test('moderators are listed to those who are signed in, in a list of its own kind', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')

  const listed = await visit(sandbox, '/r/coffee/about/moderators.json', { cookie })

  expect((await visit(sandbox, '/r/coffee/about/moderators.json')).status).toBe(403)
  expect(listed.json).toMatchObject({ kind: 'UserList' })
  expect(listed.json.data.children[0]).toMatchObject({
    name: 'bruno_keeps',
    mod_permissions: ['all'],
    id: expect.stringMatching(/^t2_/),
  })
})

test('rules are told to everybody', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const { json } = await visit(sandbox, '/r/coffee/about/rules.json')

  expect(json.rules[0]).toMatchObject({ short_name: 'Be civil', priority: 0, kind: 'all' })
  expect(json.site_rules.length).toBeGreaterThan(0)
})

test('subforums are found by name before they are found by what they say', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const found = await page(sandbox, '/subreddits/search.json?q=coffee')
  const short = await page(sandbox, '/subreddits/search.json?q=co')
  const adult = await page(sandbox, '/subreddits/search.json?q=drawing&include_over_18=on')

  expect(found.data.children[0]?.data['display_name']).toBe('coffee')
  expect(short.data.children).toEqual([])
  expect(adult.data.children[0]?.data['display_name']).toBe('lifedrawing')
})
