import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'

import type { WriteFault } from '../../src/core/forum/native-refusals.ts'
import { type BrowserFixture, inBrowser, startBrowserFixture, TEST_MS } from './fixture.ts'

setDefaultTimeout(TEST_MS)

const CALL = '/svc/*/create-comment'

inBrowser('commenting with a browser', () => {
  let it: BrowserFixture
  let post: string
  beforeAll(async () => {
    it = await startBrowserFixture()
  }, TEST_MS)
  beforeEach(() => {
    it.sandbox.clearFaults()
    post = it.sandbox.post({ subforum: 'bread', author: 'bea', title: 'Rye', text: 'How?' }).name
  })
  afterAll(() => it[Symbol.asyncDispose](), TEST_MS)

  const thing = (name: string) => it.sandbox.world.things.get(name)
  const sent = () =>
    it.sandbox.requests.filter(({ path }) => path.endsWith('/create-comment')).length
  const answers = () => {
    const under = thing(post)
    return under?.kind === 't3' ? under.comments.map(({ text }) => text) : []
  }

  test('comments on a post with one paragraph per line and no markup', async () => {
    const text = '# Ümläuts & <b>tags</b>\n\n- *one* line\n1. two 🥖 "quotes" \\ /\n'

    const done = await it.answer('ann', { post }, { text })

    if (!done.ok) throw new Error(JSON.stringify(done))
    const comment = thing(done.value.name)
    expect(done.value.permalink).toBe(
      `${it.sandbox.url}/r/bread/comments/${post.slice(3)}/comment/${done.value.name.slice(3)}/`,
    )
    expect(comment).toMatchObject({ kind: 't1', author: { name: 'ann' }, parent: null })
    expect(comment?.text.split('\n\n')).toEqual([
      '# Ümläuts & <b>tags</b>',
      '',
      '- *one* line',
      '1. two 🥖 "quotes" \\ /',
    ])
  })

  test('replies to a comment on its own page', async () => {
    const above = it.sandbox.comment({ parent: post, author: 'bea', text: 'With a sourdough.' })
    const deep = it.sandbox.comment({ parent: above.name, author: 'bea', text: 'Or two.' })

    const done = await it.answer('ann', { post, comment: deep.name })

    if (!done.ok) throw new Error(JSON.stringify(done))
    expect(thing(done.value.name)).toMatchObject({
      text: 'Well said.',
      parent: { name: deep.name },
    })
  })

  test('ten thousand characters arrive completely', async () => {
    const text = Array.from({ length: 100 }, (_, line) => `${line} `.padEnd(97, 'abc ')).join('\n')

    const done = await it.answer('ann', { post }, { text })

    expect(done).toMatchObject({ ok: true })
    expect(answers()[0]?.replaceAll('\n\n', '\n').split('\n').length).toBe(100)
  })

  const world = () => {
    const found = thing(post)
    if (found?.kind !== 't3') throw new Error('no post')
    return found
  }
  const user = (name: string) => {
    const found = it.sandbox.world.users.get(name)
    if (!found) throw new Error('no user')
    return found
  }

  test.each<[string, () => void, object]>([
    ['a locked post', () => (world().locked = true), { meaning: 'THREAD_LOCKED', terminal: true }],
    ['an archived post', () => (world().archived = true), { meaning: 'ARCHIVED' }],
    [
      'a place that has banned the account',
      () => world().subforum.bans.add(user('ann')),
      { meaning: 'BANNED_FROM_SUBFORUM' },
    ],
    [
      'a thread that is locked while the answer is written',
      () => it.sandbox.addFault({ path: CALL, fault: 'form_error', code: 'THREAD_LOCKED' }),
      { code: 'THREAD_LOCKED', meaning: 'THREAD_LOCKED', field: 'post_url' },
    ],
    [
      'an author who has blocked the account',
      () => user('bea').blocked.add(user('ann')),
      { code: 'SOMETHING_IS_BROKEN', meaning: 'PERMISSION_DENIED' },
    ],
    [
      'a throttle',
      () => it.sandbox.addFault({ path: CALL, fault: 'write_ratelimit', wait_s: 51 }),
      { code: 'RATELIMIT', meaning: 'FORUM_RATELIMIT', retry_after_s: 51, terminal: false },
    ],
  ])('%s is a refusal, and no comment is created', async (_, arrange, refusal) => {
    arrange()

    const done = await it.answer('ann', { post })

    world().subforum.bans.clear()
    user('bea').blocked.clear()
    expect(done).toEqual({
      ok: false,
      fault: expect.objectContaining({ kind: 'refused', ...refusal }),
    })
    expect(answers()).toEqual([])
  })

  test.each<[string, () => void, WriteFault]>([
    [
      'a block page',
      () => it.sandbox.addFault({ path: '/comments', fault: 'block_403_html' }),
      { kind: 'blocked', login_hint: true },
    ],
    [
      'a challenge',
      () => it.sandbox.addFault({ path: '/comments', fault: 'challenge_200_html' }),
      { kind: 'blocked' },
    ],
    [
      'a human check as the response to the composer',
      () => it.sandbox.addFault({ path: CALL, fault: 'challenge_200_html' }),
      { kind: 'blocked' },
    ],
    [
      'a login page',
      () => it.sandbox.addFault({ path: '/comments', fault: 'login_page_200' }),
      { kind: 'login_required' },
    ],
    [
      'a failing platform',
      () => it.sandbox.addFault({ path: '/comments', fault: '5xx' }),
      { kind: 'unavailable', status: 503, retry_after_s: null },
    ],
  ])('%s is reported as its own fault', async (_, arrange, fault) => {
    arrange()

    expect(await it.answer('ann', { post })).toEqual({ ok: false, fault })
    expect(answers()).toEqual([])
  })

  test('a session unknown to the platform is login_required', async () => {
    expect(await it.answer(null, { post })).toEqual({
      ok: false,
      fault: { kind: 'login_required' },
    })
  })

  test('a missing comment is not_found', async () => {
    expect(await it.answer('ann', { post, comment: 't1_zzzzz' })).toEqual({
      ok: false,
      fault: { kind: 'not_found', reason: 'absent' },
    })
  })

  test.each(['truncated', 'reset', 'lost_answer'] as const)(
    'a lost response (%s) is unknown, and the comment is sent once',
    async (fault) => {
      it.sandbox.addFault({ path: CALL, fault })
      const before = sent()

      const done = await it.answer('ann', { post })

      expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
      expect(sent() - before).toBe(1)
      expect(answers().length).toBe(fault === 'reset' ? 0 : 1)
    },
  )

  test('a deadline during the platform request is unknown: the comment may still be created', async () => {
    it.sandbox.addFault({ path: CALL, fault: 'slow', delay_s: 60 })

    // Beyond the load of the page on a busy machine.
    const done = await it.answer('ann', { post }, { ms: 10_000 })

    expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
  })

  test('a deadline before the page is loaded is a timeout, and nothing was sent', async () => {
    it.sandbox.addFault({ path: '/comments', fault: 'slow', delay_s: 60 })

    expect(await it.answer('ann', { post }, { ms: 1_500 })).toEqual({
      ok: false,
      fault: { kind: 'timeout' },
    })
  })
})
