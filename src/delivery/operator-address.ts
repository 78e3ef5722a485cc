import { isIP } from 'node:net'

import { createAsk } from '../net/ask.ts'
import type { Guard } from '../net/guard.ts'
import type { Clock, Resolve } from '../outside.ts'

/**
 * Resolves an address that the operator named. It is trusted: it may be private, plain http and on any port, and is
 * dialled at what it resolved to like every other.
 */
export function createTrusted(names: {
  resolve: Resolve
  clock: Clock
  timeout_ms: number
}): Guard {
  const ask = createAsk(names)
  return async (text) => {
    const url = URL.parse(text)
    if (url === null) return { ok: false, refusal: 'malformed' }
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const literal = isIP(host) > 0 ? host : null
    const [first, ...rest] = literal === null ? await ask(host) : [literal]
    if (first === undefined) return { ok: false, refusal: 'unresolved' }
    const target = { url, host, literal, named: true, unless_allowed: null }
    return { ok: true, target, addresses: [first, ...rest] }
  }
}

/** An address without its credentials, and the header that carries them instead. */
export function withoutCredentials(address: string): {
  url: string
  headers: Record<string, string>
} {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url: address, headers: {} }
  url.username = ''
  url.password = ''
  const pair = `${decoded(username)}:${decoded(password)}`
  return {
    url: url.href,
    headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
  }
}

// A lone percent sign is taken as it stands.
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
