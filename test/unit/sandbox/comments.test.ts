import { expect, test } from 'bun:test'

import { fetchPath, page } from './fetch-path.ts'
import { errors, place, things } from './writes-fixture.ts'

const par = (t: string) => ({ e: 'par', c: [{ e: 'text', t }] })

test('a new comment is returned complete with .json, and as HTML of the old pages without', async () => {
  const { sandbox, post, comment, ann } = await place()
  await using _ = sandbox

  const whole = await ann.post('/api/comment.json', { thing_id: post.name, text: 'one' })
  const drawn = await ann.post('/api/comment', { thing_id: comment.name, text: 'two' })

  expect(things(whole.json)).toMatchObject([
    { kind: 't1', data: { author: 'ann', body: 'one', parent_id: post.name, likes: true } },
  ])
  expect(things(drawn.json)).toMatchObject([
    { kind: 't1', data: { contentText: 'two', parent: comment.name, link: post.name } },
  ])
  expect(sandbox.world.things.get(things(drawn.json)[0]?.data.id)).toMatchObject({
    text: 'two',
    depth: 1,
  })
})

test('a new comment is also returned without an envelope, or as actions of a page', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const form = { thing_id: post.name, text: 'one' }

  const bare = await ann.post('/api/comment', { ...form, return_rtjson: '1' })
  const page_only = await ann.post('/api/comment', { ...form, api_type: '' })

  expect(bare.json).toMatchObject({ author: 'ann', body: 'one' })
  expect(page_only.json).toEqual({ jquery: expect.any(Array), success: true })
})

test('rich text is converted to its paragraphs', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const richtext_json = JSON.stringify({ document: [par('one'), par('two')] })

  const { json } = await ann.post('/api/comment.json', { thing_id: post.name, richtext_json })

  expect(things(json)[0]?.data.body).toBe('one\n\ntwo')
})

test.each<[string, Record<string, string>, string, string | null]>([
  ['no text', { text: '  ' }, 'NO_TEXT', 'text'],
  ['too much text', { text: 'x'.repeat(10_001) }, 'TOO_LONG', 'text'],
])('a comment with %s is refused', async (_, form, code, field) => {
  const { sandbox, post, ann } = await place()
  await using _sandbox = sandbox

  const { status, json } = await ann.post('/api/comment', { thing_id: post.name, ...form })

  expect([status, errors(json)[0]?.[0], errors(json)[0]?.[2]]).toEqual([200, code, field])
})

test('each reason against a reply has its code', async () => {
  const { sandbox, post, comment, ann } = await place()
  await using _ = sandbox
  const code = async (thing_id: string) => {
    const { json } = await ann.post('/api/comment', { thing_id, text: 'hello' })
    return errors(json)[0]?.[0]
  }

  sandbox.user({ name: 'cem', blocks: ['ann'] })
  expect(await code(comment.name)).toBe('SOMETHING_IS_BROKEN')
  sandbox.user({ name: 'cem', blocks: [] })
  sandbox.user({ name: 'ann', blocks: ['cem'] })
  expect(await code(comment.name)).toBe('USER_BLOCKED')
  sandbox.remove({ name: comment.name, by: 'author' })
  expect(await code(comment.name)).toBe('DELETED_COMMENT')
  sandbox.edit({ name: post.name, locked: true })
  expect(await code(post.name)).toBe('THREAD_LOCKED')
  sandbox.remove({ name: post.name, by: 'author' })
  expect(await code(post.name)).toBe('DELETED_LINK')
})

test('banned and suspended users, and replies to missing items, get a plain refusal', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const status = async (thing_id: string) =>
    (await ann.post('/api/comment', { thing_id, text: 'hello' })).status

  expect(await status('t1_nosuch')).toBe(403)
  sandbox.subforum({ name: 'cats', bans: ['ann'] })
  expect(await status(post.name)).toBe(403)
  sandbox.subforum({ name: 'cats', bans: [] })
  expect(await status(post.name)).toBe(200)
  sandbox.user({ name: 'ann', standing: 'suspended' })
  expect(await status(post.name)).toBe(403)
})

test('a comment in a quarantined subforum is invisible until its author opts in', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  sandbox.subforum({ name: 'cats', access: 'quarantined' })
  const postComment = () => ann.post('/api/comment.json', { thing_id: post.name, text: 'hello' })

  expect(things((await postComment()).json)).toEqual([])
  const agreed = await ann.post('/api/quarantine_optin', { sr_name: 'cats' })
  expect([agreed.status, agreed.headers.get('location')]).toEqual([
    302,
    `${sandbox.url}/r/cats.json`,
  ])
  expect(things((await postComment()).json)).toHaveLength(1)
  expect((await fetchPath(sandbox, '/r/cats/new.json', { cookie: ann.cookie })).status).toBe(200)
  await ann.post('/api/quarantine_optout', { sr_name: 'cats' })
  expect((await fetchPath(sandbox, '/r/cats/new.json', { cookie: ann.cookie })).status).toBe(403)
})

test('without a confirmed address a quarantine opt-in is refused', async () => {
  const { sandbox, ann } = await place()
  await using _ = sandbox
  const user = sandbox.world.users.get('ann')
  if (user) user.verified = false

  expect((await ann.post('/api/quarantine_optin', { sr_name: 'cats' })).status).toBe(403)
})

test('a silently filtered comment is visible to its author only', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  sandbox.addFault({ path: '/api/comment', fault: 'shadow_remove_next_comment' })
  const postComment = async (text: string): Promise<string> =>
    things((await ann.post('/api/comment.json', { thing_id: post.name, text })).json)[0]?.data.name
  const bodies = async (options: { cookie?: string }) => {
    const path = `/api/info.json?id=${filtered},${next}`
    return (await page(sandbox, path, options)).data.children.map((row) => row.data['body'])
  }

  const [filtered, next] = [await postComment('one'), await postComment('two')]

  expect(await bodies({ cookie: ann.cookie })).toEqual(['one', 'two'])
  expect(await bodies({})).toEqual(['[removed]', 'two'])
})
