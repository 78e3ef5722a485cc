type Labels = Record<string, string>

type Reading = number | null | readonly (readonly [Labels, number])[]

/** Numbers for Prometheus. Names without prefix; `forumd_` is put before each. */
export type Metrics = {
  /** Adds `by` (1) to a counter. */
  count(name: string, labels?: Labels, by?: number): void
  /** Sorts a duration, in seconds, into a histogram. */
  observe(name: string, seconds: number, labels?: Labels): void
  /** A number that is asked for at every scrape, or one for each set of labels; null while there is none. */
  gauge(name: string, help: string, read: () => Reading): void
  /** The text format, version 0.0.4. */
  render(): string
}

const BOUNDS_S = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const SERIES_MAX = 5_000

type Histogram = { buckets: number[]; sum: number; count: number }

const escape = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
const render = (labels: Labels) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(',')
const series = (name: string, labels: string) => (labels === '' ? name : `${name}{${labels}}`)

/** The series of a name; a name whose labels run away gets no new ones. */
function of<T>(all: Map<string, Map<string, T>>, name: string, labels: string, fresh: () => T) {
  const known = all.get(name) ?? new Map<string, T>()
  all.set(name, known)
  const value = known.get(labels) ?? (known.size < SERIES_MAX ? fresh() : null)
  return { known, value }
}

const head = (name: string, kind: string, text: string) => [
  `# HELP forumd_${name} ${text}`,
  `# TYPE forumd_${name} ${kind}`,
]

/** A registry. What each counter and histogram means is told once, in `help`. */
export function createMetrics(help: Record<string, string>): Metrics {
  const counters = new Map<string, Map<string, number>>()
  const histograms = new Map<string, Map<string, Histogram>>()
  const gauges = new Map<string, { help: string; read: () => Reading }>()

  function count(name: string, labels: Labels = {}, by = 1) {
    const key = render(labels)
    const { known, value } = of(counters, name, key, () => 0)
    if (value !== null) known.set(key, value + by)
  }

  function observe(name: string, seconds: number, labels: Labels = {}) {
    const key = render(labels)
    const { known, value } = of(histograms, name, key, () => ({
      buckets: BOUNDS_S.map(() => 0),
      sum: 0,
      count: 0,
    }))
    if (value === null) return
    value.sum += seconds
    value.count += 1
    for (const [index, bound] of BOUNDS_S.entries())
      if (seconds <= bound) value.buckets[index] = (value.buckets[index] ?? 0) + 1
    known.set(key, value)
  }

  function* lines(): Generator<string> {
    for (const [name, known] of counters) {
      yield* head(name, 'counter', help[name] ?? name)
      for (const [labels, value] of known) yield `${series(`forumd_${name}`, labels)} ${value}`
    }
    for (const [name, known] of histograms) {
      yield* head(name, 'histogram', help[name] ?? name)
      for (const [labels, { buckets, sum, count: all }] of known) {
        const le = (bound: string) => (labels === '' ? '' : `${labels},`) + `le="${bound}"`
        for (const [index, bound] of BOUNDS_S.entries())
          yield `forumd_${name}_bucket{${le(String(bound))}} ${buckets[index] ?? 0}`
        yield `forumd_${name}_bucket{${le('+Inf')}} ${all}`
        yield `${series(`forumd_${name}_sum`, labels)} ${sum}`
        yield `${series(`forumd_${name}_count`, labels)} ${all}`
      }
    }
    for (const [name, { help: text, read }] of gauges) {
      const value = read()
      if (value === null) continue
      yield* head(name, 'gauge', text)
      const known = typeof value === 'number' ? [[{}, value] as const] : value
      for (const [labels, each] of known)
        yield `${series(`forumd_${name}`, render(labels))} ${each}`
    }
  }

  return {
    count,
    observe,
    gauge: (name, text, read) => void gauges.set(name, { help: text, read }),
    render: () => [...lines(), ''].join('\n'),
  }
}
