/** Name of a kind of target: our own signed body, the body of a chat or push service, a mail, or a publication at a broker. */
export type WebhookKind = string

/** Events that a target may receive: matches always, the others about items that it had received. */
export const WEBHOOK_EVENTS = ['match', 'item.deleted', 'item.edited'] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** The events of a target in their order, each once; null if it cannot take them. */
export function settleEvents(
  takes_events: boolean,
  events: readonly WebhookEvent[],
): WebhookEvent[] | null {
  const chosen = WEBHOOK_EVENTS.filter((it) => events.includes(it))
  return chosen.includes('match') && (chosen.length === 1 || takes_events) ? chosen : null
}

/**
 * Address that the guard checks and the connection goes to: that of a broker with its port and as http or https, any
 * other unchanged.
 */
export function dialable(url: string): string {
  const [, tls, authority, rest] = /^mqtt(s?):\/\/([^/?#]*)(.*)$/i.exec(url) ?? []
  if (authority === undefined) return url
  const port = /:\d+$/.test(authority) ? '' : tls === '' ? ':1883' : ':8883'
  return `http${tls?.toLowerCase()}://${authority}${port}${rest}`
}

/** Instants are of the monotonic clock, in ms; `per_second` null: no limit is set. */
export type TargetPace = {
  /** Number of sends that may start now. */
  capacity(target: string, per_second: number | null, now: number): number
  /** Earliest instant of the next send; `now` if it may start at once. */
  nextAt(target: string, per_second: number | null, now: number): number
  started(target: string, per_second: number | null, now: number): void
  /** The receiver accepts another send in `wait_ms`: `rate_limit` is why it refused this one, otherwise it is unavailable. */
  refused(target: string, wait_ms: number, now: number, reason: 'rate_limit' | 'unavailable'): void
  accepted(target: string): void
}

/** A rate below one a second is enforced over the interval of one send. */
const windowOf = (per_second: number) =>
  per_second >= 1
    ? { count: Math.floor(per_second), ms: 1000 }
    : { count: 1, ms: Math.ceil(1000 / per_second) }

/** Change of a learned rate with a refusal, and with a send that is accepted. */
const [SLOWER, FASTER] = [0.75, 1.04]
/** Sends a second from which on a learned rate is no limit any more, and the least one. */
const [FREE, LEAST] = [20, 1 / 780]

/**
 * Counts sends within a sliding second, so that no second exceeds the rate. A refusal for a rate limit holds the target, since
 * each further send would use up an attempt; then its rate is learned: one send in the time that the receiver named, slower
 * with each refusal and slowly faster. A receiver that was unavailable has named no rate, and is only held. State is in memory: a restart of the daemon begins with an empty second.
 */
export function createTargetPace(): TargetPace {
  const starts = new Map<string, number[]>()
  const learned = new Map<string, { per_second: number; held_until: number }>()

  function recent(target: string, ms: number, now: number): number[] {
    const left = (starts.get(target) ?? []).filter((at) => at > now - ms)
    if (left.length === 0) starts.delete(target)
    else starts.set(target, left)
    return left
  }

  const limitOf = (target: string, per_second: number | null): number =>
    Math.min(per_second ?? Infinity, learned.get(target)?.per_second ?? Infinity)

  return {
    capacity(target, per_second, now) {
      const limit = limitOf(target, per_second)
      if (now < (learned.get(target)?.held_until ?? now)) return 0
      if (limit === Infinity) return Infinity
      const { count, ms } = windowOf(limit)
      return Math.max(0, count - recent(target, ms, now).length)
    },
    nextAt(target, per_second, now) {
      const limit = limitOf(target, per_second)
      const held_until = Math.max(now, learned.get(target)?.held_until ?? now)
      if (limit === Infinity) return held_until
      const { count, ms } = windowOf(limit)
      const oldest = recent(target, ms, now).at(-count)
      return Math.max(held_until, oldest === undefined ? now : oldest + ms)
    },
    started(target, per_second, now) {
      const limit = limitOf(target, per_second)
      if (limit === Infinity) return
      starts.set(target, [...recent(target, windowOf(limit).ms, now), now])
    },
    refused(target, wait_ms, now, reason) {
      const before = learned.get(target)
      const held_until = now + Math.max(wait_ms, 1)
      // Those that started together are refused together, and say one thing.
      if (before !== undefined && now < before.held_until) {
        before.held_until = Math.max(before.held_until, held_until)
        return
      }
      const rate = before?.per_second ?? Infinity
      const slower = rate === Infinity ? 1000 / Math.max(wait_ms, 1000) : rate * SLOWER
      const per_second = reason === 'rate_limit' ? Math.max(LEAST, slower) : rate
      learned.set(target, { held_until, per_second })
    },
    accepted(target) {
      const it = learned.get(target)
      if (it === undefined) return
      it.per_second *= FASTER
      if (it.per_second >= FREE) learned.delete(target)
    },
  }
}

// A single plain address: text for an SMTP command and a mail header must not end a line, add a
// recipient or carry a comment. Quoted local parts, although standard (RFC 5321), are not accepted.

const LOCAL = /^[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+)*$/
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/
const LOCAL_MAX = 64
const LABEL_MAX = 63
const ADDRESS_MAX = 254

export const MAILTO_FORM =
  'must be mailto: and one plain address, such as mailto:ann@example.com, without a name, query or second recipient'

/**
 * Parses the address of a `mailto:` URL; null unless it is a single plain address.
 * @see https://www.rfc-editor.org/rfc/rfc6068
 */
export function parseMailto(url: string): string | null {
  const [, local = '', domain = ''] = /^mailto:([^@]*)@([^@]*)$/i.exec(url) ?? []
  if (!LOCAL.test(local) || local.length > LOCAL_MAX) return null
  const labels = domain.split('.')
  const named = labels.every((label) => LABEL.test(label) && label.length <= LABEL_MAX)
  // A numeric last label would make it an IP address.
  if (!named || labels.length < 2 || !/[A-Za-z]/.test(labels.at(-1) ?? '')) return null
  const address = `${local}@${domain.toLowerCase()}`
  return address.length <= ADDRESS_MAX ? address : null
}
