import { isObject } from '../../core/base/object.ts'
import { parseJson } from '../values.ts'
import { decoded } from './decode.ts'

/** An answer to a request of a discovery. `url`: its final address. */
export type Answered = {
  asked: string
  url: string
  status: number
  text: string
  /** Target of a redirect; absent or null: none. */
  to?: string | null
}

/** What is at an address. `place`: the category, community, tag or feed that it points to; null: none. */
export type Found = {
  kind: 'discourse' | 'lemmy' | 'piefed' | 'hackernews' | 'reddit' | 'feed'
  base_url: string
  place: string | null
  name: string
  sentence: string
}

type Decision = { ask: string } | { found: Found } | { none: string }

const REQUESTS_MAX = 6
const PAGE_MAX = 512 * 1024
const LINKS_MAX = 10

const HN = /^(?:news\.ycombinator\.com|hn\.algolia\.com|hacker-news\.firebaseio\.com|hnrss\.org)$/
const REDDIT = /(?:^|\.)(?:reddit\.com|redd\.it)$/
const HN_PLACES: Readonly<Record<string, string>> = {
  ask: 'ask',
  show: 'show',
  shownew: 'show',
  jobs: 'job',
  whoishiring: 'job',
}
/** Feeds of software whose pages do not name them, by a mark of the page. */
const SOFTWARE: readonly [mark: RegExp, paths: readonly string[]][] = [
  [/id="phpbb"|phpBB/, ['/feed/topics', '/feed', '/feed.php']],
  [/id="XF"|XenForo/, ['/forums/-/index.rss']],
  [/MyBB/, ['/syndication.php?type=atom1.0&limit=50']],
  [/SMF|Simple Machines/, ['/index.php?action=.xml;type=atom;sa=recent;limit=100']],
  [/NodeBB|nodebb/, ['/topics.rss']],
  [/vBulletin/, ['/external.php?type=RSS2']],
  [/flarum/i, ['/atom/discussions', '/atom']],
  [/mastodon/i, ['.rss']],
]
const USUAL = ['/feed', '/rss', '/atom.xml']

/** An address as people paste it: without a scheme, with that of feed readers, in any case. */
export function pasted(text: string): URL | null {
  const given = text
    .trim()
    .replace(/^feed:(?:\/\/)?(?=https?:)/i, '')
    .replace(/^(?:feed|web\+feed):\/\//i, 'https://')
  const url = URL.parse(/^[a-z][a-z+.-]*:\/\//i.test(given) ? given : `https://${given}`)
  if (url === null || !/^https?:$/.test(url.protocol) || !/[.:]|^localhost$/.test(url.hostname))
    return null
  url.hash = ''
  return url
}

/** A name for a source: that of its host. */
export const nameOf = ({ hostname }: URL): string =>
  hostname
    .replace(/^www\./, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 28) || 'site'

const segmentsOf = ({ pathname }: URL): string[] =>
  pathname
    .split('/')
    .filter((it) => it !== '')
    .map(safelyDecoded)

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The part of a site's path before its own addresses; '' at the root. */
const folderOf = (url: URL, first: RegExp): string => {
  const at = url.pathname.search(first)
  return url.origin + (at <= 0 ? '' : url.pathname.slice(0, at))
}

function native(
  kind: Found['kind'],
  url: URL,
  place: string | null,
  title: string,
  base_url = url.origin,
): Decision {
  const at = place === null ? '' : `, place ${place}`
  return {
    found: { kind, base_url, place, name: nameOf(url), sentence: `${url.host} is ${title}${at}` },
  }
}

/** Category or tag of an address of Discourse. */
function discoursePlace(url: URL): string | null {
  const all = segmentsOf(url)
  const from = all.findIndex((it) => /^(?:c|tag|tags)$/.test(it))
  const parts = (from === -1 ? [] : all.slice(from)).map((it) => it.replace(/\.(?:rss|json)$/, ''))
  if (parts[0] === 'tag') return parts[1] === undefined ? null : `tag:${parts[1]}`
  if (parts[0] !== 'c') return null
  const end = parts.findIndex((it, n) => n > 0 && (/^\d+$/.test(it) || it === 'l'))
  return parts.slice(1, end === -1 ? undefined : end).join('/') || null
}

/** Community of an address of Lemmy or PieFed. */
function communityOf(url: URL): string | null {
  const parts = segmentsOf(url)
  const at = parts.findIndex((it) => /^(?:c|community)$/.test(it))
  const name = at === -1 ? undefined : parts[at + 1]?.replace(/\.xml$/, '')
  return name === undefined || !/^[\w-]+(?:@[\w.:-]+)?$/.test(name) ? null : name
}

const isFeed = (text: string): boolean => {
  const head = text.trimStart().slice(0, 4096)
  if (head.startsWith('{'))
    return /"version"\s*:\s*"https?:\/\/(?:www\.)?jsonfeed\.org/.test(text.slice(0, 64 * 1024))
  return /^(?:<\?[^>]*>|<!--[^>]*-->|<!DOCTYPE[^>]*>|\s)*<(?:[\w-]+:)?(?:rss|rdf|feed)[\s>]/i.test(
    head,
  )
}

const attribute = (tag: string, name: string): string =>
  decoded(
    new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, 'i')
      .exec(tag)
      ?.slice(1)
      .find((it) => it !== undefined) ?? '',
  )

/** Feeds that a page names, those of comments last. */
function feedsOf({ text, url }: Answered): string[] {
  const tags = text.slice(0, PAGE_MAX).match(/<link\s[^<>]{1,2000}>/gi) ?? []
  const found = tags
    .filter(
      (it) =>
        /\balternate\b/i.test(attribute(it, 'rel')) &&
        /(?:rss|atom|rdf|feed)\+(?:xml|json)/i.test(attribute(it, 'type')),
    )
    .map((it) => ({
      href: URL.parse(attribute(it, 'href'), url)?.href ?? '',
      title: attribute(it, 'title'),
    }))
    .filter(({ href }) => /^https?:/.test(href))
  const isOfComments = ({ href, title }: (typeof found)[number]) => /comment/i.test(href + title)
  return [
    ...new Set(
      [...found.filter((it) => !isOfComments(it)), ...found.filter(isOfComments)].map(
        ({ href }) => href,
      ),
    ),
  ].slice(0, LINKS_MAX)
}

/** Addresses that may have a feed, of what the page is made with. */
function guesses(page: Answered, url: URL): string[] {
  const folder = url.pathname.replace(/\/[^/]*\.[^/]*$/, '').replace(/\/$/, '')
  const of_software = SOFTWARE.filter(([mark]) => mark.test(page.text.slice(0, PAGE_MAX))).flatMap(
    ([, paths]) => paths,
  )
  const own = /\/forums\/[^/]+\.\d+\/?$/.test(url.pathname)
    ? [`${url.origin}${folder}/index.rss`]
    : []
  const below = of_software.map((it) =>
    it.startsWith('.') ? `${url.origin}${folder}${it}` : `${url.origin}${it}`,
  )
  return [...own, ...below, ...USUAL.map((it) => url.origin + it)]
}

const versionOf = (answer: Answered | undefined): string | null => {
  if (answer?.status !== 200) return null
  const value = parseJson(answer.text)
  return isObject(value) &&
    isObject(value['site_view'] ?? value['site']) &&
    typeof value['version'] === 'string'
    ? value['version']
    : null
}

/** What is at an address, by the answers so far; or the next address to ask. */
function decide(text: string, answers: readonly Answered[]): Decision {
  const url = pasted(text)
  if (url === null)
    return { none: 'it is no address: paste that of a site, such as https://forum.example.org' }
  if (HN.test(url.hostname)) {
    const place = HN_PLACES[segmentsOf(url)[0] ?? ''] ?? null
    return {
      found: {
        kind: 'hackernews',
        base_url: '',
        place,
        name: 'hn',
        sentence: `${url.host} is Hacker News${place === null ? '' : `, place ${place}`}`,
      },
    }
  }
  const [, community] = /^\/r\/([\w-]+)/i.exec(url.pathname) ?? []
  if (REDDIT.test(url.hostname)) {
    const found = native('reddit', url, community ?? null, 'a Reddit-style platform')
    return 'found' in found
      ? { found: { ...found.found, base_url: 'https://www.reddit.com' } }
      : found
  }
  const has_scheme = /^\s*[a-z][a-z+.-]*:/i.test(text) && !/^\s*[\w.-]+:\d/.test(text)
  const [secure] = answers
  // A site without TLS, whose address was given without a scheme.
  const plain = url.href.replace(/^https:/, 'http:')
  const page = secure?.status === 0 && !has_scheme ? answers[1] : secure
  if (page === undefined) return { ask: secure === undefined ? url.href : plain }
  const final = URL.parse(page.url) ?? url
  const asked = new Map(answers.map((it) => [it.asked, it]))
  const next = (candidates: readonly string[]): string | undefined =>
    candidates.find((it) => !asked.has(it))
  if (
    /http:\/\/www\.discourse\.org\/|<meta name="generator" content="Discourse|id="data-discourse-setup"|data-discourse-/i.test(
      page.text.slice(0, PAGE_MAX),
    )
  ) {
    const base = folderOf(
      final,
      /\/(?:c|t|tag|tags|u|latest|top|new|posts|categories|about|search|g)(?:[/.]|$)/,
    )
    return native('discourse', url, discoursePlace(final), 'a Discourse forum', base)
  }
  if (
    /lemmy|piefed/i.test(page.text.slice(0, PAGE_MAX)) ||
    /^\/(?:c|m|post|u|comment|community|feeds\/(?:c|local|all))(?:[/.]|$)/.test(url.pathname)
  ) {
    const sites = [
      ['piefed', '/api/alpha/site', 'a PieFed instance'],
      ['lemmy', '/api/v3/site', 'a Lemmy instance'],
      ['lemmy', '/api/v4/site', 'a Lemmy instance'],
    ] as const
    for (const [kind, path, title] of sites) {
      const answer = asked.get(final.origin + path)
      if (answer === undefined) return { ask: final.origin + path }
      if (versionOf(answer) !== null)
        return native(kind, url, communityOf(url), title, final.origin)
    }
  }
  if (community !== undefined) {
    const listing = `${url.origin}/r/${community}/new.json?limit=1`
    const answer = asked.get(listing)
    if (answer === undefined) return { ask: listing }
    const value = parseJson(answer.text)
    if (isObject(value) && value['kind'] === 'Listing')
      return native('reddit', url, community, 'a Reddit-style platform')
  }
  const feed = answers.find((it) => it.status === 200 && isFeed(it.text))
  if (feed !== undefined) {
    const { host, pathname } = URL.parse(feed.url) ?? url
    return {
      found: {
        kind: 'feed',
        base_url: feed.url,
        place: null,
        name: nameOf(url),
        sentence: `${host}${pathname} is a feed`,
      },
    }
  }
  if (page.status >= 400 && url.pathname !== '/' && next([`${url.origin}/`]) !== undefined)
    return { ask: `${url.origin}/` }
  const candidates = answers
    .filter(({ status }) => status === 200)
    .flatMap((it) => [
      ...feedsOf(it),
      ...(it === page || page.status >= 400 ? guesses(it, URL.parse(it.url) ?? url) : []),
    ])
  const candidate = next(candidates)
  if (candidate !== undefined && answers.length < REQUESTS_MAX) return { ask: candidate }
  return {
    none: `nothing that can be watched was found; tried: ${answers.map(({ asked: at, status }) => `${at} (${status === 0 ? 'no answer' : status})`).join(', ')}. Paste the address of the site's feed, or of its start page`,
  }
}

/** `asked`: the addresses that were requested. */
export type Discovered = { found: Found | null; why: string; asked: string[] }

/** Looks for what is at an address, with at most six requests. */
export async function discover(
  text: string,
  fetch: (address: string) => Promise<Answered>,
): Promise<Discovered> {
  const answers: Answered[] = []
  let requests = 0
  /** Requests an address and what it redirects to, which count as well. */
  async function follow(address: string): Promise<Answered> {
    let answer = await fetch(address)
    for (requests += 1; answer.to != null && requests < REQUESTS_MAX; requests += 1)
      answer = await fetch(answer.to)
    return { ...answer, asked: address }
  }
  for (;;) {
    const decision = decide(text, answers)
    const asked = answers.map((it) => it.asked)
    if ('found' in decision) return { found: decision.found, why: decision.found.sentence, asked }
    if ('none' in decision) return { found: null, why: decision.none, asked }
    if (requests >= REQUESTS_MAX)
      return { found: null, why: `nothing was found after ${REQUESTS_MAX} requests`, asked }
    answers.push(await follow(decision.ask))
  }
}
