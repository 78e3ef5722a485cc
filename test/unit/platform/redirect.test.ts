import { expect, test } from 'bun:test'

import { onward } from '../../../src/platform/redirect.ts'

const ASKED = 'https://www.forum.example/r/cats/new.json?limit=5&raw_json=1'

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
    'a place called login',
    '/r/login/new.json',
    'https://www.forum.example/r/login/new.json?limit=5&raw_json=1',
  ],
])('%s is followed', (_what, location, to) => {
  expect(onward(ASKED, 302, location)).toBe(to)
})

test.each([
  ['another host', 'https://evil.example/r/cats/new.json'],
  ['a host that only ends alike', 'https://evilforum.example/r/cats/new.json'],
  ['a host below ours', 'https://old.forum.example/r/cats/new.json'],
  ['a weaker scheme', 'http://www.forum.example/r/cats/new.json'],
  ['another port', 'https://www.forum.example:8443/r/cats/new.json'],
  ['credentials', 'https://a:b@www.forum.example/r/Cats/new.json'],
  ['the very same address', ASKED],
  ['the login', '/login?dest=x'],
  ['the search', '/subreddits/search?q=cats'],
  ['no address', 'http://['],
  ['nothing', null],
])('%s is not followed', (_what, location) => {
  expect(onward(ASKED, 302, location)).toBeNull()
})

test('a safer scheme is followed', () => {
  expect(onward('http://forum.example/x.json', 301, 'https://forum.example/x.json')).toBe(
    'https://forum.example/x.json',
  )
})

test.each([200, 300, 304, 404])('a %i is no redirect', (status) => {
  expect(onward(ASKED, status, '/r/Cats/new.json')).toBeNull()
})
