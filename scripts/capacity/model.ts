import { ARCHIVED, FIGURES, MATCHING, POINTS, SEARCH } from './figures.ts'

/** Work of an installation. A monitor is of twenty terms and watches one place or forum. */
export type Load = {
  kind: 'accounts' | 'forums'
  /** Accounts of one platform, or forums. */
  units: number
  monitors: number
}

export type Machine = { cores: number; memory_gb: number; disk_gb: number }

export const MACHINES: readonly Machine[] = [
  { cores: 2, memory_gb: 4, disk_gb: 80 },
  { cores: 8, memory_gb: 32, disk_gb: 500 },
  { cores: 32, memory_gb: 128, disk_gb: 4000 },
]

/** Assumptions, which are not measured. */
export const ASSUMED = {
  matches_per_monitor_day: 10,
  /** Default of `[retention] days`. */
  retention_days: 30,
  /** `keep_hourly = 2` and `keep_daily = 2` of `[maintenance]`: each snapshot is a whole copy of the database. */
  snapshots: 4,
  /** The default: 24 hourly and 7 daily ones. */
  default_snapshots: 31,
  /** Share of a resource that is planned for; the rest is for bursts and for the tail of latencies. */
  planned: 0.6,
  /** Cores that an instance can use: its main thread, and one for the threads of archive and patterns and for the system. */
  cores_per_instance: 2,
} as const

const DAY_S = 86_400

type Point = readonly [at: number, value: number]

/** Value between measured points, by straight lines; beyond them along the last line. */
export function linear(points: readonly Point[], at: number): number {
  const next = points.findIndex(([it]) => it >= at)
  const high = Math.max(1, next === -1 ? points.length - 1 : next)
  const [from, to] = [points[high - 1], points[high]]
  if (from === undefined || to === undefined) return points[0]?.[1] ?? NaN
  return from[1] + ((to[1] - from[1]) * (at - from[0])) / (to[0] - from[0])
}

/** Value of a power law through the two nearest measured points. */
export const power = (points: readonly Point[], at: number): number =>
  Math.exp(
    linear(
      points.map(([x, y]) => [Math.log(x), Math.log(y)] as const),
      Math.log(at),
    ),
  )

/** Microseconds to match an item against the monitors of its feed. Beyond 100,000 it is extrapolated. */
export const matchingUs = (monitors: number): number =>
  linear(
    // Without monitors only the item is prepared, which is within the first point.
    [[0, MATCHING[0]?.[1] ?? NaN], ...MATCHING.map(([at, us]) => [at, us] as const)],
    monitors,
  )

/**
 * Resident memory, MB, by monitors. Beyond the largest measured number each takes as much as the bench of matching measured,
 * which is more than the measured points have.
 */
export function memoryMb(monitors: number): number {
  const last = POINTS.memory.at(-1)
  if (last === undefined) return NaN
  if (monitors > last.monitors)
    return last.rss_mb + ((monitors - last.monitors) * FIGURES.monitor_bytes.value) / 1e6
  return linear(
    POINTS.memory.map((it) => [it.monitors, it.rss_mb] as const),
    monitors,
  )
}

/** Processor time of forums that are watched at a cadence of 30 s, of one core. */
export const forumsCore = (forums: number): number =>
  linear(
    POINTS.forums.map((it) => [it.forums, it.core] as const),
    forums,
  )

/**
 * Memory that watched forums take beside the monitors, MB. The measured daemons had ten monitors a forum. Beyond the largest
 * measured number each forum takes the mean of the measured range, because the last line is flatter.
 */
export function forumsMb(forums: number): number {
  const points = POINTS.forums.map(
    (it) => [it.forums, it.rss_mib * 1.048576 - memoryMb(it.forums * 10)] as const,
  )
  const [few, many] = [points[0], points.at(-1)]
  if (few === undefined || many === undefined) return NaN
  if (forums <= many[0]) return linear(points, forums)
  return many[1] + ((many[1] - few[1]) / (many[0] - few[0])) * (forums - many[0])
}

/** Microseconds of the main thread for a match, its item of the inbox and its delivery. */
export const deliveryUs = (): number =>
  FIGURES.match_us.value + 1e6 / FIGURES.deliveries_per_s.value

/** True for the needs that lie beyond what was measured. */
export function isExtrapolated(load: Load): { main: boolean; memory: boolean } {
  const { kind, units, monitors } = load
  const is_more = kind === 'forums' && units > (POINTS.forums.at(-1)?.forums ?? 0)
  const per_feed = monitors / needOf(load).places
  return {
    main: is_more || per_feed > (MATCHING.at(-1)?.[0] ?? 0),
    memory: is_more || monitors > (POINTS.memory.at(-1)?.monitors ?? 0),
  }
}

/** Needs of a load. Cores are shares of one; sizes in bytes. */
export type Need = {
  places: number
  items_per_s: number
  deliveries_per_s: number
  main: { requests: number; items: number; deliveries: number; all: number }
  /** Share of a core for the thread of the archive, if it keeps every item. */
  archive_core: number
  memory_mb: number
  /** Deliveries and inbox for the retention, and with snapshots. */
  database: number
  with_snapshots: number
}

export function needOf({ kind, units, monitors }: Load): Need {
  const is_accounts = kind === 'accounts'
  const places = is_accounts ? Math.round(units * FIGURES.places_per_account.value) : units
  const items_per_s =
    places * (is_accounts ? FIGURES.items_per_place_s.value : FIGURES.items_per_forum_s.value)
  const matches_per_s = (monitors * ASSUMED.matches_per_monitor_day) / DAY_S
  const per_feed = monitors / places
  const requests = is_accounts
    ? ((units * 100) / 60) * (FIGURES.request_us.value / 1e6)
    : forumsCore(units)
  const item_us =
    (is_accounts ? FIGURES.item_us.value + FIGURES.queue_us.value : 0) + matchingUs(per_feed)
  const items = (items_per_s * item_us) / 1e6
  const deliveries = (matches_per_s * deliveryUs()) / 1e6
  const rows = monitors * ASSUMED.matches_per_monitor_day * ASSUMED.retention_days
  // An upper bound: bodies are packed after a week.
  const database = rows * FIGURES.match_bytes.value
  return {
    places,
    items_per_s,
    deliveries_per_s: matches_per_s,
    main: { requests, items, deliveries, all: requests + items + deliveries },
    archive_core: items_per_s / FIGURES.copied_per_s.value,
    memory_mb: memoryMb(monitors) + (is_accounts ? 0 : forumsMb(units)),
    database,
    with_snapshots: database * (1 + ASSUMED.snapshots),
  }
}

/** Result for a load on a machine: instances, or the resource that ends first. */
export type Carried = { instances: number; ends: string | null }

const GB = 1e9

export function carriedBy(load: Load, machine: Machine): Carried {
  const need = needOf(load)
  const { planned, cores_per_instance } = ASSUMED
  const instances = Math.max(1, Math.ceil(need.main.all / planned))
  const room = Math.floor(machine.cores / cores_per_instance)
  // Each further instance has its own executable, threads and caches.
  const memory_mb = need.memory_mb + (instances - 1) * memoryMb(0)
  const shares: [string, number][] = [
    ['cores', instances / room],
    // An account or a forum belongs to one instance.
    ['one thread', instances / load.units],
    ['memory', memory_mb / 1000 / (machine.memory_gb * planned)],
    ['disk', need.with_snapshots / GB / (machine.disk_gb * planned)],
  ]
  const [name, share] = shares.toSorted((a, b) => b[1] - a[1])[0] ?? ['', 0]
  return { instances, ends: share > 1 ? name : null }
}

/** An archive of a number of items. Search times beyond a million items are extrapolated. */
export function archiveOf(items: number) {
  const of = (n: 1 | 2) =>
    power(
      SEARCH.map((it) => [it[0], it[n]] as const),
      items,
    )
  return {
    bytes: items * archivedBytes(items),
    copy_s: items / FIGURES.copied_wall_per_s.value,
    search_p50_ms: of(1),
    search_p99_ms: of(2),
    /** Share of the items that a trial of a pattern reaches in two seconds. */
    trial_share: Math.min(1, (FIGURES.trial_items_per_s.value * 2) / items),
  }
}

/** Bytes of an archived item. Beyond ten million items those of ten million. */
export const archivedBytes = (items: number): number =>
  items >= 10_000_000
    ? FIGURES.archived_bytes.value
    : linear(
        ARCHIVED.map(([at, bytes]) => [Math.log(at), bytes] as const),
        Math.log(items),
      )

/** Items a second that one thread matches against monitors that all see every item. */
export const sitewideItemsPerS = (monitors: number): number =>
  1e6 / (matchingUs(monitors) + FIGURES.item_us.value + FIGURES.queue_us.value)

/** The largest value of 1, 2, 5, 10, … for which a need is within a bound. */
export function most(fits: (value: number) => boolean): number {
  let best = 0
  for (let scale = 1; scale <= 1e9; scale *= 10)
    for (const step of [1, 2, 5]) {
      if (!fits(scale * step)) return best
      best = scale * step
    }
  return best
}
