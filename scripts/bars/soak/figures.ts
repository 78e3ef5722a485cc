import { quantile } from '../abuse/watch.ts'

/** A process and its folder at one moment. */
export type Sample = {
  /** Since the start of the soak. */
  at_ms: number
  rss_mib: number
  /** Anonymous memory: not backed by a file. */
  own_mib: number
  descriptors: number
  threads: number
  /** Files in the data folder, without snapshots. */
  files: number
  db_mib: number
  wal_mib: number
}

/** Median; 0 for an empty list. */
export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** First and last quarter of a list. */
export function ends<T>(list: readonly T[]): { first: T[]; last: T[] } {
  const part = Math.ceil(list.length / 4)
  return { first: list.slice(0, part), last: list.slice(-part) }
}

/**
 * Growth of a value per hour: the median of the slopes between all pairs of points (Theil–Sen), which is robust
 * against outliers. 0 for fewer than two points.
 */
export function growthPerHour(points: readonly { at_ms: number; value: number }[]): number {
  const slopes = points.flatMap((one, n) =>
    points
      .slice(n + 1)
      .map((other) => ((other.value - one.value) / (other.at_ms - one.at_ms)) * 3_600_000),
  )
  return median(slopes)
}

/** Lowest memory of each time window, which is the memory retained after a GC. */
export function floors(
  samples: readonly Sample[],
  window_ms: number,
  of: (it: Sample) => number = ({ rss_mib }) => rss_mib,
): { at_ms: number; value: number }[] {
  const windows = Map.groupBy(samples, ({ at_ms }) => Math.floor(at_ms / window_ms))
  return [...windows].map(([n, window]) => ({
    at_ms: (n + 0.5) * window_ms,
    value: Math.min(...window.map(of)),
  }))
}
