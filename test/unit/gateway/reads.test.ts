import { describe, expect, test } from 'bun:test'

import { fail, ok, type Outcome } from '../../../src/core/base/result.ts'
import type { MediaPost, Post } from '../../../src/core/forum/items.ts'
import type { CacheResult } from '../../../src/gateway/cache.ts'
import { ANONYMOUS, type Call } from '../../../src/platforms/port.ts'
import { fakeClock } from '../../support/clock.ts'
import { aNode, aPost, more, page, readsOver, tree } from '../../support/reads.ts'

const clock = () => fakeClock(() => Promise.resolve())
const FIRST = { limit: 25, after: null }

function bodyOf<T>(outcome: Outcome<CacheResult<T>>): T {
  if (!outcome.ok) throw new Error(`a fault: ${outcome.fault.kind}`)
  return outcome.value.body
}

const imagePost = (id: string, kind: 'image' | 'gif' | null) => ({
  ...aPost(id),
  media:
    kind === null
      ? null
      : {
          kind,
          url: null,
          width: 1,
          height: 1,
          items: [],
          duration_s: null,
          thumbnail_url: null,
        },
})

const commentOf = (
  id: string,
  body: string,
  score: number,
  replies = [] as ReturnType<typeof aNode>[],
) => {
  const node = aNode(id, 't3_p', replies, body)
  return { ...node, data: { ...node.data, score } }
}

describe('posts', () => {
  test('are requested anonymously with one deadline', async () => {
    const calls: Call[] = []
    const now = clock()
    const reads = readsOver(
      {
        posts: async (query, call) => {
          calls.push(call)
          expect(query).toEqual({
            subforums: ['cats'],
            sort: 'top',
            t: 'day',
            limit: 5,
            after: 't3_a',
          })
          return page([aPost('b')], 't3_b')
        },
      },
      now,
    )

    const after = { native: 't3_a', depth: 5 }
    const body = bodyOf(
      await reads.posts({ subforum: 'cats', sort: 'top', t: 'day', limit: 5, after }, null),
    )

    expect(body).toEqual({ posts: [aPost('b')], after: 't3_b' })
    expect(calls).toMatchObject([
      { identity: ANONYMOUS, deadline_at: now.now() + 30_000, wait_until: now.now() + 8_000 },
    ])
  })

  test('that the platform repeats on a page are returned once', async () => {
    const reads = readsOver(
      { posts: async () => page([aPost('a'), aPost('b'), aPost('a')]) },
      clock(),
    )

    const body = bodyOf(
      await reads.posts({ subforum: 'cats', sort: 'hot', t: null, ...FIRST }, null),
    )

    expect(body.posts.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(body.listing_status).toBe('complete')
  })

  test('in an empty new listing are complete, in an empty ranking unknown', async () => {
    const reads = readsOver({ posts: async () => page<Post>([]) }, clock())
    const status = async (sort: string) =>
      bodyOf(await reads.posts({ subforum: 'cats', sort, t: null, ...FIRST }, null)).listing_status

    expect(await status('new')).toBe('complete')
    expect(await status('hot')).toBe('unknown')
  })
})

describe('a search', () => {
  const found = [
    aPost('a', { upvotes: 5, comments: 9, over_18: true, created_utc: 3 }),
    aPost('b', { upvotes: 50, comments: 1, locked: true, created_utc: 1 }),
    aPost('c', { upvotes: 7, comments: 4, is_video: true, created_utc: 2 }),
  ]
  const reads = () => readsOver({ search: async () => page(found, 't3_c') }, clock())
  const query = {
    q: 'x',
    subforum: null,
    sort: 'relevance',
    t: 'all',
    nsfw: false,
    filter: {},
    ...FIRST,
  }

  test('ends by the number of listed rows, including those that are left out', async () => {
    const posts = Array.from({ length: 200 }, (_, index) => aPost(`x${index}`))
    const wide = { ...query, limit: 200 }
    const listed = { rows: posts, after: null, logged_in: true, left_out: 50 }
    const whole = { ...listed, left_out: 0 }
    const status = async (answer: typeof listed) =>
      bodyOf(await readsOver({ search: async () => ok(answer) }, clock()).search(wide, null))
        .listing_status

    expect(await status(whole)).toBe('complete')
    expect(await status(listed)).toBe('unknown')
  })

  test('without a filter has no meta', async () => {
    expect(bodyOf(await reads().search(query, null))).toEqual({ posts: found, after: 't3_c' })
  })

  test.each([
    [{ min_score: 7 }, ['b', 'c']],
    [{ max_score: 7 }, ['a', 'c']],
    [{ min_comments: 4 }, ['a', 'c']],
    [{ max_comments: 1 }, ['b']],
    [{ over_18: true }, ['a']],
    [{ over_18: false, locked: false }, ['c']],
    [{ is_video: true }, ['c']],
    [{ contest_mode: false }, ['a', 'b', 'c']],
    [{ sort_type: 'score' as const }, ['b', 'c', 'a']],
    [{ sort_type: 'num_comments' as const }, ['a', 'c', 'b']],
    [{ sort_type: 'created' as const, max_score: 10 }, ['a', 'c']],
    [{ min_score: 1000 }, []],
  ])('returns the rows of a page that match %p', async (filter, ids) => {
    const body = bodyOf(await reads().search({ ...query, filter }, null))

    expect(body.posts.map(({ id }) => id)).toEqual(ids)
    expect(body.meta).toEqual({ scanned: 3, kept: ids.length })
    expect(body.after).toBe('t3_c')
  })

  test('for media returns the requested kind and counts the rows searched', async () => {
    const media = readsOver(
      {
        searchMedia: async () =>
          page([imagePost('a', 'image'), imagePost('b', null), imagePost('c', 'gif')], 't3_c'),
      },
      clock(),
    )
    const ids = async (kind: MediaPost['media']['kind'] | 'all') => {
      const body = bodyOf(await media.searchMedia({ ...query, kind }))
      expect(body).toMatchObject({ scanned: 3, after: 't3_c' })
      return body.posts.map(({ id }) => id)
    }

    expect(await ids('all')).toEqual(['a', 'c'])
    expect(await ids('image')).toEqual(['a'])
    expect(await ids('video')).toEqual([])
  })
})

describe('a search of discussions', () => {
  const query = { q: 'otter', sort: 'relevance', t: 'all', nsfw: false, limit: 25, after: null }
  const trees: Record<string, ReturnType<typeof tree>> = {
    a: tree([commentOf('1', 'a badger', 3)]),
    b: tree([commentOf('2', 'no', 9, [commentOf('3', 'an otter', 1)])]),
    c: tree([commentOf('4', 'Otter', 5)]),
  }

  test('returns the posts whose comments contain the words, in the order of the search', async () => {
    const limits: number[] = []
    const reads = readsOver(
      {
        search: async ({ limit }) => {
          limits.push(limit)
          return page([aPost('a', { title: 'Otters' }), aPost('b'), aPost('c')])
        },
        tree: async ({ post_id }) => trees[post_id] ?? tree([]),
      },
      clock(),
    )

    const body = bodyOf(await reads.discussions(query))

    expect(limits).toEqual([8])
    expect(body).toEqual({
      posts: [aPost('b'), aPost('c')],
      after: null,
      listing_status: 'complete',
      meta: { searched: 3, comments_scanned: 4, truncated: false },
    })
  })

  test.each([
    ['more posts follow', page([aPost('a')], 't3_a'), 1],
    ["the platform's search found no post", page<Post>([]), 0],
  ])('is truncated if %s, as a deep search is', async (_what, found, searched) => {
    const reads = readsOver(
      { search: async () => found, tree: async () => trees['a'] ?? tree([]) },
      clock(),
    )

    const { posts, meta } = bodyOf(await reads.discussions(query))
    const deep = bodyOf(await reads.deepSearch({ ...query, max_comments: 10 }))

    expect(posts).toEqual([])
    expect(meta).toEqual({ searched, comments_scanned: searched, truncated: true })
    expect(deep.meta).toMatchObject({ posts_expanded: searched, truncated: true })
  })
})

describe('a deep search', () => {
  const query = {
    q: 'otter',
    sort: 'relevance',
    t: 'all',
    nsfw: false,
    max_comments: 100,
    limit: 3,
    after: null,
  }
  test('returns the comments with the word, highest score first, each with its post', async () => {
    const trees: Record<string, ReturnType<typeof tree>> = {
      a: tree([
        commentOf('1', 'an Otter!', 3, [commentOf('2', '**otters**', 9)]),
        commentOf('3', '[otter](x)', 8),
      ]),
      b: tree([commentOf('4', 'otter', 5), more('t3_b', ['z'])]),
    }
    const reads = readsOver(
      {
        search: async ({ limit }) => {
          expect(limit).toBe(3)
          return page([aPost('a'), aPost('b')], 't3_b')
        },
        tree: async ({ post_id }) => trees[post_id] ?? tree([]),
      },
      clock(),
    )

    const body = bodyOf(await reads.deepSearch(query))

    expect(body.comments.map(({ id, score, post }) => [id, score, post.id])).toEqual([
      ['3', 8, 'a'],
      ['4', 5, 'b'],
      ['1', 3, 'a'],
    ])
    expect(body.after).toBe('t3_b')
    expect(body.meta).toEqual({
      truncated: true,
      capped: false,
      posts_expanded: 2,
      comments_scanned: 4,
    })
    expect(Object.keys(body.comments[0] ?? {})).toEqual([
      'id',
      'body',
      'score',
      'author',
      'permalink',
      'url',
      'created',
      'subforum',
      'post',
    ])
  })

  test('never finds the placeholder of a deleted comment', async () => {
    const reads = readsOver(
      {
        search: async () => page([aPost('a')]),
        tree: async () =>
          tree([
            commentOf('1', '[deleted]', 1),
            commentOf('2', '[removed]', 1),
            commentOf('3', '[ Removed by the platform ]', 1),
          ]),
      },
      clock(),
    )

    expect(bodyOf(await reads.deepSearch({ ...query, q: 'deleted OR removed' })).comments).toEqual(
      [],
    )
  })

  test('is capped if more comments match than requested', async () => {
    const reads = readsOver(
      {
        search: async () => page([aPost('a')]),
        tree: async () => tree([commentOf('1', 'otter', 1), commentOf('2', 'otter', 2)]),
      },
      clock(),
    )

    const body = bodyOf(await reads.deepSearch({ ...query, max_comments: 1 }))

    expect(body.comments.map(({ id }) => id)).toEqual(['2'])
    expect(body.meta.capped).toBe(true)
  })

  test('continues without an unreadable tree, and is marked as truncated', async () => {
    const reads = readsOver(
      {
        search: async () => page([aPost('a'), aPost('b')]),
        tree: async ({ post_id }) =>
          post_id === 'a' ? fail({ kind: 'timeout' }) : tree([commentOf('1', 'otter', 1)]),
      },
      clock(),
    )

    const { comments, meta } = bodyOf(await reads.deepSearch(query))

    expect(comments).toHaveLength(1)
    expect(meta).toMatchObject({ truncated: true, posts_expanded: 1 })
  })

  test('is a fault if no tree is readable', async () => {
    const reads = readsOver(
      {
        search: async () => page([aPost('a'), aPost('b')]),
        tree: async () => fail({ kind: 'throttled', retry_after_s: 9 }),
      },
      clock(),
    )

    expect(await reads.deepSearch(query)).toEqual(fail({ kind: 'throttled', retry_after_s: 9 }))
  })

  test('reads at most three trees at once', async () => {
    let open = 0
    let most = 0
    const reads = readsOver(
      {
        search: async () => page(Array.from({ length: 10 }, (_, index) => aPost(`p${index}`))),
        tree: async () => {
          most = Math.max(most, ++open)
          await new Promise(setImmediate)
          open--
          return tree([])
        },
      },
      clock(),
    )

    expect(bodyOf(await reads.deepSearch({ ...query, limit: 10 })).meta.posts_expanded).toBe(10)
    expect(most).toBe(3)
  })
})
