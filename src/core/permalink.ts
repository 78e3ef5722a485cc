import { ID } from './names.ts'

/** What a link to a post, or to a comment under it, names. Ids without prefix. */
export type Place = { post_id: string; comment_id: string | null }

/** Hosts of the platform's links: `link` hosts carry paths, a `short` host carries nothing but a post's id. */
export type LinkHosts = { link: readonly string[]; short: readonly string[] }

/** The hosts of a platform at `base_url`, as `[platform]` names those beside its own. */
export const linkHosts = (at: {
  base_url: string
  link_hosts: readonly string[]
  short_link_hosts: readonly string[]
}): LinkHosts => ({
  link: [new URL(at.base_url).host, ...at.link_hosts],
  short: at.short_link_hosts,
})

const LONGEST = 2048
// A blank, a control character or a backslash is how one parser is made to disagree with another.
// oxlint-disable-next-line no-control-regex
const ODD = /[\x00-\x20\x7f\\]/
const PATH =
  /^(?:\/(?:r|u|user)\/[A-Za-z0-9_-]{1,24})?\/comments\/([^/]+)(?:\/comment\/([^/]+)|\/[^/]*(?:\/([^/]+))?)?\/?$/
const SHORT_PATH = /^\/([^/]+)\/?$/

/**
 * Reads a permalink: a path, or an address on one of the platform's own hosts. Null for everything else.
 * Only the ids leave this function, so nothing a caller wrote ever becomes a host or a path of a request.
 */
export function parsePermalink(text: string, hosts: LinkHosts): Place | null {
  if (text.length > LONGEST) return null
  if (text.startsWith('/')) return onPath(text.split(/[?#]/, 1)[0] ?? '')
  const url = /^https?:\/\/[^/?#]/i.test(text) ? parseUrl(text) : null
  if (url === null) return null
  if (hosts.link.includes(url.host)) return onPath(url.pathname)
  return hosts.short.includes(url.host) ? place(SHORT_PATH.exec(url.pathname)) : null
}

function parseUrl(text: string): URL | null {
  const url = ODD.test(text) ? null : URL.parse(text)
  return url === null || url.username !== '' || url.password !== '' ? null : url
}

function onPath(path: string): Place | null {
  return ODD.test(path) ? null : place(PATH.exec(path))
}

function place(found: RegExpExecArray | null): Place | null {
  const post_id = found?.[1]?.toLowerCase()
  const comment_id = (found?.[2] ?? found?.[3])?.toLowerCase() ?? null
  if (post_id === undefined || !ID.test(post_id)) return null
  return comment_id === null || ID.test(comment_id) ? { post_id, comment_id } : null
}
