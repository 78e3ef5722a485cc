import { linkToken, readLinkToken } from './link-token.ts'
import type { Ring } from './seal.ts'
import type { Words } from './wire.ts'

/** The addresses that open without a key, and what their tokens name. Reading gives null for what is not ours. */
export type Links = {
  /** A monitor's Atom feed; `round` counts the addresses it has had. */
  feed(monitor_id: string, round: number): string
  readFeed(token: string): { monitor_id: string; round: number } | null
  /** Where a reader of mail stops what one monitor sends to one target. */
  unsubscribe(webhook_id: string, monitor_id: string): string
  readUnsubscribe(token: string): { webhook_id: string; monitor_id: string } | null
  /** Where a reader says that they want what a target of kind email gets. */
  confirm(webhook_id: string): string
  readConfirm(token: string): { webhook_id: string } | null
}

/** Makes and reads such addresses. `public_url` is asked for at each use, since a port may be found late. */
export function createLinks({
  ring,
  words,
  public_url,
}: {
  ring: Ring
  words: Words
  public_url: () => string
}): Links {
  const at = (path: string) => public_url().replace(/\/$/, '') + path
  return {
    feed: (monitor_id, round) =>
      at(`${words.monitor}/feed/${linkToken(ring, 'feed', [monitor_id, String(round)])}`),
    readFeed(token) {
      const [monitor_id, round] = readLinkToken(ring, 'feed', token) ?? []
      return monitor_id === undefined ? null : { monitor_id, round: Number(round) }
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
