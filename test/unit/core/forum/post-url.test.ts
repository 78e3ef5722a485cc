import { describe, expect, test } from 'bun:test'

import { fullnameOf, parsePostUrl, type PostLink } from '../../../../src/core/forum/permalink.ts'

const HOSTS = {
  link: [
    'www.forum.example',
    'forum.example',
    'old.forum.example',
    'sh.forum.example',
    'm.forum.example',
  ],
  short: ['frm.example'],
}
const read = (text: string) => parsePostUrl(text, HOSTS)
const POST: PostLink = { kind: 'place', place: { post_id: 'ab12', comment_id: null } }
const COMMENT: PostLink = { kind: 'place', place: { post_id: 'ab12', comment_id: 'cd34' } }

describe('a post is named', () => {
  test.each([
    'https://www.forum.example/r/cats/comments/ab12/a_cat/',
    'https://www.forum.example/r/cats/comments/ab12/a_cat',
    'https://www.forum.example/r/cats/comments/ab12/',
    'https://www.forum.example/r/cats/comments/AB12',
    'https://www.forum.example/comments/ab12',
    'https://old.forum.example/r/cats/comments/ab12/a_cat/?sort=new&context=3#top',
    'http://forum.example/r/cats/comments/ab12/%C3%BCber/',
    'https://m.forum.example/user/ann/comments/ab12/a_cat/',
    'https://sh.forum.example/r/u_ann/comments/ab12/a_cat/',
    'https://www.forum.example/u/ann/comments/ab12/a_cat/',
    'https://www.forum.example/gallery/ab12',
    'https://www.forum.example/video/ab12/',
    'https://old.forum.example/tb/ab12',
    'https://frm.example/ab12',
    'www.forum.example/r/cats/comments/ab12/a_cat/',
    'frm.example/ab12',
    '/r/cats/comments/ab12/a_cat/',
    '/comments/ab12/',
    '  https://frm.example/ab12\n',
  ])('by %j', (text) => {
    expect(read(text)).toEqual(POST)
  })
})

describe('a comment is named', () => {
  test.each([
    'https://www.forum.example/r/cats/comments/ab12/a_cat/cd34/',
    'https://www.forum.example/r/cats/comments/ab12/a_cat/cd34/?context=3',
    'https://www.forum.example/r/cats/comments/ab12/comment/cd34/',
    'https://old.forum.example/user/ann/comments/ab12/a_cat/cd34',
    '/r/cats/comments/ab12/_/cd34/',
  ])('by %j', (text) => {
    expect(read(text)).toEqual(COMMENT)
  })
})

describe('a share link is recognised by its form', () => {
  test.each([
    ['https://www.forum.example/r/cats/s/aBc123XyZ0', '/r/cats/s/aBc123XyZ0'],
    ['https://forum.example/u/ann/s/aBc123?utm=1', '/u/ann/s/aBc123'],
    ['www.forum.example/user/ann/s/aBc123/', '/user/ann/s/aBc123'],
    ['/r/cats/s/aBc123', '/r/cats/s/aBc123'],
  ])('%j', (text, path) => {
    expect(read(text)).toEqual({ kind: 'share', path })
  })
})

describe('no post is named', () => {
  test.each([
    '',
    'cats',
    'https://elsewhere.example/r/cats/comments/ab12/a_cat/',
    'https://elsewhere.example/r/cats/s/aBc123',
    'https://www.forum.example@elsewhere.example/comments/ab12',
    'https://elsewhere.example\\@www.forum.example/comments/ab12',
    'https://ann:secret@www.forum.example/comments/ab12',
    'https://www.forum.example:8443/comments/ab12',
    '//elsewhere.example/comments/ab12',
    'https://www.forum.example/r/cats/',
    'https://www.forum.example/r/cats/comments/',
    'https://www.forum.example/r/cats/comments/ab-12/',
    'https://www.forum.example/r/cats/s/a.b',
    'https://frm.example/ab12/cd34',
    'javascript:/comments/ab12',
    'ftp://www.forum.example/comments/ab12',
    'https://www.forum.example/comments/ab12/\nx',
    `https://www.forum.example/comments/ab12/${'x'.repeat(2048)}`,
  ])('by %j', (text) => {
    expect(read(text)).toBeNull()
  })
})

test.each([
  [{ post_id: 'ab12', comment_id: null }, 't3_ab12'],
  [{ post_id: 'ab12', comment_id: 'cd34' }, 't1_cd34'],
])('the fullname to answer at %j is %s', (place, fullname) => {
  expect(fullnameOf(place)).toBe(fullname)
})
