import type { Fault } from '../core/outcome.ts'

// A redirect carries meaning here, so none is followed unseen.

/** What a redirect says when it is not followed. */
export function redirectFault(location: string | null): Fault {
  const [first, second, third] = segmentsOf(location)
  if (first === undefined) return { kind: 'unreadable', path: 'location' }
  // What stands within something sends to a door of its own: a place, the places, an account.
  const gate = first === 'r' ? third : first
  const inner = first === 'account' || first === 'subreddits' ? second : undefined
  if (gate === 'login' || inner?.startsWith('login')) return { kind: 'login_required' }
  if (first === 'subreddits' && inner?.startsWith('search'))
    return { kind: 'not_found', reason: 'absent' }
  if (gate === 'quarantine') return { kind: 'forbidden', reason: 'quarantined' }
  if (gate === 'gated') return { kind: 'forbidden', reason: 'gated' }
  if (gate === 'over18' || gate === 'verify') return { kind: 'forbidden', reason: null }
  return { kind: 'unreadable', path: 'location' }
}

/**
 * Where a redirect to the canonical path leads, or null when it means something else or leads away from the
 * platform. The host may gain or lose its `www.`, the scheme may become safer, a lost suffix and what we asked
 * beside the path are put back.
 */
export function onward(asked: string, status: number, location: string | null): string | null {
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return null
  if (redirectFault(location).kind !== 'unreadable') return null
  const from = new URL(asked)
  const to = URL.parse(location, asked)
  if (!to || !sameHouse(from, to)) return null
  if (from.pathname.endsWith('.json') && !to.pathname.endsWith('.json'))
    to.pathname = `${to.pathname.replace(/(?:\.\w+|\/)$/, '')}.json`
  for (const [name, value] of from.searchParams)
    if (!to.searchParams.has(name)) to.searchParams.set(name, value)
  return to.href === from.href ? null : to.href
}

function sameHouse(from: URL, to: URL): boolean {
  if (bare(from) !== bare(to) || to.username !== '' || to.password !== '') return false
  if (from.protocol === to.protocol) return from.port === to.port
  return from.protocol === 'http:' && to.protocol === 'https:' && from.port === '' && to.port === ''
}

const bare = (url: URL): string => url.hostname.replace(/^www\./, '')

function segmentsOf(location: string | null): string[] {
  const url = location === null ? null : URL.parse(location, 'http://localhost')
  return (
    url?.pathname
      .split('/')
      .filter((it) => it !== '')
      .map((it) => it.replace(/\.json$/, '')) ?? []
  )
}
