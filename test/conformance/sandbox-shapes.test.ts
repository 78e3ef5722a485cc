// Goal: the sandbox matches the platform. Every field it sends was recorded with the same type, and every field present in
// all recorded objects of a kind since 2020 is sent by the sandbox.
// Method: compares all objects of the recordings, including nested media, with all objects of a seeded world.

import { describe, expect, test } from 'bun:test'

import * as z from 'zod'

import { startSandbox } from '../../sandbox/server/sandbox.ts'

const folder = process.env['FORUMD_RECORDINGS']
if (folder === undefined)
  console.log('FORUMD_RECORDINGS is not set: the shapes of the sandbox are not compared')

/** The kinds of objects in the sandbox's answers. */
const KINDS = 'Listing UserList more t1 t2 t3 t4 t5 notice wikipage me preferences token'.split(' ')
/** Kinds of objects without an envelope, by their path. */
const BARE: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/v1\/me$/, 'me'],
  [/^\/api\/v1\/me\/prefs$/, 'preferences'],
  [/^\/api\/v1\/access_token$/, 'token'],
]
/** Objects recorded since then match the current platform. */
const RECENT = 2020
/** Fields whose keys are ids. */
const KEYED_BY_ID = new Set(['media_metadata'])

type Fields = Map<string, Set<string>>
type Shapes = {
  /** Observed types by kind and path. */
  types: Map<string, Fields>
  /** By kind: number of recent objects with each field. */
  counts: Map<string, Map<string, number>>
  recent: Map<string, number>
}

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Thing = { kind: string; data: Record<string, unknown> }
function asThing(value: unknown): Thing | null {
  if (!isObject(value) || typeof value['kind'] !== 'string' || !isObject(value['data'])) return null
  const { kind, data } = value
  // Reply notifications are comments of another shape, without a position.
  return { kind: kind === 't1' && data['was_comment'] === true ? 'notice' : kind, data }
}

/** All objects in an answer at any depth; errors are excluded. */
function* things(value: unknown, path = ''): Generator<Thing> {
  const bare = BARE.find(([pattern]) => pattern.test(path))?.[1]
  if (bare !== undefined && isObject(value) && !('error' in value) && !('reason' in value))
    yield { kind: bare, data: value }
  const thing = asThing(value)
  if (thing !== null) yield thing
  if (Array.isArray(value) || isObject(value))
    for (const inner of Object.values(value)) yield* things(inner)
}

/** All fields of an object with their types, excluding nested objects of other kinds. */
function* fields(value: unknown, path = ''): Generator<[string, string]> {
  if (path !== '') yield [path, typeOf(value)]
  if (asThing(value) !== null) return
  if (Array.isArray(value)) for (const each of value) yield* fields(each, `${path}[]`)
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) {
      const key = KEYED_BY_ID.has(path) ? '*' : name
      yield* fields(inner, path === '' ? key : `${path}.${key}`)
    }
}

type SampledResponse = { path: string; body: unknown }

function collect(shapes: Shapes, { path, body }: SampledResponse, year: number | null): void {
  for (const { kind, data } of things(body, path)) {
    const types = shapes.types.get(kind) ?? new Map<string, Set<string>>()
    shapes.types.set(kind, types)
    for (const [field, type] of fields(data))
      types.set(field, (types.get(field) ?? new Set()).add(type))
    if (year === null || year < RECENT || (kind === 't1' && !('link_id' in data))) continue
    shapes.recent.set(kind, (shapes.recent.get(kind) ?? 0) + 1)
    const counts = shapes.counts.get(kind) ?? new Map<string, number>()
    shapes.counts.set(kind, counts)
    for (const name of Object.keys(data)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}

const indexLine = z.object({
  file: z.string(),
  year: z.number().nullish(),
  endpoint: z.string().nullish(),
})

async function recorded(from: string): Promise<Shapes> {
  const shapes: Shapes = { types: new Map(), counts: new Map(), recent: new Map() }
  const index = await Bun.file(`${from}/index.jsonl`).text()
  for (const line of index.split('\n').filter((text) => text !== '')) {
    const { file, year, endpoint } = indexLine.parse(JSON.parse(line))
    if (!file.endsWith('.json')) continue
    const text = await Bun.file(`${from}/${file}`).text()
    if (text.trim() === '') continue
    collect(shapes, { path: endpoint ?? '', body: JSON.parse(text) }, year ?? null)
  }
  return shapes
}

const PLACES = ['selfhosting', 'homelab', 'coffee', 'slowreading', 'worldwire', 'lifedrawing']

/** Answers of a seeded world for all routes, anonymous and with a session. */
async function sampleSandbox(): Promise<SampledResponse[]> {
  await using sandbox = await startSandbox({
    port: 0,
    bearer_port: 0,
    seed: 11,
    speed: 0,
    world: 'seeded',
    now: () => Date.UTC(2026, 10, 20, 12),
    allowance: 100_000,
    session_allowance: 100_000,
  })
  const account = sandbox.overview().accounts[0]
  const cookie = Object.entries(account?.cookies ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')
  const deep = [...sandbox.world.things.values()]
    .filter((it) => it.kind === 't3')
    .toSorted((one, other) => other.comment_count - one.comment_count)
  const gone = [...sandbox.world.things.values()].filter((it) => it.removed !== null).slice(0, 90)
  const paths = [
    ...PLACES.flatMap((name) => [
      `/r/${name}/new.json?limit=100`,
      `/r/${name}/hot.json?limit=100`,
      `/r/${name}/comments.json?limit=100`,
      `/r/${name}/about.json`,
      `/r/${name}/about/moderators.json`,
    ]),
    ...deep.slice(0, 12).map(({ id }) => `/comments/${id}.json?limit=60`),
    `/api/info.json?id=${gone.map(({ name }) => name).join(',')}`,
    '/search.json?q=recommend&limit=100',
    '/subreddits/search.json?q=coffee',
    '/users/search.json?q=a&limit=100',
    ...['ada_reads', 'bruno_keeps', 'cedar_owl', 'BestDealsDaily'].map(
      (name) => `/user/${name}/about.json`,
    ),
    '/user/cedar_owl/overview.json?limit=100',
    ...['saved', 'upvoted', 'hidden'].map((tab) => `/user/ada_reads/${tab}.json?limit=100`),
    '/api/me.json',
    '/best.json?limit=100',
    '/message/inbox.json?limit=100',
    '/message/messages.json?limit=100',
    '/message/sent.json',
    '/subreddits/mine/subscriber.json',
    '/prefs/blocked.json',
    '/r/coffee/wiki/index.json',
  ]
  const { application } = sandbox.overview()
  const basic = btoa(`${application?.client_id}:${application?.client_secret}`)
  const answers: SampledResponse[] = []
  for (const path of paths)
    for (const headers of [{}, { cookie }])
      answers.push(await answerOf(sandbox.url + path, { headers }))
  const grant_type = 'refresh_token'
  const token = await answerOf(`${sandbox.url}/api/v1/access_token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type, refresh_token: account?.refresh_token ?? '' }),
  })
  const { access_token } = tokenAnswer.parse(token.body)
  const headers = { authorization: `Bearer ${access_token}` }
  answers.push(token)
  for (const path of BEARER_PATHS)
    answers.push(await answerOf(`${sandbox.bearer_url}${path}`, { headers }))
  return answers
}

const tokenAnswer = z.object({ access_token: z.string() })

const BEARER_PATHS = [
  '/api/v1/me',
  '/api/v1/me/prefs',
  '/api/v1/me/friends',
  '/r/selfhosting/new',
  '/message/inbox?limit=100',
  '/message/unread',
  '/user/ada_reads/saved?limit=100',
]

/** The path and JSON body of a response; body null: an error or redirect. */
async function answerOf(url: string, init: RequestInit): Promise<SampledResponse> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  return { path: new URL(url).pathname, body: response.ok ? JSON.parse(text) : null }
}

const EMPTY: Shapes = { types: new Map(), counts: new Map(), recent: new Map() }
const platform = folder === undefined ? EMPTY : await recorded(folder)
const answers = folder === undefined ? [] : await sampleSandbox()
const sandbox: Shapes = { types: new Map(), counts: new Map(), recent: new Map() }
for (const answer of answers) collect(sandbox, answer, RECENT)

describe.skipIf(folder === undefined)('the sandbox against what was recorded', () => {
  test('recordings and sandbox have objects of every kind', () => {
    for (const kind of KINDS) {
      expect(platform.types.get(kind)?.size ?? 0).toBeGreaterThan(0)
      expect(sandbox.types.get(kind)?.size ?? 0).toBeGreaterThan(0)
    }
  })

  test.each(KINDS)('no %s has a field, or a type of one, that the platform never sent', (kind) => {
    const platform_types = platform.types.get(kind)
    const strange = [...(sandbox.types.get(kind) ?? [])].flatMap(([path, types]) =>
      [...types].flatMap((type) =>
        platform_types?.get(path)?.has(type) ? [] : [`${path}: ${type}`],
      ),
    )

    expect(strange).toEqual([])
  })

  test.each(['Listing', 'more', 't1', 't3', 't4', 't5', 'notice'])(
    'a %s has every field present in all recordings since 2020',
    (kind) => {
      const seen = platform.recent.get(kind) ?? 0
      const always = [...(platform.counts.get(kind) ?? [])].filter(([, count]) => count === seen)
      const recent_count = sandbox.recent.get(kind) ?? 0
      const lacking = always.filter(
        ([name]) => sandbox.counts.get(kind)?.get(name) !== recent_count,
      )

      expect(seen).toBeGreaterThan(50)
      expect(always.length).toBeGreaterThan(3)
      expect(lacking.map(([name]) => name)).toEqual([])
    },
  )

  // The fields that the daemon reads and that are always present.
  test.each([
    [
      't3',
      'id name title author subreddit subreddit_id permalink url domain is_self selftext score',
    ],
    ['t3', 'upvote_ratio num_comments created_utc edited likes over_18 spoiler locked stickied'],
    ['t3', 'link_flair_text removed_by_category is_video media thumbnail'],
    ['t1', 'id name body body_html author link_id parent_id subreddit permalink score created_utc'],
    ['t1', 'edited likes stickied distinguished is_submitter collapsed_reason_code replies'],
    ['more', 'count name id parent_id depth children'],
    ['t5', 'id name display_name title public_description subscribers created_utc over18'],
    ['t5', 'subreddit_type quarantine lang url icon_img banner_img active_user_count'],
    ['t4', 'id name author dest subject body created_utc new parent_id first_message_name replies'],
    ['notice', 'id name author subject body new was_comment context link_title parent_id'],
    ['me', 'id name created_utc link_karma comment_karma is_suspended inbox_count has_mail'],
    ['token', 'access_token token_type expires_in scope refresh_token'],
  ])('every %s has %s', (kind, names) => {
    const recent_count = sandbox.recent.get(kind)
    for (const name of names.split(' '))
      expect([name, sandbox.counts.get(kind)?.get(name)]).toEqual([name, recent_count])
  })

  test('fields absent on the platform are absent, not null', () => {
    const everywhere = ['preview', 'post_hint', 'crosspost_parent', 'is_gallery', 'author_fullname']
    for (const name of [...everywhere, 'url_overridden_by_dest']) {
      expect(sandbox.counts.get('t3')?.get(name) ?? 0).toBeGreaterThan(0)
      expect(sandbox.counts.get('t3')?.get(name)).toBeLessThan(sandbox.recent.get('t3') ?? 0)
      expect(sandbox.types.get('t3')?.get(name)).not.toContain('null')
    }
  })
})
