import { describe, expect, test } from 'bun:test'

import { toComment, toPost } from '../../../../../src/platforms/reddit/readers/items.ts'
import { comment, post } from '../fixture.ts'

const BASE = 'https://forum.example'
const postOf = (data: Record<string, unknown> = {}) => toPost(BASE, post(data).data)
const commentOf = (data: Record<string, unknown> = {}) => toComment(BASE, comment(data).data)

/** The same row without some of its fields. */
function without(row: Record<string, unknown>, ...fields: string[]) {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !fields.includes(name)))
}

test('a complete link post', () => {
  const row = {
    selftext: '',
    link_flair_text: 'News',
    upvote_ratio: 0.93,
    author_flair_text: 'expert',
    author_premium: true,
    thumbnail: 'https://pictures.example/small',
    url_overridden_by_dest: 'https://pictures.example/cat',
    locked: true,
  }

  expect(postOf(row)).toEqual({
    id: 'ab12',
    name: 't3_ab12',
    title: 'A title',
    author: 'writer',
    subforum: 'cats',
    permalink: '/r/cats/comments/ab12/a_title/',
    url: 'https://forum.example/r/cats/comments/ab12/a_title/',
    upvotes: 7,
    comments: 3,
    created: '2026-01-01T00:00:00.000Z',
    created_utc: 1_767_225_600,
    text: '',
    link_url: 'https://pictures.example/cat',
    upvote_ratio: 0.93,
    over_18: false,
    spoiler: false,
    contest_mode: false,
    locked: true,
    stickied: false,
    is_self: false,
    is_video: false,
    is_crosspost: false,
    crosspost_origin: null,
    flair: 'News',
    domain: 'pictures.example',
    media_kind: null,
    thumbnail_url: 'https://pictures.example/small',
    edited: false,
    author_info: { fullname: 't2_1', flair: 'expert', premium: true },
  })
})

test('a complete comment', () => {
  const row = {
    link_title: 'A title',
    link_url: 'https://pictures.example/cat',
    depth: 2,
    is_submitter: true,
    over_18: false,
  }

  expect(commentOf(row)).toEqual({
    id: 'cd34',
    name: 't1_cd34',
    author: 'writer',
    body: 'Some words',
    subforum: 'cats',
    upvotes: 2,
    permalink: '/r/cats/comments/ab12/a_title/cd34/',
    url: 'https://forum.example/r/cats/comments/ab12/a_title/cd34/',
    post_id: 'ab12',
    link_title: 'A title',
    link_url: 'https://pictures.example/cat',
    created: '2026-01-01T00:00:00.000Z',
    created_utc: 1_767_225_600,
    parent_id: 't3_ab12',
    is_submitter: true,
    depth: 2,
    edited: false,
    over_18: false,
    author_info: { fullname: 't2_1', flair: null, premium: null },
  })
})

describe('a post', () => {
  test('with text has no target', () => {
    const text = postOf({ is_self: true, selftext: 'a < b &amp; c', url: `${BASE}/r/cats/x/` })

    expect(text).toMatchObject({ is_self: true, link_url: null, text: 'a < b &amp; c' })
  })

  test('with a target on the platform gets its absolute address', () => {
    expect(postOf({ url: '/r/dogs/comments/x/' }).link_url).toBe(`${BASE}/r/dogs/comments/x/`)
  })

  test('with an absolute permalink gets the path', () => {
    const { permalink, url } = postOf({ permalink: 'https://old.forum.example/r/cats/x/' })

    expect({ permalink, url }).toEqual({ permalink: '/r/cats/x/', url: `${BASE}/r/cats/x/` })
  })

  test.each([
    [false, false],
    [true, true],
    [1_767_225_660.0, '2026-01-01T00:01:00.000Z'],
    [0, false],
    [null, false],
    [1e300, false],
  ])('edited %p is %p', (edited, expected) => {
    expect(postOf({ edited }).edited).toBe(expected)
  })

  test.each(['self', 'default', 'nsfw', 'spoiler', 'image', '', null, undefined, 'javascript:x'])(
    'has no thumbnail for %p',
    (thumbnail) => {
      expect(postOf({ thumbnail }).thumbnail_url).toBeNull()
    },
  )

  test('by a deleted account keeps its text', () => {
    const row = without(
      post({ author: '[deleted]', selftext: 'still here' }).data,
      'author_fullname',
    )

    expect(toPost(BASE, row)).toMatchObject({
      author: '[deleted]',
      text: 'still here',
      author_info: { fullname: null },
    })
  })

  test('that is an advertisement has no subforum', () => {
    const row = without(post({ permalink: '/comments/ad/buy/', promoted: true }).data, 'subreddit')

    expect(toPost(BASE, row).subforum).toBe('')
  })

  test('takes its subforum from the permalink', () => {
    expect(toPost(BASE, without(post().data, 'subreddit')).subforum).toBe('cats')
  })

  test('with required fields only has nulls for the others', () => {
    const row = { id: 'a', title: '', permalink: '/r/x/a/', created_utc: 1 }

    expect(Object.values(toPost(BASE, row)).every((value) => value !== undefined)).toBe(true)
    expect(toPost(BASE, row)).toMatchObject({ flair: null, domain: null, upvote_ratio: null })
  })

  test('names the origin of its crosspost', () => {
    const parent = { id: 'or1', subreddit: 'dogs', permalink: '/r/dogs/comments/or1/x/' }
    const { is_crosspost, crosspost_origin } = postOf({
      crosspost_parent: 't3_or1',
      crosspost_parent_list: [parent],
    })

    expect(is_crosspost).toBe(true)
    expect(crosspost_origin).toEqual({
      id: 'or1',
      subforum: 'dogs',
      permalink: '/r/dogs/comments/or1/x/',
    })
  })

  test('with a deleted origin is a crosspost without one', () => {
    expect(postOf({ crosspost_parent: 't3_or1', crosspost_parent_list: [] })).toMatchObject({
      is_crosspost: true,
      crosspost_origin: null,
    })
  })
})

describe('a comment', () => {
  test.each(['', null, {}, { kind: 'Listing' }])('reads the same with replies %j', (replies) => {
    expect(commentOf({ replies })).toEqual(commentOf())
  })

  test('without fields of its post has nulls', () => {
    expect(commentOf()).toMatchObject({
      link_title: null,
      link_url: null,
      over_18: null,
      depth: null,
    })
  })

  test('under a post with a target on the platform gets its absolute address', () => {
    expect(commentOf({ link_url: '/r/dogs/comments/x/' }).link_url).toBe(
      `${BASE}/r/dogs/comments/x/`,
    )
  })

  test('without a permalink gets one that the platform serves', () => {
    const row = without(comment().data, 'permalink')
    const link_permalink = 'https://www.forum.example/r/cats/comments/ab12/a_title/'

    expect(toComment(BASE, row).permalink).toBe('/r/cats/comments/ab12/_/cd34/')
    expect(toComment(BASE, { ...row, link_permalink }).permalink).toBe(
      '/r/cats/comments/ab12/a_title/cd34/',
    )
  })

  test('without a score gets its ups minus its downs', () => {
    expect(toComment(BASE, { ...without(comment().data, 'score'), ups: 5, downs: 7 }).upvotes).toBe(
      -2,
    )
  })

  test('without a link takes its parent as the post', () => {
    expect(toComment(BASE, without(comment().data, 'link_id')).post_id).toBe('ab12')
  })

  test('without an author has none', () => {
    expect(commentOf({ author: null }).author).toBe('[deleted]')
  })
})
