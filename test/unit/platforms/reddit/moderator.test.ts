import { describe, expect, test } from 'bun:test'

import { startSandbox } from '../../../../sandbox/server/sandbox.ts'
import { ANONYMOUS, type Call } from '../../../../src/platforms/port.ts'
import { createForum } from '../../../../src/platforms/reddit/adapter.ts'
import { createRuntime } from '../../../../src/runtime/runtime.ts'

/** A platform whose place `tea` is moderated by the account of `call`, with held items by others. */
async function startModerated() {
  const { clock, random, fetch } = createRuntime(() => {})
  const sandbox = await startSandbox({
    port: 0,
    seed: 1,
    speed: 0,
    world: 'empty',
    now: clock.now,
    allowance: 10_000,
    session_allowance: 10_000,
  })
  sandbox.subforum({ name: 'tea', moderators: ['mod'] })
  const post = sandbox.post({ subforum: 'tea', title: 'Open', author: 'ann' })
  const held_post = sandbox.post({ subforum: 'tea', title: 'Held', text: 'secret', author: 'bob' })
  const comment = sandbox.comment({ parent: post.name, text: 'kept', author: 'ann' })
  const held_comment = sandbox.comment({ parent: post.name, text: 'secret', author: 'bob' })
  const reply = sandbox.comment({ parent: held_comment.name, text: 'below', author: 'ann' })
  for (const { name } of [held_post, held_comment]) sandbox.remove({ name, by: 'moderator' })
  const forum = createForum({
    name: 'forum',
    fetch,
    clock,
    random,
    log: () => {},
    base_url: sandbox.url,
    user_agent: 'forumd/test',
    timeout_ms: 5_000,
    retries: 0,
    requests_per_minute: 10_000,
  })
  const callOf = (username: string): Call => {
    const { cookies } = sandbox.session({ username })
    const cookie = Object.entries(cookies)
      .map((pair) => pair.join('='))
      .join('; ')
    const identity = { ...ANONYMOUS, id: username, whose: 'pool', cookie } as const
    return { identity, deadline_at: clock.now() + 20_000 }
  }
  return {
    sandbox,
    forum,
    post,
    held_post,
    comment,
    held_comment,
    reply,
    moderator: callOf('mod'),
    reader: callOf('reader'),
    [Symbol.asyncDispose]: () => sandbox.stop(),
  }
}

const valueOf = <T>(outcome: { ok: true; value: T } | { ok: false; fault: unknown }): T => {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.fault))
  return outcome.value
}

describe('an account of the pool that moderates a place', () => {
  test('receives a held comment whole from the platform', async () => {
    await using it = await startModerated()
    const cookie = it.moderator.identity.cookie ?? ''
    const answer = await fetch(`${it.sandbox.url}/r/tea/comments.json`, { headers: { cookie } })
    expect(await answer.text()).toContain('secret')
  })

  test('lists no held item', async () => {
    await using it = await startModerated()
    const query = { subforums: ['tea'], limit: 100, after: null }
    const comments = valueOf(await it.forum.comments(query, it.moderator))
    const posts = valueOf(await it.forum.posts({ ...query, sort: 'new', t: null }, it.moderator))
    expect(comments.rows.map(({ name }) => name)).toEqual([it.reply.name, it.comment.name])
    expect(posts.rows.map(({ name }) => name)).toEqual([it.post.name])
  })

  test('reads a held item by id as removed, without its text', async () => {
    await using it = await startModerated()
    const nodes = valueOf(await it.forum.nodesById([it.held_comment.id], it.moderator))
    const posts = valueOf(await it.forum.postsById([it.held_post.id], it.moderator))
    expect(JSON.stringify([nodes, posts])).not.toContain('secret')
    expect(valueOf(await it.forum.liveness([it.held_comment.id], it.moderator))).toEqual(
      new Map([[it.held_comment.id, 'removed']]),
    )
    expect(valueOf(await it.forum.visibility(it.held_post.id, it.moderator))).toEqual({
      verdict: 'not_visible',
      reason: 'removed',
      confident: true,
    })
    const names = [it.held_post.name, it.held_comment.name]
    expect([...valueOf(await it.forum.states(names, it.moderator)).values()]).toEqual([
      { state: 'removed' },
      { state: 'removed' },
    ])
  })

  test('reads a tree with the held comment masked', async () => {
    await using it = await startModerated()
    const query = { post_id: it.post.id, sort: 'new', depth: null, limit: null }
    const tree = valueOf(await it.forum.tree(query, it.moderator))
    expect(JSON.stringify(tree)).not.toContain('secret')
    expect(JSON.stringify(tree)).toContain('below')
  })

  test('leaves the verdict on its places to another account', async () => {
    await using it = await startModerated()
    const call = { ...it.moderator, another: () => it.reader }
    expect(valueOf(await it.forum.visibility(it.post.id, it.moderator)).verdict).toBe('undecidable')
    expect(valueOf(await it.forum.visibility(it.post.id, call))).toEqual({
      verdict: 'live',
      reason: null,
      confident: true,
    })
  })
})
