import { timingSafeEqual } from 'node:crypto'

import type { Ring } from '../base/secrets.ts'
import type { Naming } from './naming.ts'

// Rejected alternative: a random token in a column, another secret to seal and to look up by hash.
// A token that names its purpose and carries a proof of origin needs no row.

/** Purpose of an address that works without an API key. */
type Purpose = 'feed' | 'unsubscribe' | 'confirm'

/** Builds a token: the names, and a proof of origin. Names contain no `~`. */
function linkToken(ring: Ring, purpose: Purpose, names: readonly string[]): string {
  const named = names.join('~')
  const [signature = ''] = ring.proofs(placeOf(purpose, named))
  return `${named}~${signature}`
}

/**
 * Names in a token; null if it was not issued here or for another purpose. Tokens of older keys
 * stay valid.
 */
function readLinkToken(ring: Ring, purpose: Purpose, token: string): string[] | null {
  const cut = token.lastIndexOf('~')
  if (cut < 1) return null
  const named = token.slice(0, cut)
  const given = Buffer.from(token.slice(cut + 1))
  const ours = ring
    .proofs(placeOf(purpose, named))
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === given.length && timingSafeEqual(signature, given))
  return ours ? named.split('~') : null
}

const placeOf = (purpose: Purpose, named: string) => `link:${purpose}:${named}`

/** Addresses that work without an API key. The readers return null for a foreign token. */
export type Links = {
  /** Atom feed of a monitor; `revision` counts the addresses it has had. */
  feed(monitor_id: string, revision: number): string
  readFeed(token: string): { monitor_id: string; revision: number } | null
  /** Unsubscribes a mail recipient from one monitor's deliveries to one target. */
  unsubscribe(webhook_id: string, monitor_id: string): string
  readUnsubscribe(token: string): { webhook_id: string; monitor_id: string } | null
  /** Confirms that a mail recipient wants the deliveries of an email target. */
  confirm(webhook_id: string): string
  readConfirm(token: string): { webhook_id: string } | null
}

/**
 * Builds and reads these addresses. `public_url` is read at each use, since the port may be known
 * late.
 */
export function createLinks({
  ring,
  words,
  public_url,
}: {
  ring: Ring
  words: Naming
  public_url: () => string
}): Links {
  const at = (path: string) => public_url().replace(/\/$/, '') + path
  return {
    feed: (monitor_id, revision) =>
      at(`${words.monitor}/feed/${linkToken(ring, 'feed', [monitor_id, String(revision)])}`),
    readFeed(token) {
      const [monitor_id, revision] = readLinkToken(ring, 'feed', token) ?? []
      return monitor_id === undefined ? null : { monitor_id, revision: Number(revision) }
    },
    unsubscribe: (webhook_id, monitor_id) =>
      at(`/unsubscribe/${linkToken(ring, 'unsubscribe', [webhook_id, monitor_id])}`),
    readUnsubscribe(token) {
      const [webhook_id, monitor_id] = readLinkToken(ring, 'unsubscribe', token) ?? []
      return webhook_id === undefined || monitor_id === undefined
        ? null
        : { webhook_id, monitor_id }
    },
    confirm: (webhook_id) => at(`/confirm/${linkToken(ring, 'confirm', [webhook_id])}`),
    readConfirm(token) {
      const [webhook_id] = readLinkToken(ring, 'confirm', token) ?? []
      return webhook_id === undefined ? null : { webhook_id }
    },
  }
}
