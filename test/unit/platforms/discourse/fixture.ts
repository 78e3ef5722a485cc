import { createDiscourseActs } from '../../../../src/platforms/discourse/acts.ts'
import { createDiscourse } from '../../../../src/platforms/discourse/adapter.ts'
import { createSiteClient } from '../../../../src/platforms/discourse/site.ts'
import { ANONYMOUS } from '../../../../src/platforms/port.ts'
import type { SourceOptions } from '../../../../src/platforms/source.ts'
import { realClock } from '../../../../src/runtime/runtime.ts'
import { createLoopbackEgress } from '../../../support/loopback-egress.ts'

export const SECOND = 1000
export const MINUTE = 60 * SECOND
const WINDOW = 50
const T0 = Date.UTC(2026, 0, 1)

type Row = Record<string, unknown>
type Generation = 'current' | 'old'
/** An answer in place of the forum's; null: the forum answers. */
type Override = (
  request: { method: string; path: string; query: URLSearchParams; body: Row },
  count: number,
) => Response | Promise<Response> | null

const CATEGORIES = [
  { id: 5, name: 'Help', slug: 'help', topic_count: 9, description_text: 'Questions' },
  { id: 6, name: 'Linux', slug: 'linux', topic_count: 3, parent_category_id: 5 },
  { id: 7, name: 'News', slug: 'news', topic_count: 1 },
]

/** A small forum over HTTP, with a list of posts of either generation, and its adapter. */
export function startForum({
  generation = 'current',
  credential = null,
  cached = 'skip',
}: {
  generation?: Generation
  /** The key that the source sends. */
  credential?: string | null
  /** Header by which the forum says whether a page comes from its cache. */
  cached?: string | null
} = {}) {
  const forum = {
    now: T0,
    generation,
    /** True: the forum answers as if no key was sent. */
    anonymous: false,
    cached,
    /** So long a proxy may keep an answer. */
    max_age_s: 0,
    posts: new Map<number, Row>(),
    hidden: new Set<number>(),
    /** Highest id that was taken. */
    last_id: 0,
    override: (() => null) as Override,
    paths: [] as string[],
    keys: [] as (string | null)[],
    bodies: [] as Row[],
  }
  let skipped = 0

  function list(before: number | null): Row[] {
    const visible = [...forum.posts.values()].filter(({ id }) => !forum.hidden.has(Number(id)))
    const ordered = visible.toSorted((a, b) => Number(b['id']) - Number(a['id']))
    if (forum.generation === 'current')
      return ordered.filter(({ id }) => Number(id) < (before ?? Infinity)).slice(0, WINDOW)
    const until = before ?? forum.last_id
    return ordered.filter(({ id }) => Number(id) <= until && Number(id) > until - WINDOW)
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams, search } = new URL(request.url)
    const text = await request.text()
    const body: Row = text === '' ? {} : JSON.parse(text)
    forum.paths.push(`${pathname}${search}`)
    forum.keys.push(request.headers.get('user-api-key'))
    if (request.method !== 'GET') forum.bodies.push(body)
    const own = forum.override(
      { method: request.method, path: pathname, query: searchParams, body },
      forum.paths.length,
    )
    if (own !== null) return own
    const headers: Record<string, string> = { date: new Date(forum.now + skipped).toUTCString() }
    if (credential !== null && !forum.anonymous) headers['x-discourse-username'] = 'reader'
    else if (forum.cached !== null) headers['x-discourse-cached'] = forum.cached
    if (forum.max_age_s > 0) headers['cache-control'] = `public, max-age=${forum.max_age_s}`
    if (pathname === '/site.json') return Response.json({ categories: CATEGORIES }, { headers })
    if (pathname === '/posts.json') {
      const before = searchParams.get('before')
      return Response.json(
        { latest_posts: list(before === null ? null : Number(before)) },
        { headers },
      )
    }
    const starters = [...forum.posts.values()].filter(
      ({ id, post_number }) => post_number === 1 && !forum.hidden.has(Number(id)),
    )
    if (pathname === '/latest.json' && searchParams.get('order') === 'created') {
      const topics = starters
        .map(({ topic_id, topic_title, created_at }) => ({
          id: topic_id,
          title: topic_title,
          created_at,
        }))
        .toSorted((a, b) => Date.parse(String(b.created_at)) - Date.parse(String(a.created_at)))
      const from = 30 * Number(searchParams.get('page'))
      const more_topics_url = topics.length > from + 30 ? '/latest?order=created' : undefined
      const topic_list = { topics: topics.slice(from, from + 30), more_topics_url }
      return Response.json({ topic_list }, { headers })
    }
    if (/^\/t\/\d+\/posts\.json$/.test(pathname)) {
      const posts = searchParams.getAll('post_ids[]').map((id) => forum.posts.get(Number(id)))
      return Response.json({ post_stream: { posts: posts.filter(Boolean) } }, { headers })
    }
    const topic_id = Number(/^\/t\/(\d+)\.json$/.exec(pathname)?.[1])
    const starter = starters.find((it) => it['topic_id'] === topic_id)
    if (starter !== undefined) {
      const posts = [...forum.posts.values()].filter((it) => it['topic_id'] === topic_id)
      return Response.json(
        {
          id: topic_id,
          title: starter['topic_title'],
          category_id: 6,
          post_stream: { posts, stream: posts.map(({ id }) => id) },
        },
        { headers },
      )
    }
    return Response.json(
      { errors: ['not found'], error_type: 'not_found' },
      { status: 404, headers },
    )
  }

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  const clock = {
    ...realClock,
    now: () => forum.now + skipped,
    mono: () => forum.now + skipped,
    async sleep(ms: number) {
      skipped += ms
    },
  }
  const egress = createLoopbackEgress()
  const options: SourceOptions = {
    egress,
    clock,
    log: () => {},
    random: { fraction: () => 0.5 },
    base_url: `http://127.0.0.1:${server.port}`,
    user_agent: 'forumd-test/1.0',
    requests_per_minute: 6_000_000,
    timeout_ms: 5000,
    credential,
  }
  const source = createDiscourse(options)
  const { watch } = source
  if (watch === null) throw new Error('the source has no watch')
  const deadline = () => ({ deadline_at: clock.now() + MINUTE })
  const call = () => ({ ...deadline(), identity: ANONYMOUS })

  return {
    forum,
    source,
    watch,
    call,
    acts: createDiscourseActs(createSiteClient(options)),
    base_url: options.base_url,
    skipped: () => skipped,
    listed: () => forum.paths.filter((path) => path.startsWith('/posts.json')),
    /** A reply in topic 1, or with `post_number` 1 the topic `topic_id`. */
    put(id: number, more: Row & { topic_id?: number } = {}) {
      const { topic_id = 1 } = more
      forum.posts.set(id, {
        id,
        topic_id,
        topic_title: `Topic ${topic_id}`,
        topic_slug: 'a-topic',
        post_number: 2,
        post_type: 1,
        username: 'ann',
        user_id: 3,
        created_at: new Date(forum.now).toISOString(),
        updated_at: new Date(forum.now).toISOString(),
        version: 1,
        raw: `text ${id}`,
        category_id: 6,
        ...more,
      })
      forum.last_id = Math.max(forum.last_id, id)
    },
    async step(state: string | null, requests = 50, places: string[] = []) {
      const outcome = await watch.advance(state, { requests, places, ...deadline() })
      if (!outcome.ok) throw new Error(JSON.stringify(outcome.fault))
      return outcome.value
    },
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

/** Ids of a step's items. */
export const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => Number(id))
/** Whole numbers of a range, both ends within. */
export const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n)
