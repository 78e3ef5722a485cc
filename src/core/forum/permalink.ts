import { inForm } from '../base/form.ts'
import { peerUrl } from '../base/url.ts'

/** Form of an id, without its prefix. */
const ID = /^[a-z0-9]{1,13}$/
const USER_NAME = /^[A-Za-z0-9_-]{1,21}$/
/** Form of a subforum name; a user's own page is `u_` and the user name. */
const SUBFORUM_NAME = /^(?:[A-Za-z0-9_-]{1,21}|u_[A-Za-z0-9_-]{1,21})$/

/** `r/name`, `/r/name/`, `u/name`, `user/name`, or the URL of such a page on any host. */
const NAMED =
  /^(?:https?:\/\/[^/?#\s\\]+\/|[^/?#\s\\]*[.:][^/?#\s\\]*\/|\/)?(r|u|user)\/([^/?#]+)\/?$/i

/**
 * Parses the name of a community: bare, with `r/` or `u/`, or the URL of its page. A user's own page
 * becomes `u_` and the user name. Null for any other text.
 */
export function parseCommunityName(text: string): string | null {
  const given = text.trim()
  const [, prefix = 'r', name = given] = NAMED.exec(given) ?? []
  if (prefix.toLowerCase() === 'r') return SUBFORUM_NAME.test(name) ? name : null
  return USER_NAME.test(name) ? `u_${name}` : null
}

/** Parses a user name: bare, with `u/` or `@`, or the URL of the profile; null for any other text. */
export function parseUserName(text: string): string | null {
  const given = text.trim().replace(/^@/, '')
  const [, prefix = 'u', name = given] = NAMED.exec(given) ?? []
  return prefix.toLowerCase() !== 'r' && USER_NAME.test(name) ? name : null
}

/**
 * Names that the platform resolves through the account of the request. `/user/me` redirects to its
 * profile; `friends`, `mod`, `contrib` and `myrandom` list its own subforums; `saved` is a listing
 * of its own. `all` and `popular` are not among them: they are the same for every account.
 */
const VIEWER_NAMES: ReadonlySet<string> = new Set([
  'me',
  'friends',
  'mod',
  'contrib',
  'myrandom',
  'saved',
])

/**
 * True if the name of a user or subforum refers to the account of the request; ignores case and the
 * prefixes `u/`, `r/` and `u_`.
 */
export const isViewerName = (name: string): boolean =>
  VIEWER_NAMES.has(
    inForm(name, 'NFKC')
      .trim()
      .toLowerCase()
      .replace(/^[/@]*(?:(?:r|u|user)\/)?(?:u_)?/, '')
      .replace(/\/+$/, ''),
  )

/** Reason of that refusal, after the field and the name. */
export const VIEWER_NAME_REFUSAL =
  'refers to the account of the request, and a request without a session has none; name a user or a subforum'

/** Names that stand for many subforums: no row carries one of them as its subforum. */
export const MANY_SUBFORUMS: ReadonlySet<string> = new Set(['all', 'popular'])
const RANDOM_SUBFORUMS: ReadonlySet<string> = new Set(['random', 'randnsfw'])

/**
 * True if a name is not a single subforum: it stands for many, is random, or refers to the account
 * of the request.
 */
export const isReservedSubforum = (name: string): boolean =>
  isViewerName(name) ||
  MANY_SUBFORUMS.has(name.toLowerCase()) ||
  RANDOM_SUBFORUMS.has(name.toLowerCase())

/** Id without its prefix, from either form; null if malformed. */
export function bareId(prefix: 't1_' | 't3_', text: string): string | null {
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : text
  return ID.test(id) ? id : null
}

/**
 * Post, or comment under it, that a link names. Ids without prefix. `number`: the link names a
 * comment by its place under the post, in place of an id.
 */
export type PermalinkTarget = { post_id: string; comment_id: string | null; number?: number }

/** Hosts of the platform's links: `link` hosts serve paths, `short` hosts only post ids. */
export type LinkHosts = { link: readonly string[]; short: readonly string[] }

/** First labels of hosts that serve the same posts of one platform; empty: the bare domain. */
const HOST_PREFIXES = ['', 'www.', 'old.', 'new.', 'sh.', 'np.', 'm.']
const HOST_PREFIX = /^(?:www|old|new|sh|np|m)\.(?=[^.]+\.)/
/** Domain name of at least two labels; neither an IP address nor `localhost`. */
const DOMAIN = /^[^.]+(?:\.[^.]+)*\.[a-z][a-z0-9-]*$/

/**
 * Hosts of a platform at `base_url`: its own, those of the same domain with a prefix of
 * `HOST_PREFIXES`, and those of the configuration.
 */
export function linkHosts(at: {
  base_url: string
  link_hosts: readonly string[]
  short_link_hosts: readonly string[]
}): LinkHosts {
  const { host, hostname, port } = new URL(at.base_url)
  const bare = hostname.replace(HOST_PREFIX, '') + (port && `:${port}`)
  const siblings = DOMAIN.test(hostname) ? HOST_PREFIXES.map((prefix) => prefix + bare) : []
  return {
    link: [...new Set([host, ...siblings, ...at.link_hosts])],
    short: at.short_link_hosts,
  }
}

const LONGEST = 2048
// Parsers disagree on blanks, control characters and backslashes.
// oxlint-disable-next-line no-control-regex
const ODD = /[\x00-\x20\x7f\\]/
const PATH =
  /^(?:\/(?:r|u|user)\/[A-Za-z0-9_-]{1,24})?\/comments\/([^/]+)(?:\/comment\/([^/]+)|\/[^/]*(?:\/([^/]+))?)?\/?$/
const SHORT_PATH = /^\/([^/]+)\/?$/

/**
 * Parses a permalink: a path, or an address on one of the platform's own hosts; null for any other
 * text. Returns only ids, so no caller text becomes a host or path of a request.
 */
export function parsePermalink(text: string, hosts: LinkHosts): PermalinkTarget | null {
  if (text.length > LONGEST) return null
  if (text.startsWith('/')) return onPath(text.split(/[?#]/, 1)[0] ?? '')
  const url = /^https?:\/\/[^/?#]/i.test(text) ? parseUrl(text) : null
  if (url === null) return null
  if (hosts.link.includes(url.host)) return onPath(url.pathname)
  return hosts.short.includes(url.host) ? place(SHORT_PATH.exec(url.pathname)) : null
}

function parseUrl(text: string): URL | null {
  const url = ODD.test(text) ? null : peerUrl(text)
  return url === null || url.username !== '' || url.password !== '' ? null : url
}

function onPath(path: string): PermalinkTarget | null {
  return ODD.test(path) ? null : place(PATH.exec(path))
}

function place(found: RegExpExecArray | null): PermalinkTarget | null {
  const post_id = found?.[1]?.toLowerCase()
  const comment_id = (found?.[2] ?? found?.[3])?.toLowerCase() ?? null
  if (post_id === undefined || !ID.test(post_id)) return null
  return comment_id === null || ID.test(comment_id) ? { post_id, comment_id } : null
}

/**
 * Target of a link to reply to: a post or a comment under it, or a share link, which only the
 * platform can resolve. Contains nothing of the caller's text but ids, names and codes.
 */
export type PostLink = { kind: 'place'; place: PermalinkTarget } | { kind: 'share'; path: string }

const SHARE = /^\/(r|u|user)\/([A-Za-z0-9_-]{1,24})\/s\/([A-Za-z0-9]{1,24})\/?$/
/** Paths to a post without its subforum and title. */
const BY_KIND = /^\/(?:gallery|video|tb)\/([A-Za-z0-9]{1,13})\/?$/
const SCHEME = /^https?:\/\//i

/**
 * Parses the address of a post or comment in every form that the platform serves: any of its hosts,
 * a path, with or without scheme, a short link, a gallery link, a share link. Null for any other
 * text.
 */
export function parsePostUrl(text: string, hosts: LinkHosts): PostLink | null {
  const address = text.trim()
  if (address === '' || address.length > LONGEST || ODD.test(address)) return null
  const whole = address.startsWith('/') || SCHEME.test(address) ? address : `https://${address}`
  const found = parsePermalink(whole, hosts)
  if (found !== null) return { kind: 'place', place: found }
  const path = pathOf(whole, hosts)
  return path === null ? null : (byKind(path) ?? share(path))
}

/** Path of an address on one of the platform's own hosts; null for other hosts. */
function pathOf(text: string, hosts: LinkHosts): string | null {
  if (text.startsWith('/')) return text.startsWith('//') ? null : (text.split(/[?#]/, 1)[0] ?? '')
  const url = peerUrl(text)
  if (url === null || url.username !== '' || url.password !== '') return null
  return hosts.link.includes(url.host) ? url.pathname : null
}

function byKind(path: string): PostLink | null {
  const post_id = BY_KIND.exec(path)?.[1]?.toLowerCase()
  return post_id !== undefined && ID.test(post_id)
    ? { kind: 'place', place: { post_id, comment_id: null } }
    : null
}

function share(path: string): PostLink | null {
  const [, root, name, code] = SHARE.exec(path) ?? []
  return code === undefined ? null : { kind: 'share', path: `/${root}/${name}/s/${code}` }
}

/** Fullname to reply to: the comment if one is named, else the post. */
export const fullnameOf = ({ post_id, comment_id }: PermalinkTarget): string =>
  comment_id === null ? `t3_${post_id}` : `t1_${comment_id}`
