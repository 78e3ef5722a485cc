import { useEffect, useRef } from 'preact/hooks'

/** Null where there is nothing to draw. */
type Series = { label: string; values: readonly (number | null)[]; tone: 'accent' | 'bad' }

type ChartProps = {
  /** What the picture shows, for who cannot see it; a table beside it has the figures. */
  label: string
  /** Epoch seconds, in order. */
  times: readonly number[]
  series: readonly Series[]
  figure: (value: number) => string
  /** Days begin at midnight UTC, as they are counted; hours are those of who looks. */
  by_day: boolean
  /** Of what is counted there are no halves. */
  counted?: boolean
}

const HEIGHT = 220

/** Columns over time. The library is loaded with the first chart; nothing else needs it. */
export function Chart({ label, times, series, figure, by_day, counted = false }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const drawn = JSON.stringify([times, series])
  useEffect(() => {
    const root = box.current
    if (root === null) return
    let gone = false
    let done = () => {}
    void (async () => {
      const { drawChart } = await import('../draw-chart.ts')
      if (gone) return
      done = drawChart(root, { times, series, figure, by_day, counted, height: HEIGHT })
    })()
    return () => {
      gone = true
      done()
    }
    // What is drawn is in the text; the arrays themselves are new at each turn.
  }, [drawn])
  return <div ref={box} class="chart" role="img" aria-label={label} />
}
