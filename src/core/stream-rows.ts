/** An item, as far as its place in the stream goes. */
export type Row = { id: string; created_at: number; sticky: boolean }

/** Whether one of these ids is among the rows. A pinned row proves nothing. */
export function holdsAny(rows: readonly Row[], ids: readonly string[]): boolean {
  const wanted = new Set(ids)
  return rows.some(({ id, sticky }) => !sticky && wanted.has(id))
}

/**
 * Rows as they may be anchors. One that stands above newer ones was put there by somebody, whether or not the
 * platform says so, and is as good as pinned.
 */
export function settleRows(rows: readonly Row[]): Row[] {
  let newest_below = -Infinity
  return rows
    .toReversed()
    .map((row) => {
      const sticky = row.sticky || row.created_at < newest_below
      if (!sticky) newest_below = Math.max(newest_below, row.created_at)
      return sticky === row.sticky ? row : { ...row, sticky }
    })
    .toReversed()
}

/** When the oldest of some rows was created; null when there is none but pinned ones. */
export const oldestAt = (rows: readonly Row[]): number | null =>
  rows.reduce<number | null>(
    (oldest, { created_at, sticky }) =>
      sticky || (oldest !== null && oldest <= created_at) ? oldest : created_at,
    null,
  )

/** When the newest of some rows was created; null when there is none but pinned ones. */
export const newestAt = (rows: readonly Row[]): number | null =>
  rows.reduce<number | null>(
    (newest, { created_at, sticky }) =>
      sticky || (newest !== null && newest >= created_at) ? newest : created_at,
    null,
  )

/** New items a second, from the rows of one look; null when they are too few to tell. */
export function rateOf(rows: readonly Row[]): number | null {
  const span_s = spanOf(rows)
  const count = rows.filter(({ sticky }) => !sticky).length
  return span_s > 0 ? (count - 1) / span_s : null
}

/** From the oldest to the newest of some rows, in seconds. */
export const spanOf = (rows: readonly Row[]): number =>
  ((newestAt(rows) ?? 0) - (oldestAt(rows) ?? 0)) / 1000

/** New items a second, from the rows of a first look at `now`; null when there are none. */
export function rateUntil(rows: readonly Row[], now: number): number | null {
  const plain = rows.filter(({ sticky }) => !sticky)
  const span_s = (now - (oldestAt(plain) ?? now)) / 1000
  return span_s > 0 ? plain.length / span_s : null
}

/** The rate over many checks: the latest moves it by a fifth. */
export const smooth = (before: number | null, latest: number): number =>
  before === null ? latest : before * 0.8 + latest * 0.2
