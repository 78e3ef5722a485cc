import { quantile } from './abuse-watch.ts'

/** A process and its folder at one moment. */
export type Sample = {
  /** Since the soak began. */
  at_ms: number
  rss_mib: number
  /** Of that, what no file backs: all that a process can fill by itself. */
  own_mib: number
  descriptors: number
  threads: number
  /** Files in the data folder, snapshots left out. */
  files: number
  db_mib: number
  wal_mib: number
}

/** The middle of a list; 0 of an empty one. */
export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Of a list in order of time, the first and the last of four parts. */
export function ends<T>(list: readonly T[]): { first: T[]; last: T[] } {
  const part = Math.ceil(list.length / 4)
  return { first: list.slice(0, part), last: list.slice(-part) }
}

/**
 * How much a value grows in an hour: the median of the slopes between all pairs of points (Theil and Sen), which a
 * minority of strange points does not move. 0 when there are fewer than two.
 */
export function growthPerHour(points: readonly { at_ms: number; value: number }[]): number {
  const slopes = points.flatMap((one, n) =>
    points
      .slice(n + 1)
      .map((other) => ((other.value - one.value) / (other.at_ms - one.at_ms)) * 3_600_000),
  )
  return median(slopes)
}

/** Of each window of time the least memory: what is held once what was thrown away has been collected. */
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
