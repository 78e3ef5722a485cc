import { expect, test } from 'bun:test'

import { fetchPath, open, signedIn } from './fetch-path.ts'

async function library() {
  const sandbox = await open()
  sandbox.subforum({
    name: 'cats',
    moderators: ['bea'],
    wiki: { index: 'Welcome & **read**', 'care/food': 'Not too much.' },
  })
  return sandbox
}

test('the pages of a wiki are listed and read, ignoring case', async () => {
  await using sandbox = await library()

  const list = await fetchPath(sandbox, '/r/cats/wiki/pages.json')
  const index = await fetchPath(sandbox, '/r/cats/wiki.json?raw_json=1')
  const food = await fetchPath(sandbox, '/r/cats/wiki/Care/Food.json')

  expect(list.json).toEqual({ kind: 'wikipagelisting', data: ['index', 'care/food'] })
  expect(index.json).toMatchObject({
    kind: 'wikipage',
    data: {
      content_md: 'Welcome & **read**',
      content_html: expect.stringContaining('<strong>read</strong>'),
      revision_by: { kind: 't2', data: { name: 'bea' } },
      may_revise: false,
    },
  })
  expect(food.json.data.content_md).toBe('Not too much.')
})

test.each([
  ['/r/cats/wiki/dogs.json', 404, 'PAGE_NOT_FOUND'],
  ['/r/cats/wiki/!!.json', 400, 'INVALID_PAGE_NAME'],
  ['/r/bare/wiki/index.json', 403, 'WIKI_DISABLED'],
])('%s is refused with %i and %s', async (path, status, reason) => {
  await using sandbox = await library()
  sandbox.subforum({ name: 'bare' })

  expect(await fetchPath(sandbox, path)).toMatchObject({ status, json: { reason } })
})

test('a moderator learns that a page is missing, and may write it', async () => {
  await using sandbox = await library()
  const { cookie } = signedIn(sandbox, 'bea')

  const none = await fetchPath(sandbox, '/r/cats/wiki/dogs.json', { cookie })
  const index = await fetchPath(sandbox, '/r/cats/wiki/index.json', { cookie })

  expect(none.json).toEqual({ reason: 'PAGE_NOT_CREATED', message: 'Not Found' })
  expect(index.json.data.may_revise).toBe(true)
})

test('a wiki has the access of its subforum', async () => {
  await using sandbox = await library()
  sandbox.subforum({ name: 'cats', access: 'private' })

  expect(await fetchPath(sandbox, '/r/cats/wiki/index.json')).toMatchObject({
    status: 403,
    json: { reason: 'private' },
  })
  expect((await fetchPath(sandbox, '/r/nosuch/wiki/index.json')).status).toBe(302)
})
