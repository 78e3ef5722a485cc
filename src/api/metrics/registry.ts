import { fullName, type MetricName, METRICS, type MetricSpec } from './catalogue.ts'

type Labels = Readonly<Record<string, string>>

/** Value of a metric, one per set of labels; null: no value yet. */
export type MetricValue = number | null | readonly (readonly [Labels, number])[]

export type Metrics = {
  /** Adds `by` (default 1) to a counter. With 0 the series exists before its first event. */
  count(name: MetricName, labels?: Labels, by?: number): void
  observe(name: MetricName, seconds: number, labels?: Labels): void
  onScrape(name: MetricName, read: () => MetricValue): void
  /** Registers a reader of several metrics; only the given names are taken from its result. */
  onScrapeAll<Name extends MetricName>(
    names: readonly Name[],
    read: () => Record<Name, MetricValue> | Promise<Record<Name, MetricValue>>,
  ): void
  /**
   * Renders the text format, version 0.0.4. The event loop runs between two readers.
   * @see https://prometheus.io/docs/instrumenting/exposition_formats/
   */
  render(): Promise<string>
}

const SERIES_MAX = 5_000

type Histogram = { buckets: number[]; sum: number; count: number }

// Most labels need no escaping.
const escape = (text: string) =>
  /["\\\n]/.test(text)
    ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : text

/** Runs several times for every API call. */
function render(labels: Labels): string {
  let text = ''
  for (const name in labels)
    text += `${text === '' ? '' : ','}${name}="${escape(labels[name] ?? '')}"`
  return text
}
const series = (name: string, labels: string) => (labels === '' ? name : `${name}{${labels}}`)
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Series of a metric; a metric whose labels exceed the limit gets no new ones. */
function seriesOf<T>(
  all: Map<string, Map<string, T>>,
  name: string,
  labels: string,
  fresh: () => T,
) {
  let entries = all.get(name)
  if (entries === undefined) all.set(name, (entries = new Map<string, T>()))
  const value = entries.get(labels) ?? (entries.size < SERIES_MAX ? fresh() : null)
  return { entries, value }
}

/**
 * Creates a registry; default: the whole catalogue. Not prom-client: it takes three times as long to
 * render and twice as long to count, which every API call does several times.
 */
export function createMetrics(
  catalogue: Partial<Record<MetricName, MetricSpec>> = METRICS,
): Metrics {
  const described = new Map<string, MetricSpec>(Object.entries(catalogue))
  const counters = new Map<string, Map<string, number>>()
  const histograms = new Map<string, Map<string, Histogram>>()
  const collectors: (() => Promise<ReadonlyMap<string, MetricValue>>)[] = []
  function empty(name: string): Histogram {
    const bounds = described.get(name)?.bounds ?? []
    return { buckets: bounds.map(() => 0), sum: 0, count: 0 }
  }

  // A series that exists from the start can show its first increase.
  for (const [name, { kind, labels = [] }] of described) {
    if (labels.length > 0) continue
    if (kind === 'counter') counters.set(name, new Map([['', 0]]))
    if (kind === 'histogram') histograms.set(name, new Map([['', empty(name)]]))
  }

  function count(name: MetricName, labels: Labels = {}, by = 1) {
    const key = render(labels)
    const { entries, value } = seriesOf(counters, name, key, () => 0)
    if (value !== null) entries.set(key, value + by)
  }

  function observe(name: MetricName, seconds: number, labels: Labels = {}) {
    const key = render(labels)
    const bounds = described.get(name)?.bounds ?? []
    const { entries, value } = seriesOf(histograms, name, key, () => empty(name))
    if (value === null) return
    value.sum += seconds
    value.count += 1
    // A bucket includes all lower ones.
    for (let index = bounds.length - 1; index >= 0; index--) {
      if (!(seconds <= (bounds[index] ?? 0))) break
      value.buckets[index] = (value.buckets[index] ?? 0) + 1
    }
    entries.set(key, value)
  }

  function* buckets(name: string, bounds: readonly number[]): Generator<string> {
    for (const [labels, { buckets: sorted, sum, count: all }] of histograms.get(name) ?? []) {
      const le = (bound: string) => (labels === '' ? '' : `${labels},`) + `le="${bound}"`
      for (const [index, bound] of bounds.entries())
        yield `${fullName(name)}_bucket{${le(String(bound))}} ${sorted[index] ?? 0}`
      yield `${fullName(name)}_bucket{${le('+Inf')}} ${all}`
      yield `${series(`${fullName(name)}_sum`, labels)} ${sum}`
      yield `${series(`${fullName(name)}_count`, labels)} ${all}`
    }
  }

  function* lines(answers: ReadonlyMap<string, MetricValue>): Generator<string> {
    for (const [name, { kind, help, bounds = [] }] of described) {
      const full = fullName(name)
      yield `# HELP ${full} ${help}`
      yield `# TYPE ${full} ${kind}`
      const counted = counters.get(name) ?? []
      const answer = answers.get(name)
      if (typeof answer === 'number') yield `${full} ${answer}`
      else if (answer !== null && answer !== undefined)
        for (const [labels, value] of answer) yield `${series(full, render(labels))} ${value}`
      else for (const [labels, value] of counted) yield `${series(full, labels)} ${value}`
      yield* buckets(name, bounds)
    }
  }

  return {
    count,
    observe,
    onScrape: (name, read) => void collectors.push(async () => new Map([[name, read()]])),
    onScrapeAll(names, read) {
      collectors.push(async () => {
        const answers = await read()
        return new Map(names.map((name) => [name, answers[name]]))
      })
    },
    async render() {
      const answers = new Map<string, MetricValue>()
      for (const collect of collectors) {
        await nextTick()
        try {
          for (const [name, answer] of await collect()) answers.set(name, answer)
        } catch {
          // The other metrics are needed most during a failure such as a full disk.
          count('scrape_failures_total')
        }
      }
      return [...lines(answers), ''].join('\n')
    },
  }
}
