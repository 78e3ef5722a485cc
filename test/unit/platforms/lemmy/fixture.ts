import { createLemmy } from '../../../../src/platforms/lemmy/adapter.ts'
import { type Api, createApi } from '../../../../src/platforms/lemmy/api.ts'
import type { WatchStep } from '../../../../src/platforms/source.ts'
import { createLoopbackEgress } from '../../../support/loopback-egress.ts'

export const S = 1000
export const MINUTE = 60 * S
export const T0 = Date.UTC(2026, 0, 1)

type Entry = {
  id: number
  published: number
  updated?: number
  text: string
  is_removed?: boolean
  /** By its author. */
  is_deleted?: boolean
  is_local?: boolean
  /** Answers 404, as for a row that was not committed yet. */
  is_absent?: boolean
  /** Left out of the lists of everything. */
  is_unlisted?: boolean
  /** Not published: left out of every list, and answered by its id. */
  is_draft?: boolean
  /** Stands above the order of a list. */
  is_sticky?: boolean
  scheduled?: number
  is_pending?: boolean
  url?: string
  nsfw?: boolean
  parent?: number
  author?: number
}
const iso = (at: number) => new Date(at).toISOString()
const json = (value: unknown, status = 200) => Response.json(value, { status })

type ModEntry = { id: number; kind: 'post' | 'comment'; target: number; restored: boolean }

/** A small server of the platform on the loopback, with the API of one generation. */
export function createServer(
  generation: 'v3' | 'v4' | 'piefed',
  {
    requests_per_minute = 600_000,
    is_pace_set = true,
    credential = null,
  }: { requests_per_minute?: number; is_pace_set?: boolean; credential?: string | null } = {},
) {
  const v4 = generation === 'v4'
  const base = { v3: '/api/v3', v4: '/api/v4', piefed: '/api/alpha' }[generation]
  const world = {
    now: T0,
    version: v4 ? '1.0.0' : generation === 'v3' ? '0.19.13' : '1.7.5',
    message_max: 600_000,
    posts: new Map<number, Entry>(),
    comments: new Map<number, Entry>(),
    modlog: [] as ModEntry[],
    bans: [] as { id: number; person: number; at: number; ends?: boolean }[],
    /** Paths of all requests, with their queries. */
    requests: [] as string[],
    bodies: [] as unknown[],
    /** Answers in place of the server's own, while it returns one. */
    answer: (_path: string, _request: Request): Response | null => null,
    page_size: 50,
    /** Fields of the community and of the thread of comments, beside the usual ones. */
    community: {} as Record<string, unknown>,
    thread: {} as Record<string, unknown>,
    /** The token of the requests has ended: they are answered as those without one. */
    is_ended: false,
    /** Headers of every answer. */
    headers: {} as Record<string, string>,
    /** The list of the place refuses, as of a private one. */
    is_private: false,
  }
  const times = ({ published, updated }: Entry) =>
    v4
      ? { published_at: iso(published), ...(updated && { updated_at: iso(updated) }) }
      : { published: iso(published), ...(updated && { updated: iso(updated) }) }
  const host = 'lemmy.example'
  const address = (path: string) => ({ [v4 ? 'ap_id' : 'actor_id']: `https://${host}${path}` })
  const person = {
    id: 7,
    local: true,
    ...address('/u/ann'),
    [generation === 'piefed' ? 'user_name' : 'name']: 'ann',
  }
  const community = {
    id: 3,
    name: 'coffee',
    title: 'Coffee',
    nsfw: false,
    local: true,
    ...address('/c/coffee'),
    ...(v4 ? { published_at: iso(T0) } : { published: iso(T0) }),
  }
  const counters = { score: 3, upvotes: 4, downvotes: 1, comments: 2 }

  function postView(it: Entry) {
    return {
      post: {
        id: it.id,
        [generation === 'piefed' ? 'title' : 'name']: `post ${it.id}`,
        body: it.is_removed ? '' : it.text,
        creator_id: 7,
        removed: it.is_removed === true,
        deleted: false,
        local: it.is_local !== false,
        nsfw: it.nsfw === true,
        ...(it.url !== undefined && { url: it.url }),
        ...(it.scheduled !== undefined && { scheduled_publish_time_at: iso(it.scheduled) }),
        ...(v4 && { federation_pending: it.is_pending === true }),
        ...times(it),
        ...(v4 && counters),
      },
      creator: { ...person, id: it.author ?? person.id },
      community:
        it.is_local === false
          ? { ...community, ...world.community, local: false, ...remote }
          : { ...community, ...world.community },
      ...(!v4 && { counts: counters }),
    }
  }
  const remote = { [v4 ? 'ap_id' : 'actor_id']: 'https://other.example/c/coffee' }

  function commentView(it: Entry) {
    const path = it.parent === undefined ? `0.${it.id}` : `0.${it.parent}.${it.id}`
    return {
      comment: {
        id: it.id,
        post_id: 1,
        path,
        [generation === 'piefed' ? 'body' : 'content']: it.is_removed ? '' : it.text,
        removed: it.is_removed === true,
        deleted: it.is_deleted === true,
        local: it.is_local !== false,
        ...(v4 && { federation_pending: it.is_pending === true }),
        ...times(it),
        ...(v4 && counters),
      },
      creator: { ...person, id: it.author ?? person.id },
      post: { id: 1, name: 'post 1', creator_id: 7, nsfw: false, ...world.thread },
      community: { ...community, ...world.community },
      ...(!v4 && { counts: { ...counters, child_count: repliesOf(it.id) } }),
    }
  }
  const repliesOf = (id: number) =>
    [...world.comments.values()].filter(({ parent }) => parent === id).length

  const absent = () =>
    generation === 'piefed'
      ? json(
          { code: 400, message: 'No row was found when one was required', status: 'Bad Request' },
          400,
        )
      : json({ error: v4 ? 'not_found' : 'couldnt_find_post' }, v4 ? 404 : 400)

  function listed(kind: 'post' | 'comment', query: URLSearchParams) {
    const all = [...(kind === 'post' ? world.posts : world.comments).values()]
    const of_place = query.has('community_id')
    if (of_place && world.is_private)
      return json({ code: 400, message: 'Private community - authentication required' }, 400)
    const isHidden = (it: Entry) =>
      it.is_absent || it.is_draft || it.is_pending || it.scheduled || (it.is_unlisted && !of_place)
    const branch = query.get('parent_id')
    const isBelow = (it: Entry) =>
      branch === null || it.id === Number(branch) || it.parent === Number(branch)
    const newest = all
      .filter(isBelow)
      .filter((it) => !isHidden(it) && (kind === 'comment' || !it.is_removed))
      .toSorted((a, b) => b.published - a.published || b.id - a.id)
      .toSorted((a, b) => Number(b.is_sticky === true) - Number(a.is_sticky === true))
    // A tree has the rows of the top level first.
    if (query.has('max_depth')) newest.sort((a, b) => (a.parent ?? 0) - (b.parent ?? 0))
    const size =
      query.has('max_depth') && generation === 'v3'
        ? 300
        : Math.min(of_place ? 50 : world.page_size, Number(query.get('limit') ?? 10))
    const by_cursor = generation !== 'piefed' && (v4 || kind === 'post')
    const cursor = query.get(by_cursor ? 'page_cursor' : 'page')
    const from =
      cursor === null
        ? 0
        : by_cursor
          ? Number(cursor.replace('P', ''))
          : (Number(cursor) - 1) * Math.min(size, 50)
    const rows = newest.slice(from, from + size)
    const next = from + size < newest.length ? `P${from + size}` : null
    const views = rows.map((it) => (kind === 'post' ? postView(it) : commentView(it)))
    return json({
      [v4 ? 'items' : `${kind}s`]: views,
      ...(by_cursor && next !== null && { next_page: next }),
      // Pages of PieFed are numbered, and the answer names the next one.
      ...(generation === 'piefed' && {
        next_page: next === null ? null : String(Number(cursor ?? 1) + 1),
      }),
    })
  }

  function modlog() {
    const of = (kind: string) => world.modlog.filter((it) => it.kind === kind)
    if (v4)
      return json({
        items: world.modlog.map(({ id, kind, target, restored }) => ({
          modlog: { id, kind: `mod_remove_${kind}`, is_revert: restored },
          [`target_${kind}`]: { id: target },
        })),
      })
    return json({
      banned: world.bans.map(({ id, person: other_person_id, at, ends }) => ({
        mod_ban: { id, other_person_id, banned: ends !== true, when_: iso(at) },
      })),
      removed_posts: of('post').map(({ id, target, restored }) => ({
        mod_remove_post: { id, post_id: target, removed: !restored },
      })),
      removed_comments: of('comment').map(({ id, target, restored }) => ({
        mod_remove_comment: { id, comment_id: target, removed: !restored },
      })),
    })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const answer = await answerTo(request)
      for (const [name, value] of Object.entries(world.headers)) answer.headers.set(name, value)
      return answer
    },
  })

  async function answerTo(request: Request): Promise<Response> {
    const { pathname, searchParams: query, search } = new URL(request.url)
    world.requests.push(`${pathname}${search}`)
    if (request.method === 'POST') world.bodies.push(await request.clone().json())
    const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : null
    const given = world.answer(path ?? pathname, request)
    if (given !== null) return given
    // An older server answers paths that it does not know with its web page.
    if (path === null)
      return new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } })
    const has_account = request.headers.has('authorization') && !world.is_ended
    if (path === '/account/validate_auth')
      return has_account ? json({ success: true }) : json({ error: 'not_logged_in' }, 400)
    const my_user = has_account && { my_user: { local_user_view: {} } }
    if (path === '/site')
      return json(
        generation === 'piefed'
          ? { site: { name: 'A server' }, version: world.version, ...my_user }
          : {
              ...(!v4 && my_user),
              site_view: {
                site: { name: 'A server' },
                local_site_rate_limit: v4
                  ? { message_max_requests: world.message_max, message_interval_seconds: 60 }
                  : { message: world.message_max, message_per_second: 60 },
              },
              version: world.version,
            },
      )
    if (path === '/post/list') return listed('post', query)
    if (path === '/comment/list') return listed('comment', query)
    if (path === '/community' && query.get('name') === 'coffee')
      return json({ community_view: { community } })
    if (path === '/search') {
      const found = [...world.posts.values()].filter(
        (it) => !it.is_draft && `post ${it.id}` === query.get('q'),
      )
      return json({ posts: found.map(postView) })
    }
    if (path === '/modlog') return modlog()
    if (path === '/post' || path === '/comment') {
      const kind = path === '/post' ? 'post' : 'comment'
      const it = (kind === 'post' ? world.posts : world.comments).get(Number(query.get('id')))
      if (it === undefined || it.is_absent) return absent()
      if (kind === 'post') return it.is_removed ? absent() : json({ post_view: postView(it) })
      return json({ comment_view: commentView(it) })
    }
    return absent()
  }

  let skipped = 0
  const clock = {
    now: () => world.now + skipped,
    mono: () => world.now - T0 + skipped,
    async sleep(ms: number) {
      skipped += ms
    },
  }
  const egress = createLoopbackEgress()
  const options = {
    egress,
    clock,
    log: () => {},
    random: { fraction: () => 0.5 },
    base_url: `http://127.0.0.1:${server.port}`,
    user_agent: 'forumd-test/1.0',
    requests_per_minute,
    is_pace_set,
    timeout_ms: 5000,
    credential,
  }
  const software = generation === 'piefed' ? 'piefed' : 'lemmy'
  const source = createLemmy(options, software)
  return {
    world,
    source,
    clock,
    api: (): Api => createApi(options, software),
    slowed_ms: () => skipped,
    put(kind: 'post' | 'comment', id: number, more: Partial<Entry> = {}) {
      const entry = { id, published: world.now, text: `text ${id}`, ...more }
      ;(kind === 'post' ? world.posts : world.comments).set(id, entry)
    },
    call: () => ({ deadline_at: clock.now() + 10 * MINUTE }),
    /** One step with the requests by id that follow it, or without them. */
    async step(state: string | null, requests = 100, { settles = true } = {}): Promise<WatchStep> {
      const { watch } = source
      const call = () => ({ requests, deadline_at: clock.now() + 10 * MINUTE })
      const outcome = await watch?.advance(state, call())
      if (!outcome?.ok) throw new Error(outcome?.fault.kind ?? 'no watch')
      let sum = outcome.value
      if (!settles) return sum
      for (;;) {
        const more = await watch?.settle?.(sum.state, call())
        if (!more?.ok || more.value.requests === 0) return sum
        sum = joined(sum, more.value)
      }
    },
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

export const namesOf = ({ items }: { items: { name: string }[] }) => items.map(({ name }) => name)

/** A server with a post and a comment, `later_ms` after the first step. */
export async function begun(generation: 'v3' | 'v4' | 'piefed', later_ms = 30 * S) {
  const fixture = createServer(generation)
  fixture.put('post', 100)
  fixture.put('comment', 500)
  const { state } = await fixture.step(null)
  fixture.world.now += later_ms
  return { ...fixture, state, [Symbol.asyncDispose]: fixture[Symbol.asyncDispose] }
}

/** Two parts of a step as one. */
function joined(a: WatchStep, b: WatchStep): WatchStep {
  const back = new Set(b.items.map(({ name }) => name))
  return {
    ...b,
    ...(a.went_back && { went_back: true }),
    items: [...a.items, ...b.items].toSorted((x, y) => x.created_utc - y.created_utc),
    arrived: [...(a.arrived ?? []), ...(b.arrived ?? [])],
    published: [...(a.published ?? []), ...(b.published ?? [])],
    gone: [...a.gone.filter((name) => !back.has(name)), ...b.gone],
    skipped: [...a.skipped, ...b.skipped],
    unanswered: [...a.unanswered, ...b.unanswered],
    answered: [...a.answered, ...b.answered],
    requests: a.requests + b.requests,
  }
}
