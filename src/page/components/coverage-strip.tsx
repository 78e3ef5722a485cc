import { count, exactDuration, inFull, many } from '../lib/format.ts'
import { isCollecting, monitorStatus, stretchesOf } from '../lib/monitor-status.ts'
import { dayGapReason } from '../lib/reasons.ts'
import type { CoverageDay, Health } from '../lib/types.ts'
import { Time, useNow } from './base/time.tsx'

const WIDTH = 1440
const HEIGHT = 20
const LEAST = 6
const DAY_MS = 86_400_000

/** Keeps short periods visible with a minimum width. */
function barPosition(from: number, until: number): { x: number; width: number } {
  const width = Math.max(LEAST, until - from)
  return { x: Math.min(from, WIDTH - width), width }
}

/** The last 24 hours of a monitor: observed periods and gaps. */
export function CoverageStrip({ health, legend = false }: { health: Health; legend?: boolean }) {
  const now = useNow()
  if (isCollecting(health, now))
    return (
      <p class="quiet">
        Collecting since <Time at={health.coverage_24h.since} />. The coverage of a day is drawn
        here after a quarter of an hour.
      </p>
    )
  const stretches = stretchesOf(health.coverage_24h, now)
  const instant = (part: number) => inFull(now - DAY_MS + part * DAY_MS)
  return (
    <div class="strip">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The last 24 hours: ${monitorStatus(health).detail}`}
      >
        <rect class="unwatched" width={WIDTH} height={HEIGHT} />
        {stretches.map(({ kind, from, until, why }, at) => (
          <rect key={at} class={kind} {...barPosition(from * WIDTH, until * WIDTH)} height={HEIGHT}>
            <title>
              {kind === 'seen' ? 'Observed' : `${why} ${instant(from)} to ${instant(until)}`}
            </title>
          </rect>
        ))}
      </svg>
      {legend && (
        <div class="strip-words">
          <div class="strip-ends">
            <span>24 hours ago</span>
            <span>12 hours</span>
            <span>now</span>
          </div>
          <ul class="legend">
            <li class="seen">observed</li>
            <li class="gap">gap</li>
            <li class="healed">recovered</li>
            <li class="blind">not observed</li>
            <li class="unwatched">not yet monitored</li>
          </ul>
        </div>
      )}
    </div>
  )
}

const COLUMN = 16
const COLUMN_HEIGHT = 40
/** The least height of what is not complete, so that minutes of a day are seen. */
const LEAST_HEIGHT = 6

/** Days of a monitor, a column each: what is complete below, what is not above it. */
export function DayStrip({ days }: { days: readonly CoverageDay[] }) {
  const broken = days.filter(({ gaps }) => gaps.some(({ status }) => status === 'degraded')).length
  const width = days.length * COLUMN
  return (
    <div class="strip days">
      <svg
        viewBox={`0 0 ${width} ${COLUMN_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${many(days.length, 'day')}, ${broken === 0 ? 'none' : count(broken)} with gaps`}
      >
        <rect class="unwatched" width={width} height={COLUMN_HEIGHT} />
        {days.map((it, n) => (
          <Column key={it.day} day={it} at={n} is_last={n === days.length - 1} />
        ))}
      </svg>
      <div class="strip-words">
        <div class="strip-ends">
          <span>{days[0]?.day}</span>
          <span>{days.at(-1)?.day}</span>
        </div>
        <ul class="legend">
          <li class="seen">complete</li>
          <li class="gap">gap</li>
          <li class="blind">not verified</li>
          <li class="unwatched">not monitored</li>
        </ul>
      </div>
    </div>
  )
}

function Column({ day, at, is_last }: { day: CoverageDay; at: number; is_last: boolean }) {
  const { complete_s, not_verified_s, unwatched_s, gaps } = day
  const all_s = complete_s + not_verified_s + unwatched_s
  const lengthOf = (status: string) =>
    gaps
      .filter((it) => it.status === status)
      .reduce((sum, { from, until }) => sum + Date.parse(until) - Date.parse(from), 0) / 1000
  const heightOf = (seconds: number, least = 0) =>
    seconds === 0 ? 0 : Math.max(least, (seconds / all_s) * COLUMN_HEIGHT)
  const gap = heightOf(lengthOf('degraded'), LEAST_HEIGHT)
  // The newest minutes of the present day are never verified yet.
  const blind = heightOf(lengthOf('partial'), gap > 0 || is_last ? 0 : LEAST_HEIGHT)
  const seen = Math.min(heightOf(complete_s), COLUMN_HEIGHT - gap - blind)
  const bars: [string, number, number][] = [
    ['gap', COLUMN_HEIGHT - seen - blind - gap, gap],
    ['blind', COLUMN_HEIGHT - seen - blind, blind],
    ['seen', COLUMN_HEIGHT - seen, seen],
  ]
  const figures = `${day.day}: ${exactDuration(complete_s)} complete, ${exactDuration(not_verified_s)} not verified`
  return (
    <g>
      {bars.map(([kind, y, height]) => (
        <rect key={kind} class={kind} x={at * COLUMN} y={y} width={COLUMN - 2} height={height} />
      ))}
      <title>{[figures, ...new Set(gaps.map(dayGapReason))].join('. ')}</title>
    </g>
  )
}
