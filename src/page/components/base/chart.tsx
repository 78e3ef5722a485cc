import { useEffect, useRef } from 'preact/hooks'

import type { ChartTone } from './draw-chart.ts'

/** null: no column. */
type Series = { label: string; values: readonly (number | null)[]; tone: ChartTone }

type ChartProps = {
  /** Text alternative for screen readers; the table beside the chart has the figures. */
  label: string
  /** Epoch seconds, ascending. */
  times: readonly number[]
  series: readonly Series[]
  figure: (value: number) => string
  /** true: days, labelled in UTC. false: hours, labelled in the time zone of the browser. */
  by_day: boolean
  /** The values are whole numbers, so the axis has no fractional ticks. */
  counted?: boolean
}

const HEIGHT = 220

/** Columns over time. The chart library is loaded with the first chart. */
export function Chart({ label, times, series, figure, by_day, counted = false }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const drawn = JSON.stringify([times, series])
  useEffect(() => {
    const root = box.current
    if (root === null) return
    let gone = false
    let done = () => {}
    void (async () => {
      const { drawChart } = await import('./draw-chart.ts')
      if (gone) return
      done = drawChart(root, { times, series, figure, by_day, counted, height: HEIGHT })
    })()
    return () => {
      gone = true
      done()
    }
    // Compares content: the arrays are new at each render.
  }, [drawn])
  return <div ref={box} class="chart" role="img" aria-label={label} />
}
