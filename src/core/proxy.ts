export const PROXY_SCHEMES = ['http', 'https', 'socks4', 'socks5', 'socks5h'] as const
export type ProxyScheme = (typeof PROXY_SCHEMES)[number]

/** A way out in one normal form. `host` is lower case and without brackets; credentials are decoded. */
export type Proxy = {
  scheme: ProxyScheme
  host: string
  port: number
  username: string | null
  password: string | null
}
