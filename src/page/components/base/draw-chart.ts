import UPlot from 'uplot'

/** A colour variable of the theme. */
export type ChartTone =
  'accent' | 'bad' | 'seen' | 'healed' | 'gap' | 'blind' | `voice-${1 | 2 | 3 | 4 | 5 | 6}`

type Drawing = {
  times: readonly number[]
  series: readonly { label: string; values: readonly (number | null)[]; tone: ChartTone }[]
  figure: (value: number) => string
  by_day: boolean
  counted: boolean
  /** The columns of one time stand on each other, the first series on top. */
  stacked: boolean
  height: number
}

/** Draws columns in the colours of the theme and redraws on a resize or theme change. Returns the disposer. */
export function drawChart(root: HTMLElement, drawing: Drawing): () => void {
  let chart = draw(root, drawing)
  const again = () => {
    chart.destroy()
    chart = draw(root, drawing)
  }
  const sized = new ResizeObserver(() => chart.setSize(sizeOf(root, drawing.height)))
  sized.observe(root)
  const themed = new MutationObserver(again)
  themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const dark = matchMedia('(prefers-color-scheme: dark)')
  dark.addEventListener('change', again)
  return () => {
    sized.disconnect()
    themed.disconnect()
    dark.removeEventListener('change', again)
    chart.destroy()
  }
}

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const date = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const time = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** Formats an instant in epoch seconds. */
const instant = (at: number, by_day: boolean): string =>
  by_day ? day.format(at * 1000) : `${time.format(at * 1000)}, ${date.format(at * 1000)}`

/** Labels of ticks of a time axis; hours have their date where it begins. */
const labelsOf = (ticks: readonly number[], by_day: boolean): string[] =>
  ticks.map((it, at) => {
    if (by_day) return instant(it, by_day)
    const before = ticks[at - 1]
    const on = date.format(it * 1000)
    const is_new = before === undefined || date.format(before * 1000) !== on
    return time.format(it * 1000) + (is_new ? `\n${on}` : '')
  })

/** Tick steps of an axis with whole numbers. */
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat()

const sizeOf = ({ clientWidth }: HTMLElement, height: number) => ({
  width: Math.max(clientWidth, 200),
  height,
})

function draw(
  root: HTMLElement,
  { times, series, figure, by_day, counted, stacked, height }: Drawing,
): UPlot {
  const style = getComputedStyle(root)
  const colour = (name: string) => resolved(root, name)
  const columns = UPlot.paths.bars?.({ size: [0.7, 48], radius: 0.15 })
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style.fontFamily}`,
  }
  return new UPlot(
    {
      ...sizeOf(root, height),
      ...(by_day && { tzDate: (at: number) => UPlot.tzDate(new Date(at * 1000), 'Etc/UTC') }),
      legend: { show: series.length > 1 },
      cursor: { drag: { x: false, y: false } },
      // Centres a single column instead of drawing it at the edge.
      scales: {
        x: { range: (_, min, max) => spread(min, max) },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        { ...axis, space: 64, values: (_, ticks) => labelsOf(ticks, by_day) },
        {
          ...axis,
          size: 70,
          values: (_, ticks) => ticks.map(figure),
          ...(counted && { incrs: WHOLE }),
        },
      ],
      series: [
        {
          label: by_day ? 'Day' : 'Hour',
          value: (_, at: number | null) => (at === null ? '–' : instant(at, by_day)),
        },
        ...series.map(({ label, tone, values }) => ({
          label,
          stroke: colour(tone),
          fill: colour(tone),
          ...(columns && { paths: columns }),
          points: { show: false },
          // The column of a stack is higher than its value.
          value: (_: UPlot, __: number | null, ___: number, at: number | null) => {
            const it = at === null ? null : (values[at] ?? null)
            return it === null ? '–' : figure(it)
          },
        })),
      ],
    },
    [[...times], ...series.map(({ values }, at) => (stacked ? heights(series, at) : [...values]))],
    root,
  )
}

/** Tops of the columns of a series in a stack: its values and those below. Later series are drawn over them. */
const heights = (series: Drawing['series'], from: number): (number | null)[] =>
  (series[from]?.values ?? []).map((_, at) => {
    const sum = series.slice(from).reduce((total, { values }) => total + (values[at] ?? 0), 0)
    return sum === 0 ? null : sum
  })

/** Resolves a CSS colour variable of the current theme for the canvas. */
function resolved(root: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${name})`
  root.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const spread = (min: number, max: number): [number, number] => {
  const padding = Math.max((max - min) * 0.05, 1800)
  return [min - padding, max + padding]
}
