import { inFull } from '../show.ts'
import { standingOf, stretchesOf } from '../standing.ts'
import type { Health } from '../types.ts'
import { useNow } from './time.tsx'

const WIDTH = 1440
const HEIGHT = 20
const LEAST = 6
const DAY_MS = 86_400_000

/** However short it was, it can be seen. */
function placed(from: number, until: number): { x: number; width: number } {
  const width = Math.max(LEAST, until - from)
  return { x: Math.min(from, WIDTH - width), width }
}

/** The last 24 hours of a monitor: what was seen, and where something may be missing. */
export function Strip({ health, legend = false }: { health: Health; legend?: boolean }) {
  const now = useNow()
  const stretches = stretchesOf(health.coverage_24h, now)
  const instant = (part: number) => inFull(now - DAY_MS + part * DAY_MS)
  return (
    <div class="strip">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The last 24 hours: ${standingOf(health).detail}`}
      >
        <rect class="unwatched" width={WIDTH} height={HEIGHT} />
        {stretches.map(({ kind, from, until, why }, at) => (
          <rect key={at} class={kind} {...placed(from * WIDTH, until * WIDTH)} height={HEIGHT}>
            <title>
              {kind === 'seen' ? 'Seen' : `${why} ${instant(from)} to ${instant(until)}`}
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
            <li class="seen">seen</li>
            <li class="gap">may be missing</li>
            <li class="healed">read later</li>
            <li class="blind">not observed</li>
            <li class="unwatched">not watched yet</li>
          </ul>
        </div>
      )}
    </div>
  )
}
