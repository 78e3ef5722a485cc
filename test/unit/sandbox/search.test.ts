import { expect, test } from 'bun:test'

import { fetchPath, NOON, open, page, titles } from './fetch-path.ts'

async function library() {
  const sandbox = await open()
  const DAY = 86_400_000
  sandbox.post({
    subforum: 'tools',
    title: 'A good grinder',
    text: 'A grinder, and loud.',
    score: 5,
  })
  sandbox.post({
    subforum: 'tools',
    title: 'Kettles compared',
    text: 'No grinder in sight.',
    author: 'anna',
    flair: 'Review',
    score: 50,
    created_at: NOON - 10 * DAY,
  })
  sandbox.post({
    subforum: 'beans',
    title: 'Grinder or beans first?',
    url: 'https://www.example.com/grinder',
    created_at: NOON - DAY / 2,
  })
  sandbox.post({ subforum: 'nightlife', title: 'Grinder party', over_18: true })
  return sandbox
}

test.each([
  ['grinder', ['A good grinder', 'Grinder or beans first?', 'Kettles compared']],
  ['"good grinder"', ['A good grinder']],
  ['grinder beans', ['Grinder or beans first?']],
  ['kettles OR beans', ['Grinder or beans first?', 'Kettles compared']],
  ['grinder NOT beans', ['A good grinder', 'Kettles compared']],
  ['grinder AND (loud OR sight)', ['A good grinder', 'Kettles compared']],
  ['grinder -loud', ['Grinder or beans first?', 'Kettles compared']],
  ['subreddit:beans grinder', ['Grinder or beans first?']],
  ['author:anna', ['Kettles compared']],
  ['flair:review', ['Kettles compared']],
  ['self:no', ['Grinder or beans first?']],
  ['url:example.com', ['Grinder or beans first?']],
  ['title:kettles', ['Kettles compared']],
  ['inder', []],
  ['((((', []],
])('%s finds %j', async (q, expected) => {
  await using sandbox = await library()

  const found = await page(sandbox, `/search.json?q=${encodeURIComponent(q)}`)

  expect(titles(found).toSorted()).toEqual(expected.toSorted())
})

test('the best match comes first, unless another order was requested', async () => {
  await using sandbox = await library()
  const first = async (sort: string) =>
    titles(await page(sandbox, `/search.json?q=grinder&sort=${sort}`))[0]

  expect(await first('relevance')).toBe('A good grinder')
  expect(await first('top')).toBe('Kettles compared')
  expect(await first('new')).toBe('A good grinder')
})

test('a time range limits a search', async () => {
  await using sandbox = await library()

  expect(titles(await page(sandbox, '/search.json?q=grinder&t=day'))).not.toContain(
    'Kettles compared',
  )
})

test('adult content is found only on request', async () => {
  await using sandbox = await library()

  const all = await page(sandbox, '/search.json?q=grinder&include_over_18=on')

  expect(titles(all)).toContain('Grinder party')
})

test('a search can be restricted to one subforum', async () => {
  await using sandbox = await library()

  const within = await page(sandbox, '/r/beans/search.json?q=grinder&restrict_sr=1')
  const anywhere = await page(sandbox, '/r/beans/search.json?q=grinder')

  expect(titles(within)).toEqual(['Grinder or beans first?'])
  expect(anywhere.data.children).toHaveLength(3)
})

test('an empty query finds nothing, with facets', async () => {
  await using sandbox = await library()

  const { json } = await fetchPath(sandbox, '/search.json?q=')

  expect(json.data).toMatchObject({ children: [], facets: {}, after: null })
})

test('without subforums found there is a string instead of a listing', async () => {
  await using sandbox = await library()

  expect((await fetchPath(sandbox, '/search.json?type=sr&q=zzzzz')).json).toBe('{}')
  expect(
    (await page(sandbox, '/search.json?type=sr&q=beans')).data.children[0]?.data['display_name'],
  ).toBe('beans')
})

test('a search has 250 rows at most, and a thousand when sorted by new', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const count = async (sort: string) => {
    let rows = 0
    let after: string | null = ''
    while (after !== null) {
      const { data } = await page(
        sandbox,
        `/search.json?q=self:no+OR+self:yes&sort=${sort}&limit=100&after=${after}`,
      )
      rows += data.children.length
      after = data.after
    }
    return rows
  }

  expect(await count('top')).toBeLessThanOrEqual(250)
  expect(await count('top')).toBeGreaterThan(200)
  expect(await count('new')).toBeGreaterThan(900)
})
