import type { Words } from '../core/wire.ts'
import type { Scope } from '../store/keys.ts'
import { monitorPlaces } from './places.ts'

/** The paces a call may fall under; each has its own number in `[limits]`. */
export type LimitName =
  | 'reads'
  | 'management'
  | 'webhook_test'
  | 'account'
  | 'feedback'
  | 'dashboard'
  | 'sign_in'
  | 'mcp'
  | 'none'

/** The kinds of writes that an operator may switch off, by `[features]`. */
type Feature = 'login' | 'comment' | 'vote' | 'dm' | 'profile'
/** Which kinds of writes are switched on. */
export type Features = Readonly<Record<Feature, boolean>>

/** What it takes to reach a route. */
export type Policy = {
  /** Answers without a key. */
  open: boolean
  /** For an operator's key, and no customer's. */
  operator: boolean
  /** What the key must be good for; null: any key. */
  scope: Scope | null
  /** Counted by key; where none is needed, by address. */
  limit: LimitName
  /** What must not be switched off; null: it always answers. */
  feature: Feature | null
}

const OPEN: Policy = { open: true, operator: false, scope: null, limit: 'none', feature: null }
const CLOSED: Policy = { ...OPEN, open: false }
const OPEN_PATHS = ['/health', '/metrics', '/openapi.json', '/docs', '/unsubscribe', '/confirm']

const FEATURES: readonly (readonly [string, Feature])[] = [
  ['/login', 'login'],
  ['/comment', 'comment'],
  ['/v2/comment', 'comment'],
  ['/vote', 'vote'],
  ['/dm', 'dm'],
  ['/profile', 'profile'],
]

const under = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

/** The rule for a route, by its path alone, so that no route can forget to ask for one. Unknown places need a key. */
export function policyOf(words: Words, method: string, path: string): Policy {
  if (OPEN_PATHS.some((place) => under(path, place))) return OPEN
  // A browser sends no key of its own; who is signed in, its routes ask themselves.
  if (path === '/dashboard/session' && method === 'POST') return { ...OPEN, limit: 'sign_in' }
  if (under(path, '/dashboard')) return OPEN
  if (under(path, '/operator')) return { ...CLOSED, operator: true, limit: 'management' }
  for (const place of monitorPlaces(words)) {
    // Who reads a feed has no header to send: its address is the key.
    if (path === `${place}/feed/:token`) return OPEN
    if (path === `${place}/webhook/test`)
      return { ...CLOSED, scope: 'monitor', limit: 'webhook_test' }
    if (under(path, place)) return { ...CLOSED, scope: 'monitor', limit: 'management' }
  }
  if (under(path, words.api)) {
    const reads = method === 'GET' || path === `${words.api}/comments/verify`
    if (reads) return { ...CLOSED, scope: 'read', limit: 'reads' }
    const [, feature = null] = FEATURES.find(([place]) => under(path, words.api + place)) ?? []
    return { ...CLOSED, scope: 'write', feature }
  }
  // Whoever may write may have something written; what waits, every key of the customer may see.
  if (under(path, '/drafts'))
    return { ...CLOSED, scope: method === 'GET' ? null : 'write', limit: 'management' }
  if (path === '/mcp') return { ...CLOSED, limit: 'mcp' }
  if (path === '/account/usage') return { ...CLOSED, limit: 'dashboard' }
  if (under(path, '/account')) return { ...CLOSED, limit: 'account' }
  if (under(path, '/feedback')) return { ...CLOSED, limit: 'feedback' }
  return CLOSED
}
