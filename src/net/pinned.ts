import type { Target } from '../core/address.ts'

/** How a request to a checked address is made. */
type Pinned = { href: string; host: string; init: BunFetchRequestInit }

/**
 * A target by one of its checked addresses: the connection goes to that very address, with the name in SNI, in the
 * certificate check and in Host. Not redirected, not proxied, not inflated. `trust` is what the certificate is checked
 * against where that is not the usual.
 */
export function pinnedTo(
  { url, host, literal }: Target,
  address: string,
  trust: { ca?: string[] } = {},
): Pinned {
  const dialled = new URL(url)
  dialled.hostname = bracketed(address)
  const name = bracketed(host)
  return {
    href: dialled.href,
    host: url.port === '' ? name : `${name}:${url.port}`,
    init: {
      redirect: 'manual',
      decompress: false,
      proxy: false,
      // An address stands for itself in the certificate; SNI is for names.
      ...(url.protocol === 'https:' && {
        tls: literal === null ? { serverName: host, ...trust } : trust,
      }),
    },
  }
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)
