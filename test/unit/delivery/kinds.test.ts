import { expect, test } from 'bun:test'

import { dialable } from '../../../src/core/delivery/target.ts'
import {
  checkCredentials,
  isSecretAddress,
  kindOf,
  kindOfUrl,
  readTarget,
} from '../../../src/delivery/kinds.ts'

const BOT = '123456789:AAF-abcdefghijklmnopqrstuvwxyz_0123'
const ROOM = '/_matrix/client/v3/rooms/!abc%3Aexample.com/send/m.room.message'
const token = (text: string) => ({ username: null, token: text })

test.each<[string, string, { token?: string; username?: string }, string, object | null]>([
  ['ntfy', 'https://ntfy.sh/mytopic', {}, 'https://ntfy.sh/mytopic', null],
  [
    'ntfy',
    'https://n.example/p/top-ic_1',
    { token: 'tk_a' },
    'https://n.example/p/top-ic_1',
    token('tk_a'),
  ],
  [
    'telegram',
    `https://api.telegram.org/bot${BOT}/sendMessage?chat_id=-100123`,
    {},
    'https://api.telegram.org/bot***/sendMessage?chat_id=-100123',
    token(BOT),
  ],
  [
    'telegram',
    'https://api.telegram.org/bot***/sendMessage?message_thread_id=7&chat_id=@news_of_us',
    { token: BOT },
    'https://api.telegram.org/bot***/sendMessage?chat_id=@news_of_us&message_thread_id=7',
    token(BOT),
  ],
  [
    'telegram',
    `https://bots.example/tg/bot${encodeURIComponent(BOT)}?chat_id=5`,
    { token: BOT },
    'https://bots.example/tg/bot***/sendMessage?chat_id=5',
    token(BOT),
  ],
  ['gotify', 'https://g.example/', { token: 'Aabc' }, 'https://g.example/message', token('Aabc')],
  [
    'gotify',
    'https://g.example/sub/message?token=Aabc',
    {},
    'https://g.example/sub/message',
    token('Aabc'),
  ],
  [
    'matrix',
    'https://m.example/!abc:example.com',
    { token: 'syt_x' },
    `https://m.example${ROOM}`,
    token('syt_x'),
  ],
  [
    'matrix',
    `https://m.example${ROOM}`,
    { token: 'syt_x' },
    `https://m.example${ROOM}`,
    token('syt_x'),
  ],
  ['mqtt', 'mqtts://b.example/forum/new%20ones', {}, 'mqtts://b.example/forum/new%20ones', null],
  [
    'mqtt',
    'mqtt://ann:p%40ss@b.example:1884/a/b',
    {},
    'mqtt://b.example:1884/a/b',
    { username: 'ann', token: 'p@ss' },
  ],
  [
    'mqtt',
    'mqtts://ann@b.example/a',
    { token: 'pass' },
    'mqtts://b.example/a',
    { username: 'ann', token: 'pass' },
  ],
])('%s reads %s', (kind, text, given, url, credentials) => {
  const read = readTarget(kindOf(kind), text, given)
  expect(read).toEqual({ ok: true, url, credentials } as never)
  // The stored form is one that is read again.
  const again = readTarget(kindOf(kind), url, { ...(credentials as object) })
  expect(again).toMatchObject({ ok: true, url })
})

test.each<[string, string, { token?: string; username?: string }, string, string]>([
  ['slack', 'https://hooks.slack.com/services/a', { token: 'x' }, 'token', 'this is slack'],
  ['ntfy', 'https://ntfy.sh/', {}, 'url', 'a topic of 1 to 64'],
  ['ntfy', `https://ntfy.sh/${'a'.repeat(65)}`, {}, 'url', 'a topic of 1 to 64'],
  ['ntfy', 'https://ntfy.sh/topic?auth=QmFzaWM', {}, 'url', 'a topic of 1 to 64'],
  ['ntfy', 'https://ntfy.sh/topic#a', {}, 'url', 'a topic of 1 to 64'],
  ['ntfy', 'https://ann:pass@ntfy.sh/topic', {}, 'url', 'a topic of 1 to 64'],
  ['ntfy', 'ftp://ntfy.sh/topic', {}, 'url', 'a topic of 1 to 64'],
  ['ntfy', 'https://ntfy.sh/topic', { token: 'tk_ä' }, 'token', 'printable ASCII'],
  ['ntfy', 'https://ntfy.sh/topic', { token: 'tk\r\nx: y' }, 'token', 'printable ASCII'],
  [
    'ntfy',
    'https://ntfy.sh/topic',
    { username: 'ann', token: 'x' },
    'username',
    'is for kind mqtt',
  ],
  ['telegram', `https://api.telegram.org/bot${BOT}/sendMessage`, {}, 'url', 'chat_id'],
  ['telegram', `https://api.telegram.org/bot${BOT}/sendPhoto?chat_id=1`, {}, 'url', 'sendMessage'],
  ['telegram', `https://api.telegram.org/bot${BOT}?chat_id=1&text=x`, {}, 'url', 'chat_id'],
  ['telegram', `https://api.telegram.org/bot${BOT}?chat_id=ann`, {}, 'url', 'chat_id'],
  [
    'telegram',
    'https://api.telegram.org/bot***?chat_id=1',
    {},
    'token',
    'required: the token of a bot',
  ],
  [
    'telegram',
    'https://api.telegram.org/bot***?chat_id=1',
    { token: '12:ab' },
    'token',
    'that of a bot',
  ],
  [
    'telegram',
    `https://api.telegram.org/bot${BOT}?chat_id=1`,
    { token: `${BOT}x` },
    'token',
    'differs',
  ],
  ['gotify', 'https://g.example/message', {}, 'token', 'required: the token of an application'],
  ['gotify', 'https://g.example/message?token=a&x=1', {}, 'url', '/message'],
  ['matrix', 'https://m.example/!abc:example.com', {}, 'token', 'required: the access token'],
  ['matrix', 'https://m.example/%23alias:example.com', { token: 'x' }, 'url', 'not its alias'],
  ['matrix', `https://m.example/!${'a'.repeat(255)}`, { token: 'x' }, 'url', 'not its alias'],
  ['mqtt', 'mqtts://b.example', {}, 'url', 'without wildcards'],
  ['mqtt', 'mqtts://b.example/a/+/c', {}, 'url', 'without wildcards'],
  ['mqtt', 'mqtts://b.example/a/%23', {}, 'url', 'without wildcards'],
  ['mqtt', 'mqtts://b.example/a%00', {}, 'url', 'without wildcards'],
  ['mqtt', 'mqtts://b.example/%E0%A4%A', {}, 'url', 'without wildcards'],
  ['mqtt', 'https://b.example/a', {}, 'url', 'without wildcards'],
  ['mqtt', 'mqtts://b.example/a', { token: 'x' }, 'username', 'required beside token'],
  ['mqtt', 'mqtts://b.example/a', { username: 'x' }, 'token', 'required beside username'],
])('%s refuses %s', (kind, text, given, field, sentence) => {
  const read = readTarget(kindOf(kind), text, given)
  if (read.ok) throw new Error('it was accepted')
  expect(read.field).toBe(field as never)
  expect(read.message).toStartWith(`${field} `)
  expect(read.message).toContain(sentence)
  // A message goes into logs of callers.
  for (const secret of Object.values(given).filter((it) => it.length > 4))
    expect(read.message).not.toContain(secret)
  expect(read.message).not.toContain(BOT)
})

test('credentials of a stored target are replaced or removed', () => {
  expect(checkCredentials(kindOf('ntfy'), 'https://n/t', { token: null })).toMatchObject({
    credentials: null,
  })
  expect(checkCredentials(kindOf('matrix'), 'https://m', { token: null }).ok).toBe(false)
})

test.each([
  ['mqtts://b.example/a', 'https://b.example:8883/a'],
  ['mqtt://b.example/a', 'http://b.example:1883/a'],
  ['MQTTS://b.example:443/a', 'https://b.example:443/a'],
  ['mqtts://[::1]/a', 'https://[::1]:8883/a'],
  ['mqtts://[::1]:1/a', 'https://[::1]:1/a'],
  ['https://ntfy.sh/topic', 'https://ntfy.sh/topic'],
])('the guard sees %s as %s', (url, seen) => expect(dialable(url)).toBe(seen))

test.each([
  [`https://api.telegram.org/bot${BOT}/sendMessage?chat_id=1`, 'telegram'],
  ['mqtts://b.example/a', 'mqtt'],
  ['https://ntfy.sh/topic', 'webhook'],
])('%s is of kind %s', (url, kind) => expect(kindOfUrl(url).name).toBe(kind))

test.each([
  ['ntfy', 'https://ntfy.sh/topic', false, true],
  ['ntfy', 'https://ntfy.sh/topic', true, false],
  ['telegram', 'https://api.telegram.org/bot***/sendMessage?chat_id=1', true, false],
  ['slack', 'https://hooks.slack.com/services/x', false, true],
  ['webhook', 'https://a.example/?key=1', false, true],
  ['webhook', 'https://a.example/', false, false],
] as const)(
  'the address of %s %s (credentials: %p) is a secret: %p',
  (kind, url, has_credentials, secret) =>
    expect(isSecretAddress({ kind, url, has_credentials })).toBe(secret),
)
