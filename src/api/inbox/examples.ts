import { IDS } from '../openapi/example-rows.ts'

const MATCHED_AT = '2026-01-31T11:58:38.000Z'
const CHANGED_AT = '2026-01-31T12:04:00.000Z'
const KEY = { key_id: 'key_0199a000-0000-7000-8000-000000000007', name: 'laptop' }
const ACTION = 'act_0199a000-0000-7000-8000-000000000008'
const UNDONE = 'act_0199a000-0000-7000-8000-000000000009'
const TERMS = ['grinder']

const item = {
  id: 't3_1abcde',
  source: 'main',
  kind: 'post',
  title: 'Which grinder would you buy?',
  excerpt: 'Mine broke after ten years. I am looking for one for espresso.',
  highlights: [{ in: 'title', start: 6, end: 13 }],
  matched_terms: TERMS,
  url: 'https://www.forum.example/r/coffee/comments/1abcde/which_grinder_would_you_buy/',
  place: 'coffee',
  author: 'example_user',
  score: 42,
  comments: 1,
  created: '2026-01-31T11:58:00.000Z',
  sentiment: 'neutral',
  intent: 'question',
  relevance: 0.5,
  erased: false,
  matched_at: MATCHED_AT,
  monitors: [
    {
      id: IDS.monitor,
      name: 'grinders',
      removed: false,
      matched_at: MATCHED_AT,
      matched_terms: TERMS,
      judgement: null,
    },
  ],
  state: 'unread',
  starred: true,
  label: 'ann',
  changed: { at: CHANGED_AT, by: KEY },
}

export const INBOX_EXAMPLES = {
  page: { items: [item], next_cursor: null, examined_until: null },
  ids: { ids: [item.id], next_cursor: null },
  item: {
    ...item,
    text: 'Mine broke after ten years. I am looking for one for espresso.',
  },
  counts: {
    unread: 40,
    read: 10,
    answered: 2,
    dismissed: 7,
    starred: 3,
    total: 59,
    complete: true,
    labels: [{ label: 'ann', items: 4 }],
  },
  changed: {
    action_id: ACTION,
    changed: 1,
    unchanged: 0,
    unknown_ids: [],
    has_more: false,
    next_cursor: null,
    undo_until: '2026-02-01T12:04:00.000Z',
  },
  undone: { action_id: UNDONE, undone: ACTION, restored: 1, skipped: 0 },
  history: {
    actions: [
      {
        action_id: ACTION,
        at: CHANGED_AT,
        by: KEY,
        kind: 'update',
        set: { state: 'answered' },
        mute: null,
        items: 1,
        ids: ['t3_1abcde'],
        undoes: null,
        undone_by: null,
        can_undo: true,
      },
    ],
    next_cursor: null,
  },
  context: {
    id: item.id,
    post: {
      id: item.id,
      kind: 'post',
      author: item.author,
      title: item.title,
      text: item.excerpt,
      score: item.score,
      url: item.url,
      created: item.created,
    },
    ancestors: [],
    replies: [
      {
        id: 't1_n3k01ab',
        kind: 'comment',
        author: 'another_user',
        title: null,
        text: 'Get one with flat burrs, and a spare burr set.',
        score: 7,
        url: `${item.url}n3k01ab/`,
        created: item.created,
      },
    ],
    found: true,
  },
  mute: {
    monitor_id: IDS.monitor,
    monitor_name: 'grinders',
    applied: false,
    action_id: null,
    undo_until: null,
    edit: {
      field: 'exclude_authors',
      added: 'example_user',
      removed: null,
      before: [],
      after: ['example_user'],
    },
    effect: {
      days: 30,
      examined: 1200,
      complete: true,
      removed: 31,
      kept: 1169,
      samples: [
        {
          id: item.id,
          title: item.title,
          excerpt: item.excerpt,
          place: item.place,
          author: item.author,
          matched_at: MATCHED_AT,
        },
      ],
    },
  },
}

const exampleOf = (body: object) => ({ examples: [body] })

export const INBOX_BODIES = {
  update: exampleOf({ ids: ['t3_1abcde'], set: { state: 'answered' } }),
  undo: exampleOf({ action_id: ACTION }),
  mute: exampleOf({ id: 't3_1abcde', mute: 'author' }),
}
