import type {
  Achievement,
  Comment,
  Community,
  Moderator,
  Node,
  Post,
  Rules,
  User,
  WikiPage,
} from '../../core/forum/items.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'

const id = (n: number) => `0199a000-0000-7000-8000-00000000000${n}`

export const IDS = {
  monitor: `mon_${id(1)}`,
  webhook: `wh_${id(2)}`,
  customer: `cus_${id(3)}`,
  payment: `pay_${id(4)}`,
  draft: `drf_${id(5)}`,
  feedback: `fb_${id(6)}`,
  delivery: 'dlv_DNIMOUN-WuxB2A7gBKgs1i',
} as const

const AT = 'https://www.forum.example'
const POSTED = { created: '2026-01-31T11:58:00.000Z', created_utc: 1769860680 }
const THREAD = '/r/coffee/comments/1abcde/which_grinder_would_you_buy/'

const post = {
  id: '1abcde',
  name: 't3_1abcde',
  title: 'Which grinder would you buy?',
  author: 'example_user',
  subforum: 'coffee',
  permalink: THREAD,
  url: AT + THREAD,
  upvotes: 42,
  comments: 1,
  ...POSTED,
  text: 'Mine broke after ten years. I am looking for one for espresso.',
  link_url: null,
  upvote_ratio: 0.97,
  over_18: false,
  spoiler: false,
  contest_mode: false,
  locked: false,
  stickied: false,
  is_self: true,
  is_video: false,
  is_crosspost: false,
  crosspost_origin: null,
  flair: 'Gear',
  domain: 'self.coffee',
  media_kind: null,
  thumbnail_url: null,
  edited: false,
  author_info: { fullname: 't2_1abcd', flair: null, premium: false },
} satisfies Post

const comment = {
  id: 'n3k01ab',
  name: 't1_n3k01ab',
  author: 'another_user',
  body: 'Get one with flat burrs, and a spare burr set.',
  subforum: 'coffee',
  upvotes: 7,
  permalink: `${THREAD}n3k01ab/`,
  url: `${AT}${THREAD}n3k01ab/`,
  post_id: '1abcde',
  link_title: post.title,
  link_url: post.url,
  ...POSTED,
  parent_id: 't3_1abcde',
  is_submitter: false,
  depth: 0,
  edited: false,
  over_18: false,
  author_info: { fullname: 't2_2abcd', flair: null, premium: false },
} satisfies Comment

const user = {
  id: '1abcd',
  name: 'example_user',
  url: `${AT}/user/example_user/`,
  created: '2019-02-26T11:55:00.000Z',
  created_utc: 1551182100,
  link_karma: 110,
  comment_karma: 4747,
  total_karma: 4857,
  verified: true,
  is_employee: false,
  is_mod: false,
  is_suspended: false,
  over_18: false,
  display_name: 'Ada',
  description: 'Mostly beans.',
  avatar_url: 'https://styles.forum.example/avatar.png',
  banner_url: null,
} satisfies User

const community = {
  id: '2xtnu',
  name: 'coffee',
  display_name_prefixed: 'r/coffee',
  title: 'Coffee: brew, talk, repeat',
  description: 'From bean to cup, with detours.',
  subscribers: 1_204_551,
  active_users: 6692,
  created: '2020-02-06T11:55:00.000Z',
  created_utc: 1580990100,
  type: 'public',
  over_18: false,
  quarantined: false,
  url: `${AT}/r/coffee/`,
  icon_url: 'https://styles.forum.example/coffee.png',
  banner_url: null,
  language: 'en',
} satisfies Community

const node = {
  kind: 't1',
  data: {
    id: comment.id,
    name: comment.name,
    author: comment.author,
    body: comment.body,
    score: comment.upvotes,
    parent_id: comment.parent_id,
    permalink: comment.permalink,
    created_utc: comment.created_utc,
    replies: '',
  },
} satisfies Node

const rules = {
  rules: [
    {
      name: 'Search before you ask',
      description: 'Most questions have an answer already.',
      applies_to: 'post',
      violation_reason: 'Asked before',
      priority: 0,
      created: '2020-02-06T11:55:00.000Z',
    },
  ],
  site_rules: ['Spam'],
} satisfies Rules

const wiki = {
  content_md: '# Coffee\n\nStart with the questions that everybody asks.',
  content_html: '<h1>Coffee</h1>\n<p>Start with the questions that everybody asks.</p>',
  revision_id: '16154095-18d5-11ee-9e1c-409518d5e7a3',
  revision_date: '2020-03-07T11:55:00.000Z',
  revised_by: 'example_user',
  reason: null,
} satisfies WikiPage

const moderator = {
  id: 't2_1abcd',
  name: 'example_user',
  mod_permissions: ['all'],
  flair_text: null,
  added: '2020-02-06T11:55:00.000Z',
} satisfies Moderator

const achievement = {
  id: null,
  name: '7-Year Club',
  description: null,
  icon_url: 'https://styles.forum.example/7_year_club.png',
  url: null,
  granted: '2026-02-26T11:55:00.000Z',
} satisfies Achievement

const enrichment = {
  relevance: {
    score: 0.5,
    matched_terms: ['grinder'],
    considered_terms: 2,
    method: 'keyword_match_heuristic',
  },
  sentiment: {
    polarity: -0.47,
    label: 'negative',
    positive_terms: [],
    negative_terms: ['broke after'],
    method: 'lexicon_heuristic',
  },
  intent: { tag: 'recommendation_request', method: 'rule_based_heuristic' },
}

/** Example rows of the document in the wire's words. All belong to one thread. */
export const exampleRows = (words: Naming) => {
  const { id: comment_id, body, author, permalink, url, created, subforum } = comment
  const wire_post = toWire(words, post)
  return {
    post: wire_post,
    comment: toWire(words, comment),
    deep: {
      ...toWire(words, {
        id: comment_id,
        body,
        score: comment.upvotes,
        author,
        permalink,
        url,
        created,
        subforum,
      }),
      post: wire_post,
    },
    match: { ...wire_post, kind: 'post', enrichment },
    enrichment,
    user,
    community,
    node,
    rules,
    wiki,
    moderator,
    achievement,
  }
}
