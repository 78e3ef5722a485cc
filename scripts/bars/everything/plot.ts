import { escaped } from '../../bench/figures/plot.ts'
import type { Minute } from './judge.ts'

type Line = { label: string; color: string; of: (it: Minute) => number | null }
type Panel = { title: string; lines: readonly Line[] }

const [WIDTH, LEFT, RIGHT, TOP] = [900, 70, 20, 40]
const [HEIGHT, GAP] = [110, 44]
const [BLUE, ORANGE, GREEN] = ['#26c', '#c64', '#3a3']

const PANELS: readonly Panel[] = [
  {
    title: 'memory, MiB',
    lines: [
      { label: 'primary', color: BLUE, of: ({ rss }) => rss },
      { label: 'standby', color: ORANGE, of: ({ standby_rss }) => standby_rss },
    ],
  },
  {
    title: 'event loop late, p99.9 of a minute, ms',
    lines: [{ label: 'primary', color: BLUE, of: ({ late_p999_ms }) => late_p999_ms }],
  },
  {
    title: 'files, MiB',
    lines: [
      { label: 'database', color: BLUE, of: ({ database }) => database },
      { label: 'archive', color: ORANGE, of: ({ archive }) => archive },
      { label: 'log of the database', color: GREEN, of: ({ log }) => log },
    ],
  },
  {
    title: 'deliveries since the start',
    lines: [
      { label: 'expected', color: ORANGE, of: ({ expected }) => expected },
      { label: 'accepted', color: BLUE, of: ({ accepted }) => accepted },
    ],
  },
  {
    title: 'matches older than two minutes that wait for a receiver or the model',
    lines: [{ label: 'waiting', color: BLUE, of: ({ waiting }) => waiting }],
  },
]

const format = (value: number) =>
  value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })

/** Figures of a run over time, as SVG: a panel each, takeovers as grey lines. */
export function plotOf(minutes: readonly Minute[], title: string): string {
  const last = minutes.at(-1)?.minute ?? 1
  const height = TOP + PANELS.length * (HEIGHT + GAP)
  const xOf = (minute: number) => LEFT + (minute / last) * (WIDTH - LEFT - RIGHT)
  const takeovers = minutes.filter((it, n) => it.takeovers > (minutes[n - 1]?.takeovers ?? 0))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="12" y="20" font-size="14" font-weight="bold">${escaped(title)}; grey lines are takeovers</text>`,
    ...PANELS.flatMap((panel, n) =>
      panelOf(panel, { minutes, takeovers, xOf, top: TOP + n * (HEIGHT + GAP) + 20 }),
    ),
    `<text x="${WIDTH - RIGHT}" y="${height - 6}" text-anchor="end" fill="#555">${last} minutes</text>`,
    '</svg>',
    '',
  ].join('\n')
}

type Frame = {
  minutes: readonly Minute[]
  takeovers: readonly Minute[]
  xOf: (minute: number) => number
  top: number
}

function panelOf({ title, lines }: Panel, { minutes, takeovers, xOf, top }: Frame): string[] {
  const most = Math.max(1, ...lines.flatMap(({ of }) => minutes.map((it) => finite(of(it)))))
  const yOf = (value: number) => top + HEIGHT - (value / most) * HEIGHT
  const legend = lines
    .map(({ label, color }) => `<tspan fill="${color}" dx="12">${escaped(label)}</tspan>`)
    .join('')
  return [
    `<text x="${LEFT}" y="${top - 6}"><tspan font-weight="bold">${escaped(title)}</tspan>${legend}</text>`,
    ...[0, 0.5, 1].map(
      (share) =>
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${yOf(most * share)}" y2="${yOf(most * share)}" stroke="#ddd"/><text x="${LEFT - 6}" y="${yOf(most * share) + 4}" text-anchor="end" fill="#555">${format(most * share)}</text>`,
    ),
    ...takeovers.map(
      ({ minute }) =>
        `<line x1="${xOf(minute).toFixed(1)}" x2="${xOf(minute).toFixed(1)}" y1="${top}" y2="${top + HEIGHT}" stroke="#bbb"/>`,
    ),
    ...lines.map(
      ({ color, of }) =>
        `<path d="${pathOf(minutes, { of, xOf, yOf })}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
    ),
  ]
}

const finite = (value: number | null) => (value !== null && Number.isFinite(value) ? value : 0)

/** A path that is interrupted where there is no value. */
function pathOf(
  minutes: readonly Minute[],
  { of, xOf, yOf }: { of: Line['of']; xOf: Frame['xOf']; yOf: (value: number) => number },
): string {
  let is_drawn = false
  return minutes
    .flatMap((it) => {
      const value = of(it)
      if (value === null || !Number.isFinite(value)) {
        is_drawn = false
        return []
      }
      const step = `${is_drawn ? 'L' : 'M'}${xOf(it.minute).toFixed(1)} ${yOf(value).toFixed(1)}`
      is_drawn = true
      return [step]
    })
    .join('')
}
