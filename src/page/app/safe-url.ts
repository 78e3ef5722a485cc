/**
 * Where a link may lead: an address under https. `own`: what the daemon made itself, on the platform's own host, which may
 * be a practice platform without TLS. What else a stranger wrote there is shown as text.
 */
export function safeUrl(url: unknown, own = false): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const { protocol, username, password, href } = new URL(url)
  if (username !== '' || password !== '') return null
  return protocol === 'https:' || (own && protocol === 'http:') ? href : null
}
