import { parseConfig } from '../../src/config/load.ts'
import { createWatch, type StepWatch } from '../../src/gateway/watch.ts'
import { type KindName } from '../../src/platforms/kinds.ts'
import { ANONYMOUS } from '../../src/platforms/port.ts'
import { realClock } from '../../src/runtime/runtime.ts'
import { createSource } from '../../src/wiring/sources.ts'
import { createLoopbackEgress } from './loopback-egress.ts'

/** One row of a site: what an author wrote. `over`: fields of the answer that replace those of the row. */
export type SiteRow = {
  id: number
  /** Epoch ms. */
  at: number
  title: string
  text: string
  over?: Record<string, unknown>
}

const iso = (ms: number): string => new Date(ms).toISOString()

type Site = (rows: readonly SiteRow[], path: string, query: URLSearchParams) => unknown

const newest = (rows: readonly SiteRow[], count = 50) =>
  rows.toSorted((a, b) => b.id - a.id).slice(0, count)

const lemmyView = ({ id, at, title, text, over }: SiteRow) => ({
  post: {
    id,
    name: title,
    title,
    body: text,
    published: iso(at),
    local: true,
    nsfw: false,
    ...over,
  },
  creator: { id: 2, name: 'ann', local: true },
  community: { id: 3, name: 'coffee', local: true },
  counts: { score: 1, comments: 0 },
})

/** A server of Lemmy's family below a path of its API. */
const lemmy =
  (base: string): Site =>
  (rows, path, query) => {
    if (path === `${base}/site`) return { version: '0.19.5', site_view: { site: { name: 'Test' } } }
    if (path === `${base}/post/list`) {
      const page = Number(query.get('page_cursor') ?? query.get('page') ?? 1)
      const shown = newest(rows, 50 * page).slice(50 * (page - 1))
      const next_page = rows.length > 50 * page ? String(page + 1) : null
      return { posts: shown.map(lemmyView), next_page }
    }
    if (path === `${base}/comment/list`) return { comments: [] }
    if (path === `${base}/modlog`) return { removed_posts: [], removed_comments: [] }
    if (path === `${base}/search`) {
      const found = rows.filter(({ title }) => title.includes(query.get('q') ?? ''))
      return { posts: newest(found).map(lemmyView), comments: [], users: [], communities: [] }
    }
    if (path !== `${base}/post`) return undefined
    const found = rows.find(({ id }) => id === Number(query.get('id')))
    return found && { post_view: lemmyView(found) }
  }

const redditRow = ({ id, at, title, text, over }: SiteRow) => ({
  kind: 't3',
  data: {
    id: id.toString(36),
    title,
    selftext: text,
    is_self: true,
    author: 'ann',
    subreddit: 'coffee',
    permalink: `/r/coffee/comments/${id.toString(36)}/x/`,
    created_utc: Math.floor(at / 1000),
    score: 1,
    num_comments: 0,
    ...over,
  },
})

/** Small sites of each kind of source. A new kind needs its own. */
const SITES: Readonly<Record<Exclude<KindName, 'feed'>, Site>> = {
  discourse(rows, path, query) {
    if (path === '/site.json') return { categories: [{ id: 5, name: 'Help', slug: 'help' }] }
    if (path === '/posts.json') {
      const before = Number(query.get('before') ?? Infinity)
      const latest_posts = newest(rows.filter(({ id }) => id < before)).map(
        ({ id, at, title, text, over }) => ({
          id,
          topic_id: id,
          post_number: 1,
          topic_title: title,
          topic_slug: 'x',
          category_id: 5,
          raw: text,
          username: 'ann',
          created_at: iso(at),
          updated_at: iso(at),
          version: 1,
          ...over,
        }),
      )
      return { latest_posts }
    }
    if (path !== '/latest.json') return undefined
    const topics = newest(rows).map(({ id, at, title, over }) => ({
      id,
      title,
      slug: 'x',
      category_id: 5,
      created_at: iso(at),
      bumped_at: iso(at),
      posts_count: 1,
      ...over,
    }))
    return { users: [], topic_list: { topics } }
  },
  hackernews(rows, path) {
    if (path === '/v0/maxitem.json') return Math.max(0, ...rows.map(({ id }) => id))
    if (path === '/v0/updates.json') return { items: [], profiles: [] }
    if (path === '/v0/newstories.json') return newest(rows, 500).map(({ id }) => id)
    const id = /^\/v0\/item\/(\d+)\.json$/.exec(path)?.[1]
    if (id === undefined) return undefined
    const found = rows.find((row) => row.id === Number(id))
    if (found === undefined) return null
    const { at, title, text, over } = found
    const time = Math.floor(at / 1000)
    return { id: found.id, type: 'story', by: 'ann', title, text, time, score: 1, ...over }
  },
  lemmy: lemmy('/api/v3'),
  piefed: lemmy('/api/alpha'),
  reddit: (rows, path) =>
    path.endsWith('.json') && path !== '/api/info.json'
      ? { kind: 'Listing', data: { after: null, children: newest(rows, 100).map(redditRow) } }
      : undefined,
}

export type SiteKind = keyof typeof SITES

/** Answer of a site of a kind to a read of its API; undefined: it has no such path. */
export const answerOf = (kind: SiteKind, ...asked: Parameters<Site>): unknown =>
  SITES[kind](...asked)

export const KINDS = Object.keys(SITES).filter((it): it is SiteKind => it in SITES)
/** Kinds that monitors follow by ids. */
export const STREAMED = KINDS.filter((it) => it !== 'reddit')

const T0 = Date.UTC(2026, 0, 1)
const config = parseConfig(
  'source = [{ name = "forum", kind = "reddit", base_url = "http://127.0.0.1:1", session_cookie = "s" }]',
)
const KEYS: Readonly<Record<SiteKind, { id: string; time: string; title: string; text: string }>> =
  {
    discourse: { id: 'id', time: 'created_at', title: 'topic_title', text: 'raw' },
    hackernews: { id: 'id', time: 'time', title: 'title', text: 'text' },
    lemmy: { id: 'id', time: 'published', title: 'name', text: 'body' },
    piefed: { id: 'id', time: 'published', title: 'name', text: 'body' },
    reddit: { id: 'id', time: 'created_utc', title: 'title', text: 'selftext' },
  }

/** The table of a source of a kind, as the configuration has it. */
function tableOf(kind: SiteKind, base_url: string) {
  const rate =
    kind === 'reddit'
      ? 'session_cookie = "s"\naccounts = { session_requests_per_minute = 600 }'
      : 'requests_per_minute = 600'
  const { source } = parseConfig(
    `[[source]]\nname = "s"\nkind = "${kind}"\nbase_url = "${base_url}"\nuser_agent = "forumd-test/1.0"\n${rate}`,
  )
  return source[0]!
}

/** A site of a kind over HTTP, on a clock of its own, and its source within the fence. `base_url`: another site is read. */
export function startSite(kind: SiteKind, base_url?: string) {
  const site = {
    now: T0,
    rows: [] as SiteRow[],
    /** Changes an answer before it is sent. */
    change: (value: unknown): unknown => value,
    /** In place of an answer; null: the site answers. */
    override: (_path: string, _headers: Headers): Response | null => null,
    headers: {} as Record<string, string>,
    requests: 0,
    events: [] as string[],
  }
  let skipped = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      site.requests += 1
      const { pathname, searchParams } = new URL(request.url)
      const own = site.override(pathname, request.headers)
      if (own !== null) return own
      const value = SITES[kind](site.rows, pathname, searchParams)
      if (value === undefined) return Response.json({ error: 'not_found' }, { status: 404 })
      const headers = { date: new Date(clock.now()).toUTCString(), ...site.headers }
      const changed = site.change(structuredClone(value))
      if (changed instanceof Response) return changed
      return new Response(typeof changed === 'string' ? changed : JSON.stringify(changed), {
        headers: { 'content-type': 'application/json', 'x-discourse-cached': 'skip', ...headers },
      })
    },
  })
  const clock = {
    ...realClock,
    now: () => site.now + skipped,
    mono: () => site.now + skipped,
    async sleep(ms: number) {
      skipped += ms
    },
  }
  const left_out: string[] = []
  const source = createSource(
    tableOf(kind, base_url ?? `http://127.0.0.1:${server.port}`),
    config,
    {
      clock,
      log: (_level: string, event: string, fields?: object) =>
        void site.events.push(`${event} ${JSON.stringify(fields ?? {})}`),
      random: { ...NO_RANDOM },
      egress: createLoopbackEgress(),
      on_row: (name: string) => void left_out.push(name),
    },
  )
  const made = createWatch({ name: 's', source, per_minute: () => 600, clock })
  const watch: StepWatch | null = made?.proof === 'time_listing' ? null : made
  const signal = new AbortController().signal
  const call = () => ({ identity: ANONYMOUS, deadline_at: clock.now() + 60_000 })
  let id = 100
  const put = (over: Partial<SiteRow> = {}): SiteRow => {
    id = over.id ?? id + 1
    const row = { id, at: clock.now(), title: `title ${id}`, text: `text ${id}`, ...over }
    site.rows.push(row)
    return row
  }
  return {
    site,
    source,
    clock,
    left_out,
    put,
    /** An honest row with one field of the answer replaced. */
    putWith: (field: keyof (typeof KEYS)[SiteKind], value: unknown) =>
      put({ over: { [KEYS[kind][field]]: value, ...(field === 'title' && { title: value }) } }),
    call,
    /** Reads the newest posts. */
    posts: () =>
      source.reads.posts({ subforums: [], sort: 'new', t: null, limit: 25, after: null }, call()),
    /** One step of the watch without what follows it, a minute after the one before. */
    advance: (state: string | null) => {
      site.now += 61_000
      return watch?.step(state, { interval_s: 60, signal, places: [] })
    },
    /** One step of the watch with what follows it, so long after the one before. `since`: the first start of a monitor. */
    async step(state: string | null, after_ms = 61_000, since: number | null = null) {
      if (watch === null) throw new Error('the source has no watch')
      site.now += after_ms
      const bounds = { interval_s: Math.floor(after_ms / 1000), signal, places: [], since }
      const before = site.requests
      const first = await watch.step(state, bounds)
      const ids = new Set<string>()
      let last = first
      for (let n = 0; last.ok && n < 50; n++) {
        for (const { id: it } of last.value.items) ids.add(it)
        const next = await watch.settle?.(last.value.state, bounds)
        if (next?.ok !== true || next.value === null) break
        last = { ok: true, value: { ...next.value, went_back: last.value.went_back } as never }
      }
      return {
        outcome: first,
        ids,
        state: last.ok ? last.value.state : state,
        requests: site.requests - before,
        verified_at: first.ok ? watch.ours(first.value.verified_until) : null,
      }
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

const NO_RANDOM = {
  fraction: () => 0.5,
  uuid: () => '',
  bytes: (count: number) => new Uint8Array(count),
}

/** Replaces one part of an answer; `pick` in [0, 1) chooses it. */
export function mutate(root: unknown, pick: number, value: unknown): unknown {
  const places: [object, string][] = []
  const waiting = [root]
  while (waiting.length > 0) {
    const at = waiting.pop()
    if (typeof at !== 'object' || at === null) continue
    for (const [key, child] of Object.entries(at)) {
      places.push([at, key])
      waiting.push(child)
    }
  }
  const place = places[Math.floor(pick * places.length)]
  if (place === undefined) return value
  // A copy, so that nothing holds itself.
  Reflect.set(place[0], place[1], structuredClone(value))
  return root
}
