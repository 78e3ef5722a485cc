import { expect, test } from 'bun:test'

import { redirectTarget } from '../../../../src/platforms/reddit/response.ts'

const REQUESTED_URL = 'https://www.forum.example/r/cats/new.json?limit=5&raw_json=1'

test.each([
  ['a path', '/r/Cats/new.json', 'https://www.forum.example/r/Cats/new.json?limit=5&raw_json=1'],
  [
    'an address',
    'https://www.forum.example/r/Cats/new.json?raw_json=1',
    'https://www.forum.example/r/Cats/new.json?raw_json=1&limit=5',
  ],
  ['a lost suffix', '/r/Cats/new/', 'https://www.forum.example/r/Cats/new.json?limit=5&raw_json=1'],
  ['another suffix', '/r/Cats/.api', 'https://www.forum.example/r/Cats/.json?limit=5&raw_json=1'],
  [
    'a host without www',
    'https://forum.example/r/cats/new.json',
    'https://forum.example/r/cats/new.json?limit=5&raw_json=1',
  ],
  [
    'a subforum named login',
    '/r/login/new.json',
    'https://www.forum.example/r/login/new.json?limit=5&raw_json=1',
  ],
])('%s is followed', (_what, location, to) => {
  expect(redirectTarget(REQUESTED_URL, 302, location)).toBe(to)
})

test.each([
  ['another host', 'https://evil.example/r/cats/new.json'],
  ['a host with the same ending', 'https://evilforum.example/r/cats/new.json'],
  ['a subdomain of ours', 'https://old.forum.example/r/cats/new.json'],
  ['a downgrade to http', 'http://www.forum.example/r/cats/new.json'],
  ['another port', 'https://www.forum.example:8443/r/cats/new.json'],
  ['credentials', 'https://a:b@www.forum.example/r/Cats/new.json'],
  ['the same address', REQUESTED_URL],
  ['the login', '/login?dest=x'],
  ['the search', '/subreddits/search?q=cats'],
  ['no address', 'http://['],
  ['nothing', null],
])('%s is not followed', (_what, location) => {
  expect(redirectTarget(REQUESTED_URL, 302, location)).toBeNull()
})

test('an upgrade to https is followed', () => {
  expect(redirectTarget('http://forum.example/x.json', 301, 'https://forum.example/x.json')).toBe(
    'https://forum.example/x.json',
  )
})

test.each([200, 300, 304, 404])('a %i is not a redirect', (status) => {
  expect(redirectTarget(REQUESTED_URL, status, '/r/Cats/new.json')).toBeNull()
})
