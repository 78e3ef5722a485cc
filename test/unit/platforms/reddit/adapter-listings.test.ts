import { describe, expect, test } from 'bun:test'

import { createForumFixture, listing } from './fixture.ts'

const jsonReply = (value: unknown) => Response.json(value)
const refusal = (status: number, reason: string) =>
  Response.json({ reason, message: 'x', error: status }, { status })

test('every page about a subforum or a user has its path', async () => {
  await using it = createForumFixture([Response.json(listing([], { modhash: 'f' }))])
  const { forum } = it
  const page = { limit: 25, after: null }

  for (const sort of ['best', 'hot', 'top'])
    await forum.feed({ ...page, sort, t: sort === 'top' ? 'week' : null, after: 't3_x' }, it.as())
  for (const which of ['popular', 'new', 'default'] as const)
    await forum.communities({ ...page, which }, it.call())
  await forum.rules('cats', it.call())
  await forum.wiki({ subforum: 'cats', page: 'config/side bar' }, it.call())
  await forum.achievements('some body', it.call())
  await forum.visibility('AB12', it.call())

  expect(it.paths()).toEqual([
    '/best.json?limit=25&after=t3_x&raw_json=1',
    '/hot.json?limit=25&after=t3_x&raw_json=1',
    '/top.json?limit=25&after=t3_x&t=week&raw_json=1',
    '/subreddits/popular.json?limit=25&raw_json=1',
    '/subreddits/new.json?limit=25&raw_json=1',
    '/subreddits/default.json?limit=25&raw_json=1',
    '/r/cats/about/rules.json?raw_json=1',
    '/r/cats/wiki/config/side%20bar.json?raw_json=1',
    '/api/v1/user/some%20body/trophies.json?raw_json=1',
    '/api/info.json?id=t3_ab12&raw_json=1',
  ])
})

describe('rules', () => {
  const rule = {
    kind: 'link',
    short_name: 'Be kind',
    description: 'To cats *too*.',
    description_html: '<p>…</p>',
    violation_reason: 'Unkind',
    created_utc: 1_600_000_000.0,
    priority: 0,
  }

  test('include their scope', async () => {
    const { violation_reason: _, ...bare } = rule
    const rules = [rule, { ...bare, kind: 'comment', priority: 1 }, { ...rule, kind: 'all' }]
    await using it = createForumFixture([
      jsonReply({ rules, site_rules: ['Spam', 7], site_rules_flow: [] }),
    ])

    const subforum_data = {
      name: 'Be kind',
      description: 'To cats *too*.',
      applies_to: 'post' as const,
      violation_reason: 'Unkind',
      priority: 0,
      created: '2020-09-13T12:26:40.000Z',
    }
    expect(await it.forum.rules('cats', it.call())).toEqual({
      ok: true,
      value: {
        rules: [
          { ...subforum_data, applies_to: 'post' },
          { ...subforum_data, applies_to: 'comment', priority: 1, violation_reason: null },
          { ...subforum_data, applies_to: 'all' },
        ],
        site_rules: ['Spam'],
      },
    })
  })

  test('can be empty', async () => {
    await using it = createForumFixture([jsonReply({ rules: [], site_rules: [] })])

    expect(await it.forum.rules('cats', it.call())).toEqual({
      ok: true,
      value: { rules: [], site_rules: [] },
    })
  })

  test.each([
    [{}, 'rules'],
    [{ rules: {} }, 'rules'],
    [{ rules: [7] }, 'rules[0]'],
    [{ rules: [rule, {}] }, 'rules[1].short_name'],
  ])('are unreadable in %j', async (value, path) => {
    await using it = createForumFixture([jsonReply(value)])

    expect(await it.forum.rules('cats', it.call())).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path },
    })
  })
})

describe('a page of a wiki', () => {
  const data = {
    content_md: '# Cats',
    content_html: '<h1>Cats</h1>',
    may_revise: true,
    reason: 'typo',
    revision_id: '08a4ddfa',
    revision_date: 1_594_091_696,
    revision_by: { kind: 't2', data: { name: 'ann', id: 'x' } },
  }

  test('has its last author and the reason of the change', async () => {
    await using it = createForumFixture([jsonReply({ kind: 'wikipage', data })])

    expect(await it.forum.wiki({ subforum: 'cats', page: 'index' }, it.call())).toEqual({
      ok: true,
      value: {
        content_md: '# Cats',
        content_html: '<h1>Cats</h1>',
        revision_id: '08a4ddfa',
        revision_date: '2020-07-07T03:14:56.000Z',
        revised_by: 'ann',
        reason: 'typo',
      },
    })
  })

  test('without edits has no revision', async () => {
    await using it = createForumFixture([
      jsonReply({ kind: 'wikipage', data: { content_md: '', reason: null } }),
    ])

    expect(await it.forum.wiki({ subforum: 'cats', page: 'index' }, it.call())).toEqual({
      ok: true,
      value: {
        content_md: '',
        content_html: null,
        revision_id: null,
        revision_date: null,
        revised_by: null,
        reason: null,
      },
    })
  })

  test.each([
    ['is not there', refusal(404, 'PAGE_NOT_FOUND'), 'not_found'],
    ['may not be seen', refusal(403, 'MAY_NOT_VIEW'), 'forbidden'],
    ['is something else', jsonReply({ kind: 'wikipagelisting', data: [] }), 'unreadable'],
    ['has no text', jsonReply({ kind: 'wikipage', data: {} }), 'unreadable'],
  ])('that %s is a fault', async (_what, answer, kind) => {
    await using it = createForumFixture([answer])

    const outcome = await it.forum.wiki({ subforum: 'cats', page: 'index' }, it.call())
    expect(outcome).toMatchObject({ ok: false, fault: { kind } })
  })
})

const trophy = (data: object) => ({ kind: 't6', data })
const list = (trophies: unknown) => jsonReply({ kind: 'TrophyList', data: { trophies } })

describe('achievements', () => {
  test('contain the details that the platform gives', async () => {
    await using it = createForumFixture([
      list([
        trophy({
          icon_70: 'https://pictures.example/70.png',
          granted_at: 1_600_000_000,
          url: '/r/cats/wiki/medals',
          name: 'Nine lives',
          award_id: 'o',
          id: '1qr5eq',
          description: 'For patience',
        }),
        trophy({ icon_40: 'https://pictures.example/40.png', name: 'One year', award_id: null }),
      ]),
    ])

    expect(await it.forum.achievements('ann', it.call())).toEqual({
      ok: true,
      value: [
        {
          id: 'o',
          name: 'Nine lives',
          description: 'For patience',
          icon_url: 'https://pictures.example/70.png',
          url: `${it.base}/r/cats/wiki/medals`,
          granted: '2020-09-13T12:26:40.000Z',
        },
        {
          id: null,
          name: 'One year',
          description: null,
          icon_url: 'https://pictures.example/40.png',
          url: null,
          granted: null,
        },
      ],
    })
  })

  test.each([
    [{}, 'kind'],
    [{ kind: 'TrophyList', data: {} }, 'data.trophies'],
    [{ kind: 'TrophyList', data: { trophies: [trophy({})] } }, 'data.trophies[0].data.name'],
  ])('are unreadable in %j', async (value, path) => {
    await using it = createForumFixture([jsonReply(value)])

    expect(await it.forum.achievements('ann', it.call())).toEqual({
      ok: false,
      fault: { kind: 'unreadable', path },
    })
  })
})

const row = (data: object) => ({
  kind: 't3',
  data: {
    id: 'ab12',
    author: 'ann',
    selftext: '',
    removed_by_category: null,
    is_robot_indexable: true,
    ...data,
  },
})
const live = (confident: boolean) => ({ verdict: 'live', reason: null, confident }) as const
const hidden = <R extends string>(reason: R, confident = true) =>
  ({ verdict: 'not_visible', reason, confident }) as const

describe('the visibility of a post', () => {
  test.each([
    ['one that is live', row({}), live(true)],
    ['one that is excluded from robots', row({ is_robot_indexable: false }), live(false)],
    ['one of a deleted account', row({ author: '[deleted]', selftext: 'words' }), live(true)],
    ['one with the text [removed]', row({ selftext: '[removed]' }), live(true)],
    [
      'one that its author deleted',
      row({ author: '[deleted]', selftext: '[deleted]', removed_by_category: 'deleted' }),
      hidden('deleted'),
    ],
    ['one that its author withdrew', row({ removed_by_category: 'author' }), hidden('deleted')],
    ['one that a moderator removed', row({ removed_by_category: 'moderator' }), hidden('removed')],
    ['one held by a filter', row({ removed_by_category: 'automod_filtered' }), hidden('removed')],
    [
      'an old removed one',
      row({ author: '[deleted]', selftext: '[removed]', removed_by_category: undefined }),
      hidden('removed'),
    ],
    [
      'an old one with a removed text',
      row({ selftext: '[removed]', removed_by_category: undefined }),
      hidden('removed', false),
    ],
    [
      'an old deleted one',
      row({ author: '[deleted]', selftext: '[deleted]', removed_by_category: undefined }),
      hidden('deleted'),
    ],
    [
      'one in a subforum that we moderate',
      row({ can_mod_post: true }),
      { verdict: 'undecidable', reason: 'seen_by_moderator', confident: false } as const,
    ],
  ])('%s', async (_what, child, value) => {
    await using it = createForumFixture([jsonReply(listing([child]))])

    expect(await it.forum.visibility('ab12', it.call())).toEqual({ ok: true, value })
  })

  test.each([
    ['an empty listing', listing([])],
    ['an empty object', {}],
    ['another post', listing([row({ id: 'zz' })])],
  ])('is hidden but not certain after %s', async (_what, answer) => {
    await using it = createForumFixture([jsonReply(answer)])

    expect(await it.forum.visibility('ab12', it.call())).toEqual({
      ok: true,
      value: hidden('absent', false),
    })
  })
})
