import { expect, test } from 'bun:test'

import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import { fetchPath, headerOf, open, page } from './fetch-path.ts'

const nameOf = async (sandbox: Sandbox, cookie: string): Promise<string | undefined> =>
  (await fetchPath(sandbox, '/api/me.json', { cookie })).json.data.name

const DAY_S = 86_400

test('a session expires after its lifetime', async () => {
  await using sandbox = await open()
  const short = headerOf(sandbox.session({ username: 'ann', lasts_s: 60 }).cookies)
  const usual = sandbox.session({ username: 'ann' })

  sandbox.advance(59)
  expect(await nameOf(sandbox, short)).toBe('ann')
  sandbox.advance(1)
  expect(await nameOf(sandbox, short)).toBeUndefined()
  sandbox.advance(180 * DAY_S)
  expect(await nameOf(sandbox, headerOf(usual.cookies))).toBe('ann')
  sandbox.advance(DAY_S)
  expect(await nameOf(sandbox, headerOf(usual.cookies))).toBeUndefined()
})

test('revocation ends all sessions of one user only', async () => {
  await using sandbox = await open()
  const [one, two, other] = ['ann', 'ann', 'bea'].map((username) =>
    headerOf(sandbox.session({ username }).cookies),
  )

  sandbox.revoke({ username: 'ann' })

  expect(await nameOf(sandbox, one ?? '')).toBeUndefined()
  expect(await nameOf(sandbox, two ?? '')).toBeUndefined()
  expect(await nameOf(sandbox, other ?? '')).toBe('bea')
  expect(() => sandbox.revoke({ username: 'not_here' })).toThrow('no user is called not_here')
})

test('the home feed has the subscriptions; for an invalid session it is the public one', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'a cat' })
  sandbox.post({ subforum: 'dogs', title: 'a dog' })
  sandbox.user({ name: 'ann', subscribed: ['cats'] })
  const cookie = headerOf(sandbox.session({ username: 'ann', lasts_s: 60 }).cookies)
  const titles = async () => {
    const { data } = await page(sandbox, '/best.json', { cookie })
    return { titles: data.children.map((row) => row.data['title']), proof: data.modhash }
  }

  expect(await titles()).toEqual({ titles: ['a cat'], proof: expect.stringMatching(/^.{50}$/) })
  sandbox.advance(60)
  expect(await titles()).toEqual({ titles: expect.arrayContaining(['a cat', 'a dog']), proof: '' })
})

test.each(['saved', 'upvoted', 'downvoted', 'hidden'])(
  '%s is refused once the session has ended',
  async (tab) => {
    await using sandbox = await open()
    const cookie = headerOf(sandbox.session({ username: 'ann', lasts_s: 60 }).cookies)
    const path = `/user/ann/${tab}.json`

    expect((await fetchPath(sandbox, path, { cookie })).status).toBe(200)
    sandbox.advance(60)
    expect(await fetchPath(sandbox, path, { cookie })).toMatchObject({
      status: 403,
      json: { message: 'Forbidden', error: 403 },
    })
  },
)

test('an HTML page renews a bearer that is about to expire, and keeps a newer one', async () => {
  await using sandbox = await open()
  const { cookies } = sandbox.session({ username: 'ann' })
  const cookie = headerOf(cookies)
  const sessionState = async () =>
    (await fetchPath(sandbox, '/', { cookie })).headers
      .getSetCookie()
      .find((it) => it.startsWith('token_v2='))
      ?.split(/[=;]/)[1]

  expect(await sessionState()).toBe(cookies['token_v2'])
  sandbox.advance(23 * 3_600)
  expect(await sessionState()).not.toBe(cookies['token_v2'])
})

test('a locked account has a valid session and must set a new password', async () => {
  await using sandbox = await open()
  sandbox.user({ name: 'ann', locked: true })
  const cookie = headerOf(sandbox.session({ username: 'ann' }).cookies)

  expect((await fetchPath(sandbox, '/api/me.json', { cookie })).json.data).toMatchObject({
    name: 'ann',
    force_password_reset: true,
  })
})

test('logging out ends the session, removes the cookies, and requires the write token', async () => {
  await using sandbox = await open()
  const cookie = headerOf(sandbox.session({ username: 'ann' }).cookies)
  const { modhash } = (await fetchPath(sandbox, '/api/me.json', { cookie })).json.data
  const leave = (uh: string) => fetchPath(sandbox, '/logout', { cookie, form: { uh } })

  expect((await leave('guessed')).status).toBe(403)
  expect(await nameOf(sandbox, cookie)).toBe('ann')
  const left = await leave(modhash)
  expect(left.status).toBe(302)
  expect(left.headers.getSetCookie()).toContain('reddit_session=; Path=/; Max-Age=0; SameSite=Lax')
  expect(await nameOf(sandbox, cookie)).toBeUndefined()
})
