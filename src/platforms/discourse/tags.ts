import { LRUCache } from 'lru-cache'

import type { Outcome } from '../../core/base/result.ts'
import type { HttpCall } from '../http.ts'
import { fieldsOf, idAt, type Row, rowsOf, type Shape, textAt } from '../values.ts'

/** Tags in memory, and of one topic. */
const TAGS_BYTES_MAX = 4 * 1024 * 1024
const TAGS_MAX = 100
const TAG_MAX = 255
const REFUSED_MAX = 10_000
/** Tags of a topic with a new post are read again after this time. */
const FRESH_MS = 60_000
/** A topic that its readers may not see is requested again after this time. */
const REFUSED_MS = 60_000
const PAGES_MAX = 10
/** A page of the list is read for so many topics; fewer are read by themselves. */
const LIST_MIN = 2
/** Share of the requests for reading the list of topics again, which shows tags that were changed. */
const LIST_SHARE = 0.1
const DAY_MS = 86_400_000
const PREFIX = 'tag:'

export const isTag = (place: string): boolean => place.startsWith(PREFIX)

/** Places of the tags of a topic's row: texts, or objects on newer sites. */
export function placesIn(row: Record<string, unknown>): string[] {
  const { tags } = row
  const names = (Array.isArray(tags) ? tags : []).flatMap((tag: unknown) =>
    typeof tag === 'string'
      ? [tag]
      : [textAt(fieldsOf(tag), 'name'), textAt(fieldsOf(tag), 'slug')].filter((it) => it !== null),
  )
  return [...new Set(names)]
    .filter((it) => it.length <= TAG_MAX)
    .slice(0, TAGS_MAX)
    .map((name) => `${PREFIX}${name}`)
}

/** Requests that a read of tags may send, and where it counts them. */
type Bounds = { left(): number; sent(): void; call: HttpCall }

export type TopicTags = ReturnType<typeof createTopicTags>

/**
 * Tags of topics, which the list of posts leaves out. A page of the list of topics states those of the 30 that were active
 * last; a topic that it does not show is read by itself.
 */
export function createTopicTags(
  client: { get(path: string, call: HttpCall, shape?: Shape): Promise<Outcome<Row>> },
  { clock, requests_per_minute }: { clock: { mono(): number }; requests_per_minute: number },
) {
  const known = new LRUCache<number, { places: readonly string[]; at: number }>({
    maxSize: TAGS_BYTES_MAX,
    sizeCalculation: ({ places }) => 100 + places.reduce((sum, it) => sum + 2 * it.length + 20, 0),
  })
  const refused = new Map<number, number>()
  const list_every_ms = 60_000 / (LIST_SHARE * requests_per_minute)
  let page = 0
  let listed_at = -Infinity

  function put(id: number, row: Record<string, unknown>): void {
    known.set(id, { places: placesIn(row), at: clock.mono() })
    refused.delete(id)
  }

  /** Reads a page of the list of topics by activity. Null: it failed; true: later ones are older than a day, or none. */
  async function readList(number: number, { sent, call }: Bounds): Promise<boolean | null> {
    sent()
    const body = await client.get(
      `/latest.json?order=activity&page=${number}`,
      call,
      '$.topic_list.topics[]',
    )
    if (!body.ok) return null
    const list = fieldsOf(body.value['topic_list'])
    const rows = rowsOf(list['topics'])
    for (const row of rows) {
      const id = idAt(row, 'id')
      if (id !== null) put(id, row)
    }
    const active_at = Date.parse(textAt(rows.at(-1) ?? {}, 'bumped_at') ?? '')
    const newest_at = Date.parse(textAt(rows[0] ?? {}, 'bumped_at') ?? '')
    const is_last = textAt(list, 'more_topics_url') === null || newest_at - active_at > DAY_MS
    if (number === page) {
      page = is_last || page + 1 >= PAGES_MAX ? 0 : page + 1
      listed_at = clock.mono()
    }
    return is_last
  }

  const isFresh = (id: number): boolean => {
    const found = known.get(id)
    return found !== undefined && clock.mono() - found.at < FRESH_MS
  }
  const isRefused = (id: number): boolean =>
    clock.mono() - (refused.get(id) ?? -Infinity) < REFUSED_MS

  return {
    /** Null: they are not known. */
    placesOf: (topic_id: number): readonly string[] | null => known.get(topic_id)?.places ?? null,
    /** Reads the tags of topics with new posts, as far as the requests suffice. */
    async learn(topic_ids: Iterable<number>, bounds: Bounds): Promise<void> {
      const wanted = new Set([...topic_ids].filter((id) => !isFresh(id) && !isRefused(id)))
      if (wanted.size === 0 || bounds.left() === 0) return
      const unknown = () => [...wanted].filter((id) => !known.has(id))
      for (let number = 0; number < PAGES_MAX && bounds.left() > 0; number++) {
        const before = unknown().length
        const is_last = await readList(number, bounds)
        if (is_last === null) return
        const rest = unknown().length
        if (is_last || rest < LIST_MIN || (number > 0 && before - rest < LIST_MIN)) break
      }
      for (const id of unknown()) {
        if (bounds.left() === 0) return
        bounds.sent()
        const topic = await client.get(`/t/${id}.json`, bounds.call)
        if (topic.ok) put(id, topic.value)
        else if (topic.fault.kind === 'not_found' || topic.fault.kind === 'forbidden') {
          if (refused.size >= REFUSED_MAX) refused.clear()
          refused.set(id, clock.mono())
        } else return
      }
    },
    /** Reads the next page of the list of topics when it is due. */
    async refresh(bounds: Bounds): Promise<void> {
      if (bounds.left() === 0 || clock.mono() - listed_at < list_every_ms) return
      listed_at = clock.mono()
      await readList(page, bounds)
    },
  }
}
