import { timingSafeEqual } from 'node:crypto'

import type { Ring } from './seal.ts'

// The alternative, a random token in a column, would be one more secret to keep sealed and to look up by its hash. A
// token that spells what it is for, with a proof that we wrote it, needs no row.

/** What an address that opens without a key is good for. */
type Purpose = 'feed' | 'unsubscribe' | 'confirm'

/** The token of an address: what it names, and a proof that it is ours. Names hold no `~`. */
export function linkToken(ring: Ring, purpose: Purpose, names: readonly string[]): string {
  const named = names.join('~')
  const [proof = ''] = ring.proofs(placeOf(purpose, named))
  return `${named}~${proof}`
}

/** What a token names; null when it is not ours, or was made for something else. Old keys' tokens stay good. */
export function readLinkToken(ring: Ring, purpose: Purpose, token: string): string[] | null {
  const cut = token.lastIndexOf('~')
  if (cut < 1) return null
  const named = token.slice(0, cut)
  const given = Buffer.from(token.slice(cut + 1))
  const ours = ring
    .proofs(placeOf(purpose, named))
    .map((proof) => Buffer.from(proof))
    .some((proof) => proof.length === given.length && timingSafeEqual(proof, given))
  return ours ? named.split('~') : null
}

const placeOf = (purpose: Purpose, named: string) => `link:${purpose}:${named}`
