import { SENTIMENT_LABELS } from '../enrichment/sentiment.ts'
import type { InboxState } from './filter.ts'

/** Widths of the intervals of a chart, ms. */
const BUCKETS = { hour: 3_600_000, day: 86_400_000 } as const
export type ChartBucket = keyof typeof BUCKETS

/** Most monitors with a line of their own. */
const SERIES_MAX = 20
const TOP = 20
/** Most monitors in the share of voice. */
const SHARE_MAX = 100
/** Different places, or authors, that are counted; further ones are left out of the top. */
const NAMES_MAX = 50_000

/** An item as the charts count it. */
export type ChartedItem = {
  matched_at: number
  source: string
  place: string
  author: string | null
  sentiment: string | null
  state: InboxState
  monitors: readonly string[]
}

type Named = { source: string; name: string; mentions: number }

/** Sums of a window. `at`: begin of each interval, epoch ms; all series are as long. */
export type InboxCharts = {
  at: number[]
  /** By monitor, the one with most mentions first; `monitor_id` null: all others together. */
  series: { monitor_id: string | null; counts: number[] }[]
  /** Items of each interval, each once. */
  total: number[]
  share: { monitor_id: string; mentions: number; share: number }[]
  sentiment: Record<SentimentName, number>
  sentiment_over_time: Record<SentimentName, number[]>
  places: Named[]
  authors: Named[]
  states: Record<InboxState, number>
}

const SENTIMENTS = [...SENTIMENT_LABELS, 'unknown'] as const
type SentimentName = (typeof SENTIMENTS)[number]

const isSentiment = (text: string | null): text is SentimentName =>
  SENTIMENTS.some((it) => it === text)

const recordOf = <T>(make: () => T): Record<SentimentName, T> => ({
  positive: make(),
  negative: make(),
  mixed: make(),
  neutral: make(),
  unknown: make(),
})

/** Counts names of a source within a bound of memory. */
function createNames() {
  const found = new Map<string, Named>()
  return {
    add(source: string, name: string) {
      const key = `${source}/${name}`
      const known = found.get(key)
      if (known !== undefined) known.mentions += 1
      else if (found.size < NAMES_MAX) found.set(key, { source, name, mentions: 1 })
    },
    top: () => [...found.values()].toSorted(byMentions).slice(0, TOP),
  }
}

const byMentions = (a: Named, b: Named): number =>
  b.mentions - a.mentions || (`${a.source}/${a.name}` < `${b.source}/${b.name}` ? -1 : 1)

/** Sums items of a window, one at a time. */
export function createCharts({
  from,
  to,
  bucket,
}: {
  from: number
  to: number
  bucket: ChartBucket
}) {
  const width = BUCKETS[bucket]
  const first = Math.floor(from / width)
  const length = Math.max(1, Math.ceil(to / width) - first)
  const zeros = () => Array.from({ length }, () => 0)
  const total = zeros()
  const monitors = new Map<string, number[]>()
  const sentiment_over_time = recordOf(zeros)
  const places = createNames()
  const authors = createNames()
  const states: Record<InboxState, number> = { unread: 0, read: 0, answered: 0, dismissed: 0 }

  return {
    add(it: ChartedItem) {
      const at = Math.floor(it.matched_at / width) - first
      if (at < 0 || at >= length) return
      step(total, at)
      for (const id of it.monitors) {
        let counts = monitors.get(id)
        if (counts === undefined) monitors.set(id, (counts = zeros()))
        step(counts, at)
      }
      step(sentiment_over_time[isSentiment(it.sentiment) ? it.sentiment : 'unknown'], at)
      if (it.place !== '') places.add(it.source, it.place)
      if (it.author !== null) authors.add(it.source, it.author)
      states[it.state] += 1
    },
    result(): InboxCharts {
      const sums = [...monitors]
        .map(([monitor_id, counts]) => ({ monitor_id, counts, mentions: sum(counts) }))
        .toSorted((a, b) => b.mentions - a.mentions || (a.monitor_id < b.monitor_id ? -1 : 1))
      const all = sum(sums.map(({ mentions }) => mentions))
      const others = sums.slice(SERIES_MAX)
      const sentiment = recordOf(() => 0)
      for (const name of SENTIMENTS) sentiment[name] = sum(sentiment_over_time[name])
      return {
        at: Array.from({ length }, (_, n) => (first + n) * width),
        series: [
          ...sums.slice(0, SERIES_MAX).map(({ monitor_id, counts }) => ({ monitor_id, counts })),
          ...(others.length === 0
            ? []
            : [
                {
                  monitor_id: null,
                  counts: added(
                    others.map((it) => it.counts),
                    zeros(),
                  ),
                },
              ]),
        ],
        total,
        share: sums.slice(0, SHARE_MAX).map(({ monitor_id, mentions }) => ({
          monitor_id,
          mentions,
          share: Math.round((mentions / all) * 10_000) / 10_000,
        })),
        sentiment,
        sentiment_over_time,
        places: places.top(),
        authors: authors.top(),
        states,
      }
    },
  }
}

const step = (counts: number[], at: number) => void (counts[at] = (counts[at] ?? 0) + 1)

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

const added = (lists: readonly number[][], into: number[]): number[] =>
  lists.reduce((sums, counts) => sums.map((it, at) => it + (counts[at] ?? 0)), into)
