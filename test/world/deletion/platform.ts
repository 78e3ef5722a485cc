import type { Server } from 'bun'

import { between, pick } from './words.ts'

/** An item as an anonymous reader sees it. */
export type Look = 'live' | 'author' | 'moderator' | 'platform' | 'account_gone' | 'hidden'

/** A post or comment of the simulated platform. Times are milliseconds of its clock. */
export interface Item {
  id: string
  kind: 'post' | 'comment'
  place: string
  title: string
  text: string
  author: string
  author_id: string
  /** The post of a comment. */
  post: Item | null
  created: number
  look: Look
  score: number
  edited: number | null
}

/** A failure of reads by id: the ways in which a platform says nothing about an item. */
export type Fault =
  'none' | 'unavailable' | 'blocked' | 'challenge' | 'empty' | 'cut' | 'half' | 'throttled'

const FAULTS: readonly Fault[] = [
  'unavailable',
  'blocked',
  'challenge',
  'empty',
  'cut',
  'half',
  'throttled',
]

/** Requests by the kind of what they read. */
export interface Counts {
  listings: number
  by_id: number
  ids: number
  other: number
}

const HTML = { 'content-type': 'text/html; charset=UTF-8' }
const MODERATION: Partial<Record<Look, string>> = {
  author: 'deleted',
  moderator: 'moderator',
  platform: 'reddit',
}

const html = (status: number, text: string): Response =>
  new Response(text, { status, headers: HTML })

/** A platform with posts, comments and reads by id, written from its protocol alone. It serves readers without an account. */
export class Platform {
  readonly items = new Map<string, Item>()
  readonly places: string[]
  readonly counts: Counts = { listings: 0, by_id: 0, ids: 0, other: 0 }
  readonly unknown = new Set<string>()
  fault: Fault = 'none'
  /** Time of the last request by the machine's clock, for a caller that waits until requests have ended. */
  last_request = 0
  readonly #now: () => number
  readonly #random: () => number
  readonly #server: Server<undefined>

  constructor(places: string[], now: () => number, random: () => number) {
    this.places = places
    this.#now = now
    this.#random = random
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) => {
        const answer = this.#answer(new URL(request.url))
        answer.headers.set('date', new Date(this.#now()).toUTCString())
        return answer
      },
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  stop(): void {
    void this.#server.stop(true)
  }

  add(item: Item): void {
    this.items.set(item.id, item)
  }

  #answer(url: URL): Response {
    this.last_request = performance.now()
    const path = url.pathname.replace(/\.json$/, '')
    if (path === '/api/info') return this.#byId(url)
    const listing = /^\/r\/([^/]+)\/(new|comments)$/.exec(path)
    if (listing !== null) return this.#listing(listing[1] ?? '', listing[2] ?? '', url)
    this.counts.other += 1
    const about = /^\/r\/([^/]+)\/about$/.exec(path)
    if (about !== null && this.places.includes((about[1] ?? '').toLowerCase()))
      return Response.json({ kind: 't5', data: this.#place(about[1] ?? '') })
    if (path === '/api/me') return Response.json({ data: { features: {} } })
    if (path === '/robots.txt') return new Response('User-agent: *\nAllow: /\n')
    this.unknown.add(path)
    return Response.json({ message: 'Not Found', error: 404 }, { status: 404 })
  }

  #place(name: string): Record<string, unknown> {
    return {
      display_name: name,
      name: `t5_${name}`,
      id: name,
      title: name,
      public_description: '',
      subscribers: 10,
      subreddit_type: 'public',
      over18: false,
      created_utc: 1_600_000_000,
      url: `/r/${name}/`,
    }
  }

  #listing(names: string, tab: string, url: URL): Response {
    this.counts.listings += 1
    const wanted = new Set(names.toLowerCase().split('+'))
    if ([...wanted].some((name) => !this.places.includes(name)))
      return new Response('', {
        status: 302,
        headers: { location: `/subreddits/search?q=${names}` },
      })
    const limit = Math.min(100, Math.max(1, Number(url.searchParams.get('limit') ?? 25)))
    const kind = tab === 'new' ? 'post' : 'comment'
    const rows = [...this.items.values()]
      .filter((item) => item.kind === kind && wanted.has(item.place))
      .filter((item) => item.look === 'live' || item.look === 'account_gone')
      .toSorted((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1))
      .slice(0, 1000)
    const after = url.searchParams.get('after')
    const before = url.searchParams.get('before')
    let from = 0
    if (after !== null) from = rows.findIndex((item) => fullname(item) === after) + 1
    if (after !== null && from === 0) return this.#page([], null)
    let until = rows.length
    if (before !== null) until = rows.findIndex((item) => fullname(item) === before)
    if (until < 0) return this.#page([], null)
    const page = rows.slice(from, until).slice(0, limit)
    const last = page.at(-1)
    return this.#page(page, last !== undefined && from + limit < until ? fullname(last) : null)
  }

  #page(items: Item[], after: string | null): Response {
    return Response.json({
      kind: 'Listing',
      data: {
        after,
        before: null,
        dist: items.length,
        modhash: '',
        geo_filter: '',
        children: items.map((item) => ({
          kind: item.kind === 'post' ? 't3' : 't1',
          data: item.kind === 'post' ? this.#post(item) : this.#comment(item),
        })),
      },
    })
  }

  #byId(url: URL): Response {
    this.counts.by_id += 1
    const ids = (url.searchParams.get('id') ?? '').split(',').filter((id) => id !== '')
    this.counts.ids += ids.length
    switch (this.fault) {
      case 'unavailable':
        return html(503, '<h1>Our CDN was unable to reach our servers</h1>')
      case 'blocked':
        return html(403, `<title>Blocked</title>whoa there, pardner!${' '.repeat(3000)}`)
      case 'challenge':
        return html(200, '<form>Please wait for verification <input name="js_challenge"></form>')
      case 'empty':
        return this.#page([], null)
      case 'throttled':
        return new Response('{"message":"Too Many Requests","error":429}', { status: 429 })
      case 'cut':
        return new Response('{"kind":"Listing","data":{"child', {
          headers: { 'content-type': 'application/json' },
        })
      case 'none':
      case 'half':
    }
    if (ids.length > 100) return this.#page([], null)
    const found = ids.flatMap((id) => this.items.get(id.slice(3)) ?? [])
    return this.#page(
      found.filter(
        (item) => item.look !== 'hidden' && (this.fault !== 'half' || this.#random() < 0.5),
      ),
      null,
    )
  }

  #writer(item: Item): Record<string, unknown> {
    if (item.look === 'live') return { author: item.author, author_fullname: item.author_id }
    return { author: '[deleted]' }
  }

  #text(item: Item): string {
    if (item.look === 'author') return '[deleted]'
    if (item.look === 'moderator') return '[removed]'
    if (item.look === 'platform')
      return item.kind === 'post' ? '[removed]' : '[ Removed by Reddit ]'
    return item.text
  }

  #post(item: Item): Record<string, unknown> {
    const path = permalink(item)
    return {
      id: item.id,
      name: fullname(item),
      title: item.title,
      ...this.#writer(item),
      subreddit: item.place,
      subreddit_name_prefixed: `r/${item.place}`,
      subreddit_id: `t5_${item.place}`,
      permalink: path,
      url: `${this.url}${path}`,
      domain: `self.${item.place}`,
      is_self: true,
      selftext: this.#text(item),
      selftext_html: null,
      score: item.score,
      ups: item.score,
      downs: 0,
      upvote_ratio: 0.9,
      num_comments: 0,
      created_utc: item.created / 1000,
      created: item.created / 1000,
      edited: item.edited === null ? false : item.edited / 1000,
      likes: null,
      over_18: false,
      spoiler: false,
      locked: false,
      archived: false,
      stickied: false,
      link_flair_text: null,
      removed_by_category: MODERATION[item.look] ?? null,
      thumbnail: 'self',
      distinguished: null,
    }
  }

  #comment(item: Item): Record<string, unknown> {
    const post = item.post
    if (post === null) throw new TypeError(`comment ${item.id} without a post`)
    const text = this.#text(item)
    return {
      id: item.id,
      name: fullname(item),
      ...this.#writer(item),
      body: text,
      body_html: `<div><p>${Bun.escapeHTML(text)}</p></div>`,
      subreddit: item.place,
      subreddit_name_prefixed: `r/${item.place}`,
      subreddit_id: `t5_${item.place}`,
      link_id: fullname(post),
      parent_id: fullname(post),
      link_title: post.title,
      link_author: post.look === 'live' ? post.author : '[deleted]',
      link_url: `${this.url}${permalink(post)}`,
      link_permalink: `${this.url}${permalink(post)}`,
      permalink: permalink(item),
      score: item.score,
      ups: item.score,
      downs: 0,
      created_utc: item.created / 1000,
      created: item.created / 1000,
      edited: item.edited === null ? false : item.edited / 1000,
      likes: null,
      replies: '',
      over_18: false,
      stickied: false,
      distinguished: null,
      collapsed_reason_code: null,
    }
  }

  /** Begins or ends a failure of reads by id at random. */
  changeFault(): void {
    this.fault = this.#random() < 0.7 ? 'none' : pick(this.#random, FAULTS)
  }

  newId(): string {
    let id = ''
    do id = `1${between(this.#random, 36 ** 5, 36 ** 6 - 1).toString(36)}`
    while (this.items.has(id))
    return id
  }

  now(): number {
    return this.#now()
  }
}

export function fullname(item: Item): string {
  return `${item.kind === 'post' ? 't3' : 't1'}_${item.id}`
}

function permalink(item: Item): string {
  const post = item.post ?? item
  const slug = post.title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, 50)
  return `/r/${item.place}/comments/${post.id}/${slug}/${item.kind === 'comment' ? `${item.id}/` : ''}`
}
