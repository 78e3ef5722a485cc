import { describe, expect, test } from 'bun:test'

import { FORM_CODES, type FormCode } from '../../../../../sandbox/faults/form-errors.ts'
import type { Call } from '../../../../../src/platforms/port.ts'
import { acting } from './fixture.ts'

type Fixture = Awaited<ReturnType<typeof acting>>
type Write = { path: string; run(it: Fixture, call: Call): Promise<unknown> }

const WRITES: Record<string, Write> = {
  comment: {
    path: '/api/comment',
    run: (it, call) => it.acts.comment({ parent: it.post.name, text: 'Hello' }, call),
  },
  vote: {
    path: '/api/vote',
    run: (it, call) => it.acts.vote({ id: it.post.name, direction: 'up' }, call),
  },
  mail: {
    path: '/api/compose',
    run: (it, call) => it.acts.send({ to: 'ben', subject: 'Cats', text: 'Hello' }, call),
  },
  profile: {
    path: '/api/v1/subreddit/update_settings',
    run: (it, call) => it.acts.profile({ description: 'Hello' }, call),
  },
  picture: {
    path: '/r/u_ann/api/upload_sr_img',
    run: (it, call) =>
      it.acts.picture(
        {
          place: 'banner',
          picture: { bytes: new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), kind: 'jpeg' },
        },
        call,
      ),
  },
}

// The documented table: the meaning of each code of the platform, and whether it is final.
const MEANINGS: Record<FormCode, [meaning: string, terminal: boolean] | 'login_required'> = {
  USER_REQUIRED: 'login_required',
  VERIFIED_USER_REQUIRED: ['PERMISSION_DENIED', true],
  RATELIMIT: ['FORUM_RATELIMIT', false],
  NO_TEXT: ['INVALID_REQUEST', true],
  TOO_LONG: ['INVALID_REQUEST', true],
  TOO_OLD: ['ARCHIVED', true],
  THREAD_LOCKED: ['THREAD_LOCKED', true],
  DELETED_COMMENT: ['NOT_FOUND', true],
  DELETED_LINK: ['NOT_FOUND', true],
  SOMETHING_IS_BROKEN: ['PERMISSION_DENIED', true],
  USER_BLOCKED: ['PERMISSION_DENIED', true],
  SUBREDDIT_OUTBOUND_LINKING_DISALLOWED: ['INVALID_REQUEST', true],
  IN_TIMEOUT: ['PERMISSION_DENIED', true],
  NOT_AUTHOR: ['FORUM_REJECTED', true],
  NO_USER: ['INVALID_REQUEST', true],
  USER_DOESNT_EXIST: ['NOT_FOUND', true],
  NO_SUBJECT: ['INVALID_REQUEST', true],
  RESTRICTED_TO_PM: ['PERMISSION_DENIED', true],
  NOT_WHITELISTED_BY_USER_MESSAGE: ['PERMISSION_DENIED', true],
  USER_MUTED: ['PERMISSION_DENIED', true],
  MUTED_FROM_SUBREDDIT: ['PERMISSION_DENIED', true],
  NO_SR_TO_SR_MESSAGE: ['INVALID_REQUEST', true],
  SUBREDDIT_NOEXIST: ['NOT_FOUND', true],
  BAD_CAPTCHA: ['FORUM_REJECTED', true],
  WRONG_PASSWORD: ['FORUM_REJECTED', true],
  INCORRECT_USERNAME_PASSWORD: ['FORUM_REJECTED', true],
  INVALID_OPTION: ['FORUM_REJECTED', true],
  BAD_NUMBER: ['FORUM_REJECTED', true],
  MOD_REQUIRED: ['PERMISSION_DENIED', true],
  SUBREDDIT_REQUIRED: ['FORUM_REJECTED', true],
  BANNED_FROM_SUBREDDIT: ['BANNED_FROM_SUBFORUM', true],
  SUBREDDIT_NOTALLOWED: ['PERMISSION_DENIED', true],
  QUOTA_FILLED: ['FORUM_RATELIMIT', false],
}

const CASES = Object.keys(WRITES).flatMap((name) => FORM_CODES.map((code) => [name, code] as const))

test.each(CASES)(
  'a %s refused with %s has that outcome, and is not sent again',
  async (name, code) => {
    await using it = await acting({ options: { chat_url: '' } })
    const write = WRITES[name]
    it.sandbox.addFault({ path: write?.path ?? '', fault: 'form_error', code })
    const recorded = it.listen()

    const done = await write?.run(it, it.as('ann'))

    const means = MEANINGS[code]
    const fault =
      means === 'login_required'
        ? { kind: 'login_required' }
        : { kind: 'refused', code, meaning: means[0], terminal: means[1] }
    expect(done).toMatchObject({ ok: false, fault })
    expect(recorded().filter((line) => line.includes(write?.path ?? ''))).toHaveLength(1)
  },
)

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

describe.each(Object.entries(WRITES))('a %s', (_name, { path, run }) => {
  test.each([
    ['a block page', { fault: 'block_403_html' }, { kind: 'blocked' }],
    ['a challenge', { fault: 'challenge_200_html' }, { kind: 'blocked' }],
    ['a redirect to the login page', { fault: 'login_page_200' }, { kind: 'login_required' }],
    ['a failure', { fault: '5xx' }, { kind: 'unknown' }],
    [
      'a failure with a code, as quoted',
      {
        fault: 'answer',
        status: 500,
        body: '{"reason":"UNKNOWN_ERROR","message":"Internal Server Error"}',
      },
      { kind: 'unknown' },
    ],
    ['a truncated answer', { fault: 'truncated' }, { kind: 'unknown' }],
    ['a reset connection', { fault: 'reset' }, { kind: 'unknown' }],
    [
      'an unknown status',
      { fault: 'answer', status: 418 },
      { code: 'HTTP_418', meaning: 'FORUM_REJECTED' },
    ],
  ] as const)(
    'answered with %s has that outcome, and is not sent again',
    async (_what, fault_rule, fault) => {
      await using it = await acting()
      it.sandbox.addFault({ path, ...fault_rule })
      const recorded = it.listen()

      const done = await run(it, it.as('ann'))

      expect(done).toMatchObject({ ok: false, fault })
      expect(recorded().filter((line) => line.includes(path))).toHaveLength(1)
    },
  )
})

describe('a lost answer', () => {
  test('leaves one comment on the platform, and the result is unknown', async () => {
    await using it = await acting()
    it.sandbox.addFault({ path: '/api/comment', fault: 'lost_answer' })

    const done = await it.acts.comment({ parent: it.post.name, text: 'Once' }, it.as('ann'))

    expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
    expect(it.sandbox.world.users.get('ann')?.comments.map(({ text }) => text)).toEqual(['Once'])
  })

  test('leaves one message in the inbox, and the result is unknown', async () => {
    await using it = await acting()
    it.sandbox.addFault({ path: '/api/compose', fault: 'lost_answer' })

    const done = await it.acts.send({ to: 'ben', subject: 'Cats', text: 'Once' }, it.as('ann'))

    expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
    expect(it.sandbox.world.users.get('ben')?.inbox).toHaveLength(1)
  })
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
