import { describe, expect, test } from 'bun:test'

import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { headerOf, open, signedIn, visit } from './visit.ts'

/** Ann with a post to vote on, and a call of the modern pages as she makes it. */
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

  test('with a word nobody knows breaks the server', async () => {
    const { sandbox, post, vote } = await modern()
    await using _ = sandbox

    expect((await vote(post.name, 'SIDEWAYS')).status).toBe(500)
  })

  test('on what is not there is refused inside of success', async () => {
    const { sandbox, vote } = await modern()
    await using _ = sandbox

    const answer = await vote('t3_nosuch', 'UP')

    expect(await answer.json()).toMatchObject({ data: { updatePostVoteState: { ok: false } } })
  })
})

test('a token that is not the cookie’s is refused, and a dead session told so', async () => {
  const { sandbox, call } = await modern()
  await using _ = sandbox

  expect((await call('token', {}, 'guessed')).status).toBe(403)
  sandbox.revoke({ username: 'ann' })
  expect((await call('token', {})).status).toBe(401)
})

test('a token of the modern pages opens the bearer host', async () => {
  const { sandbox, call } = await modern()
  await using _ = sandbox

  const { token }: any = await (await call('token', {})).json()

  expect(sandbox.world.bearers.get(token)?.user?.name).toBe('ann')
})

describe("somebody's own settings", () => {
  test('are shown to them alone', async () => {
    const sandbox = await open()
    await using _ = sandbox
    const path = '/r/u_ann/about/edit.json'
    const [ann, ben] = [signedIn(sandbox, 'ann'), signedIn(sandbox, 'ben')]

    expect((await visit(sandbox, path, { cookie: ann.cookie })).json).toMatchObject({
      kind: 'subreddit_settings',
      data: { title: '', subreddit_type: 'user' },
    })
    expect((await visit(sandbox, path, { cookie: ben.cookie })).status).toBe(404)
  })

  test('that the form leaves out fall back', async () => {
    const sandbox = await open()
    await using _ = sandbox
    const ann = signedIn(sandbox, 'ann')
    const user = sandbox.world.users.get('ann')
    if (user) user.bio = 'Likes cats.'
    const { json } = await visit(sandbox, '/user/ann/about.json')
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

  test('of others are not set', async () => {
    const sandbox = await open()
    await using _ = sandbox
    const ann = signedIn(sandbox, 'ann')
    sandbox.user({ name: 'ben' })
    const { json } = await visit(sandbox, '/user/ben/about.json')

    const sr: string = json.data.subreddit.name
    expect((await ann.post('/api/site_admin', { sr, title: 'Mine' })).status).toBe(403)
    expect(sandbox.world.users.get('ben')?.display_name).toBe('')
  })
})

test('an answer that is lost leaves what was done', async () => {
  const sandbox = await open()
  await using _ = sandbox
  const ann = signedIn(sandbox, 'ann')
  const post = sandbox.post({ subforum: 'cats', title: 'A cat' })
  sandbox.weather({ path: '/api/vote', fault: 'lost_answer' })

  const lost = await ann.post('/api/vote', { id: post.name, dir: '1' }).catch(() => 'lost')

  expect(lost).toBe('lost')
  expect(votesOn(sandbox, post.name)).toBe(1)
})
