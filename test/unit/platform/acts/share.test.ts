import { describe, expect, test } from 'bun:test'

import { shareCode } from '../../../../src/sandbox/share.ts'
import { stage } from '../stage.ts'
import { acting } from './stage.ts'

describe('a share link', () => {
  test('leads to the post it was made for, with one request', async () => {
    await using it = await acting()
    const thing = it.sandbox.world.things.get(it.post.name)
    const heard = it.listen()

    const found = await it.acts.resolveShare(`/r/cats/s/${thing && shareCode(thing)}`, it.as('ann'))

    expect(found).toEqual({ ok: true, value: { post_id: it.post.id, comment_id: null } })
    expect(heard()).toHaveLength(1)
  })

  test('leads to the comment it was made for', async () => {
    await using it = await acting()
    const comment = it.sandbox.comment({ parent: it.post.name, text: 'Hello' })
    const thing = it.sandbox.world.things.get(comment.name)

    const found = await it.acts.resolveShare(`/u/ann/s/${thing && shareCode(thing)}`, it.as('ann'))

    expect(found).toEqual({ ok: true, value: { post_id: it.post.id, comment_id: comment.id } })
  })

  test('that nobody made leads nowhere', async () => {
    await using it = await acting()

    expect(await it.acts.resolveShare('/r/cats/s/abcDEF123', it.as('ann'))).toEqual({
      ok: false,
      fault: { kind: 'not_found', reason: 'absent' },
    })
  })

  test.each([
    ['another share link', '/r/cats/s/second'],
    ['another site', 'https://elsewhere.example/r/cats/comments/ab12/a/'],
    ['what is no post', '/r/cats/'],
  ])('that leads to %s leads nowhere, and is not followed', async (_what, location) => {
    await using it = stage([new Response(null, { status: 302, headers: { location } })])

    expect(await it.forum.acts.resolveShare('/r/cats/s/abc', it.as())).toEqual({
      ok: true,
      value: null,
    })
    expect(it.requests).toHaveLength(1)
  })

  test('to a place one has to sign in for says so', async () => {
    await using it = stage([new Response(null, { status: 302, headers: { location: '/login/' } })])

    expect(await it.forum.acts.resolveShare('/r/cats/s/abc', it.as())).toEqual({
      ok: false,
      fault: { kind: 'login_required' },
    })
  })
})
