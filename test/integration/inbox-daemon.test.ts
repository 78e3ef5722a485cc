// Goal: the inbox of a whole daemon follows its polls and its writes. Method: a monitor finds items on the simulated
// platform; comments are written through the API; threads are read.
import { expect, test } from 'bun:test'

import { startWriting } from '../support/writes-fixture.ts'

const MINUTE = 60_000

async function startWatching() {
  const writing = await startWriting()
  const { house, sandbox } = writing
  await house.send('/forum/monitor/add', {
    filter_spec: {
      subforum: 'cats',
      include_any: ['zebra', 'quagga'],
      kind: 'both',
      search_in: ['body'],
    },
  })
  await house.clock.advance(2 * MINUTE)
  const found = sandbox.post({
    subforum: 'cats',
    author: 'ben',
    title: 'An animal',
    text: 'A zebra.',
  })
  const first = sandbox.comment({ parent: found.name, author: 'ben', text: 'Which one?' })
  const second = sandbox.comment({ parent: first.name, author: 'ben', text: 'The quagga.' })
  sandbox.comment({ parent: second.name, author: 'ann', text: 'I see.' })
  await house.clock.advance(3 * MINUTE)
  const list = async () => (await house.call('/forum/inbox')).body.items
  return { ...writing, found, first, second, list }
}

const spentOf = async (call: (path: string) => Promise<{ body: any }>): Promise<number> =>
  Math.round((await call('/account/me')).body.credits_used * 1e6)

test('items of a poll arrive in the inbox, also at its second path', async () => {
  await using it = await startWatching()

  const ids = (await it.list()).map(({ id }: any) => id)

  expect(ids.toSorted()).toEqual([it.found.name, it.second.name].toSorted())
  const { body } = await it.house.call('/api/forum/inbox/counts')
  expect(body).toMatchObject({ unread: 2, total: 2 })
})

test('an item is answered by a comment on it, with the key that made it', async () => {
  await using it = await startWatching()
  const post_url = `https://www.forum.test${it.found.permalink}`

  const { status } = await it.send('v2/comment', { ...it.ann, post_url, text: 'It is grey.' })

  expect(status).toBe(200)
  const items = await it.list()
  const states = Object.fromEntries(items.map(({ id, state }: any) => [id, state]))
  expect(states).toEqual({ [it.found.name]: 'answered', [it.second.name]: 'unread' })
  const { body } = await it.house.call('/forum/inbox/history')
  expect(body.actions).toMatchObject([
    { kind: 'answered', set: { state: 'answered' }, ids: [it.found.name], can_undo: true },
  ])
})

test('an approved draft of a comment answers its item', async () => {
  await using it = await startWatching()
  const post_url = `https://www.forum.test${it.second.permalink}`
  const draft = await it.house.send('/drafts', {
    action: 'comment',
    body: { post_url, text: 'Thank you.' },
  })
  expect((await it.list()).map(({ state }: any) => state)).toEqual(['unread', 'unread'])

  const approved = await it.house.send(`/drafts/${draft.body.id}/approve`, it.ann)

  expect([draft.status, approved.status]).toEqual([200, 200])
  const { body } = await it.house.call('/forum/inbox?state=answered')
  expect(body.items.map(({ id }: any) => id)).toEqual([it.second.name])
})

test('a comment that fails answers nothing', async () => {
  await using it = await startWatching()
  const post_url = `https://www.forum.test${it.found.permalink}`

  const { status } = await it.send('v2/comment', {
    forum_session: 'made-up',
    loid: 'made-up',
    post_url,
    text: 'It is grey.',
  })

  expect(status).not.toBe(200)
  expect((await it.list()).map(({ state }: any) => state)).toEqual(['unread', 'unread'])
})

test('the thread of a comment has what is above and below it, for the price of one read', async () => {
  await using it = await startWatching()
  const before = await spentOf(it.house.call)

  const { status, body } = await it.house.call(`/forum/inbox/context?id=${it.second.name}`)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    id: it.second.name,
    found: true,
    post: { id: it.found.name, kind: 'post', title: 'An animal', author: 'ben' },
    ancestors: [{ id: it.first.name, kind: 'comment', text: 'Which one?' }],
    replies: [{ kind: 'comment', author: 'ann', text: 'I see.' }],
  })
  expect(body.ancestors[0].url).toContain(it.first.permalink)
  expect((await spentOf(it.house.call)) - before).toBe(it.house.config.billing.price_micros.read)
})

test('the thread of a post has its first replies', async () => {
  await using it = await startWatching()

  const { body } = await it.house.call(`/forum/inbox/context?id=${it.found.name}`)

  expect(body).toMatchObject({
    post: { id: it.found.name },
    ancestors: [],
    replies: [{ id: it.first.name }],
    found: true,
  })
})

test('the thread of an item that no monitor matched is not read, and costs nothing', async () => {
  await using it = await startWatching()
  const before = await spentOf(it.house.call)

  const { status, body } = await it.house.call(`/forum/inbox/context?id=${it.post.name}`)

  expect([status, body.code]).toEqual([404, 'NOT_FOUND'])
  expect((await spentOf(it.house.call)) - before).toBe(0)
})

test('a key without the scope read sees the inbox and reads no thread', async () => {
  await using it = await startWatching()
  const key = it.house.mint('only-monitor', ['monitor'])

  const list = await it.house.call('/forum/inbox', {}, key)
  const outside = await it.house.call('/forum/inbox', {}, it.house.mint('only-read', ['read']))

  expect([list.status, list.body.items]).toEqual([200, []])
  expect(outside.status).toBe(403)
})
