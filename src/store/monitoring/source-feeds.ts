import { placesOf } from '../../core/filter/feeds.ts'
import { ALL_SOURCES } from '../../core/filter/fields.ts'
import { decodeFilterSpec } from '../../core/filter/parse.ts'
import { feedKey } from '../../core/polling/feed.ts'
import type { Db } from '../db/connection.ts'
import { type CoverageContext, decideCoverage } from './coverage-days.ts'
import { attachFeeds, detachFeeds, listFeedKeys, updateFeedPace } from './feeds.ts'

/** Places that the active monitors of a feed name, those too that they leave out. */
export const listWatchedPlaces = (db: Db, feed_id: number): string[] =>
  db
    .query<{ place: string }, [{ feed_id: number }]>(
      `SELECT DISTINCT p.value AS place
         FROM monitor_feeds f JOIN monitors m ON m.id = f.monitor_id AND m.active = 1 AND m.removed_at IS NULL,
              json_each(json_array(m.filter_spec -> '$.subforum', m.filter_spec -> '$.exclude_subforums')) l,
              json_each(l.value) p
        WHERE f.feed_id = $feed_id AND l.type = 'array'`,
    )
    .all({ feed_id })
    .map(({ place }) => place)

/** The earliest start of an active monitor of a feed; null: it has none. */
export const firstStart = (db: Db, feed_id: number): number | null =>
  db
    .query<{ since: number | null }, [{ feed_id: number }]>(
      `SELECT min(f.active_since) AS since FROM monitor_feeds f
         JOIN monitors m ON m.id = f.monitor_id AND m.active = 1 AND m.removed_at IS NULL
        WHERE f.feed_id = $feed_id`,
    )
    .get({ feed_id })?.since ?? null

/** Keys of a monitor's feeds of other sources. */
const keysOfOthers = (db: Db, monitor_id: string, sources: readonly string[]): string[] =>
  db
    .query<{ key: string }, [{ monitor_id: string; sources: string }]>(
      `SELECT key FROM monitor_feeds mf JOIN feeds f ON f.id = mf.feed_id
        WHERE mf.monitor_id = $monitor_id AND f.source NOT IN (SELECT value FROM json_each($sources))`,
    )
    .all({ monitor_id, sources: JSON.stringify(sources) })
    .map(({ key }) => key)

/**
 * Attaches the feeds that are configured now to monitors, from `active_since` on, and detaches all others. A monitor of all
 * sources gets the feeds of each source; other monitors get the feeds of sources that poll each feed alone.
 */
export function attachConfigured(
  db: Db,
  sources: NonNullable<Parameters<typeof placesOf>[1]>,
  { active_since, now }: { active_since: number; now: number },
  coverage: CoverageContext,
): void {
  const split = [...sources].flatMap(([name, { feeds }]) => (feeds === undefined ? [] : [name]))
  const monitors = db
    .query<{ id: string; cadence_s: number; filter_spec: string }, [{ split: string }]>(
      `SELECT id, cadence_s, filter_spec FROM monitors
        WHERE removed_at IS NULL AND EXISTS (SELECT 1 FROM json_each(filter_spec, '$.source')
                WHERE value = 'all' OR value IN (SELECT value FROM json_each($split)))`,
    )
    .all({ split: JSON.stringify(split) })
  for (const { id, cadence_s, filter_spec } of monitors) {
    const spec = decodeFilterSpec(filter_spec)
    const is_all = spec.source.includes(ALL_SOURCES)
    const places = placesOf(spec, sources)
    const before = listFeedKeys(db, id)
    const missing = places.filter((it) => !before.includes(feedKey(it)))
    // A monitor that names its sources keeps the feeds of one that has left the configuration.
    const kept = is_all ? [] : keysOfOthers(db, id, [...sources.keys()])
    const wanted = [...places.map(feedKey), ...kept]
    if (missing.length === 0 && before.every((key) => wanted.includes(key))) continue
    decideCoverage(db, id, active_since, coverage)
    attachFeeds(db, id, missing, { active_since, cadence_s, now })
    detachFeeds(db, id, wanted)
    const changed = [...before, ...wanted].filter(
      (it) => before.includes(it) !== wanted.includes(it),
    )
    updateFeedPace(db, now, changed)
  }
}

/** Feeds of a source. Instants in epoch ms. */
export type SourceFeeds = {
  source: string
  feeds: number
  last_check_at: number | null
  /** Everything created before was read, by the clock of the source; null for polled feeds. */
  verified_until: number | null
  partial: string | null
  open_gaps: number
}

/** State of the watched feeds by source. */
export const listSourceFeeds = (db: Db): SourceFeeds[] =>
  db
    .query<SourceFeeds, []>(
      `SELECT f.source, count(*) AS feeds, max(f.last_check_at) AS last_check_at,
              min(f.state ->> '$.verified_until') AS verified_until, max(f.state ->> '$.partial') AS partial,
              sum((SELECT count(*) FROM gaps g WHERE g.feed_id = f.id AND g.closed_at IS NULL)) AS open_gaps
         FROM feeds f
        WHERE f.next_check_at IS NOT NULL GROUP BY 1`,
    )
    .all()
