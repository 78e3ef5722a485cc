import { expect, test } from 'bun:test'

import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import { fetchPath, names, open, page, signedIn } from './fetch-path.ts'

/** Ann and bea, who can write to each other. */
async function correspondents() {
  const sandbox = await open()
  const [ann, bea] = ['ann', 'bea'].map((name) => signedIn(sandbox, name))
  if (ann === undefined || bea === undefined) throw new Error('the accounts have no session')
  const write = (from: typeof ann, form: Record<string, string>) =>
    from.post('/api/compose', { to: 'bea', subject: 'hello', text: 'how are you?', ...form })
  return { sandbox, ann, bea, write }
}

const folder = (sandbox: Sandbox, { cookie }: { cookie: string }, path: string) =>
  page(sandbox, `/message/${path}`, { cookie })

test('a sent message is confirmed without its id; it is unread in the inbox and listed as sent', async () => {
  const { sandbox, ann, bea, write } = await correspondents()
  await using _ = sandbox

  const { json } = await write(ann, {})

  expect(json).toEqual({ json: { errors: [] } })
  const [received] = (await folder(sandbox, bea, 'unread.json')).data.children
  const [sent] = (await folder(sandbox, ann, 'sent.json')).data.children
  expect(received).toMatchObject({
    kind: 't4',
    data: { author: 'ann', dest: 'bea', subject: 'hello', new: true, was_comment: false },
  })
  expect(sent?.data).toMatchObject({ name: received?.data['name'], new: false })
  const me = await fetchPath(sandbox, '/api/me.json', { cookie: bea.cookie })
  expect(me.json.data).toMatchObject({ has_mail: true, inbox_count: 1 })
})

test('an answer joins the thread, which both see nested and in the order of the latest message', async () => {
  const { sandbox, ann, bea, write } = await correspondents()
  await using _ = sandbox
  await write(ann, { subject: 'first' })
  await write(ann, { subject: 'second' })
  const [, first] = names(await folder(sandbox, bea, 'inbox.json'))

  const { json } = await bea.post('/api/comment', { thing_id: first ?? '', text: 'fine' })
  const [reply] = json.json.data.things

  expect(reply).toMatchObject({
    kind: 't4',
    data: { author: 'bea', dest: 'ann', subject: 're: first', first_message_name: first },
  })
  for (const who of [ann, bea]) {
    const { data } = await folder(sandbox, who, 'messages.json')
    expect(data.children.map((row) => row.data['subject'])).toEqual(['first', 'second'])
    const id = first?.slice(3)
    const thread = await folder(sandbox, who, `messages/${id}.json`)
    expect(thread.data.children[0]?.data['replies'].data.children).toMatchObject([
      { kind: 't4', data: { body: 'fine', parent_id: first } },
    ])
  }
})

test('threads continue after their latest message, not after their first', async () => {
  const { sandbox, ann, bea, write } = await correspondents()
  await using _ = sandbox
  for (const subject of ['first', 'second']) await write(ann, { subject })
  const [, first] = names(await folder(sandbox, bea, 'inbox.json'))
  const { json } = await bea.post('/api/comment', { thing_id: first ?? '', text: 'fine' })

  const one = await folder(sandbox, ann, 'messages.json?limit=1')
  const other = await folder(sandbox, ann, `messages.json?limit=1&after=${one.data.after}`)

  expect(one.data.after).toBe(json.json.data.things[0].data.name)
  expect(other.data.children.map((row) => row.data['subject'])).toEqual(['second'])
  expect(other.data.after).toBeNull()
})

test.each([
  [{ to: '' }, 'NO_USER', 'to'],
  [{ to: 'nobody_here' }, 'USER_DOESNT_EXIST', 'to'],
  [{ to: '#nosuch' }, 'SUBREDDIT_NOEXIST', 'to'],
  [{ subject: '' }, 'NO_SUBJECT', 'subject'],
  [{ subject: 'x'.repeat(101) }, 'TOO_LONG', 'subject'],
  [{ text: '' }, 'NO_TEXT', 'text'],
  [{ text: 'x'.repeat(10_001) }, 'TOO_LONG', 'text'],
])('mail with %j is refused as %s', async (form, code, field) => {
  const { sandbox, ann, write } = await correspondents()
  await using _ = sandbox

  const { json } = await write(ann, form)

  expect([json.json.errors[0][0], json.json.errors[0][2]]).toEqual([code, field])
  expect(sandbox.world.messages.size).toBe(0)
})

test('mail settings of the recipient apply', async () => {
  const { sandbox, ann, write } = await correspondents()
  await using _ = sandbox
  const code = async () => (await write(ann, {})).json.json.errors[0]?.[0]

  sandbox.user({ name: 'bea', mail: 'chat' })
  expect(await code()).toBe('RESTRICTED_TO_PM')
  sandbox.user({ name: 'bea', mail: 'trusted' })
  expect(await code()).toBe('NOT_WHITELISTED_BY_USER_MESSAGE')
  sandbox.user({ name: 'bea', mail: 'open', blocks: ['ann'] })
  expect(await code()).toBe('NOT_WHITELISTED_BY_USER_MESSAGE')
  sandbox.user({ name: 'bea', blocks: [] })
  sandbox.user({ name: 'ann', blocks: ['bea'] })
  expect(await code()).toBe('USER_BLOCKED')
})

test('mail to a subforum reaches its moderators', async () => {
  const { sandbox, ann, bea, write } = await correspondents()
  await using _ = sandbox
  sandbox.subforum({ name: 'cats', moderators: ['bea'] })

  await write(ann, { to: '/r/cats' })

  const [row] = (await folder(sandbox, bea, 'inbox.json')).data.children
  expect(row?.data).toMatchObject({ dest: '#cats', subreddit: 'cats', author: 'ann' })
})

test('a reply to the user’s own item is announced, the user’s own reply is not', async () => {
  const { sandbox, ann } = await correspondents()
  await using _ = sandbox
  const post = sandbox.post({ subforum: 'cats', title: 'a cat', author: 'ann' })
  const own = sandbox.comment({ parent: post.name, text: 'see above', author: 'ann' })
  const one = sandbox.comment({ parent: post.name, text: 'nice', author: 'bea' })
  sandbox.advance(1)
  const two = sandbox.comment({ parent: own.name, text: 'I see', author: 'bea' })

  const inbox = await folder(sandbox, ann, 'inbox.json')

  expect(inbox.data.children).toMatchObject([
    { kind: 't1', data: { name: two.name, type: 'comment_reply', was_comment: true, new: true } },
    {
      kind: 't1',
      data: { name: one.name, type: 'post_reply', subject: 'post reply', link_title: 'a cat' },
    },
  ])
  expect(inbox.data.children[1]?.data['context']).toBe(`${one.permalink}?context=3`)
  expect(names(await folder(sandbox, ann, 'selfreply.json'))).toEqual([one.name])
  expect(names(await folder(sandbox, ann, 'comments.json'))).toEqual([two.name])
})

test('a read leaves mail unread unless it requests marking', async () => {
  const { sandbox, ann, bea, write } = await correspondents()
  await using _ = sandbox
  await write(ann, {})
  const unread = async (query = '') =>
    (await folder(sandbox, bea, `unread.json${query}`)).data.children.length

  expect(await unread()).toBe(1)
  expect(await unread('?mark=false')).toBe(1)
  expect(await unread('?mark=true')).toBe(1)
  expect(await unread()).toBe(0)
})

test('mail is marked by name, 25 at a time at most, or all of it', async () => {
  const { sandbox, ann, bea, write } = await correspondents()
  await using _ = sandbox
  for (const subject of ['one', 'two']) await write(ann, { subject })
  const unread = async () => names(await folder(sandbox, bea, 'unread.json'))
  const [newest = ''] = await unread()

  expect((await bea.post('/api/read_message', { id: newest })).json).toEqual({})
  expect(await unread()).not.toContain(newest)
  expect((await bea.post('/api/unread_message', { id: newest })).json).toEqual({})
  expect(await unread()).toHaveLength(2)
  expect((await bea.post('/api/read_message', {})).status).toBe(400)
  const many = Array.from({ length: 26 }, () => newest).join(',')
  expect((await bea.post('/api/read_message', { id: many })).status).toBe(413)
  expect((await bea.post('/api/read_all_messages', {})).status).toBe(202)
  expect(await unread()).toEqual([])
})

test('mail is visible to its owner only', async () => {
  const { sandbox, ann, write } = await correspondents()
  await using _ = sandbox
  await write(ann, {})
  const [name] = [...sandbox.world.messages.keys()]
  const path = `/message/messages/${name?.slice(3)}.json`
  const { cookie } = signedIn(sandbox, 'cem')

  expect((await fetchPath(sandbox, path, { cookie })).status).toBe(403)
  const anonymous_result = await fetchPath(sandbox, '/message/inbox.json')
  expect([anonymous_result.status, anonymous_result.headers.get('location')]).toEqual([
    302,
    `${sandbox.url}/login/`,
  ])
  const own = await fetchPath(sandbox, '/subreddits/mine.json')
  expect(own.headers.get('location')).toStartWith(`${sandbox.url}/subreddits/login.json?dest=`)
})

test('the seeded accounts have mail, and the newest five messages are unread', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const ada = signedIn(sandbox, 'ada_reads')

  const inbox = await folder(sandbox, ada, 'inbox.json?limit=100')
  const kinds = new Set(inbox.data.children.map(({ kind }) => kind))
  const unread = await folder(sandbox, ada, 'unread.json?limit=100')

  expect(kinds).toEqual(new Set(['t1', 't4']))
  expect(unread.data.children).toHaveLength(5)
  expect(inbox.data.children.length).toBeGreaterThan(5)
})
