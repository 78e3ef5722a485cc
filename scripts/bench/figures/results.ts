/** A figure that every variant of a bench has. */
type Figure = { key: string; label: string; digits: number }

/** A participant with its values per round and figure; a figure that it does not have is absent. */
export type Variant = { name: string; rounds: Record<string, number[]> }

/** forumd's median divided by a peer's, for one figure. The aim is at least `least` or at most `most`. */
export type Ratio = { label: string; value: number; least?: number; most?: number }

export type Measured = {
  figures: readonly Figure[]
  variants: readonly Variant[]
  ratios: readonly Ratio[]
  /** Remarks needed to interpret the figures. */
  notes: readonly string[]
}

export type Options = {
  /** Rounds per variant. */
  rounds: number
  /** Checks that the bench runs; its figures mean nothing. */
  smoke: boolean
  /** Largest table of the benches that grow. */
  most_rows: number
}

export type Bench = {
  /** Value for `--only`. */
  name: string
  title: string
  /** The measurement, in a sentence or two. */
  about: string
  run: (options: Options) => Promise<Measured>
}

/** A saved result of a bench. */
export type Result = Measured & {
  name: string
  title: string
  about: string
  at: string
  machine: string
  revision: string
  rounds: number
  load: { before: number; after: number }
}

/** Median; for an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[Math.ceil(sorted.length / 2) - 1],
    sorted[Math.floor(sorted.length / 2)],
  ]
  return (low + high) / 2
}

/** Quantile: the value below which this share of them lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Ratio of two variants by one figure, from their medians. */
export function ratioOf(
  variants: readonly Variant[],
  key: string,
  [ours, theirs]: readonly [string, string],
  rest: Omit<Ratio, 'value'>,
): Ratio {
  const of = (name: string) =>
    median(variants.find((it) => it.name === name)?.rounds[key] ?? [Number.NaN])
  return { ...rest, value: of(ours) / of(theirs) }
}

/** True if a ratio reaches its aim; null if it has none. */
export function reaches({ value, least, most }: Ratio): boolean | null {
  if (least === undefined && most === undefined) return null
  return (least === undefined || value >= least) && (most === undefined || value <= most)
}

/** The aim of a ratio as text. */
export const aimOf = ({ least, most }: Ratio): string =>
  least !== undefined ? `at least ${least}` : most !== undefined ? `at most ${most}` : ''

const format = (value: number, digits: number) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`

/** A result as Markdown: date, machine, medians and ratios. */
export function markdownOf(it: Result): string {
  const head = ['', ...it.figures.map(({ label }) => label)]
  const rows = it.variants.map(({ name, rounds }) => [
    name,
    ...it.figures.map(({ key, digits }) => {
      const values = rounds[key]
      return values === undefined ? '' : format(median(values), digits)
    }),
  ])
  const ratios = it.ratios.map((ratio) => {
    const met = reaches(ratio)
    return [
      ratio.label,
      ratio.value.toFixed(2),
      aimOf(ratio),
      met === null ? '' : met ? 'yes' : 'no',
    ]
  })
  const load = `load ${it.load.before.toFixed(1)} before and ${it.load.after.toFixed(1)} after`
  return [
    `### ${it.title}`,
    it.about,
    `${it.at}, ${it.machine}, revision ${it.revision}, ${load}; ${it.rounds} alternating rounds, medians:`,
    [head, head.map(() => '---'), ...rows].map(line).join('\n'),
    ...(ratios.length === 0
      ? []
      : [
          [['ratio', 'ours', 'aim', 'met'], ['---', '---', '---', '---'], ...ratios]
            .map(line)
            .join('\n'),
        ]),
    ...it.notes,
  ].join('\n\n')
}
