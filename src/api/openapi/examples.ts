import { isObject } from '../../core/base/object.ts'
import { type Naming, toWire } from '../../core/forum/naming.ts'
import { inboxPaths } from '../http/routes.ts'

type Json = Record<string, unknown>

const AT = '2026-01-31T11:58:00.000Z'
const HOST = 'https://www.forum.example'
const THREAD = '/r/coffee/comments/1abcde/which_grinder_would_you_buy/'
const PICTURE = 'https://media.forum.example/grinder.jpg'
const idOf = (kind: string, n: number) => `${kind}_0199a000-0000-7000-8000-00000000000${n}`
const IDS = {
  monitor: idOf('mon', 1),
  webhook: idOf('wh', 2),
  delivery: 'dlv_DNIMOUN-WuxB2A7gBKgs1i',
}

/** Kinds of the objects in answers, by the name of the operation or of the field that has one. */
const KINDS: readonly [RegExp, string][] = [
  [/^(AccountMe|customer)$/, 'customer'],
  [/^MonitorWebhook|^(webhooks|subject)$/, 'webhook'],
  [/^Monitor|^monitors$/, 'monitor'],
  [/Draft$|^drafts$/, 'draft'],
  [/Feedback$/, 'feedback'],
  [/omment$|^comments$/, 'comment'],
  [/^Inbox|^(samples|Vote|previous)$/, 'match'],
  [/^(Post|post|posts|items)$/, 'post'],
  [/^(Dm|messages|threads)$/, 'message'],
  [/^(User|users)$/, 'user'],
  [/^(SubAbout|communities|subforums)$/, 'community'],
]
const kindOf = (object: string): string => KINDS.find(([of]) => of.test(object))?.[1] ?? object

const ENRICHMENT = {
  relevance: {
    score: 0.5,
    matched_terms: ['grinder'],
    considered_terms: 2,
    method: 'keyword_match_heuristic',
  },
  intent: { tag: 'recommendation_request', method: 'rule_based_heuristic' },
}
const ITEM = {
  kind: 'post',
  id: '1abcde',
  name: 't3_1abcde',
  title: 'Which grinder would you buy?',
  author: 'example_user',
  permalink: THREAD,
  url: HOST + THREAD,
  created: AT,
  text: 'Mine broke after ten years. I am looking for one for espresso.',
  enrichment: ENRICHMENT,
}
/** The fields of a write, as a draft has them. */
const DRAFT = { id: 't3_1abcde', direction: 'up' }
const COUNTS = { calls: 19, billed_calls: 19, cost_usd: 0.038, errors: 0 }

/** Fields that an example shows as null where that is allowed: their usual state. */
const NULLS = new Set(
  `
  area collected_until crosspost_origin error evidence failing_since fault figures flair_text
  held_until hint judgement kind_inferred_from link_url next_attempt_at next_before next_cursor
  note paused_at reason reason_code relevance removed requested_cadence_s thumbnail_url undoes
  undone_by unknown_reason unresolved_reason waiting_until
`
    .trim()
    .split(/\s+/),
)

/** Values of fields whose schema has no useful one: by name, or after the name or kind of an object. */
const VALUES: Readonly<Record<string, unknown>> = {
  action_id: idOf('act', 8),
  active: true,
  added: 'example_user',
  after: 't3_1abcde',
  'MonitorItems.after': '1',
  'edit.after': ['example_user'],
  alarms: [],
  answer: { success: true, ...DRAFT },
  audit_interval_s: 600,
  author: 'example_user',
  before: [],
  body: 'Get one with flat burrs, and a spare burr set.',
  'MonitorDeliveriesRequest.body': '{"count":1}',
  body_start: 'out of workers',
  by_tier: { read: COUNTS },
  cadence_s: 60,
  can_undo: true,
  capabilities: ['posts', 'comments', 'search', 'tree', 'user'],
  comment_id: 't1_n3k01ab',
  complete: true,
  confident: true,
  content_html: '<h1>Coffee</h1>',
  content_md: '# Coffee',
  created_utc: 1769860680,
  criterion: 'include_any',
  daily_delivery_ceiling: 10_000,
  data: { id: 'n3k01ab', author: 'example_user', body: 'Get one with flat burrs.', score: 7 },
  delivery_id: IDS.delivery,
  description: 'Mostly beans.',
  detail: 'grinder',
  details: 'One mail a week with what a monitor matched.',
  display_name: 'Ada',
  display_name_prefixed: 'r/coffee',
  domain: 'self.coffee',
  edited: false,
  enrichment: ENRICHMENT,
  'attempts.error': 'http_503',
  excerpt: 'Mine broke after ten years. I am looking for one for espresso.',
  expires: { loid: null },
  field: 'exclude_authors',
  fix: 'Repair the receiver and test the webhook',
  flair: 'Gear',
  found: true,
  fresh: true,
  freshness_ratio: 0.37,
  freshness_s: 900,
  from: 'example_user',
  fullname: 't2_1abcd',
  grouped: false,
  headers: { 'content-type': 'application/json' },
  id: '1abcde',
  'comment.id': 'n3k01ab',
  'community.id': '2xtnu',
  'customer.id': idOf('cus', 3),
  'draft.id': idOf('drf', 5),
  'feedback.id': idOf('fb', 6),
  'match.id': 't3_1abcde',
  'message.id': 't4_2abcde',
  'moderators.id': 't2_1abcd',
  'monitor.id': IDS.monitor,
  'payments.id': idOf('pay', 4),
  'streams.id': 'posts:coffee',
  'user.id': '1abcd',
  'webhook.id': IDS.webhook,
  ids: ['t3_1abcde'],
  intent: 'question',
  interval_s: 60,
  is_self: true,
  'MonitorPreview.item': null,
  'newest.item': ITEM,
  item_id: 't3_1abcde',
  'MonitorItems.items': [ITEM],
  'payload.items': [ITEM],
  key_id: idOf('key', 7),
  kind: 'hackernews',
  'observed_events.kind': 'poll_overflow',
  'unobserved_events.kind': 'poll_overflow',
  label: 'ann',
  language: 'en',
  last_error: 'http_503',
  last_message: 'They came today.',
  link_title: 'Which grinder would you buy?',
  'comment.link_url': HOST + THREAD,
  listing_status: 'complete',
  matched_terms: ['grinder'],
  'MonitorPreview.matches': [ITEM],
  means: 'it matched; see its deliveries',
  meets_entitlement: true,
  message: 'Webhook crm is failing: 3 deliveries are tried again (http_503)',
  missing: [],
  missing_fullnames: ['t3_2abcde'],
  mod_permissions: ['all'],
  model: 'example-model',
  monitor_id: IDS.monitor,
  monitor_ids: [IDS.monitor],
  monitor_name: 'grinders',
  name: 'example_user',
  'achievements.name': '7-Year Club',
  'by.name': 'laptop',
  'comment.name': 't1_n3k01ab',
  'community.name': 'coffee',
  'customer.name': 'acme',
  'model.name': 'example-model',
  'monitor.name': 'grinders',
  'post.name': 't3_1abcde',
  'rules.name': 'Search before you ask',
  'sources.name': 'hn',
  'webhook.name': 'crm',
  ok: true,
  parent_id: 't3_1abcde',
  permalink: THREAD,
  place: 'coffee',
  place_examples: ['story', 'ask', 'show', 'job'],
  plan: 'entry',
  post_id: '1abcde',
  promised_cadence_s: 60,
  proof: 'dense',
  'coverage_24h.proof': ['time_listing'],
  query: 'grinder',
  ready: true,
  'gaps.reason': 'poll_overflow',
  'last_failure.reason': 'http_503',
  'open.reason': 'poll_overflow',
  'streams.reason': 'poll_overflow',
  resolved: true,
  response: 'On our list.',
  revised_by: 'example_user',
  revision_id: '16154095-18d5-11ee-9e1c-409518d5e7a3',
  row: {},
  // Its decoded text says that it is an example.
  secret: 'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=',
  sentiment: 'neutral',
  site_rules: ['Spam'],
  slowest_stream: 'posts:coffee',
  source: 'hn',
  starred: true,
  status: 'delivered',
  'state.since': AT,
  'state.status': 'works',
  status_code: 503,
  stream: 'posts:coffee',
  subforum: 'coffee',
  subforums: ['coffee'],
  subject: 'Beans',
  subscribers: 1_204_551,
  term: 'grinder',
  text: 'Mine broke after ten years. I am looking for one for espresso.',
  thread_id: 't4_2abcde',
  tier: 'entry',
  time_zone: 'Europe/Berlin',
  title: 'Which grinder would you buy?',
  'FindFeedback.status': 'triaged',
  'FindFeedback.title': 'Weekly summaries',
  'community.title': 'Coffee',
  to: 'another_user',
  total_karma: 4857,
  type: 'public',
  undone: idOf('act', 9),
  unknown_ids: [],
  unobserved_events: [],
  upvote_ratio: 0.97,
  upvotes: 42,
  url: HOST + THREAD,
  'community.url': `${HOST}/r/coffee/`,
  'sources.url': 'https://news.ycombinator.com',
  'user.url': `${HOST}/user/example_user/`,
  username: 'example_user',
  violation_reason: 'Asked before',
  webhook_id: IDS.webhook,
  webhook_ids: [IDS.webhook],
  with: 'another_user',
  within_margin: true,
}

/** Optional fields that an example shows although their schema alone is useful. */
const SHOWN = ['comments', 'listing_status', 'meta', 'state']
const BOUND = ['const', 'enum', 'format']
const TIME = /(_at|_until|^created|^granted|^at|^added|^revision_date|^newest|^oldest)$/

/** An example answer, generated from its schema. `title`: the name of the answer. */
export function exampleAnswer(words: Naming, schema: Json, title: string): unknown {
  return valueOf(words, schema, title, '')
}

function valueOf(words: Naming, schema: Json, parent: string, field: string): unknown {
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['examples'])) return schema['examples'][0]
  if ('default' in schema) return schema['default']
  const named = namedValue(words, parent, field)
  const options = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat().filter(isObject)
  const type = named === null ? 'null' : typeof named
  if (options.some((it) => it['type'] === type && !BOUND.some((key) => key in it))) return named
  const first = options.find((it) => it['type'] !== 'null')
  // null is the usual state of most words that are one of a list or nothing.
  if (first !== undefined)
    return 'enum' in first && options.length > 1 ? null : valueOf(words, first, parent, field)
  if (Array.isArray(schema['enum']))
    return schema['enum'].includes(named) ? named : schema['enum'][0]
  const types = [schema['type']].flat()
  if (named === null && types.includes('null')) return null
  switch (types[0]) {
    case 'object':
      return objectOf(words, schema, parent, field)
    case 'array':
      return listOf(words, schema, parent, field)
    case 'null':
      return null
    case 'integer':
    case 'number':
      return typeof named === 'number' ? named : Math.max(Number(schema['minimum'] ?? 1), 1)
    case 'boolean':
      return named === true
    default:
      return textOf(schema, named, field)
  }
}

function listOf(words: Naming, schema: Json, parent: string, field: string): unknown {
  const { items, minItems } = schema
  const named = namedValue(words, parent, field)
  if (!isObject(items)) return []
  const is_of_objects = items['type'] === 'object'
  if (Array.isArray(named) && named.every((it) => isObject(it) === is_of_objects)) return named
  return Array.from({ length: Number(minItems ?? 1) }, () => valueOf(words, items, parent, field))
}

function objectOf(words: Naming, schema: Json, parent: string, field: string): unknown {
  const { properties, required } = schema
  if (!isObject(properties) || Object.keys(properties).length === 0) {
    const named = namedValue(words, parent, field)
    return isObject(named) ? named : field === 'body' ? DRAFT : {}
  }
  const object = field === '' ? parent : field
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, part]) => {
      const is_shown = (Array.isArray(required) && required.includes(name)) || SHOWN.includes(name)
      return is_shown && isObject(part) ? [[name, valueOf(words, part, object, name)]] : []
    }),
  )
}

function textOf({ format, pattern }: Json, named: unknown, field: string): unknown {
  if (format === 'date-time') return AT
  if (format === 'date') return AT.slice(0, 10)
  if (typeof pattern === 'string' && pattern.includes('[0-5]'))
    return field === 'to' ? '07:00' : '22:00'
  if (typeof named === 'string') return named
  return TIME.test(field) ? AT : field
}

function namedValue(words: Naming, parent: string, field: string): unknown {
  const name = canonicalField(words, field)
  const object = canonicalField(words, parent)
  if (name === 'filter_spec') return exampleSpec(words)
  if (name === 'cookies') return { [words.session]: 'eyJhbGciOi…' }
  if (name === 'feed_url')
    return `https://api.example.com${words.monitor}/feed/${IDS.monitor}~1~wTcG9f0m`
  const keys = [`${object}.${name}`, `${kindOf(object)}.${name}`, name]
  const key = keys.find((it) => it in VALUES)
  if (key === undefined && NULLS.has(name)) return null
  const value = VALUES[key ?? name]
  return value === undefined && name.endsWith('_url') ? PICTURE : value
}

const exampleSpec = (words: Naming) =>
  toWire(words, { subforum: ['coffee'], kind: 'post', include_any: ['grinder', 'burr set'] })

/** The field's name before `[wire]` renamed it. */
export const canonicalField = ({ community, communities }: Naming, field: string): string =>
  field === community ? 'subforum' : field === communities ? 'subforums' : field

/** Example bodies by method and path, for the document; those of writes are beside their fields. */
export function exampleBodies(words: Naming): Readonly<Record<string, object>> {
  const { api, monitor, community } = words
  const [inbox] = inboxPaths(words)
  const filter_spec = { [community]: 'coffee', include_any: ['grinder', 'burr set'] }
  return {
    [`${api}/comments/verify`]: { ids: ['n3k01ab', 't1_n3k01ac'] },
    [`${monitor}/add`]: { filter_spec, webhook_ids: [IDS.webhook], name: 'grinders' },
    [`${monitor}/update`]: { id: IDS.monitor, active: false },
    [`${monitor}/remove`]: { id: IDS.monitor },
    [`${monitor}/acknowledge`]: { id: IDS.monitor },
    [`${monitor}/preview`]: { filter_spec },
    [`${monitor}/feed/rotate`]: { id: IDS.monitor },
    [`${monitor}/webhook/create`]: { url: 'https://receiver.example.com/hook' },
    [`${monitor}/webhook/update`]: { id: IDS.webhook, max_per_second: 5 },
    [`${monitor}/webhook/rotate`]: { id: IDS.webhook },
    [`${monitor}/webhook/test`]: { id: IDS.webhook },
    [`${monitor}/webhook/delete`]: { id: IDS.webhook },
    [`${monitor}/deliveries/redeliver`]: { webhook_id: IDS.webhook, since: '2026-01-31T12:00:00Z' },
    [`${inbox}/update`]: { ids: ['t3_1abcde'], set: { state: 'answered' } },
    [`${inbox}/undo`]: { action_id: VALUES['action_id'] },
    [`${inbox}/mute`]: { id: 't3_1abcde', mute: 'author' },
    '/feedback': {
      type: 'idea',
      title: 'Weekly summaries',
      details: 'One mail a week with what a monitor matched.',
    },
    '/drafts': {
      action: 'vote',
      body: { id: 't3_1abcde', direction: 'up' },
    },
  }
}
