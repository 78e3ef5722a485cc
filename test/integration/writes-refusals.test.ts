import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import { FORM_CODES, type FormCode } from '../../sandbox/faults/form-errors.ts'
import { CODES, type ErrorCode } from '../../src/core/base/errors.ts'
import { noticeFor } from '../../src/delivery/operator-notices.ts'
import { PRICES } from '../support/app-options.ts'
import { startWriting, type Writing } from '../support/writes-fixture.ts'

// Every write with every refusal of the platform: its error, and if it is billed.

let it: Writing
beforeAll(async () => {
  it = await startWriting()
})
beforeEach(() => it.sandbox.clearFaults())
afterAll(() => it[Symbol.asyncDispose]())

type Path = keyof Writing['WRITES']

/** Price of each write, and its request to the platform. */
const WRITES: Record<
  Exclude<Path, 'dm/threads' | 'dm/messages'>,
  [price: number, native: string]
> = {
  'v2/comment': [PRICES.write, '/api/comment'],
  vote: [PRICES.vote, '/api/vote'],
  dm: [PRICES.dm, '/api/compose'],
  'profile/description': [PRICES.write, '/api/v1/subreddit/update_settings'],
  'profile/display-name': [PRICES.write, '/api/v1/subreddit/update_settings'],
  'profile/avatar': [PRICES.write, '/r/u_ann/api/upload_sr_img'],
  'profile/banner': [PRICES.write, '/r/u_ann/api/upload_sr_img'],
}
const isWrite = (path: string): path is keyof typeof WRITES => Object.hasOwn(WRITES, path)
const PATHS = Object.keys(WRITES).filter(isWrite)

// The platform's codes, and the error that answers each.
const ANSWERS: Record<FormCode, ErrorCode> = {
  USER_REQUIRED: 'REAUTH_REQUIRED',
  VERIFIED_USER_REQUIRED: 'PERMISSION_DENIED',
  RATELIMIT: 'FORUM_RATELIMIT',
  NO_TEXT: 'INVALID_REQUEST',
  TOO_LONG: 'INVALID_REQUEST',
  TOO_OLD: 'ARCHIVED',
  THREAD_LOCKED: 'THREAD_LOCKED',
  DELETED_COMMENT: 'NOT_FOUND',
  DELETED_LINK: 'NOT_FOUND',
  SOMETHING_IS_BROKEN: 'PERMISSION_DENIED',
  USER_BLOCKED: 'PERMISSION_DENIED',
  SUBREDDIT_OUTBOUND_LINKING_DISALLOWED: 'INVALID_REQUEST',
  IN_TIMEOUT: 'PERMISSION_DENIED',
  NOT_AUTHOR: 'FORUM_REJECTED',
  NO_USER: 'INVALID_REQUEST',
  USER_DOESNT_EXIST: 'NOT_FOUND',
  NO_SUBJECT: 'INVALID_REQUEST',
  RESTRICTED_TO_PM: 'PERMISSION_DENIED',
  NOT_WHITELISTED_BY_USER_MESSAGE: 'PERMISSION_DENIED',
  USER_MUTED: 'PERMISSION_DENIED',
  MUTED_FROM_SUBREDDIT: 'PERMISSION_DENIED',
  NO_SR_TO_SR_MESSAGE: 'INVALID_REQUEST',
  SUBREDDIT_NOEXIST: 'NOT_FOUND',
  BAD_CAPTCHA: 'FORUM_REJECTED',
  WRONG_PASSWORD: 'FORUM_REJECTED',
  INCORRECT_USERNAME_PASSWORD: 'FORUM_REJECTED',
  INVALID_OPTION: 'FORUM_REJECTED',
  BAD_NUMBER: 'FORUM_REJECTED',
  MOD_REQUIRED: 'PERMISSION_DENIED',
  SUBREDDIT_REQUIRED: 'FORUM_REJECTED',
  BANNED_FROM_SUBREDDIT: 'BANNED_FROM_SUBFORUM',
  SUBREDDIT_NOTALLOWED: 'PERMISSION_DENIED',
  QUOTA_FILLED: 'FORUM_RATELIMIT',
}
const GOES_TO_CHAT: readonly FormCode[] = ['RESTRICTED_TO_PM', 'NOT_WHITELISTED_BY_USER_MESSAGE']

/** Makes a write and returns its answer with its cost. */
async function done(path: Path) {
  const before = await it.spent()
  // A separate session: a throttled one has to wait.
  const answer = await it.send(path, { ...it.sessionOf('ann'), ...it.WRITES[path] })
  return { ...answer, cost: (await it.spent()) - before }
}

describe.each(PATHS)('%s', (path) => {
  const [price, native] = WRITES[path]

  test.each(FORM_CODES)('refused with %s has its own error, and is billed', async (code) => {
    it.sandbox.addFault({ path: native, fault: 'form_error', code })

    const { status, body, headers, cost } = await done(path)

    if (path === 'dm' && GOES_TO_CHAT.includes(code)) {
      expect([status, body.channel, cost]).toEqual([200, 'chat', price])
      return
    }
    const means = ANSWERS[code]
    expect([status, body.code, cost]).toEqual([CODES[means].status, means, price])
    expect(headers.get('x-credits-remaining')).not.toBeNull()
    // The platform's verdicts on the session have no code of their own.
    if (means !== 'REAUTH_REQUIRED')
      expect([body.upstream_code, body.terminal]).toEqual([code, means !== 'FORUM_RATELIMIT'])
    if (means === 'INVALID_REQUEST') expect(body.error).toStartWith(body.field)
    if (means === 'FORUM_RATELIMIT')
      expect([headers.get('retry-after'), body.retry_after > 0]).toEqual([
        String(body.retry_after),
        true,
      ])
  })

  test.each([
    ['the platform’s 429', { fault: '429_html', retry_after_s: 40 }, 502, 'FORUM_RATELIMIT', true],
    ['its throttle', { fault: 'write_ratelimit', wait_s: 51 }, 502, 'FORUM_RATELIMIT', true],
    ['a page of refusal', { fault: 'block_403_html' }, 502, 'UPSTREAM_BLOCKED', false],
    ['a human check', { fault: 'challenge_200_html' }, 502, 'UPSTREAM_BLOCKED', false],
    ['the way to sign in', { fault: 'login_page_200' }, 401, 'REAUTH_REQUIRED', true],
    ['a failure after the fact', { fault: '5xx' }, 502, 'OUTCOME_UNKNOWN', true],
    [
      'a failure with a code',
      { fault: 'answer', status: 500, body: '{"reason":"UNKNOWN_ERROR","message":"Oops"}' },
      502,
      'OUTCOME_UNKNOWN',
      true,
    ],
    ['half an answer', { fault: 'truncated' }, 502, 'OUTCOME_UNKNOWN', true],
    ['an answer that is lost', { fault: 'lost_answer' }, 502, 'OUTCOME_UNKNOWN', true],
    ['a broken connection', { fault: 'reset' }, 502, 'OUTCOME_UNKNOWN', true],
    ['a strange status', { fault: 'answer', status: 418 }, 502, 'FORUM_REJECTED', true],
  ] as const)(
    'refused with %s gets a specific error and is sent once',
    async (_what, fault_rule, status, code, billed) => {
      it.sandbox.addFault({ path: native, ...fault_rule })
      const seen = it.sandbox.requests.length

      const answer = await done(path)

      expect([answer.status, answer.body.code]).toEqual([status, code])
      expect(answer.cost).toBe(billed ? price : 0)
      expect(answer.headers.get('x-credits-remaining') !== null).toBe(billed)
      const native_requests = it.sandbox.requests
        .slice(seen)
        .filter((one) => one.path.startsWith(native))
      expect(native_requests).toHaveLength(1)
    },
  )

  test('costs its price when it is sent', async () => {
    it.sandbox.clearFaults()
    const { status, cost } = await done(path)

    expect([status, cost]).toEqual([200, price])
  })
})

describe.each(['dm/threads', 'dm/messages'] as const)('%s', (path) => {
  test.each([
    ['nothing amiss', null, path === 'dm/threads' ? 200 : 404, true],
    ['the platform’s 429', { fault: '429_html', retry_after_s: 300 }, 502, true],
    ['a page of refusal', { fault: 'block_403_html' }, 502, false],
    ['a failure', { fault: '5xx' }, 503, false],
  ] as const)('with %s', async (_what, fault_rule, status, billed) => {
    if (fault_rule !== null) {
      it.sandbox.addFault({ path: '/message', ...fault_rule })
      it.sandbox.addFault({ path: '/_matrix', ...fault_rule })
    }

    const answer = await done(path)

    expect(answer.status).toBe(status)
    expect(answer.cost).toBe(billed ? PRICES.dm : 0)
  })
})

test('an ended session', async () => {
  for (const [path, body] of Object.entries(it.WRITES)) {
    const before = await it.spent()
    const { status, body: answer_body } = await it.send(path, {
      forum_session: 'x',
      loid: 'y',
      ...body,
    })
    expect([path, status, answer_body.code]).toEqual([path, 401, 'REAUTH_REQUIRED'])
    expect(await it.spent()).toBeGreaterThan(before)
  }
})

test('places and users that refuse by their own settings', async () => {
  const { sandbox } = it
  sandbox.subforum({ name: 'closed', bans: ['ann'] })
  sandbox.user({ name: 'dora', blocks: ['ann'], chats: 'closed' })
  const barred = sandbox.post({ subforum: 'closed', author: 'ben', title: 'Barred' })
  const locked = sandbox.post({ subforum: 'cats', author: 'ben', title: 'Locked' })
  sandbox.edit({ name: locked.name, locked: true })
  const old = sandbox.post({ subforum: 'cats', author: 'ben', title: 'Old' })
  sandbox.edit({ name: old.name, archived: true })
  sandbox.subforum({ name: 'inner', access: 'private' })
  const hidden = sandbox.post({ subforum: 'inner', author: 'ben', title: 'Hidden' })
  sandbox.subforum({ name: 'odd', access: 'quarantined' })
  const odd = sandbox.post({ subforum: 'odd', author: 'ben', title: 'Odd' })
  const gone = sandbox.post({ subforum: 'cats', author: 'ben', title: 'Gone' })
  sandbox.remove({ name: gone.name, by: 'author' })
  const blocking = sandbox.post({ subforum: 'cats', author: 'dora', title: 'Blocking' })
  const taken_back = sandbox.comment({ parent: it.post.name, author: 'ben', text: 'No' })
  sandbox.remove({ name: taken_back.name, by: 'author' })
  const commentOn = (permalink: string) =>
    it.act('v2/comment', { post_url: permalink, text: 'Hello' })

  const answers = [
    await commentOn(barred.permalink),
    await commentOn(locked.permalink),
    await commentOn(old.permalink),
    await commentOn('/r/cats/comments/zzzzzz9/'),
    await commentOn(hidden.permalink),
    await commentOn(odd.permalink),
    await commentOn(gone.permalink),
    await commentOn(blocking.permalink),
    await commentOn(taken_back.permalink),
    await it.act('vote', { id: old.name, direction: 'up' }),
    await it.act('vote', { id: 't3_nosuch', direction: 'up' }),
    await it.act('dm', { to: 'nobody_here', subject: 'a', text: 'b' }),
    await it.act('dm', { to: 'dora', subject: 'a', text: 'b' }),
  ]

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
    [403, 'BANNED_FROM_SUBFORUM'],
    [409, 'THREAD_LOCKED'],
    [409, 'ARCHIVED'],
    [404, 'NOT_FOUND'],
    [403, 'PERMISSION_DENIED'],
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [409, 'ARCHIVED'],
    [404, 'NOT_FOUND'],
    [404, 'NOT_FOUND'],
    [403, 'PERMISSION_DENIED'],
  ])
  sandbox.user({ name: 'ann', standing: 'suspended' })
  const { status, body } = await commentOn(it.post.permalink)
  sandbox.user({ name: 'ann', standing: 'good' })
  expect([status, body.code]).toEqual([403, 'PERMISSION_DENIED'])
})

test('a block is reported to the operator, with a fix', async () => {
  it.sandbox.addFault({ path: '/api/vote', fault: 'challenge_200_html' })

  const { body } = await it.act('vote', it.WRITES.vote)

  expect(body.message).toMatch(/ordinary browser.*cookies/)
  expect(it.house.events).toContainEqual({
    level: 'warn',
    event: 'act.blocked',
    fields: { act: 'vote' },
  })
  expect(noticeFor('act.blocked', { act: 'vote' })).toMatchObject({
    kind: 'upstream_blocked',
    subject: 'vote',
    message: expect.stringMatching(/import the account's cookies/),
  })
})

test('nothing of a session is ever logged', () => {
  const log_text = JSON.stringify(it.house.events)

  expect(it.house.events.length).toBeGreaterThan(0)
  for (const secret of Object.values(it.ann)) expect(log_text).not.toContain(secret)
})
