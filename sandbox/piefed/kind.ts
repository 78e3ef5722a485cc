import { LEMMY } from '../lemmy/kind.ts'
import type { LemmyWorld } from '../lemmy/model.ts'
import { json, page, type SandboxResponse } from '../server/response.ts'
import { fieldText, type SimulatedKind, type SourceCall, wholeOf } from '../sources/source.ts'

/** A post is committed twice: so long it has its title alone. */
const HALF_MS = 3000
const ROWS = 10

type Row = Record<string, unknown>

/** Fields that PieFed names otherwise than Lemmy 0.19, by the object that has them. */
const NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  post: {
    name: 'title',
    creator_id: 'user_id',
    updated: 'edited_at',
    featured_community: 'sticky',
    featured_local: 'instance_sticky',
  },
  comment: { content: 'body', creator_id: 'user_id', updated: 'edited_at' },
  creator: { name: 'user_name', display_name: 'title', bot_account: 'bot' },
  person: { name: 'user_name', display_name: 'title', bot_account: 'bot' },
  moderator: { name: 'user_name', display_name: 'title', bot_account: 'bot' },
}

/** An answer of 0.19 with the names of PieFed. `of`: the object that has the value. */
function renamed(value: unknown, of: string, call: SourceCall<LemmyWorld>): unknown {
  if (Array.isArray(value)) return value.map((each) => renamed(each, of, call))
  if (typeof value !== 'object' || value === null) return value
  const names = NAMES[of] ?? {}
  const fields: Row = {}
  for (const [name, inner] of Object.entries(value))
    fields[names[name] ?? name] = renamed(inner, name, call)
  if (of === 'community') fields['banned'] = false
  const post = of === 'post' ? call.world.posts.get(Number(fields['id'])) : undefined
  if (post !== undefined && call.now - post.arrived_at < HALF_MS) {
    delete fields['body']
    delete fields['url']
    fields['nsfw'] = false
  }
  return fields
}

/** Every exception is answered with 400 and its text. */
const exception = (message: string, status = 'Bad Request'): SandboxResponse =>
  json(JSON.stringify({ code: 400, message, status }), 400)

/** Texts of an absence by the path; the others are those of a failure. */
const ABSENT: Readonly<Record<string, SandboxResponse>> = {
  post: exception('()', 'Not found'),
  comment: exception("'NoneType' object has no attribute 'community_id'"),
  community: exception('error - unknown community. Please wait a sec and try again.'),
  user: exception('No row was found when one was required', 'Not found'),
}
const DOWN = exception(
  '(psycopg2.OperationalError) connection to server at "127.0.0.1", port 5432 failed: Connection refused',
)

function respond(call: SourceCall<LemmyWorld>): SandboxResponse {
  const [root, api, ...path] = call.segments
  const { world, query } = call
  // Clients of Lemmy find the site, and nothing else.
  const is_site = api === 'v3' && path.join('/') === 'site'
  if (root !== 'api' || (api !== 'alpha' && !is_site))
    return root === 'api' ? { status: 404, headers: {}, body: '' } : page('<!DOCTYPE html>\n')
  const [kind = '', list] = path
  if (world.settings.database === 'down')
    return (kind === 'community' && list === undefined ? ABSENT['community'] : null) ?? DOWN
  const community = fieldText(call, 'community_name')
  const names = world.communities.map(({ name, host }) =>
    host === null ? name : `${name}@${host}`,
  )
  // Names are compared exactly, and an unknown one lists nothing.
  if (list === 'list' && kind === 'post' && community !== '' && !names.includes(community))
    return json(JSON.stringify({ posts: [], next_page: null }))
  const params = new URLSearchParams(query)
  if (query.get('nsfw') === 'Include') params.set('show_nsfw', 'true')
  if (kind === 'comment') params.delete('community_name')
  if (list === 'list' && !params.has('page')) params.set('page', '1')
  const answer = LEMMY.respond({ ...call, segments: ['api', 'v3', ...path], query: params })
  if (answer.status >= 400) {
    if (answer.status === 429) return page('<!DOCTYPE html>\n<h1>Too Many Requests</h1>\n', 429)
    const { error } = Object(JSON.parse(String(answer.body || '{}')))
    const is_absent = typeof error === 'string' && error.startsWith('couldnt_find')
    return (is_absent ? ABSENT[kind] : null) ?? exception(String(error ?? 'Bad Request'))
  }
  const value = Object(renamed(JSON.parse(String(answer.body)), '', call))
  const rows: unknown = value[`${kind}s`]
  if (list === 'list' && Array.isArray(rows)) {
    const number = wholeOf({ fields: {}, query: params }, 'page') ?? 1
    const limit = wholeOf(call, 'limit') ?? ROWS
    value['next_page'] = rows.length < limit ? null : String(number + 1)
  }
  if (kind === 'site') {
    const { site } = Object(value['site_view'])
    const shown = { site, version: '1.6.18', admins: value['admins'], my_user: value['my_user'] }
    return json(JSON.stringify(shown))
  }
  return json(JSON.stringify(value))
}

/** Instance of PieFed: a variant of the API of Lemmy 0.19, with its own names, errors and two commits of a post. */
export const PIEFED: SimulatedKind<LemmyWorld> = { ...LEMMY, respond }
