/** Why an alert was not sent, with the figures behind it, such as `oldest_age_s` and `threshold_s`. */
export type Suppressed = {
  reason: 'delivery_ceiling' | 'stale_item' | 'low_relevance'
  [figure: string]: string | number
}

/** The body of a delivery before it is frozen. */
export type Envelope = {
  delivery_id: string
  monitor_id: string
  /** Rows in the words of the wire, with their enrichment. */
  items: readonly object[]
  grouped: boolean
  suppressed?: Suppressed
  test?: true
}

/** The bytes of a delivery's body. They are built once and frozen: every attempt sends and signs the same. */
export function envelope(content: Envelope): Uint8Array {
  const { delivery_id, monitor_id, items, grouped, suppressed, test } = content
  const body = { delivery_id, monitor_id, count: items.length, grouped, items, suppressed, test }
  return new TextEncoder().encode(JSON.stringify(body))
}
