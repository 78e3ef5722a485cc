import { describe, expect, test } from 'bun:test'

import { listing, stage } from './stage.ts'

const kept = (value: unknown) => Response.json(value)
const refusal = (status: number, reason: string) =>
  Response.json({ reason, message: 'x', error: status }, { status })

test('every page about a place or a person has its path', async () => {
  await using it = stage([Response.json(listing([], { modhash: 'f' }))])
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

  test('are told with what they apply to', async () => {
    const { violation_reason: _, ...bare } = rule
    const rules = [rule, { ...bare, kind: 'comment', priority: 1 }, { ...rule, kind: 'all' }]
    await using it = stage([kept({ rules, site_rules: ['Spam', 7], site_rules_flow: [] })])

    const told = {
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
          { ...told, applies_to: 'post' },
          { ...told, applies_to: 'comment', priority: 1, violation_reason: null },
          { ...told, applies_to: 'all' },
        ],
        site_rules: ['Spam'],
      },
    })
  })

  test('may be none', async () => {
    await using it = stage([kept({ rules: [], site_rules: [] })])

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
  ])('are not read out of %j', async (value, path) => {
    await using it = stage([kept(value)])

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

  test('is told with who changed it last, and why', async () => {
    await using it = stage([kept({ kind: 'wikipage', data })])

    expect(await it.forum.wiki({ subforum: 'cats', page: 'index' }, it.call())).toEqual({
      ok: true,
      value: {
        content_md: '# Cats',
        content_html: '<h1>Cats</h1>',
        may_revise: true,
        revision_id: '08a4ddfa',
        revision_date: '2020-07-07T03:14:56.000Z',
        revised_by: 'ann',
        reason: 'typo',
      },
    })
  })

  test('that nobody changed has no revision', async () => {
    await using it = stage([kept({ kind: 'wikipage', data: { content_md: '', reason: null } })])

    expect(await it.forum.wiki({ subforum: 'cats', page: 'index' }, it.call())).toEqual({
      ok: true,
      value: {
        content_md: '',
        content_html: null,
        may_revise: false,
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
    ['is something else', kept({ kind: 'wikipagelisting', data: [] }), 'unreadable'],
    ['has no text', kept({ kind: 'wikipage', data: {} }), 'unreadable'],
  ])('that %s is none', async (_what, answer, kind) => {
    await using it = stage([answer])

    const outcome = await it.forum.wiki({ subforum: 'cats', page: 'index' }, it.call())
    expect(outcome).toMatchObject({ ok: false, fault: { kind } })
  })
})

const trophy = (data: object) => ({ kind: 't6', data })
const list = (trophies: unknown) => kept({ kind: 'TrophyList', data: { trophies } })

describe('achievements', () => {
  test('are told as far as the platform tells them', async () => {
    await using it = stage([
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
  ])('are not read out of %j', async (value, path) => {
    await using it = stage([kept(value)])

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
const hidden = (reason: string, confident = true) =>
  ({ verdict: 'not_visible', reason, confident }) as const

describe('whether others see a post', () => {
  test.each([
    ['one that is there', row({}), live(true)],
    ['one that robots shall not find', row({ is_robot_indexable: false }), live(false)],
    ['one whose author is gone', row({ author: '[deleted]', selftext: 'words' }), live(true)],
    ['one that says [removed]', row({ selftext: '[removed]' }), live(true)],
    [
      'one that its author deleted',
      row({ author: '[deleted]', selftext: '[deleted]', removed_by_category: 'deleted' }),
      hidden('deleted'),
    ],
    ['one that its author took back', row({ removed_by_category: 'author' }), hidden('deleted')],
    ['one that a moderator removed', row({ removed_by_category: 'moderator' }), hidden('removed')],
    ['one that waits', row({ removed_by_category: 'automod_filtered' }), hidden('removed')],
    [
      'an old one that was removed',
      row({ author: '[deleted]', selftext: '[removed]', removed_by_category: undefined }),
      hidden('removed'),
    ],
    [
      'an old one that may have been',
      row({ selftext: '[removed]', removed_by_category: undefined }),
      hidden('removed', false),
    ],
    [
      'an old one that was deleted',
      row({ author: '[deleted]', selftext: '[deleted]', removed_by_category: undefined }),
      hidden('deleted'),
    ],
    [
      'one of which we are a moderator',
      row({ can_mod_post: true, removed_by_category: 'moderator' }),
      { verdict: 'undecidable', reason: 'seen_by_moderator', confident: false } as const,
    ],
  ])('%s', async (_what, child, value) => {
    await using it = stage([kept(listing([child]))])

    expect(await it.forum.visibility('ab12', it.call())).toEqual({ ok: true, value })
  })

  test.each([
    ['nothing', listing([])],
    ['nothing at all', {}],
    ['another post', listing([row({ id: 'zz' })])],
  ])('who gets %s has not seen it, and cannot be sure', async (_what, answer) => {
    await using it = stage([kept(answer)])

    expect(await it.forum.visibility('ab12', it.call())).toEqual({
      ok: true,
      value: hidden('absent', false),
    })
  })
})
