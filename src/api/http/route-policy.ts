import type { Naming } from '../../core/forum/naming.ts'
import type { Scope } from '../../store/customers/keys.ts'
import { monitorPaths } from './route-table.ts'

/**
 * Rate limits of routes: every policy names one, so that no route is unlimited.
 * `src/api/pace/pacers.ts` has the numbers.
 */
export type LimitName =
  | 'reads'
  | 'writes'
  | 'uploads'
  | 'management'
  | 'webhook_test'
  | 'account'
  | 'feedback'
  | 'dashboard'
  | 'sign_in'
  | 'signed_in'
  | 'mcp'
  | 'open'
  | 'feeds'
  | 'health'

/** Kinds of writes that `[features]` can disable. */
type Feature = 'login' | 'comment' | 'vote' | 'dm' | 'profile'
/** Kinds of writes, and if each is enabled. */
export type Features = Readonly<Record<Feature, boolean>>

/** Conditions for calling a route. */
export type Policy = {
  /** Answers without a key. */
  open: boolean
  /** Only for an operator's key. */
  operator: boolean
  /** Required scope of the key; null: any key. */
  scope: Scope | null
  /** Rate limit of the call: by key, or by address if the route takes none. */
  limit: LimitName
  /** Required feature; null: always enabled. */
  feature: Feature | null
}

const OPEN: Policy = { open: true, operator: false, scope: null, limit: 'open', feature: null }
const CLOSED: Policy = { ...OPEN, open: false, limit: 'management' }
const OPEN_PATHS = ['/metrics', '/openapi.json', '/docs', '/unsubscribe', '/confirm']
/** Routes authorised by the dashboard's cookie. */
const SIGNED_IN_PATHS = ['/dashboard/api', '/dashboard/live', '/dashboard/session']
/** Writes whose bodies may hold images. */
const UPLOADS = ['/profile/avatar', '/profile/banner']

const FEATURES: readonly (readonly [string, Feature])[] = [
  ['/login', 'login'],
  ['/comment', 'comment'],
  ['/v2/comment', 'comment'],
  ['/vote', 'vote'],
  ['/dm', 'dm'],
  ['/profile', 'profile'],
]

const under = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

/** Policy of a route by its path alone, so that no route lacks one. Unknown paths need a key. */
export function policyOf(words: Naming, method: string, path: string): Policy {
  if (under(path, '/health')) return { ...OPEN, limit: 'health' }
  if (OPEN_PATHS.some((place) => under(path, place))) return OPEN
  // A browser sends no key; these routes authenticate by the cookie themselves.
  if (path === '/dashboard/session' && method === 'POST') return { ...OPEN, limit: 'sign_in' }
  if (SIGNED_IN_PATHS.some((place) => under(path, place))) return { ...OPEN, limit: 'signed_in' }
  if (under(path, '/dashboard')) return OPEN
  if (under(path, '/operator')) return { ...CLOSED, operator: true }
  for (const place of monitorPaths(words)) {
    // A feed reader sends no header: the address of the feed is the key.
    if (path === `${place}/feed/:token`) return { ...OPEN, limit: 'feeds' }
    if (path === `${place}/webhook/test`)
      return { ...CLOSED, scope: 'monitor', limit: 'webhook_test' }
    if (under(path, place)) return { ...CLOSED, scope: 'monitor' }
  }
  if (under(path, words.api)) {
    const reads = method === 'GET' || path === `${words.api}/comments/verify`
    if (reads) return { ...CLOSED, scope: 'read', limit: 'reads' }
    const [, feature = null] = FEATURES.find(([place]) => under(path, words.api + place)) ?? []
    const is_upload = UPLOADS.some((place) => path === words.api + place)
    return { ...CLOSED, scope: 'write', feature, limit: is_upload ? 'uploads' : 'writes' }
  }
  // A key with the scope `write` may propose a write; every key of the customer may list proposals.
  if (under(path, '/drafts')) return { ...CLOSED, scope: method === 'GET' ? null : 'write' }
  if (path === '/mcp') return { ...CLOSED, limit: 'mcp' }
  if (path === '/account/usage') return { ...CLOSED, limit: 'dashboard' }
  if (under(path, '/account')) return { ...CLOSED, limit: 'account' }
  if (under(path, '/feedback')) return { ...CLOSED, limit: 'feedback' }
  return CLOSED
}
