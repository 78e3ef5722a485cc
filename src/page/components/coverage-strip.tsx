import { inFull } from '../lib/format.ts'
import { isCollecting, monitorStatus, stretchesOf } from '../lib/monitor-status.ts'
import type { Health } from '../lib/types.ts'
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
