import { LRUCache } from 'lru-cache'

import { fail, type Outcome } from '../../core/base/result.ts'
import { viewerTermIn } from '../../core/filter/search-query.ts'
import { isViewerName } from '../../core/forum/permalink.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Call, Listing } from '../port.ts'
import { type Client, isAnonymous, type NativeRequest } from './client.ts'
import { withoutMembersOnly } from './readers/viewer.ts'

/** A client that verifies the session where an answer alone proves nothing. */
export type SessionCheck = Pick<Client, 'base' | 'get'> & {
  /** Returns a fault for an anonymous page of a private listing: the session is no longer valid. */
  ownPage<T>(page: Outcome<Listing<T>>, call: Call): Promise<Outcome<Listing<T>>>
}

/**
 * Time that a result is reused while block pages keep arriving: another request could be blocked
 * too.
 */
const RESULT_TTL_MS = 60_000
const RESULTS_MAX = 1_000

/**
 * A session can die silently. Public content continues, private content is refused as if it
 * belonged to another account, and a block page can concern the session or the address. Only a
 * request for the signed-in account proves the state.
 */
export function createSessionCheck(client: Client, clock: Clock): SessionCheck {
  const results = new LRUCache<string, { at: number; dead: boolean }>({ max: RESULTS_MAX })

  /** True if the platform treats these cookies as anonymous; false if that is unclear. */
  async function isDead(call: Call): Promise<boolean> {
    const me = await client.me(call)
    return me.ok && me.value === null
  }

  async function isDeadCached(call: Call): Promise<boolean> {
    const { id } = call.identity
    const cached = results.get(id)
    if (cached && clock.mono() - cached.at < RESULT_TTL_MS) return cached.dead
    // Stored before the result is known, so that a hundred blocked reads send one check.
    const result = { at: clock.mono(), dead: false }
    results.set(id, result)
    result.dead = await isDead(call)
    return result.dead
  }

  async function get(request: NativeRequest, call: Call): Promise<Outcome<unknown>> {
    if (request.own && isAnonymous(call.identity)) return LOGIN
    if (call.identity.whose !== 'caller' && namesViewer(request)) return OTHER_ACCOUNT
    const outcome = await client.get(request, call)
    if (outcome.ok && call.identity.whose === 'pool' && !request.own)
      return withoutMembersOnly(request.path, outcome.value)
    if (outcome.ok || call.identity.cookie === null) return outcome
    const { fault } = outcome
    if (fault.kind === 'blocked') return (await isDeadCached(call)) ? LOGIN : outcome
    if (fault.kind !== 'forbidden') return outcome
    // A private subforum refuses a dead session in the same way as another account.
    const doubtful =
      call.identity.whose === 'caller' || (request.own === true && fault.reason === null)
    return doubtful && (await isDead(call)) ? LOGIN : outcome
  }

  return {
    base: client.base,
    get,
    async ownPage(page, call) {
      // Bearers get an explicit refusal; their pages never state the account.
      if (!page.ok || call.identity.cookie === null || page.value.logged_in) return page
      if (page.value.logged_in === false) return LOGIN
      const me = await client.me(call)
      if (!me.ok) return me
      return me.value === null ? LOGIN : page
    },
  }
}

const LOGIN = fail({ kind: 'login_required' })
const OTHER_ACCOUNT = fail({ kind: 'forbidden', reason: 'other_account' })

const PLACED = /^\/(?:r|u|user|api\/v1\/user)\/([^/]+)/

/**
 * True if a request names the account that makes it. Routes and filters refuse such names with the
 * field that holds them; this is the last check before an account of the pool would answer.
 */
function namesViewer({ path, query }: NativeRequest): boolean {
  const [, names = ''] = PLACED.exec(decodeURIComponent(path)) ?? []
  return (
    names
      .replace(/\.json$/, '')
      .split('+')
      .some(isViewerName) || viewerTermIn(String(query?.['q'] ?? '')) !== null
  )
}
