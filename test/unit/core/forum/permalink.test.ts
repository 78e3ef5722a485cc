import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { linkHosts, parsePermalink } from '../../../../src/core/forum/permalink.ts'

const HOSTS = { link: ['www.forum.test', '127.0.0.1:8081', 'old.forum.test'], short: ['fo.test'] }
const read = (text: string) => parsePermalink(text, HOSTS)

test.each([
  '/r/cats/comments/abc123/a_title/',
  '/r/cats/comments/abc123/a_title',
  '/r/cats/comments/abc123/',
  '/r/cats/comments/ABC123',
  '/comments/abc123',
  '/comments/abc123/für_dich/',
  '/user/ada/comments/abc123/x/',
  '/u/ada/comments/abc123/x/',
  '/r/u_ada/comments/abc123/x/',
  '/r/cats/comments/abc123/x/?context=3#frag',
  '/r/a/comments/abc123/?x=1#@evil',
  'https://www.forum.test/r/cats/comments/abc123/a_title/',
  'http://old.forum.test/comments/abc123?utm=1',
  'HTTPS://WWW.Forum.test/r/cats/comments/abc123/x',
  'http://127.0.0.1:8081/r/cats/comments/abc123/x/',
  'https://fo.test/abc123',
])('%p names a post', (text) => {
  expect(read(text)).toEqual({ post_id: 'abc123', comment_id: null })
})

test.each([
  '/r/cats/comments/abc123/a_title/def456/',
  '/r/cats/comments/abc123/a_title/def456',
  '/r/cats/comments/abc123//def456',
  '/r/cats/comments/abc123/comment/def456/',
  'https://www.forum.test/r/cats/comments/abc123/comment/def456',
])('%p names a comment under it', (text) => {
  expect(read(text)).toEqual({ post_id: 'abc123', comment_id: 'def456' })
})

test.each([
  '',
  'abc123',
  'r/cats/comments/abc123',
  '//169.254.169.254/x',
  '//www.forum.test/r/cats/comments/abc123',
  '@169.254.169.254/',
  '/\\169.254.169.254/r/cats/comments/abc123',
  'https://evil.test/r/cats/comments/abc123/x/',
  'https://www.forum.test.evil.test/comments/abc123',
  'https://www.forum.test@evil.test/comments/abc123',
  'https://ada:secret@www.forum.test/comments/abc123',
  'https://www.forum.test:8443/comments/abc123',
  'https:\\\\www.forum.test\\comments\\abc123',
  'https:///www.forum.test/comments/abc123',
  'ftp://www.forum.test/comments/abc123',
  'file:///comments/abc123',
  'javascript:/comments/abc123',
  'https://fo.test/r/cats/comments/abc123',
  '/r/cats/s/ShareCode1',
  '/r/cats/about/',
  '/r/../comments/abc123/../x/y/z/',
  '/comments/abc123%2f..%2fx',
  '/comments/abc 123',
  '/comments/abc123/a/b/c/d',
  '/comments/abcdefghijklmn',
  '/comments/abc123/x\r\nHost: evil',
])('%p is not a permalink of the platform', (text) => {
  expect(read(text)).toBeNull()
})

test('a link of more than 2,048 characters is refused', () => {
  expect(read(`/comments/abc123/${'x'.repeat(2032)}`)).toBeNull()
  expect(read(`/comments/abc123/${'x'.repeat(2031)}`)).not.toBeNull()
})

test('the result of any text contains only ids', () => {
  const piece = fc.constantFrom(
    '/',
    '//',
    'r',
    'comments',
    'abc1',
    '..',
    '%2e',
    '@',
    ':',
    '\\',
    'https:',
    'www.forum.test',
    '?',
    '#',
    ' ',
    'comment',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.string(), (fragments, tail) => {
      const place = read(fragments.join('') + tail)
      if (place === null) return
      expect(place.post_id).toMatch(/^[a-z0-9]{1,13}$/)
      expect(place.comment_id ?? 'a').toMatch(/^[a-z0-9]{1,13}$/)
    }),
  )
})

test.each([
  ['https://www.forum.example', ['old.forum.example', 'forum.example', 'www.forum.example']],
  ['https://forum.example', ['old.forum.example', 'www.forum.example', 'forum.example']],
  ['https://old.forum.co.uk', ['www.forum.co.uk', 'forum.co.uk', 'old.forum.co.uk']],
  ['https://board.forum.example', ['board.forum.example', 'old.board.forum.example']],
])('accepts links of the old and bare hosts of %s', (base_url, hosts) => {
  const found = linkHosts({ base_url, link_hosts: ['x.test'], short_link_hosts: [] })
  for (const host of [...hosts, 'x.test']) {
    const target = parsePermalink(`https://${host}/r/cats/comments/abc123/x/`, found)
    expect(target).toEqual({ post_id: 'abc123', comment_id: null })
  }
})

test('derives no hosts without a domain name, and never the parent domain', () => {
  const none = { link_hosts: [], short_link_hosts: [] }
  const hostsOf = (base_url: string) => linkHosts({ base_url, ...none }).link
  expect(hostsOf('http://127.0.0.1:8090')).toEqual(['127.0.0.1:8090'])
  expect(hostsOf('http://localhost:8090')).toEqual(['localhost:8090'])
  expect(hostsOf('https://board.forum.example')).not.toContain('forum.example')
  expect(hostsOf('https://m.example')).not.toContain('example')
})
