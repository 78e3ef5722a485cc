import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { parsePermalink } from '../../src/core/permalink.ts'

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
])('%p names nothing of the platform', (text) => {
  expect(read(text)).toBeNull()
})

test('a link of more than 2,048 characters names nothing', () => {
  expect(read(`/comments/abc123/${'x'.repeat(2032)}`)).toBeNull()
  expect(read(`/comments/abc123/${'x'.repeat(2031)}`)).not.toBeNull()
})

test('whatever is written, only ids come out', () => {
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
    fc.property(fc.array(piece, { maxLength: 12 }), fc.string(), (pieces, tail) => {
      const place = read(pieces.join('') + tail)
      if (place === null) return
      expect(place.post_id).toMatch(/^[a-z0-9]{1,13}$/)
      expect(place.comment_id ?? 'a').toMatch(/^[a-z0-9]{1,13}$/)
    }),
  )
})
