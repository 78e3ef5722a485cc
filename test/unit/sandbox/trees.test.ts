import { expect, test } from 'bun:test'

import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import { fetchPath, NOON, open, type Page, type Row } from './fetch-path.ts'

type Walked = { comments: Row[]; more: Row[] }

function walkTree(listing: Page | string, walked: Walked = { comments: [], more: [] }): Walked {
  if (typeof listing === 'string') return walked
  for (const [index, row] of listing.data.children.entries()) {
    if (row.kind === 'more') {
      expect(index).toBe(listing.data.children.length - 1)
      walked.more.push(row)
    } else {
      walked.comments.push(row)
      walkTree(row.data['replies'], walked)
    }
  }
  return walked
}

async function tree(sandbox: Sandbox, id: string, query = ''): Promise<[Page, Page]> {
  const { status, json } = await fetchPath(sandbox, `/comments/${id}.json?raw_json=1&${query}`)
  expect(status).toBe(200)
  return json
}

const biggest = (sandbox: Sandbox) =>
  sandbox.world.subforums
    .get('selfhosting')
    ?.posts.toSorted((one, other) => other.comment_count - one.comment_count)[0]

test('a post and its comments are two listings, replies nested or an empty string', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const top = sandbox.comment({ parent: post.name, text: 'top' })
  const reply = sandbox.comment({ parent: top.name, text: 'reply' })

  const [head, body] = await tree(sandbox, post.id)

  expect(head.data.children[0]?.data).toMatchObject({ name: post.name, num_comments: 2 })
  expect(body.data.dist).toBeNull()
  const [first] = body.data.children
  expect(first?.data).toMatchObject({ name: top.name, depth: 0, parent_id: post.name })
  expect(first?.data['replies'].data.children[0].data).toMatchObject({
    name: reply.name,
    depth: 1,
    parent_id: top.name,
    replies: '',
  })
})

test('omitted comments are counted by a node, the last of its siblings', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const post = biggest(sandbox)

  const [, body] = await tree(sandbox, post?.id ?? '', 'limit=50')
  const { comments, more } = walkTree(body)

  expect(comments).toHaveLength(50)
  const left_out = more.reduce((sum, it) => sum + it.data['count'], 0)
  expect(left_out).toBeGreaterThan(300)
  for (const { data } of more.filter((it) => it.data['count'] > 0)) {
    expect(data['id']).toBe(data['children'][0])
    expect(data['name']).toBe(`t1_${data['id']}`)
    expect(data['count']).toBeGreaterThanOrEqual(data['children'].length)
  }
})

test('a branch deeper than a page has a link to its continuation', async () => {
  await using sandbox = await open({ world: 'seeded' })

  const [, body] = await tree(sandbox, biggest(sandbox)?.id ?? '', 'limit=500')
  const { comments, more } = walkTree(body)

  expect(Math.max(...comments.map((it) => it.data['depth']))).toBe(9)
  const go_on = more.filter((it) => it.data['id'] === '_')
  expect(go_on.length).toBeGreaterThan(0)
  expect(go_on[0]?.data).toMatchObject({ count: 0, name: 't1__', children: [], depth: 10 })
})

test('with more nodes and continued threads followed, every visible comment comes exactly once', async () => {
  await using sandbox = await open({ world: 'seeded', allowance: 10_000 })
  const post = biggest(sandbox)
  const seen: string[] = []
  const open_pages: Page[] = [(await tree(sandbox, post?.id ?? '', 'limit=30&depth=4'))[1]]
  const open_ids: string[][] = []

  for (let turn = 0; turn < 500; turn++) {
    const next = open_pages.pop()
    const ids = next === undefined ? open_ids.pop() : undefined
    if (next === undefined && ids === undefined) break
    const walked: Walked = { comments: [], more: [] }
    if (next !== undefined) walkTree(next, walked)
    else {
      const { json } = await fetchPath(
        sandbox,
        `/api/morechildren.json?api_type=json&link_id=${post?.name}&children=${ids?.join(',')}`,
      )
      for (const row of json.json.data.things)
        (row.kind === 'more' ? walked.more : walked.comments).push(row)
    }
    seen.push(...walked.comments.map((it) => it.data['name']))
    for (const { data } of walked.more)
      if (data['id'] === '_') {
        const parent = String(data['parent_id']).slice('t1_'.length)
        const [, branch] = await tree(sandbox, post?.id ?? '', `comment=${parent}`)
        const root = branch.data.children[0]
        if (typeof root?.data['replies'] === 'object') open_pages.push(root.data['replies'])
      } else
        for (let at = 0; at < data['children'].length; at += 100)
          open_ids.push(data['children'].slice(at, at + 100))
  }

  expect(new Set(seen).size).toBe(seen.length)
  // Comments deleted by their authors at the ends of branches are counted but not shown.
  const hidden = post?.comment_count === undefined ? 0 : post.comment_count - seen.length
  expect(seen.length).toBeGreaterThan(500)
  expect(hidden).toBeGreaterThanOrEqual(0)
  expect(hidden).toBeLessThan(60)
})

test('comments of a more node come flat, with their depth', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const top = sandbox.comment({ parent: post.name, text: 'top' })
  const reply = sandbox.comment({ parent: top.name, text: 'reply' })

  const { json } = await fetchPath(
    sandbox,
    `/api/morechildren.json?api_type=json&link_id=${post.name}&children=${top.id}`,
    { method: 'POST' },
  )

  expect(json.json.errors).toEqual([])
  expect(json.json.data.things.map((it: Row) => it.data)).toMatchObject([
    { name: top.name, depth: 0, replies: '' },
    { name: reply.name, depth: 1, replies: '', parent_id: top.name },
  ])
})

test('without .json the same call returns HTML of the old pages', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const top = sandbox.comment({ parent: post.name, text: 'top' })

  const { json } = await fetchPath(
    sandbox,
    `/api/morechildren?api_type=json&link_id=${post.name}&children=${top.id}`,
  )

  expect(json.json.data.things[0].data).toMatchObject({
    id: top.name,
    link: post.name,
    contentText: 'top',
  })
})

test('more than a hundred children are refused', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const children = Array.from({ length: 101 }, (_, index) => `x${index}`).join(',')

  expect(
    await fetchPath(sandbox, `/api/morechildren.json?link_id=${post.name}&children=${children}`),
  ).toMatchObject({ status: 400 })
})

test('a deleted comment is dropped at the end of a branch and masked inside one', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const inner = sandbox.comment({ parent: post.name, text: 'inner' })
  sandbox.comment({ parent: inner.name, text: 'answer' })
  const leaf = sandbox.comment({ parent: post.name, text: 'leaf' })
  for (const { name } of [inner, leaf]) sandbox.remove({ name, by: 'author' })

  const [, body] = await tree(sandbox, post.id)

  expect(body.data.children).toHaveLength(1)
  expect(body.data.children[0]?.data).toMatchObject({
    name: inner.name,
    author: '[deleted]',
    body: '[deleted]',
    collapsed_reason_code: 'DELETED',
  })
  expect(body.data.children[0]?.data).not.toHaveProperty('author_fullname')
})

test.each([
  ['moderator', '[removed]'],
  ['platform', '[ Removed by Reddit ]'],
] as const)('a comment removed by a %s shows %s', async (by, text) => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const comment = sandbox.comment({ parent: post.name, text: 'rude' })
  sandbox.remove({ name: comment.name, by })

  const [, body] = await tree(sandbox, post.id)
  const { json } = await fetchPath(sandbox, `/api/info.json?raw_json=1&id=${comment.name}`)

  for (const row of [body.data.children[0], json.data.children[0]])
    expect(row?.data).toMatchObject({ author: '[deleted]', body: text })
})

test.each([
  ['old', ['one', 'two', 'three']],
  ['new', ['three', 'two', 'one']],
  ['top', ['two', 'three', 'one']],
])('sort=%s puts comments in the order %j', async (sort, expected) => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat', created_at: NOON - 9_000_000 })
  const addComment = (text: string, score: number, ago_ms: number) =>
    sandbox.comment({ parent: post.name, text, score, created_at: NOON - ago_ms })
  addComment('one', 1, 8_000_000)
  addComment('two', 9, 7_000_000)
  addComment('three', 5, 6_000_000)

  const [, body] = await tree(sandbox, post.id, `sort=${sort}`)

  expect(body.data.children.map((it) => it.data['body'])).toEqual(expected)
})

test('a permalink shows one branch, with the requested number of parents', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const top = sandbox.comment({ parent: post.name, text: 'top' })
  const middle = sandbox.comment({ parent: top.name, text: 'middle' })
  const leaf = sandbox.comment({ parent: middle.name, text: 'leaf' })
  sandbox.comment({ parent: post.name, text: 'another branch' })

  const alone = (await fetchPath(sandbox, `${leaf.permalink}.json`)).json[1]
  const within = (await fetchPath(sandbox, `${leaf.permalink}.json?context=1`)).json[1]

  expect(walkTree(alone).comments.map((it) => it.data['body'])).toEqual(['leaf'])
  expect(walkTree(within).comments.map((it) => it.data['body'])).toEqual(['middle', 'leaf'])
})

test('a removed comment has an empty branch, one of another post none', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const gone = sandbox.comment({ parent: post.name, text: 'gone' })
  sandbox.remove({ name: gone.name, by: 'author' })
  const other = sandbox.post({ subforum: 'cats', title: 'another' })

  const vanished = await fetchPath(sandbox, `/comments/${post.id}/_/${gone.id}.json`)

  expect(vanished.json[1].data.children).toEqual([])
  expect((await fetchPath(sandbox, `/comments/${other.id}/_/${gone.id}.json`)).status).toBe(404)
})

test('a post is not found under another subforum, nor if it does not exist', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  sandbox.subforum({ name: 'dogs' })

  expect((await fetchPath(sandbox, `/r/cats/comments/${post.id}.json`)).status).toBe(200)
  expect((await fetchPath(sandbox, `/r/dogs/comments/${post.id}.json`)).status).toBe(404)
  expect((await fetchPath(sandbox, '/comments/zzzzzz.json')).status).toBe(404)
})

test('depth=1 shows no replies and marks their existence', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const top = sandbox.comment({ parent: post.name, text: 'top' })
  sandbox.comment({ parent: top.name, text: 'reply' })

  const { comments, more } = walkTree((await tree(sandbox, post.id, 'depth=1'))[1])

  expect(comments).toHaveLength(1)
  expect(more[0]?.data).toMatchObject({ id: '_', parent_id: top.name })
})
