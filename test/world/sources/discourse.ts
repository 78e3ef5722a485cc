/** A simulated Discourse forum over HTTP, with named misbehaviour. Written from the protocol and the recordings. */
import { hashUnit, makeRandom } from '../plan.ts'
import {
  CATEGORIES,
  isListed,
  isPublic,
  itemsOf,
  MONITORS,
  planForum,
  postAt,
  SOURCE,
  topicAt,
} from './discourse-plan.ts'
import type { Content, Forum, Post, Topic } from './discourse-plan.ts'
import { boundsOf } from './source-world.ts'
import type {
  LoggedRequest,
  RunningSource,
  SourceWorld,
  Span,
  StartOptions,
} from './source-world.ts'

export type Scenario = Content & {
  readonly requestsPerMinute?: number
  /** Age up to which a whole answer is kept for its address. */
  readonly cacheMs?: number
  readonly skewMs?: number
  readonly pauses?: number
  readonly restarts?: number
  /** Bursts of posts, in a restart where there is one; the daemon is killed soon after each. */
  readonly bursts?: number
  readonly errorShare?: number
  readonly slowShare?: number
  readonly oldListing?: boolean
  readonly faultFree?: boolean
}

const CALM = { postsPerS: 0.5, topicShare: 0.2 }
/** Fast enough for a post to leave the first page in half a minute. */
const LIVELY = { postsPerS: 1.6, topicShare: 0.15, requestsPerMinute: 120 }

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  quiet: { postsPerS: 0.12, topicShare: 0.4, faultFree: true },
  busy: { postsPerS: 2, topicShare: 0.1, requestsPerMinute: 120, faultFree: true },
  relisted: { ...LIVELY, hideShare: 0.3, unlistShare: 0.2 },
  'id-gaps': { ...CALM, gapShare: 0.6, gapMax: 90, faultFree: true },
  'late-commit': { ...LIVELY, lateCommitShare: 0.3 },
  'rate-limit': { ...CALM, pauses: 5 },
  silenced: { ...CALM, silences: 4 },
  moved: { ...LIVELY, topicShare: 0.4, moveShare: 0.8 },
  approval: { ...LIVELY, pendingShare: 0.3 },
  errors: { ...CALM, errorShare: 0.3, slowShare: 0.2 },
  restart: { ...CALM, restarts: 3, bursts: 3, requestsPerMinute: 90 },
  'stale-cache': { ...CALM, cacheMs: 60_000 },
  'skew-ahead': { ...CALM, skewMs: 100_000 },
  'skew-behind': { ...CALM, skewMs: -100_000 },
  paging: { ...CALM, bursts: 3, requestsPerMinute: 120 },
  'old-listing': { ...CALM, oldListing: true, gapShare: 0.3, gapMax: 120, moveShare: 0.3 },
  edits: { ...LIVELY, editShare: 0.5 },
  weather: {
    ...CALM,
    hideShare: 0.1,
    gapShare: 0.3,
    gapMax: 70,
    pendingShare: 0.1,
    silences: 1,
    bursts: 1,
    moveShare: 0.2,
    pauses: 2,
    restarts: 1,
    errorShare: 0.1,
    lateCommitShare: 0.1,
    editShare: 0.1,
    requestsPerMinute: 90,
  },
}

const PAGE = 50
const TOPIC_PAGE = 20
const SETTLED_MS = 4000
const NOTICE = '(post deleted by author)'

type Answer = { readonly status: number; readonly body: unknown; readonly ids: readonly number[] }

const NOT_FOUND: Answer = {
  status: 404,
  body: { errors: ['The requested URL or resource could not be found.'], error_type: 'not_found' },
  ids: [],
}

/** The site's answers as a function of the instant, without its misbehaviour in transport. */
export class Site {
  constructor(
    readonly forum: Forum,
    readonly wireStartMs: number,
    readonly oldListing: boolean,
  ) {}

  private iso(atMs: number): string {
    return new Date(this.wireStartMs + Math.floor(atMs)).toISOString()
  }

  /** The page of `/posts.json`: by keyset, or by windows of fifty ids on an older server. */
  listing(before: number | null, atMs: number): Answer {
    const created = this.forum.posts.filter((post) => post.createdMs <= atMs)
    if (this.oldListing) {
      const head = before ?? created.at(-1)?.id ?? 0
      const rows = created
        .filter((post) => post.id <= head && post.id > head - PAGE)
        .filter(
          (post) =>
            isListed(post, atMs) ||
            (postAt(post, atMs)?.showing === 'hidden' && isPublic(post.topic, atMs)),
        )
        .toSorted((a, b) => b.createdMs - a.createdMs)
      return this.rows(rows, atMs)
    }
    const rows = created
      .filter(
        (post) =>
          post.postType === 1 && (before === null || post.id < before) && isListed(post, atMs),
      )
      .toSorted((a, b) => b.id - a.id)
    return this.rows(rows.slice(0, PAGE), atMs)
  }

  private rows(posts: readonly Post[], atMs: number): Answer {
    const ids = posts
      .filter((post) => postAt(post, atMs)?.showing === 'shown')
      .map((post) => post.id)
    return {
      status: 200,
      body: { latest_posts: posts.map((post) => this.post(post, atMs, true)) },
      ids,
    }
  }

  private post(post: Post, atMs: number, inListing: boolean): Record<string, unknown> {
    const { topic } = post
    const state = postAt(post, atMs)
    const hidden = state?.showing === 'hidden'
    const text = hidden || state?.showing === 'notice' ? NOTICE : (state?.text ?? '')
    const row: Record<string, unknown> = {
      id: post.id,
      name: '',
      username: post.author,
      avatar_template: `/letter_avatar_proxy/v4/letter/${post.author[0]}/90db22/{size}.png`,
      created_at: this.iso(post.createdMs),
      cooked: `<p>${text}</p>`,
      post_number: post.number,
      post_type: post.postType,
      posts_count: topic.posts.length,
      updated_at: this.iso(state?.fromMs ?? post.createdMs),
      reply_count: 0,
      reply_to_post_number: post.number === 1 ? null : post.replyTo,
      quote_count: 0,
      incoming_link_count: 0,
      reads: 3,
      readers_count: 2,
      score: 0.6,
      yours: false,
      topic_id: topic.id,
      topic_slug: topic.slug,
      display_username: '',
      primary_group_name: null,
      flair_name: null,
      flair_url: null,
      flair_bg_color: null,
      flair_color: null,
      flair_group_id: null,
      badges_granted: [],
      version: state?.version ?? 1,
      can_edit: false,
      can_delete: false,
      can_recover: false,
      can_see_hidden_post: false,
      can_wiki: false,
      user_title: null,
      bookmarked: false,
      actions_summary: [],
      moderator: false,
      admin: false,
      staff: false,
      user_id: 10 + (post.author.codePointAt(0) ?? 0),
      hidden,
      trust_level: 1,
      deleted_at: null,
      user_deleted: state?.showing === 'notice',
      edit_reason: null,
      can_view_edit_history: true,
      wiki: false,
      post_url: `/t/${topic.slug}/${topic.id}/${post.number}`,
    }
    if (!hidden) row['raw'] = text
    else row['cooked_hidden'] = true
    if (post.postType === 3) row['action_code'] = 'category_changed'
    if (!inListing) return row
    row['topic_title'] = topic.title
    row['topic_html_title'] = topic.title
    row['category_id'] = topicAt(topic, atMs)?.categoryId ?? null
    return row
  }

  private shownIn(topic: Topic, atMs: number): Post[] {
    return topic.posts.filter(
      (post) => post.createdMs <= atMs && postAt(post, atMs)?.showing !== 'gone',
    )
  }

  private topicRow(topic: Topic, atMs: number): Record<string, unknown> {
    const posts = this.shownIn(topic, atMs)
    const state = topicAt(topic, atMs)
    return {
      id: topic.id,
      title: topic.title,
      fancy_title: topic.title,
      slug: topic.slug,
      posts_count: posts.length,
      reply_count: 0,
      highest_post_number: posts.at(-1)?.number ?? 1,
      image_url: null,
      created_at: this.iso(topic.createdMs),
      last_posted_at: this.iso(posts.at(-1)?.createdMs ?? topic.createdMs),
      bumped: true,
      bumped_at: this.iso(posts.at(-1)?.createdMs ?? topic.createdMs),
      archetype: 'regular',
      unseen: false,
      pinned: false,
      unpinned: null,
      visible: state?.listed ?? true,
      closed: false,
      archived: false,
      bookmarked: null,
      liked: null,
      tags: state?.tags ?? [],
      tags_descriptions: {},
      views: 9,
      like_count: 0,
      has_summary: false,
      last_poster_username: posts.at(-1)?.author ?? topic.posts[0]?.author,
      category_id: state?.categoryId ?? null,
      pinned_globally: false,
      featured_link: null,
      posters: [],
    }
  }

  private topic(id: number, query: URLSearchParams, atMs: number, postsOnly: boolean): Answer {
    const topic = this.forum.topics.get(id)
    if (topic === undefined || topic.createdMs > atMs || topic.posts[0] === undefined)
      return NOT_FOUND
    if (!isPublic(topic, atMs)) return NOT_FOUND
    if (postAt(topic.posts[0], atMs)?.showing === 'gone') return NOT_FOUND
    const all = this.shownIn(topic, atMs)
    const wanted = query.getAll('post_ids[]').map(Number)
    const page = Math.max(1, Number(query.get('page') ?? '1'))
    const posts =
      wanted.length > 0
        ? all.filter((post) => wanted.includes(post.id))
        : all.slice((page - 1) * TOPIC_PAGE, page * TOPIC_PAGE)
    const rows = posts.map((post) => this.post(post, atMs, false))
    const ids = posts
      .filter((post) => postAt(post, atMs)?.showing === 'shown')
      .map((post) => post.id)
    if (postsOnly) return { status: 200, body: { post_stream: { posts: rows }, id }, ids }
    const stream = { posts: rows, stream: all.map((post) => post.id) }
    return {
      status: 200,
      body: {
        post_stream: stream,
        timeline_lookup: [],
        suggested_topics: [],
        ...this.topicRow(topic, atMs),
      },
      ids,
    }
  }

  private topics(
    page: number,
    atMs: number,
    belongs: (topic: Topic) => boolean,
    order: string | null,
  ): Answer {
    const found = [...this.forum.topics.values()]
      .filter(
        (topic) => topic.posts[0] !== undefined && topic.createdMs <= atMs && isPublic(topic, atMs),
      )
      .filter(
        (topic) =>
          topicAt(topic, atMs)?.listed === true &&
          postAt(topic.posts[0] as Post, atMs)?.showing !== 'gone',
      )
      .filter(belongs)
    const key = (topic: Topic) =>
      order === 'created'
        ? topic.createdMs
        : (this.shownIn(topic, atMs).at(-1)?.createdMs ?? topic.createdMs)
    const rows = found.toSorted((a, b) => key(b) - key(a)).slice(page * 30, page * 30 + 30)
    const list = {
      can_create_topic: false,
      per_page: 30,
      top_tags: [],
      topics: rows.map((topic) => this.topicRow(topic, atMs)),
    }
    return { status: 200, body: { users: [], primary_groups: [], topic_list: list }, ids: [] }
  }

  private categories(): Record<string, unknown>[] {
    return CATEGORIES.filter((one) => !one.isPrivate).map((one) => ({
      id: one.id,
      name: one.slug.toUpperCase(),
      color: '0088CC',
      text_color: 'FFFFFF',
      slug: one.slug,
      topic_count: 5,
      post_count: 20,
      position: one.id,
      description: null,
      description_text: null,
      topic_url: `/t/${one.id}`,
      read_restricted: false,
      permission: 1,
      notification_level: 1,
      has_children: CATEGORIES.some((other) => other.parent === one.id),
      num_featured_topics: 3,
      uploaded_logo: null,
      ...(one.parent === null ? {} : { parent_category_id: one.parent }),
    }))
  }

  /** The answer to a request at an instant. */
  answer(url: URL, atMs: number): Answer {
    const path = url.pathname.replace(/\.json$/, '')
    const query = url.searchParams
    const page = Number(query.get('page') ?? '0')
    const order = query.get('order')
    if (path === '/posts') {
      const before = query.get('before')
      return this.listing(before === null ? null : Number(before), atMs)
    }
    if (path === '/site')
      return {
        status: 200,
        body: {
          default_archetype: 'regular',
          categories: this.categories(),
          can_tag_topics: false,
        },
        ids: [],
      }
    if (path === '/categories') {
      const tree = this.categories().filter(
        (one) => query.has('include_subcategories') || one['parent_category_id'] === undefined,
      )
      return {
        status: 200,
        body: { category_list: { can_create_category: false, categories: tree } },
        ids: [],
      }
    }
    if (path === '/about')
      return {
        status: 200,
        body: { about: { version: '3.6.0.beta2', stats: {}, admins: [], moderators: [] } },
        ids: [],
      }
    if (path === '/site/basic-info')
      return { status: 200, body: { title: 'World', description: '' }, ids: [] }
    if (path === '/latest') return this.topics(page, atMs, () => true, order)
    const post = /^\/posts\/(\d+)$/.exec(path)
    if (post !== null) {
      const found = this.forum.posts.find((one) => one.id === Number(post[1]))
      if (found === undefined || found.createdMs > atMs || !isPublic(found.topic, atMs))
        return NOT_FOUND
      const showing = postAt(found, atMs)?.showing
      if (showing === 'gone') return NOT_FOUND
      return {
        status: 200,
        body: this.post(found, atMs, false),
        ids: showing === 'shown' ? [found.id] : [],
      }
    }
    const posts = /^\/t\/(?:[^/]+\/)?(\d+)\/posts$/.exec(path)
    if (posts !== null) return this.topic(Number(posts[1]), query, atMs, true)
    const topic = /^\/t\/(?:[^/\d][^/]*\/)?(\d+)(?:\/\d+)?$/.exec(path)
    if (topic !== null) return this.topic(Number(topic[1]), query, atMs, false)
    const category = /^\/c\/(?:[^/]+\/)*(\d+)(?:\/l\/latest)?$/.exec(path)
    if (category !== null) {
      const id = Number(category[1])
      const own = new Set(
        CATEGORIES.filter((one) => one.id === id || one.parent === id).map((one) => one.id),
      )
      return this.topics(page, atMs, (one) => own.has(topicAt(one, atMs)?.categoryId ?? 0), order)
    }
    const tag = /^\/tag\/([^/]+)(?:\/l\/latest)?$/.exec(path)
    if (tag !== null) {
      const name = decodeURIComponent(tag[1] ?? '')
      return this.topics(
        page,
        atMs,
        (one) => topicAt(one, atMs)?.tags.includes(name) === true,
        order,
      )
    }
    if (path === '/tags') {
      const tags = ['urgent', 'howto', 'release'].map((id) => ({
        id,
        text: id,
        name: id,
        count: 5,
      }))
      return { status: 200, body: { tags, extras: {} }, ids: [] }
    }
    return NOT_FOUND
  }
}

const spans = (
  seed: number,
  count: number,
  untilMs: number,
  least: number,
  most: number,
): Span[] => {
  const random = makeRandom(seed)
  const part = untilMs / Math.max(1, count)
  return Array.from({ length: count }, (_, index): Span => {
    const fromMs = 10_000 + index * part + random() * Math.max(0, part - most - 12_000)
    return [fromMs, fromMs + least + random() * (most - least)]
  })
}

const html = (status: number, title: string) =>
  new Response(`<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })

/** The answer to a request in a pause: three forms that the recordings and the protocol know. */
const pauseAnswer = (which: number, seconds: number): Response => {
  const json = {
    errors: [
      `You've performed this action too many times, please try again in ${seconds} seconds.`,
    ],
    error_type: 'rate_limit',
    extras: { wait_seconds: seconds, time_left: `${seconds} seconds` },
  }
  if (which % 3 === 0)
    return Response.json(json, { status: 429, headers: { 'retry-after': String(seconds) } })
  if (which % 3 === 1) return Response.json(json, { status: 429 })
  return new Response(
    `Slow down, you're making too many requests.\nPlease retry again in ${seconds} seconds.\nError code: ip_60_secs_limit.`,
    {
      status: 429,
      headers: {
        'content-type': 'text/plain',
        'retry-after': String(seconds),
        'discourse-rate-limit-error-code': 'ip_60_secs_limit',
      },
    },
  )
}

const startDiscourse = async (options: StartOptions): Promise<RunningSource> => {
  const scenario = SCENARIOS[options.scenario]
  if (scenario === undefined) throw new Error(`no scenario ${options.scenario}`)
  const { seed, startMs, contentMs } = options
  const skewMs = scenario.skewMs ?? 0
  const restarts = spans(seed ^ 0x0502, scenario.restarts ?? 0, contentMs, 6000, 16_000)
  const burstAtMs = spans(seed ^ 0xb0257, scenario.bursts ?? 0, contentMs, 2000, 4000).map(
    ([from], index) => (restarts[index] === undefined ? from : restarts[index][0] + 1500),
  )
  const site = new Site(
    planForum({ ...scenario, burstAtMs }, seed, contentMs),
    startMs + skewMs,
    scenario.oldListing ?? false,
  )
  const log: LoggedRequest[] = []
  const pauseWindows = spans(seed ^ 0x0429, scenario.pauses ?? 0, contentMs, 6000, 18_000)
  const pauses = new Map<number, Span>()
  const cache = new Map<string, { atMs: number; text: string; ids: readonly number[] }>()
  let count = 0

  const handle = async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    const path = `${url.pathname}${url.search}`
    const atMs = Date.now() - startMs
    count += 1
    const note = (status: number, text: string, ids: readonly number[] = []) => {
      log.push({ atMs, source: SOURCE, path, status, note: text, ids })
    }
    const dated = (response: Response) => {
      response.headers.set('date', new Date(Date.now() + skewMs).toUTCString())
      return response
    }
    const paused = pauseWindows.findIndex(([from, until]) => from <= atMs && atMs < until)
    const window = pauseWindows[paused]
    if (window !== undefined) {
      if (!pauses.has(paused)) pauses.set(paused, [atMs, window[1]])
      note(429, 'pause')
      return dated(pauseAnswer(paused, Math.ceil((window[1] - atMs) / 1000)))
    }
    const recent = log.filter((entry) => entry.atMs > atMs - 60_000)
    if (recent.length >= 200 || recent.filter((entry) => entry.atMs > atMs - 10_000).length >= 50) {
      note(429, 'limit of the site')
      return dated(pauseAnswer(2, 10))
    }
    if (restarts.some(([, until]) => until <= atMs && atMs < until + SETTLED_MS)) {
      cache.clear()
      note(502, 'starting')
      return dated(html(502, '502 Bad Gateway'))
    }
    const draw = hashUnit(seed, 'fault', path, count)
    if (atMs < contentMs && draw < (scenario.errorShare ?? 0))
      return dated(await fault(draw / (scenario.errorShare ?? 1), note))
    if (atMs < contentMs && hashUnit(seed, 'slow', count) < (scenario.slowShare ?? 0)) {
      await Bun.sleep(1000 + hashUnit(seed, 'long', count) * 7000)
    }
    const known = cache.get(path)
    const cacheMs = scenario.cacheMs ?? 0
    if (known !== undefined && atMs - known.atMs < cacheMs) {
      note(200, `cached ${((atMs - known.atMs) / 1000).toFixed(1)} s`, known.ids)
      return dated(jsonOf(known.text, 200, 'true'))
    }
    const answer = site.answer(url, Date.now() - startMs)
    note(answer.status, answer.status === 404 ? 'not found' : '', answer.ids)
    const text = JSON.stringify(answer.body)
    if (cacheMs > 0 && answer.status === 200) cache.set(path, { atMs, text, ids: answer.ids })
    return dated(jsonOf(text, answer.status, cacheMs > 0 ? 'store' : 'skip'))
  }

  const fault = async (
    draw: number,
    note: (status: number, text: string) => void,
  ): Promise<Response> => {
    const status = [500, 502, 503, 504][Math.floor(draw * 7)]
    if (status !== undefined) {
      note(status, 'error')
      return html(status, `${status}`)
    }
    if (draw < 5 / 7) {
      note(200, 'maintenance page')
      return html(200, 'Down for maintenance')
    }
    if (draw < 6 / 7) {
      note(200, 'truncated')
      return jsonOf('{"latest_posts":[{"id":2', 200, 'skip')
    }
    note(503, 'read only')
    return Response.json(
      { errors: ['The site is in read only mode.'], error_type: 'read_only' },
      { status: 503 },
    )
  }

  const jsonOf = (text: string, status: number, cached: string): Response =>
    new Response(text, {
      status,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': cached === 'skip' ? 'no-cache, no-store' : 'public, max-age=60',
        'x-discourse-cached': cached,
      },
    })

  const serve = (port: number) =>
    Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: 60, fetch: handle })
  let server = serve(0)
  const port = server.port ?? 0
  const timers: ReturnType<typeof setTimeout>[] = []
  for (const [from, until] of restarts) {
    timers.push(setTimeout(() => void server.stop(true), startMs + from - Date.now()))
    timers.push(setTimeout(() => (server = serve(port)), startMs + until - Date.now()))
  }
  return {
    tables: [
      {
        name: SOURCE,
        kind: 'discourse',
        baseUrl: `http://127.0.0.1:${port}`,
        requestsPerMinute: scenario.requestsPerMinute ?? 60,
      },
    ],
    monitors: MONITORS,
    bounds: boundsOf(options.cadenceMs, scenario.cacheMs ?? 0),
    skewMs,
    faultFree: scenario.faultFree ?? false,
    // A walk over what a burst or an outage left is cut by a kill, at most some polls later.
    killAtMs: burstAtMs.map(
      (atMs, index) => (restarts[index]?.[1] ?? atMs) + SETTLED_MS * hashUnit(seed, 'kill', index),
    ),
    truth: () => ({
      items: itemsOf(site.forum),
      holes: [
        ...pauseWindows,
        ...restarts.map(([from, until]): Span => [from, until + SETTLED_MS]),
      ],
      pauses: [...pauses.values()],
    }),
    log,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer)
      await server.stop(true)
    },
  }
}

export const DISCOURSE: SourceWorld = {
  kind: 'discourse',
  scenarios: Object.keys(SCENARIOS),
  start: startDiscourse,
}
