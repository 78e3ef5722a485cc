import { ID } from './names.ts'
import { type LinkHosts, parsePermalink, type Place } from './permalink.ts'

/**
 * What a link to answer names: a post or a comment under it, or a share link, which only the platform can resolve.
 * Nothing of the caller's text is in it but ids, names and codes.
 */
export type PostLink = { kind: 'place'; place: Place } | { kind: 'share'; path: string }

const LONGEST = 2048
// Control characters, blanks and backslashes are how one parser is made to disagree with another.
// oxlint-disable-next-line no-control-regex
const ODD = /[\x00-\x20\x7f\\]/
const SHARE = /^\/(r|u|user)\/([A-Za-z0-9_-]{1,24})\/s\/([A-Za-z0-9]{1,24})\/?$/
/** Ways to a post that name neither its place nor its title. */
const BY_KIND = /^\/(?:gallery|video|tb)\/([A-Za-z0-9]{1,13})\/?$/
const SCHEME = /^https?:\/\//i

/**
 * Reads the address of a post or a comment in every form that the platform serves: on any of its hosts, as a path, with
 * or without its scheme; a short link, a gallery's, a share link. Null for everything else.
 */
export function parsePostUrl(text: string, hosts: LinkHosts): PostLink | null {
  const address = text.trim()
  if (address === '' || address.length > LONGEST || ODD.test(address)) return null
  const whole = address.startsWith('/') || SCHEME.test(address) ? address : `https://${address}`
  const place = parsePermalink(whole, hosts)
  if (place !== null) return { kind: 'place', place }
  const path = pathOf(whole, hosts)
  return path === null ? null : (byKind(path) ?? share(path))
}

/** The path of an address on one of the platform's own hosts. */
function pathOf(text: string, hosts: LinkHosts): string | null {
  if (text.startsWith('/')) return text.startsWith('//') ? null : (text.split(/[?#]/, 1)[0] ?? '')
  const url = URL.parse(text)
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

/** The fullname of what is answered at a place: the comment where one is named, otherwise the post. */
export const fullnameOf = ({ post_id, comment_id }: Place): string =>
  comment_id === null ? `t3_${post_id}` : `t1_${comment_id}`
