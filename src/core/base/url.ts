/** Bytes of a host name, twice: a port, a user and white space that is left out may stand beside it. */
const AUTHORITY_MAX = 512
const ADDRESS_MAX = 64 * 1024
/** The host of an address, with what stands beside it. A single slash begins a path. */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2,})([^/\\?#]*)/i
/** The characters that a parser of addresses leaves out. */
const LEFT_OUT = /^[\0- ]+|[\t\n\r]+/g

/**
 * The address that a peer has written; null: it is none, or is longer than any can be. The time that the name of a host takes
 * grows with the square of its length.
 */
export function peerUrl(text: string, base?: string): URL | null {
  if (text.length > ADDRESS_MAX) return null
  const [, authority = ''] = AUTHORITY.exec(text.replace(LEFT_OUT, '')) ?? []
  return authority.length > AUTHORITY_MAX ? null : URL.parse(text, base)
}
