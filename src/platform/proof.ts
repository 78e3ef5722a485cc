import { fail, type Outcome } from '../core/outcome.ts'
import type { Clock } from '../outside.ts'
import { type Ask, type Client, isNobody } from './client.ts'
import type { Call, Listing } from './platform.ts'

/** Asks as a client does, and makes sure of the session where an answer alone proves nothing. */
export type Prover = Pick<Client, 'base' | 'get'> & {
  /** A page that was given to a stranger, where only a session has one, is an answer to nobody. */
  ownPage<T>(page: Outcome<Listing<T>>, call: Call): Promise<Outcome<Listing<T>>>
}

/** How long a proof is believed while block pages keep coming: asking each time would be one more thing to block. */
const BELIEVED_MS = 60_000
const PROOFS_MAX = 1_000

/**
 * A session dies without a word: public content goes on as if nothing had happened, own content is refused like
 * somebody else's, and a block page may mean the session or the address. Only asking who we are tells.
 */
export function createProver(client: Client, clock: Clock): Prover {
  const proofs = new Map<string, { at: number; dead: boolean }>()

  /** Whether the platform says that it takes these cookies for nobody's. What is not clear is not said. */
  async function isDead(call: Call): Promise<boolean> {
    const me = await client.me(call)
    return me.ok && me.value === null
  }

  async function isDeadOfLate(call: Call): Promise<boolean> {
    const { id } = call.eyes
    const known = proofs.get(id)
    if (known && clock.mono() - known.at < BELIEVED_MS) return known.dead
    // Written down before it is known, so that a hundred blocked reads ask once.
    const proof = { at: clock.mono(), dead: false }
    proofs.delete(id)
    proofs.set(id, proof)
    for (const oldest of proofs.keys()) {
      if (proofs.size <= PROOFS_MAX) break
      proofs.delete(oldest)
    }
    proof.dead = await isDead(call)
    return proof.dead
  }

  async function get(ask: Ask, call: Call): Promise<Outcome<unknown>> {
    if (ask.own && isNobody(call.eyes)) return LOGIN
    const outcome = await client.get(ask, call)
    if (outcome.ok || call.eyes.cookie === null) return outcome
    const { fault } = outcome
    if (fault.kind === 'blocked') return (await isDeadOfLate(call)) ? LOGIN : outcome
    const unsaid = fault.kind === 'forbidden' && fault.reason === null
    return ask.own && unsaid && (await isDead(call)) ? LOGIN : outcome
  }

  return {
    base: client.base,
    get,
    async ownPage(page, call) {
      // A bearer that is refused is told so at once; its pages never say whose they are.
      if (!page.ok || call.eyes.cookie === null || page.value.logged_in) return page
      if (page.value.logged_in === false) return LOGIN
      const me = await client.me(call)
      if (!me.ok) return me
      return me.value === null ? LOGIN : page
    },
  }
}

const LOGIN = fail({ kind: 'login_required' })
