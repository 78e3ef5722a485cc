import { expect, test } from 'bun:test'

import {
  alertIn,
  readCreated,
  refusedWith,
} from '../../../../../src/platforms/reddit/browser/comment.ts'

const WHERE = { base: 'https://www.forum.test', post_id: 'abc', now: 0 }
const answer = (status: number, body: string, type = 'text/vnd.reddit.partial+html') => ({
  status,
  headers: new Headers({ 'content-type': type }),
  body,
})

test.each([
  ['Comments are locked.', 'THREAD_LOCKED', 'THREAD_LOCKED'],
  ["that's a piece of history now; it's too late to reply to it", 'TOO_OLD', 'ARCHIVED'],
  ['that comment has been deleted', 'DELETED_COMMENT', 'NOT_FOUND'],
  ['the link you are commenting on has been deleted', 'DELETED_LINK', 'NOT_FOUND'],
  ['Something is broken, please try again later.', 'SOMETHING_IS_BROKEN', 'PERMISSION_DENIED'],
  ["you can't send to a user that you have blocked", 'USER_BLOCKED', 'PERMISSION_DENIED'],
  ["You can't do that while suspended.", 'IN_TIMEOUT', 'PERMISSION_DENIED'],
  ['You are banned from this community.', 'BANNED_FROM_SUBREDDIT', 'BANNED_FROM_SUBFORUM'],
  ['we need something here', 'NO_TEXT', 'INVALID_REQUEST'],
  ['this is too long (max: 10000)', 'TOO_LONG', 'INVALID_REQUEST'],
  ['The moon is in the wrong house.', 'UNNAMED', 'FORUM_REJECTED'],
])('the alert %p is %s: %s', (message, code, meaning) => {
  expect(refusedWith(message)).toMatchObject({ kind: 'refused', code, meaning, message })
})

test('an alert about a login means a dead session, not a refusal', () => {
  expect(refusedWith('Please log in to do that.')).toEqual({ kind: 'login_required' })
})

test.each([
  ['you are doing that too much. try again in 5 minutes.', 300],
  ["Looks like you've been doing that a lot. Take a break for 51 seconds before trying again.", 51],
])('the pause of %p is %i seconds', (message, retry_after_s) => {
  expect(refusedWith(message)).toMatchObject({ meaning: 'FORUM_RATELIMIT', retry_after_s })
})

test.each([
  ['<p>Hello</p>', null],
  ['<faceplate-alert level="error" message="No &amp; no."></faceplate-alert>', 'No & no.'],
  ["<FACEPLATE-ALERT message='It&#39;s &#x22;shut&#x22;'>", 'It\'s "shut"'],
  ['<faceplate-alert level="success" message="Done."></faceplate-alert>', null],
  [
    '<faceplate-alert level="error" message="&unknown; &#99999999;"></faceplate-alert>',
    '&unknown; &#99999999;',
  ],
])('the alert in %p is %p', (html, message) => {
  expect(alertIn(html)).toBe(message)
})

const alertPage = (attributes: string) =>
  `<div><shreddit-comment author="ann" ${attributes}></shreddit-comment></div>`

test.each([
  [
    'thingId="t1_xyz" permalink="/r/bread/comments/abc/comment/xyz/"',
    'https://www.forum.test/r/bread/comments/abc/comment/xyz/',
  ],
  ['thingid="t1_xyz"', 'https://www.forum.test/comments/abc/comment/xyz/'],
  [
    'thingId="t1_xyz" permalink="//elsewhere.test/x"',
    'https://www.forum.test/comments/abc/comment/xyz/',
  ],
])('a comment created with %p has the permalink %s', (attributes, permalink) => {
  expect(readCreated(answer(200, alertPage(attributes)), WHERE)).toEqual({
    ok: true,
    value: { name: 't1_xyz', permalink, comment: null },
  })
})

test.each([
  ['an empty success', answer(200, ''), { kind: 'unknown' }],
  ['a success about something else', answer(200, '<p>Thanks</p>'), { kind: 'unknown' }],
  ['a comment without a name', answer(200, alertPage('')), { kind: 'unknown' }],
  ['a server error', answer(503, '<html>Ow</html>', 'text/html'), { kind: 'unknown' }],
  [
    'a plain refusal',
    answer(403, '{"message":"Forbidden","error":403}', 'application/json'),
    { kind: 'forbidden', reason: null },
  ],
  [
    'a dead session',
    answer(401, '{"message":"Unauthorized","error":401}', 'application/json'),
    { kind: 'login_required' },
  ],
  ['a block page', answer(403, '<html>blocked</html>', 'text/html'), { kind: 'blocked' }],
  ['a human check', answer(200, '<h1>Prove your humanity</h1>'), { kind: 'blocked' }],
])('%s has its outcome', (_, given, fault) => {
  expect(readCreated(given, WHERE)).toMatchObject({ ok: false, fault })
})
