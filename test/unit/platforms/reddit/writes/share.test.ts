import { describe, expect, test } from 'bun:test'

import { shareCode } from '../../../../../sandbox/routes/posts.ts'
import { createForumFixture } from '../fixture.ts'
import { acting } from './fixture.ts'

describe('a share link', () => {
  test('leads to its post with one request', async () => {
    await using it = await acting()
    const thing = it.sandbox.world.things.get(it.post.name)
    const recorded = it.listen()

    const found = await it.acts.resolveShare(`/r/cats/s/${thing && shareCode(thing)}`, it.as('ann'))

    expect(found).toEqual({ ok: true, value: { post_id: it.post.id, comment_id: null } })
    expect(recorded()).toHaveLength(1)
  })

  test('leads to its comment', async () => {
    await using it = await acting()
    const comment = it.sandbox.comment({ parent: it.post.name, text: 'Hello' })
    const thing = it.sandbox.world.things.get(comment.name)

    const found = await it.acts.resolveShare(`/u/ann/s/${thing && shareCode(thing)}`, it.as('ann'))

    expect(found).toEqual({ ok: true, value: { post_id: it.post.id, comment_id: comment.id } })
  })

  test('that does not exist leads nowhere', async () => {
    await using it = await acting()

    expect(await it.acts.resolveShare('/r/cats/s/abcDEF123', it.as('ann'))).toEqual({
      ok: false,
      fault: { kind: 'not_found', reason: 'absent' },
    })
  })

  test.each([
    ['another share link', '/r/cats/s/second'],
    ['another site', 'https://elsewhere.example/r/cats/comments/ab12/a/'],
    ['a page that is not a post', '/r/cats/'],
  ])('that leads to %s leads nowhere, and is not followed', async (_what, location) => {
    await using it = createForumFixture([
      new Response(null, { status: 302, headers: { location } }),
    ])

    expect(await it.forum.acts.resolveShare('/r/cats/s/abc', it.as())).toEqual({
      ok: true,
      value: null,
    })
    expect(it.requests).toHaveLength(1)
  })

  test('to a private subforum is login_required', async () => {
    await using it = createForumFixture([
      new Response(null, { status: 302, headers: { location: '/login/' } }),
    ])

    expect(await it.forum.acts.resolveShare('/r/cats/s/abc', it.as())).toEqual({
      ok: false,
      fault: { kind: 'login_required' },
    })
  })
})
