import { type Described, fullName, type MetricName, METRICS } from './metrics-catalogue.ts'

type Labels = Readonly<Record<string, string>>

/** A number, one for each set of labels, or null while there is none. */
export type Reading = number | null | readonly (readonly [Labels, number])[]

/** Numbers for Prometheus, by the names of the catalogue. */
export type Metrics = {
  /** Adds `by` (1) to a counter. With 0 a series is there before anything happened. */
  count(name: MetricName, labels?: Labels, by?: number): void
  /** Sorts a duration, in seconds, into a histogram. */
  observe(name: MetricName, seconds: number, labels?: Labels): void
  /** What is asked for at every scrape. */
  ask(name: MetricName, read: () => Reading): void
  /** Several numbers that come of one question; only the names given are taken from its answer. */
  askAll<Name extends MetricName>(
    names: readonly Name[],
    read: () => Record<Name, Reading> | Promise<Record<Name, Reading>>,
  ): void
  /** The text format, version 0.0.4. Others get their turn between two questions. */
  render(): Promise<string>
}

const SERIES_MAX = 5_000

type Histogram = { buckets: number[]; sum: number; count: number }

// Most labels are words of our own.
const escape = (text: string) =>
  /["\\\n]/.test(text)
    ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : text

/** Called several times for every call of the API. */
function render(labels: Labels): string {
  let text = ''
  for (const name in labels)
    text += `${text === '' ? '' : ','}${name}="${escape(labels[name] ?? '')}"`
  return text
}
const series = (name: string, labels: string) => (labels === '' ? name : `${name}{${labels}}`)
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The series of a name; a name whose labels run away gets no new ones. */
function of<T>(all: Map<string, Map<string, T>>, name: string, labels: string, fresh: () => T) {
  let known = all.get(name)
  if (known === undefined) all.set(name, (known = new Map<string, T>()))
  const value = known.get(labels) ?? (known.size < SERIES_MAX ? fresh() : null)
  return { known, value }
}

/** A registry; without a catalogue of everything there is. */
export function createMetrics(
  catalogue: Partial<Record<MetricName, Described>> = METRICS,
): Metrics {
  const described = new Map<string, Described>(Object.entries(catalogue))
  const counters = new Map<string, Map<string, number>>()
  const histograms = new Map<string, Map<string, Histogram>>()
  const questions: (() => Promise<ReadonlyMap<string, Reading>>)[] = []
  function empty(name: string): Histogram {
    const bounds = described.get(name)?.bounds ?? []
    return { buckets: bounds.map(() => 0), sum: 0, count: 0 }
  }

  // What is there from the start can be seen to grow.
  for (const [name, { kind, labels = [] }] of described) {
    if (labels.length > 0) continue
    if (kind === 'counter') counters.set(name, new Map([['', 0]]))
    if (kind === 'histogram') histograms.set(name, new Map([['', empty(name)]]))
  }

  function count(name: MetricName, labels: Labels = {}, by = 1) {
    const key = render(labels)
    const { known, value } = of(counters, name, key, () => 0)
    if (value !== null) known.set(key, value + by)
  }

  function observe(name: MetricName, seconds: number, labels: Labels = {}) {
    const key = render(labels)
    const bounds = described.get(name)?.bounds ?? []
    const { known, value } = of(histograms, name, key, () => empty(name))
    if (value === null) return
    value.sum += seconds
    value.count += 1
    // A bucket holds all that the ones before it hold.
    for (let index = bounds.length - 1; index >= 0; index--) {
      if (!(seconds <= (bounds[index] ?? 0))) break
      value.buckets[index] = (value.buckets[index] ?? 0) + 1
    }
    known.set(key, value)
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

  function* lines(answers: ReadonlyMap<string, Reading>): Generator<string> {
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
    ask: (name, read) => void questions.push(async () => new Map([[name, read()]])),
    askAll(names, read) {
      questions.push(async () => {
        const answers = await read()
        return new Map(names.map((name) => [name, answers[name]]))
      })
    },
    async render() {
      const answers = new Map<string, Reading>()
      for (const ask of questions) {
        await nextTurn()
        try {
          for (const [name, answer] of await ask()) answers.set(name, answer)
        } catch {
          // A full disk, say, is when the other numbers are wanted most.
          count('scrape_failures_total')
        }
      }
      return [...lines(answers), ''].join('\n')
    },
  }
}
