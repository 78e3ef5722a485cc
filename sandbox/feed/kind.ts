import * as z from 'zod'

import { BadControl } from '../server/control-routes.ts'
import type { SandboxResponse } from '../server/response.ts'
import { instantInput, sourceControl, userInput } from '../sources/input.ts'
import type { SimulatedKind, SourceCall, SourceWorld } from '../sources/source.ts'
import type { SeededRandom } from '../world/random.ts'

type Entry = {
  id: number
  title: string
  text: string
  author: string
  category: string
  /** Epoch ms. */
  at: number
  is_shown: boolean
}

/** How the site misbehaves; each is a thing that feeds were seen to do. */
const MODES = {
  /** Order of the list. */
  order: z.enum(['newest', 'oldest', 'random']),
  /** Entries of the list. */
  size: z.int().min(1).max(500),
  /** 304 to every condition, whatever has changed. */
  lies_304: z.boolean(),
  /** The validators of an answer; none: there are none. */
  validators: z.enum(['both', 'etag', 'modified', 'none']),
  /** Milliseconds that are added to all dates. */
  shift_ms: z.int(),
  /** Added to all ids. */
  id_suffix: z.string().max(20),
  /** A template around all texts. */
  template: z.string().max(50),
  answer: z.enum(['list', 'empty', 'page', 'gone', 'moved', 'found', 'login', 'cut', 'notice']),
  format: z.enum(['rss', 'atom', 'json']),
  pinned: z.int().nullable(),
}
const settings_schema = z.strictObject(MODES)
type Settings = z.infer<typeof settings_schema>

export type FeedWorld = SourceWorld & { entries: Entry[]; settings: Settings }

const SEEDED = 30
const WORDS =
  'brake chain cable saddle wheel spoke frame pedal light rack tube tyre hub gear lever bell fork crank'.split(
    ' ',
  )
const CATEGORIES = ['parts', 'rides', 'repair']

const phrase = (random: SeededRandom, words: number): string =>
  Array.from({ length: words }, () => random.pick(WORDS)).join(' ')

function addEntry(world: FeedWorld, given: Partial<Entry> = {}): Entry {
  const { random } = world
  const entry = {
    id: world.entries.length + 1,
    title: phrase(random, 4),
    text: phrase(random, 20),
    author: `rider_${random.whole(1, 20)}`,
    category: random.pick(CATEGORIES),
    at: world.now(),
    is_shown: true,
    ...given,
  }
  world.entries.push(entry)
  return entry
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** The entries that the site lists, in its order. */
function listOf({ entries, settings, now }: FeedWorld, as_of: number): Entry[] {
  const { order, size, pinned } = settings
  const shown = entries.filter((it) => it.is_shown && it.at <= Math.min(as_of, now()))
  const newest = shown.toSorted((a, b) => b.at - a.at || b.id - a.id).slice(0, size)
  const top = shown.find(({ id }) => id === pinned)
  const list = top === undefined ? newest : [top, ...newest.filter((it) => it !== top)]
  if (order === 'random')
    return list.toSorted((a, b) => ((a.id * 7919) % 101) - ((b.id * 7919) % 101))
  return order === 'oldest' ? list.toReversed() : list
}

function bodyOf(world: FeedWorld, list: readonly Entry[], origin: string): string {
  const { shift_ms, id_suffix, template, format } = world.settings
  const rows = list.map((it) => ({
    ...it,
    key: `${it.id}${id_suffix}`,
    link: `${origin}/entries/${it.id}`,
    html: `<p>${escaped(it.text)}</p>${template}`,
    date: new Date(it.at + shift_ms),
  }))
  if (format === 'json')
    return JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'Bikes',
      home_page_url: `${origin}/`,
      items: rows.map((it) => ({
        id: it.key,
        url: it.link,
        title: it.title,
        content_html: it.html,
        date_published: it.date.toISOString(),
        authors: [{ name: it.author }],
        tags: [it.category],
      })),
    })
  if (format === 'atom')
    return `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Bikes</title><link href="${origin}/"/>${rows.map((it) => `<entry><id>${it.key}</id><title>${escaped(it.title)}</title><link href="${it.link}"/><published>${it.date.toISOString()}</published><updated>${it.date.toISOString()}</updated><author><name>${it.author}</name></author><category term="${it.category}"/><content type="html">${escaped(it.html)}</content></entry>`).join('')}</feed>`
  return `<?xml version="1.0"?><rss version="2.0"><channel><title>Bikes</title><link>${origin}/</link>${rows.map((it) => `<item><guid isPermaLink="false">${it.key}</guid><title>${escaped(it.title)}</title><link>${it.link}</link><pubDate>${it.date.toUTCString()}</pubDate><author>x@bikes.example (${it.author})</author><category>${it.category}</category><description>${escaped(it.html)}</description></item>`).join('')}</channel></rss>`
}

const page = (text: string, status = 200): SandboxResponse => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: `<!DOCTYPE html><html><head><title>${text}</title><link rel="alternate" type="application/rss+xml" href="/feed"></head><body>${text}</body></html>`,
})

function feed({ world, origin, headers, as_of }: SourceCall<FeedWorld>): SandboxResponse {
  const { answer, lies_304, validators } = world.settings
  const list = answer === 'empty' ? [] : listOf(world, as_of)
  const body = bodyOf(world, list, origin)
  const etag = `"${Bun.hash(body).toString(36)}"`
  const modified = new Date(Math.max(0, ...list.map(({ at }) => at))).toUTCString()
  const kept = {
    ...(/both|etag/.test(validators) && { etag }),
    ...(/both|modified/.test(validators) && { 'last-modified': modified }),
  }
  const condition = headers.get('if-none-match') ?? headers.get('if-modified-since')
  const is_same = condition === etag || (validators === 'modified' && condition === modified)
  if (condition !== null && (lies_304 || is_same)) return { status: 304, headers: kept, body: '' }
  const type = {
    rss: 'application/rss+xml',
    atom: 'application/atom+xml',
    json: 'application/feed+json',
  }
  const headers_of = { 'content-type': type[world.settings.format], ...kept }
  if (answer === 'cut')
    return { status: 200, headers: headers_of, body: body.slice(0, body.length * 0.6) }
  if (answer === 'notice')
    return {
      status: 200,
      headers: headers_of,
      body: `<rss><channel><link>${origin}/</link><item><title>Feeds are off</title><link>${origin}/</link></item></channel></rss>`,
    }
  return { status: 200, headers: headers_of, body }
}

const REDIRECTS = { moved: [301, '/new'], found: [302, '/new'], login: [302, '/login'] } as const

function respond(call: SourceCall<FeedWorld>): SandboxResponse {
  const { segments, world, fault } = call
  const { answer } = world.settings
  if (fault?.fault === 'rate_limit')
    return { status: 429, headers: { 'retry-after': '60' }, body: '' }
  const [path = ''] = segments
  if (path === 'new') return feed(call)
  if (path !== 'feed') return page(path === '' ? 'Bikes' : 'Not found', path === '' ? 200 : 404)
  if (answer === 'gone') return page('Gone', 410)
  if (answer === 'page') return page('Please sign in')
  if (answer === 'moved' || answer === 'found' || answer === 'login') {
    const [status, location] = REDIRECTS[answer]
    return { status, headers: { location }, body: '' }
  }
  return feed(call)
}

function entryById(world: FeedWorld, id: number): Entry {
  const found = world.entries.find((it) => it.id === id)
  if (found === undefined) throw new BadControl(`id: no entry has the id ${id}`)
  return found
}

const id = z.int().min(1)
const text = z.string().min(1).max(10_000)

/** A site of one feed, which misbehaves as its settings say. */
export const FEED: SimulatedKind<FeedWorld> = {
  create: (random, now) => {
    const entries: Entry[] = []
    return {
      random,
      now,
      size: () => entries.length,
      entries,
      settings: {
        order: 'newest',
        size: 15,
        lies_304: false,
        validators: 'both',
        shift_ms: 0,
        id_suffix: '',
        template: '',
        answer: 'list',
        format: 'rss',
        pinned: null,
      },
    }
  },
  seed(world) {
    for (let n = SEEDED; n > 0; n--) addEntry(world, { at: world.now() - n * 600_000 })
  },
  mean_ms: 60_000,
  addEvent: (world, _random, at) => void addEntry(world, { at }),
  faults: [],
  respond,
  userOf: () => null,
  overview: ({ entries, settings }) => ({
    accounts: [],
    settings,
    counts: { entries: entries.length },
  }),
  controls: {
    post: sourceControl(
      z.strictObject({
        title: text.optional(),
        text: text.optional(),
        author: userInput.optional(),
        created_at: instantInput.optional(),
      }),
      (world: FeedWorld, { created_at, ...given }) => {
        const known = Object.fromEntries(Object.entries(given).filter(([, it]) => it !== undefined))
        return {
          id: addEntry(world, { ...known, ...(created_at !== undefined && { at: created_at }) }).id,
        }
      },
    ),
    edit: sourceControl(
      z.strictObject({ id, title: text.optional(), text: text.optional() }),
      (world: FeedWorld, { id: of, ...given }) => {
        const entry = entryById(world, of)
        if (given.title !== undefined) entry.title = given.title
        if (given.text !== undefined) entry.text = given.text
        return { id: of }
      },
    ),
    remove: sourceControl(
      z.strictObject({ id, restore: z.boolean().optional() }),
      (world: FeedWorld, { id: of, restore = false }) => {
        entryById(world, of).is_shown = restore
        return { id: of }
      },
    ),
    settings: sourceControl(settings_schema.partial(), (world: FeedWorld, changes) => {
      const given = Object.fromEntries(Object.entries(changes).filter(([, it]) => it !== undefined))
      world.settings = settings_schema.parse({ ...world.settings, ...given })
      return { settings: world.settings }
    }),
  },
}
