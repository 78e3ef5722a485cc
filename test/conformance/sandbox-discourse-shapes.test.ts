// Goal: the simulated Discourse matches recorded answers. Every field it sends was recorded with the same type, and every
// field present in all recorded objects of current versions is sent.
import { DISCOURSE } from '../../sandbox/discourse/kind.ts'
import type { ForumWorld } from '../../sandbox/discourse/model.ts'
import type { SourceSandbox } from '../../sandbox/sources/start.ts'
import {
  compareShapes,
  fieldsOf,
  rowsOf,
  type Sampled,
  type ShapedRoute,
  without,
} from './source-shapes.ts'

const one = (kind: string, value: unknown) => [{ kind, value }]
const many = (kind: string, rows: unknown) => rowsOf(rows).map((value) => ({ kind, value }))

function topicList(body: unknown) {
  const { users, topic_list } = fieldsOf(body)
  return [
    ...many('user of a list', users),
    ...one('list', without(topic_list, 'topics')),
    ...many('row', fieldsOf(topic_list)['topics']),
  ]
}

function topic(body: unknown) {
  const { post_stream, suggested_topics } = fieldsOf(body)
  return [
    ...many('post of a topic', fieldsOf(post_stream)['posts']),
    ...many('suggestion', suggested_topics),
    ...('title' in fieldsOf(body)
      ? one('topic', without(body, 'post_stream', 'suggested_topics'))
      : []),
  ]
}

const ROUTES: readonly ShapedRoute[] = [
  {
    endpoint: /^GET \/posts\.json/,
    objects: (body) => many('listed post', fieldsOf(body)['latest_posts']),
  },
  { endpoint: /^GET \/posts\/[^/]+\/replies/, objects: (body) => many('post', body) },
  { endpoint: /^GET \/posts\/[^/]+$/, objects: (body) => one('post', body) },
  { endpoint: /^POST \/posts\.json/, objects: (body) => one('written post', body) },
  {
    endpoint: /^PUT \/posts\/[^/]+\.json/,
    objects: (body) => one('written post', fieldsOf(body)['post']),
  },
  { endpoint: /^GET \/t\//, objects: topic },
  { endpoint: /^GET \/(latest|hot|top|c\/.*\/l|tag\/|topics\/)/, objects: topicList },
  {
    endpoint: /^GET \/c\/[^/]+\/show/,
    objects: (body) => one('category', fieldsOf(body)['category']),
  },
  {
    endpoint: /^GET \/categories/,
    objects(body) {
      const { category_list } = fieldsOf(body)
      const rows = rowsOf(fieldsOf(category_list)['categories'])
      return [
        ...one('category list', without(category_list, 'categories')),
        ...rows.map((row) => ({ kind: 'category row', value: without(row, 'topics') })),
        ...rows.flatMap((row) => many('featured topic', fieldsOf(row)['topics'])),
      ]
    },
  },
  { endpoint: /^GET \/site\.json/, objects: (body) => one('site', body) },
  { endpoint: /^GET \/site\/basic-info/, objects: (body) => one('basic info', body) },
  { endpoint: /^GET \/tags/, objects: (body) => one('tags', without(body, 'tags')) },
  {
    endpoint: /^GET \/search\.json/,
    objects: (body) => one('search', without(body, 'users', 'categories', 'tags', 'groups')),
  },
  {
    endpoint: /^GET \/u\/[^/]+\/summary/,
    objects: (body) => one('summary', without(body, 'badges', 'badge_types')),
  },
  { endpoint: /^GET \/(u|users)\/[^/]+$/, objects: (body) => one('user', body) },
  {
    endpoint: /^GET \/user_actions/,
    objects: (body) => many('action', fieldsOf(body)['user_actions']),
  },
  { endpoint: /^GET \/notifications/, objects: (body) => one('notifications', body) },
]

/** Fields of plugins, which a plain site does not send, and of settings of one recorded site. */
const PLUGINS =
  /zendesk|\.can_vote|vote_count|user_voted|is_ticket|can_have_answer|custom_fields|\.location|chat|can_accept|accepted_answer|tags_disable_ads|\.channel|hashtag|markdown_additional|\.sidebar_|user_option\.(ignore_channel|show_thread)/

/** Kinds that are one object in several places: what was recorded of one holds for all. */
const FAMILIES = [
  ['post', 'written post', 'listed post', 'post of a topic'],
  ['row', 'suggestion', 'featured topic'],
  ['category', 'category row'],
]

/** Known from the source code of the platform, beside the recordings. */
const UNRECORDED = [
  '.featured_link: string',
  '.cooked_hidden: boolean',
  '.emoji: null',
  /\.parent_category_id: number$/,
  '.top_tags[]: string',
  /\.last_poster\.name: null$/,
  '.posts[].name: null',
  '.topics[].tags[]: string',
]

/** Recorded endpoints that the sandbox does not serve. */
const UNSERVED =
  /polls|badges|groups|directory_items|\/card|timer|locked|post_action_users|search\/query|PUT|POST \/(t|categories)|DELETE|username/

const CURRENT = /^3\.|^2026/

async function sample(sandbox: SourceSandbox<ForumWorld>): Promise<Sampled[]> {
  const { world } = sandbox
  const limits = { anonymous_per_minute: 9999, anonymous_per_10s: 9999, admin_key_per_minute: 9999 }
  sandbox.call('site', limits)
  const { key } = fieldsOf(sandbox.call('key', {}))
  const admin = { 'api-key': String(key), 'api-username': 'system' }
  const longest = [...world.topics.values()]
    .filter(
      ({ archetype, category, deleted_at }) =>
        archetype === 'regular' && !category?.read_restricted && deleted_at === null,
    )
    .toSorted((a, b) => b.posts.length - a.posts.length)
    .slice(0, 6)
  const post = longest[0]?.posts.find(({ reply_to }) => reply_to !== null)
  const public_paths = [
    '/posts.json',
    ...longest.flatMap(({ id }) => [`/t/${id}.json`, `/t/${id}/12.json`, `/t/${id}/posts.json`]),
    '/latest.json',
    '/top.json',
    '/c/coffee/4/l/latest.json',
    '/tag/question/l/latest.json',
    '/topics/created-by/cedar_owl.json',
    '/site/basic-info.json',
    '/tags.json',
    '/user_actions.json?username=cedar_owl&filter=1,2,4,5,6',
    '/u/cedar_owl/summary.json',
  ]
  const admin_paths = [
    `/posts/${post?.id}.json`,
    `/posts/${post?.id}/replies.json`,
    '/c/3/show.json',
    '/site.json',
    '/search.json?q=grinder',
    '/u/cedar_owl.json',
    '/notifications.json?username=ada_reads',
    '/topics/private-messages/ada_reads.json',
    '/latest.json',
    ...longest.slice(0, 2).map(({ id }) => `/t/${id}.json`),
    '/categories.json',
  ]
  const get = async (path: string, headers = {}) => {
    const response = await fetch(sandbox.url + path, { headers })
    return { endpoint: `GET ${path}`, body: response.ok ? await response.json() : null }
  }
  const created = await fetch(`${sandbox.url}/posts.json`, {
    method: 'POST',
    headers: { ...admin, 'content-type': 'application/json' },
    body: JSON.stringify({
      title: 'A title of some length',
      raw: 'A text that is long enough to pass.',
    }),
  })
  const written: unknown = await created.json()
  return [
    ...(await Promise.all(public_paths.map((path) => get(path)))),
    ...(await Promise.all(admin_paths.map((path) => get(path, admin)))),
    { endpoint: 'POST /posts.json', body: written },
  ]
}

const KINDS = [
  'listed post, post, written post, post of a topic, topic, suggestion, list, row',
  'user of a list, category, category list, category row, featured topic, site',
  'basic info, tags, search, summary, user, action, notifications',
].flatMap((line) => line.split(', '))

await compareShapes({
  name: 'discourse',
  kind: DISCOURSE,
  routes: ROUTES,
  sample,
  kinds: KINDS,
  families: FAMILIES,
  unrecorded: UNRECORDED,
  optional: PLUGINS,
  current: CURRENT,
  unserved: UNSERVED,
})
