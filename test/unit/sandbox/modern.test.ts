import { describe, expect, test } from 'bun:test'

import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import { fetchPath, headerOf, open, signedIn } from './fetch-path.ts'

/** Ann with a post to vote on, and her calls of the modern pages. */
async function modern() {
  const sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', author: 'ben', title: 'A cat' })
  const { cookies } = sandbox.session({ username: 'ann' })
  const call = (path: string, body: object, csrf_token = cookies['csrf_token']) =>
    fetch(`${sandbox.url}/svc/shreddit/${path}`, {
      method: 'POST',
      headers: { cookie: headerOf(cookies), 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, csrf_token }),
    })
  const vote = async (postId: string, voteState: string) =>
    call('graphql', {
      operation: 'UpdatePostVoteState',
      variables: { input: { postId, voteState } },
    })
  return { sandbox, post, call, vote }
}

const votesOn = ({ world }: Sandbox, name: string) => {
  const thing = world.things.get(name)
  return thing && world.users.get('ann')?.votes.get(thing)
}

describe('a vote of the modern pages', () => {
  test.each([
    ['UP', 1],
    ['DOWN', -1],
    ['NONE', undefined],
  ] as const)('%s counts', async (word, counted) => {
    const { sandbox, post, vote } = await modern()
    await using _ = sandbox

    const answer = await vote(post.name, word)

    expect(await answer.json()).toEqual({ data: { updatePostVoteState: { ok: true } } })
    expect(votesOn(sandbox, post.name)).toBe(counted)
  })

  test('with an unknown value is a server error', async () => {
    const { sandbox, post, vote } = await modern()
    await using _ = sandbox

    expect((await vote(post.name, 'SIDEWAYS')).status).toBe(500)
  })

  test('on a missing item is refused with status 200', async () => {
    const { sandbox, vote } = await modern()
    await using _ = sandbox

    const answer = await vote('t3_nosuch', 'UP')

    expect(await answer.json()).toMatchObject({ data: { updatePostVoteState: { ok: false } } })
  })
})

test('a token that differs from the cookie’s is refused, and an invalid session reported', async () => {
  const { sandbox, call } = await modern()
  await using _ = sandbox

  expect((await call('token', {}, 'guessed')).status).toBe(403)
  sandbox.revoke({ username: 'ann' })
  expect((await call('token', {})).status).toBe(401)
})

test('a token of the modern pages is valid on the bearer host', async () => {
  const { sandbox, call } = await modern()
  await using _ = sandbox

  const { token }: any = await (await call('token', {})).json()

  expect(sandbox.world.bearers.get(token)?.user?.name).toBe('ann')
})

describe('profile settings', () => {
  test('are visible to their owner only', async () => {
    const sandbox = await open()
    await using _ = sandbox
    const path = '/r/u_ann/about/edit.json'
    const [ann, ben] = [signedIn(sandbox, 'ann'), signedIn(sandbox, 'ben')]

    expect((await fetchPath(sandbox, path, { cookie: ann.cookie })).json).toMatchObject({
      kind: 'subreddit_settings',
      data: { title: '', subreddit_type: 'user' },
    })
    expect((await fetchPath(sandbox, path, { cookie: ben.cookie })).status).toBe(404)
  })

  test('that the form omits get their defaults', async () => {
    const sandbox = await open()
    await using _ = sandbox
    const ann = signedIn(sandbox, 'ann')
    const user = sandbox.world.users.get('ann')
    if (user) user.bio = 'Likes cats.'
    const { json } = await fetchPath(sandbox, '/user/ann/about.json')
    const sr = json.data.subreddit.name

    await ann.post('/api/site_admin', {
      sr,
      title: 'Ann',
      link_type: 'any',
      wikimode: 'disabled',
      type: 'user',
    })

    expect([user?.display_name, user?.bio]).toEqual(['Ann', ''])
  })

  test('cannot be set for others', async () => {
    const sandbox = await open()
    await using _ = sandbox
    const ann = signedIn(sandbox, 'ann')
    sandbox.user({ name: 'ben' })
    const { json } = await fetchPath(sandbox, '/user/ben/about.json')

    const sr: string = json.data.subreddit.name
    expect((await ann.post('/api/site_admin', { sr, title: 'Mine' })).status).toBe(403)
    expect(sandbox.world.users.get('ben')?.display_name).toBe('')
  })
})

test('an action is done although its response is lost', async () => {
  const sandbox = await open()
  await using _ = sandbox
  const ann = signedIn(sandbox, 'ann')
  const post = sandbox.post({ subforum: 'cats', title: 'A cat' })
  sandbox.addFault({ path: '/api/vote', fault: 'lost_answer' })

  const lost = await ann.post('/api/vote', { id: post.name, dir: '1' }).catch(() => 'lost')

  expect(lost).toBe('lost')
  expect(votesOn(sandbox, post.name)).toBe(1)
})
