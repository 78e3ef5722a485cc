import { describe, expect, test } from 'bun:test'

import { ANONYMOUS } from '../../../../../src/platforms/port.ts'
import { createForumFixture } from '../fixture.ts'
import { acting, textsUnder } from './fixture.ts'

describe('a comment', () => {
  test('that a filter hides at once is visible to its author and returned', async () => {
    await using it = await acting()
    it.sandbox.addFault({ path: '/api/comment', fault: 'shadow_remove_next_comment' })

    const done = await it.acts.comment({ parent: it.post.name, text: 'Hidden' }, it.as('ann'))

    expect(done).toMatchObject({ ok: true, value: { comment: { body: 'Hidden' } } })
  })

  test('by a bearer needs no write token', async () => {
    await using it = await acting({ sandbox: { bearer_port: 0 } })
    const api_url = it.sandbox.bearer_url ?? ''
    await using under = await acting({ options: { base_url: it.sandbox.url, api_url } })
    const token = it.sandbox.session({ username: 'ann' }).cookies['token_v2'] ?? ''
    const call = it.as('ann', { cookie: null, bearer: token })

    const done = await under.acts.comment({ parent: it.post.name, text: 'Borne' }, call)

    expect(done).toMatchObject({ ok: true })
    expect(textsUnder(it.sandbox, it.post.name)).toEqual(['Borne'])
  })
})

const alive = (modhash = 'm1') =>
  Response.json({ kind: 't2', data: { name: 'ann', id: 'a1', modhash } })
const forbidden = () => Response.json({ message: 'Forbidden', error: 403 }, { status: 403 })
const createdReply = (data: object) =>
  Response.json({ json: { errors: [], data: { things: [{ kind: 't1', data }] } } })

describe('the answer to an accepted comment', () => {
  test('can have the rendered shape of the old pages: the comment is read back by its id', async () => {
    const drawn = {
      parent: 't3_ab12',
      link: 't3_ab12',
      id: 't1_zz9',
      content: '<div class="thing id-t1_zz9"></div>',
      contentText: 'Hello',
      contentHTML: '<p>Hello</p>',
      replies: '',
    }
    const row = { id: 'zz9', name: 't1_zz9', body: 'Hello', author: 'ann', subreddit: 'cats' }
    const back = { link_id: 't3_ab12', permalink: '/r/cats/comments/ab12/a/zz9/', created_utc: 1 }
    const listing = {
      kind: 'Listing',
      data: { children: [{ kind: 't1', data: { ...row, ...back } }] },
    }
    await using it = createForumFixture([alive(), createdReply(drawn), Response.json(listing)])

    const done = await it.forum.acts.comment({ parent: 't3_ab12', text: 'Hello' }, it.as())

    const address = `${it.base}/r/cats/comments/ab12/a/zz9/`
    expect(done).toMatchObject({
      ok: true,
      value: { name: 't1_zz9', permalink: address, comment: { body: 'Hello' } },
    })
    expect(it.paths()[2]).toStartWith('/api/info.json?id=t1_zz9')
  })

  test('without a readable comment has the address of its post', async () => {
    const drawn = { id: 't1_zz9', link: 't3_ab12', contentText: 'Hello' }
    await using it = createForumFixture([
      alive(),
      createdReply(drawn),
      new Response('', { status: 404 }),
    ])

    const done = await it.forum.acts.comment({ parent: 't3_ab12', text: 'Hello' }, it.as())

    const permalink = `${it.base}/comments/ab12/comment/zz9/`
    expect(done).toEqual({ ok: true, value: { name: 't1_zz9', permalink, comment: null } })
  })

  test('that is unreadable leaves the result unknown', async () => {
    await using it = createForumFixture([alive(), createdReply({ nothing: 'of use' })])

    const done = await it.forum.acts.comment({ parent: 't3_ab12', text: 'Hello' }, it.as())

    expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
  })
})

describe('the token of a write', () => {
  const comment = { parent: 't3_ab12', text: 'Hello' }

  test('is replaced after a refusal, and the write is sent again', async () => {
    const bodies: string[] = []
    const keep = (answer: () => Response) => async (request: Request) => {
      bodies.push(await request.text())
      return answer()
    }
    const drawn = { id: 't1_zz9', link: 't3_ab12' }
    await using it = createForumFixture([
      alive('m1'),
      keep(forbidden),
      alive('m2'),
      keep(() => createdReply(drawn)),
      new Response('', { status: 404 }),
    ])

    const done = await it.forum.acts.comment(comment, it.as())

    expect(done).toMatchObject({ ok: true, value: { name: 't1_zz9' } })
    expect(bodies.map((body) => new URLSearchParams(body).get('uh'))).toEqual(['m1', 'm2'])
  })

  test('that was not replaced is not sent again', async () => {
    await using it = createForumFixture([alive('m1'), forbidden(), alive('m1'), forbidden()])

    const done = await it.forum.acts.comment(comment, it.as())

    expect(done).toEqual({ ok: false, fault: { kind: 'forbidden', reason: null } })
    expect(it.paths().filter((path) => path.startsWith('/api/comment'))).toHaveLength(1)
  })

  test('is replaced once, even if the platform refuses again', async () => {
    await using it = createForumFixture([
      alive('m1'),
      forbidden(),
      alive('m2'),
      forbidden(),
      alive('m3'),
      forbidden(),
    ])

    const done = await it.forum.acts.comment(comment, it.as())

    expect(done).toMatchObject({ ok: false, fault: { kind: 'forbidden' } })
    expect(it.paths().filter((path) => path.startsWith('/api/comment'))).toHaveLength(2)
  })
})

describe('a comment is not written', () => {
  test('anonymously, and no request is made', async () => {
    await using it = await acting()
    const recorded = it.listen()
    const call = { ...it.as('ann'), identity: ANONYMOUS }

    const done = await it.acts.comment({ parent: it.post.name, text: 'Hello' }, call)

    expect(done).toEqual({ ok: false, fault: { kind: 'login_required' } })
    expect(recorded()).toEqual([])
  })
})

test.each([
  [200, '{}', { ok: true }],
  [403, '{"message":"Forbidden","error":403}', { ok: false, fault: { kind: 'forbidden' } }],
  [200, '<html>{}</html>', { ok: false, fault: { kind: 'blocked' } }],
])(
  "a vote's answer of %p with an HTML content type is read as %s",
  async (status, body, message) => {
    const answer = new Response(body, { status, headers: { 'content-type': 'text/html' } })
    await using it = createForumFixture([alive(), answer, alive()])

    const done = await it.forum.acts.vote({ id: 't3_ab12', direction: 'up' }, it.as())

    expect(done).toMatchObject(message)
  },
)

test.each([
  ['THREAD_LOCKED', '.error.THREAD_LOCKED.field-parent', 'THREAD_LOCKED', { success: false }],
  ['an unknown code', '.error.NEW_AND_STRANGE.field-text', 'FORUM_REJECTED', { success: false }],
  // As recorded: only the script states the refusal.
  ['TOO_OLD', '.error.TOO_OLD.field-parent', 'ARCHIVED', {}],
])('%s is read from a script for a page', async (_what, selector, meaning, message) => {
  const script = {
    jquery: [
      [0, 1, 'call', ['body']],
      [2, 3, 'call', [selector]],
    ],
    ...message,
  }
  await using it = createForumFixture([alive(), Response.json(script)])

  const done = await it.forum.acts.comment({ parent: 't3_ab12', text: 'Hello' }, it.as())

  expect(done).toMatchObject({ ok: false, fault: { kind: 'refused', meaning } })
})

test.each([
  [{ fault: 'write_ratelimit', wait_s: 312.4 }, 313],
  [{ fault: 'write_ratelimit', wait_s: 51, worded: true }, 51],
  [{ fault: '429_html', retry_after_s: 40 }, 40],
] as const)('the pause in %j is rounded up to whole seconds', async (fault_rule, seconds) => {
  await using it = await acting()
  it.sandbox.addFault({ path: '/api/comment', ...fault_rule })

  const done = await it.acts.comment({ parent: it.post.name, text: 'Hello' }, it.as('ann'))

  expect(done).toMatchObject({
    ok: false,
    fault: { kind: 'refused', meaning: 'FORUM_RATELIMIT', terminal: false, retry_after_s: seconds },
  })
})

test('a paused write does not delay reads', async () => {
  await using it = await acting()
  const call = it.as('ann')
  it.sandbox.addFault({ path: '/api/comment', fault: 'write_ratelimit', wait_s: 600 })

  await it.acts.comment({ parent: it.post.name, text: 'Hello' }, call)

  expect(await it.forum.me(call)).toMatchObject({ ok: true, value: { name: 'ann' } })
})

test('a refused connection means that nothing was sent, and the result is known', async () => {
  await using it = await acting()
  let requests = 0
  const gone = 'http://127.0.0.1:1'
  await using lost = await acting({
    options: {
      base_url: it.sandbox.url,
      // The account is still verified; only the write meets a refused connection.
      fetch: (url, init) => {
        requests += 1
        return fetch(init.method === 'POST' ? url.replace(it.sandbox.url, gone) : url, init)
      },
    },
  })

  const done = await lost.acts.comment({ parent: it.post.name, text: 'Hello' }, it.as('ann'))

  expect(done).toEqual({
    ok: false,
    fault: { kind: 'unavailable', status: null, retry_after_s: null },
  })
  expect(requests).toBe(2)
})
