import type { Naming } from '../../core/forum/naming.ts'
import { IDS } from '../openapi/example-rows.ts'

const MATCHED_AT = '2026-01-31T11:58:38.000Z'
const CHANGED_AT = '2026-01-31T12:04:00.000Z'
const KEY = { key_id: 'key_0199a000-0000-7000-8000-000000000007', name: 'laptop' }
const ACTION = 'act_0199a000-0000-7000-8000-000000000008'
const UNDONE = 'act_0199a000-0000-7000-8000-000000000009'
const VIEW = 'inv_0199a000-0000-7000-8000-00000000000a'
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
  enrichment: {
    relevance: {
      score: 0.5,
      matched_terms: TERMS,
      considered_terms: 2,
      method: 'keyword_match_heuristic',
    },
    sentiment: { label: 'neutral', score: 0, method: 'lexicon_heuristic' },
    intent: { tag: 'question', method: 'rule_based_heuristic' },
  },
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

const view = {
  id: VIEW,
  name: 'Open questions',
  filter: { monitor: IDS.monitor, state: ['unread'] },
  created_at: CHANGED_AT,
  updated_at: CHANGED_AT,
  by: KEY,
}

/** Example answers of the inbox. */
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
    version: '1042.17.3',
  },
  changed: {
    action_id: ACTION,
    changed: 1,
    unchanged: 0,
    unknown_ids: [],
    has_more: false,
    next_cursor: null,
    previous: [{ id: 't3_1abcde', state: 'unread', starred: true, label: 'ann' }],
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
        items: 1,
        ids: ['t3_1abcde'],
        undoes: null,
        undone_by: null,
        can_undo: true,
      },
    ],
    next_cursor: null,
  },
  views: { views: [view], limit: 50 },
  view,
  stats: {
    from: '2026-01-30T00:00:00.000Z',
    to: '2026-02-01T00:00:00.000Z',
    bucket: 'day',
    examined: 24,
    complete: true,
    mentions: {
      at: ['2026-01-30T00:00:00.000Z', '2026-01-31T00:00:00.000Z'],
      series: [{ monitor_id: IDS.monitor, name: 'grinders', removed: false, counts: [12, 12] }],
      total: [12, 12],
    },
    share: [{ monitor_id: IDS.monitor, name: 'grinders', removed: false, mentions: 24, share: 1 }],
    sentiment: { positive: 6, negative: 4, mixed: 1, neutral: 13, unknown: 0 },
    sentiment_over_time: {
      positive: [2, 4],
      negative: [2, 2],
      mixed: [1, 0],
      neutral: [7, 6],
      unknown: [0, 0],
    },
    places: [{ source: 'main', place: 'coffee', mentions: 24 }],
    authors: [{ source: 'main', author: 'example_user', mentions: 3 }],
    states: { unread: 20, read: 2, answered: 1, dismissed: 1 },
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
  view_deleted: { deleted: true, id: VIEW },
}

/** Example of a proposal. */
export const muteExample = (words: Pick<Naming, 'monitor'>) => ({
  monitor_id: IDS.monitor,
  monitor_name: 'grinders',
  edit: {
    field: 'exclude_authors',
    added: 'example_user',
    removed: null,
    before: [],
    after: ['example_user'],
  },
  filter_spec: { kind: 'post', include_any: TERMS, exclude_authors: ['example_user'] },
  apply: {
    path: `${words.monitor}/update`,
    body: {
      id: IDS.monitor,
      filter_spec: { kind: 'post', include_any: TERMS, exclude_authors: ['example_user'] },
    },
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
})

/** Example of proposals. */
export const proposalsExample = (words: Pick<Naming, 'monitor'>) => ({
  monitor_id: IDS.monitor,
  monitor_name: 'grinders',
  days: 30,
  examined: 1200,
  complete: true,
  dismissed: 240,
  kept: 60,
  open: 900,
  proposals: [
    {
      mute: 'author',
      value: 'example_user',
      dismissed: 31,
      kept: 0,
      open: 4,
      preview: {
        path: `${words.monitor.replace(/\/monitor$/, '')}/inbox/mute`,
        body: { id: item.id, mute: 'author', monitor_id: IDS.monitor },
      },
    },
  ],
  prompt: null,
})

const exampleOf = (body: object) => ({ examples: [body] })

/** Metadata of its bodies, with an example each. */
export const INBOX_BODIES = {
  update: exampleOf({ ids: ['t3_1abcde'], set: { state: 'answered' } }),
  undo: exampleOf({ action_id: ACTION }),
  mute: exampleOf({ id: 't3_1abcde', mute: 'author' }),
  view_save: exampleOf({ name: 'Open questions', filter: view.filter }),
  view_delete: exampleOf({ id: VIEW }),
}
