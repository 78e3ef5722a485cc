import { expect, test } from 'bun:test'

import type { FaultRuleInput } from '../../../sandbox/faults/rules.ts'
import { fetchPath, names, page, signedIn } from './fetch-path.ts'
import { errors, place, things } from './writes-fixture.ts'

const DONE = { status: 200, json: {} }

test('the modhash is sent in the form or in a header; cookies without it write nothing', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const form = { api_type: 'json', id: post.name, dir: '1' }
  const send = (more: Parameters<typeof fetchPath>[2]) =>
    fetchPath(sandbox, '/api/vote', { cookie: ann.cookie, form, ...more })

  expect(await send({})).toMatchObject({ status: 403, json: { message: 'Forbidden', error: 403 } })
  expect((await send({ form: { ...form, uh: 'guessed' } })).status).toBe(403)
  expect(await send({ headers: { 'x-modhash': ann.uh } })).toMatchObject(DONE)
  expect(await send({ form: { ...form, uh: ann.uh } })).toMatchObject(DONE)
})

test.each(['vote', 'comment', 'compose', 'save', 'subscribe', 'del', 'read_message'])(
  'an anonymous %s gets a login error with status 200',
  async (call) => {
    const { sandbox } = await place()
    await using _ = sandbox

    const { status, json } = await fetchPath(sandbox, `/api/${call}`, {
      form: { api_type: 'json' },
    })

    expect([status, errors(json)]).toEqual([
      200,
      [['USER_REQUIRED', 'Please log in to do that.', null]],
    ])
  },
)

test('a vote counts once, can change direction, and can be withdrawn', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const vote = async (dir: string) => {
    expect(await ann.post('/api/vote', { id: post.name, dir })).toMatchObject(DONE)
    const { data } = await page(sandbox, `/api/info.json?id=${post.name}`, { cookie: ann.cookie })
    return [data.children[0]?.data['score'], data.children[0]?.data['likes']]
  }

  expect(await vote('1')).toEqual([2, true])
  expect(await vote('1')).toEqual([2, true])
  expect(await vote('-1')).toEqual([0, false])
  expect(await vote('0')).toEqual([1, null])
})

test.each([
  [{ id: 't3_nosuch', dir: '1' }, 404],
  [{ dir: '1' }, 404],
  [{ id: '*', dir: 'up' }, 500],
  [{ id: '*' }, 500],
])('the vote %j is refused with %i', async (form, status) => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const id = 'id' in form && form.id === '*' ? { id: post.name } : {}

  expect((await ann.post('/api/vote', { ...form, ...id })).status).toBe(status)
})

test('an archived post accepts no votes and no replies', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const thing = sandbox.world.things.get(post.name)
  if (thing?.kind === 't3') thing.archived = true

  expect((await ann.post('/api/vote', { id: post.name, dir: '1' })).status).toBe(400)
  const { json } = await ann.post('/api/comment', { thing_id: post.name, text: 'late' })
  expect(errors(json)[0]).toEqual([
    'TOO_OLD',
    "that's a piece of history now; it's too late to reply to it",
    'parent',
  ])
})

test('a saved item appears in the tab, newest first, until it is removed', async () => {
  const { sandbox, post, comment, ann } = await place()
  await using _ = sandbox
  const saved = async () =>
    names(await page(sandbox, '/user/ann/saved.json', { cookie: ann.cookie }))

  for (const { name } of [post, comment, post])
    expect(await ann.post('/api/save', { id: name })).toMatchObject(DONE)
  expect(await saved()).toEqual([post.name, comment.name])
  expect(await ann.post('/api/unsave', { id: post.name })).toMatchObject(DONE)
  expect(await saved()).toEqual([comment.name])
})

test('hidden posts leave the listings, several at once', async () => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  const other = sandbox.post({ subforum: 'cats', title: 'another cat' })
  const seen = async () => names(await page(sandbox, '/r/cats/new.json', { cookie: ann.cookie }))

  await ann.post('/api/hide', { id: `${post.name},${other.name}` })
  expect(await seen()).toEqual([])
  await ann.post('/api/unhide', { id: other.name })
  expect(await seen()).toEqual([other.name])
  expect((await ann.post('/api/hide', { id: 't3_nosuch' })).status).toBe(404)
})

test('users edit and delete their own items only', async () => {
  const { sandbox, post, comment, ann } = await place()
  await using _ = sandbox
  const mine = sandbox.comment({ parent: post.name, text: 'first', author: 'ann' })

  const edited = await ann.post('/api/editusertext', { thing_id: mine.name, text: 'second' })
  const refused = await ann.post('/api/editusertext', { thing_id: comment.name, text: 'mine now' })
  expect(things(edited.json)[0]?.data).toMatchObject({ body: 'second', edited: expect.any(Number) })
  expect(errors(refused.json)[0]?.[0]).toBe('NOT_AUTHOR')

  for (const { name } of [mine, comment])
    expect(await ann.post('/api/del', { id: name })).toMatchObject(DONE)
  expect(sandbox.world.things.get(mine.name)?.removed).toBe('author')
  expect(sandbox.world.things.get(comment.name)?.removed).toBeNull()
})

test('a subscription by name or by fullname appears in the list', async () => {
  const { sandbox, ann } = await place()
  await using _ = sandbox
  sandbox.subforum({ name: 'dogs' })
  const dogs = sandbox.world.subforums.get('dogs')
  const mine = async () => {
    const path = '/subreddits/mine/subscriber.json'
    const { data } = await page(sandbox, path, { cookie: ann.cookie })
    return data.children.map((row) => row.data['display_name'])
  }

  await ann.post('/api/subscribe', { action: 'sub', sr_name: 'cats' })
  await ann.post('/api/subscribe', { action: 'sub', sr: `t5_${dogs?.id}` })
  expect(await mine()).toEqual(['cats', 'dogs'])
  await ann.post('/api/subscribe', { action: 'unsub', sr_name: 'cats' })
  expect(await mine()).toEqual(['dogs'])
  const unknown = await ann.post('/api/subscribe', { action: 'sub', sr_name: 'nosuch' })
  expect(unknown.status).toBe(404)
})

test('a blocked user appears in the list of blocked users', async () => {
  const { sandbox, ann } = await place()
  await using _ = sandbox

  const { json } = await ann.post('/api/block_user', { name: 'Cem' })
  const list = await fetchPath(sandbox, '/prefs/blocked.json', { cookie: ann.cookie })

  expect(json).toMatchObject({ name: 'cem', icon_img: expect.stringContaining('https://') })
  expect(list.json).toMatchObject({ kind: 'UserList', data: { children: [{ name: 'cem' }] } })
  expect((await fetchPath(sandbox, '/prefs/blocked.json')).status).toBe(403)
})

test.each<[Partial<FaultRuleInput>, object]>([
  [
    { fault: 'write_ratelimit', wait_s: 90 },
    {
      ratelimit: 90,
      errors: [['RATELIMIT', 'you are doing that too much. try again in 2 minutes.', 'ratelimit']],
    },
  ],
  [
    { fault: 'write_ratelimit', wait_s: 90, worded: true },
    {
      errors: [
        [
          'RATELIMIT',
          "Looks like you've been doing that a lot. Take a break for 90 seconds before trying again.",
          'ratelimit',
        ],
      ],
    },
  ],
  [
    { fault: 'form_error', code: 'IN_TIMEOUT' },
    { errors: [['IN_TIMEOUT', "You can't do that while suspended.", null]] },
  ],
])('with the fault %j a write is refused accordingly', async (fault_rule, json) => {
  const { sandbox, post, ann } = await place()
  await using _ = sandbox
  sandbox.addFault({ path: '/api/', fault: 'form_error', ...fault_rule })

  const answer = await ann.post('/api/comment', { thing_id: post.name, text: 'hello' })

  expect(answer).toMatchObject({ status: 200 })
  expect(answer.json).toEqual({ json })
  expect(sandbox.world.things.size).toBe(2)
})

test('one expansion of a tree at a time: a concurrent second one is refused', async () => {
  const { sandbox, post, comment, ann } = await place()
  await using _ = sandbox
  sandbox.addFault({ path: '/api/morechildren', fault: 'slow', times: 1, delay_s: 30 })
  const form = { api_type: 'json', link_id: post.name, children: comment.id }
  const expand = (cookie?: string) =>
    fetchPath(sandbox, '/api/morechildren.json', { form, ...(cookie && { cookie }) })

  const first = expand(ann.cookie)
  // Other requests are answered; by then the first one is received and delayed.
  for (let turn = 0; turn < 3; turn++) await fetchPath(sandbox, '/api/me.json')
  const second = await expand(ann.cookie)
  const others = [await expand(signedIn(sandbox, 'bea').cookie), await expand()]
  sandbox.advance(30)

  expect(second).toMatchObject({ status: 429, json: { error: 429 } })
  expect(others.map(({ status }) => status)).toEqual([200, 200])
  expect(things((await first).json)[0]?.data.name).toBe(comment.name)
  expect((await expand(ann.cookie)).status).toBe(200)
})

test('the log has the names of form fields and none of their values', async () => {
  const { sandbox, ann } = await place()
  await using _ = sandbox

  await ann.post('/api/compose', { to: 'bea', subject: 'hush', text: 'a secret' })

  expect(sandbox.requests.at(-1)).toMatchObject({
    face: 'www',
    form: ['api_type', 'uh', 'to', 'subject', 'text'],
    user: 'ann',
  })
  expect(JSON.stringify(sandbox.requests)).not.toContain('secret')
})
