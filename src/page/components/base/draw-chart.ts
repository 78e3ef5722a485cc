import UPlot from 'uplot'

export type ChartTone = 'accent' | 'bad'

type Drawing = {
  times: readonly number[]
  series: readonly { label: string; values: readonly (number | null)[]; tone: ChartTone }[]
  figure: (value: number) => string
  by_day: boolean
  counted: boolean
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
  { times, series, figure, by_day, counted, height }: Drawing,
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
        ...series.map(({ label, tone }) => ({
          label,
          stroke: colour(tone),
          fill: colour(tone),
          ...(columns && { paths: columns }),
          points: { show: false },
          value: (_: UPlot, it: number | null) => (it === null ? '–' : figure(it)),
        })),
      ],
    },
    [[...times], ...series.map(({ values }) => [...values])],
    root,
  )
}

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
