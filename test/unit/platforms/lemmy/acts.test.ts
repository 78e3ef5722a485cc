import { describe, expect, test } from 'bun:test'

import { lemmyActs, signIn } from '../../../../src/platforms/lemmy/acts.ts'
import { createServer, T0 } from './fixture.ts'

const ACCOUNT = { username: 'ann', password: 'secret', totp_secret: 'JBSWY3DPEHPK3PXP' }

const refused = (status: number, error: string) => () => Response.json({ error }, { status })

describe.each(['v3', 'v4'] as const)('%s', (generation) => {
  const base = { v3: '/api/v3', v4: '/api/v4' }[generation]
  const login = { v3: '/user/login', v4: '/account/auth/login' }[generation]

  function createFixture(answers: Record<string, () => Response>) {
    const fixture = createServer(generation)
    const keys: (string | null)[] = []
    fixture.world.answer = (path, { headers, method }) => {
      if (method === 'POST') keys.push(headers.get('authorization'))
      return answers[path]?.() ?? null
    }
    const api = fixture.api()
    const acting = () => ({ ...fixture.call(), credential: 'key' })
    const acts = lemmyActs(api, fixture.source.url, () => T0)
    const posts = () =>
      fixture.world.requests.filter((it) => it.startsWith(base) && !/site|id=/.test(it))
    return {
      ...fixture,
      server: api,
      acts,
      acting,
      keys,
      posts,
      [Symbol.asyncDispose]: fixture[Symbol.asyncDispose],
    }
  }

  test('a sign-in sends the code with the password, once', async () => {
    await using fixture = createFixture({ [login]: () => Response.json({ jwt: 'token' }) })
    expect(await signIn(fixture.server, ACCOUNT, T0, fixture.call())).toEqual({
      ok: true,
      credential: 'token',
    })
    expect(fixture.world.bodies).toMatchObject([
      {
        username_or_email: 'ann',
        password: 'secret',
        totp_2fa_token: expect.stringMatching(/^\d{6}$/),
      },
    ])
  })

  test.each([
    [401, 'incorrect_login', 'AUTH_FAILED'],
    [400, 'missing_totp_token', 'TWO_FACTOR_REQUIRED'],
    [400, 'incorrect_totp_token', 'TWO_FACTOR_INVALID'],
    [400, 'registration_application_is_pending', 'AUTH_FAILED'],
    [400, 'site_ban', 'AUTH_FAILED'],
    [400, 'rate_limit_error', 'UPSTREAM_ERROR'],
    [429, 'too_many_requests', 'UPSTREAM_ERROR'],
  ])('a sign-in refused with %d %s is %s', async (status, error, code) => {
    await using fixture = createFixture({ [login]: refused(status, error) })
    expect(await signIn(fixture.server, ACCOUNT, T0, fixture.call())).toMatchObject({
      ok: false,
      code,
    })
    expect(fixture.world.bodies).toHaveLength(1)
  })

  test('a reply to a comment names its post too', async () => {
    const made = {
      comment: {
        id: 77,
        post_id: 1,
        path: '0.11.77',
        content: 'hello',
        published: '2026-01-01T00:00:00Z',
      },
      creator: { id: 7, name: 'ann' },
      community: { name: 'coffee' },
      post: { id: 1, name: 'post 1' },
    }
    await using fixture = createFixture({})
    fixture.put('comment', 11)
    const answer = fixture.world.answer
    fixture.world.answer = (path, request) =>
      path === '/comment' && request.method === 'POST'
        ? (answer(path, request), Response.json({ comment_view: made }))
        : answer(path, request)
    const done = await fixture.acts.comment({ parent: 't1_11', text: 'hello' }, fixture.acting())
    expect(done).toMatchObject({
      ok: true,
      value: { name: 't1_77', comment: { parent_id: 't1_11' } },
    })
    expect(fixture.world.bodies).toMatchObject([{ content: 'hello', post_id: 1, parent_id: 11 }])
    expect(fixture.keys).toEqual(['Bearer key'])
  })

  test.each(['up', 'down', 'none'] as const)(
    'a vote %s is sent in the words of the API',
    async (direction) => {
      await using fixture = createFixture({ '/post/like': () => Response.json({ post_view: {} }) })
      expect(await fixture.acts.vote({ id: 't3_5', direction }, fixture.acting())).toEqual({
        ok: true,
        value: null,
      })
      const value =
        generation === 'v4'
          ? { is_upvote: { up: true, down: false, none: null }[direction] }
          : { score: { up: 1, down: -1, none: 0 }[direction] }
      expect(fixture.world.bodies).toEqual([{ post_id: 5, ...value }])
    },
  )

  test('a message goes to the id of its recipient, with the subject as first line', async () => {
    await using fixture = createFixture({
      [generation === 'v4' ? '/person' : '/user']: () =>
        Response.json({ person_view: { person: { id: 9, name: 'bob' } } }),
      '/private_message': () =>
        Response.json({ private_message_view: { private_message: { id: 3 } } }),
    })
    const done = await fixture.acts.message(
      { to: 'bob', subject: 'Hi', text: 'there' },
      fixture.acting(),
    )
    expect(done).toEqual({ ok: true, value: { id: '3', thread_id: '9', channel: 'mail' } })
    expect(fixture.world.bodies).toEqual([{ content: '**Hi**\n\nthere', recipient_id: 9 }])
  })

  test.each([
    ['locked', 'THREAD_LOCKED'],
    ['person_is_banned_from_community', 'BANNED_FROM_SUBFORUM'],
    ['language_not_allowed', 'INVALID_REQUEST'],
    ['something_new', 'FORUM_REJECTED'],
  ])('a reply refused with %s is %s', async (error, meaning) => {
    await using fixture = createFixture({ '/comment': refused(400, error) })
    const done = await fixture.acts.comment({ parent: 't3_1', text: 'hello' }, fixture.acting())
    expect(done).toMatchObject({ ok: false, fault: { kind: 'refused', code: error, meaning } })
  })

  test('a write without a verdict is sent once and has an unknown outcome', async () => {
    await using fixture = createFixture({ '/comment': refused(502, 'x') })
    const done = await fixture.acts.comment({ parent: 't3_1', text: 'hello' }, fixture.acting())
    expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
    expect(fixture.world.bodies).toHaveLength(1)
  })
})
