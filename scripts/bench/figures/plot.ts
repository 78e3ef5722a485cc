import { aimOf, type Ratio, reaches, type Result } from './results.ts'

const [WIDTH, LABELS, RIGHT, ROW, TOP] = [900, 470, 60, 22, 56]
/** Logarithmic scale, from a hundredth to thirty times. */
const [LEAST, MOST] = [0.01, 30]
const TICKS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]

const xOf = (ratio: number): number => {
  const clamped = Math.min(MOST, Math.max(LEAST, ratio))
  const share = Math.log(clamped / LEAST) / Math.log(MOST / LEAST)
  return LABELS + share * (WIDTH - LABELS - RIGHT)
}

/** Text as content of an SVG element. */
export const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Every ratio as a bar from 1, green where it reaches the aim, with the aim as a black line. */
export function plotOf(results: readonly Result[]): string {
  const lines: string[] = []
  let y = TOP
  for (const { title, ratios } of results) {
    if (ratios.length === 0) continue
    lines.push(`<text x="12" y="${y + 12}" font-weight="bold">${escaped(title)}</text>`)
    y += ROW
    for (const ratio of ratios) {
      lines.push(...barOf(ratio, y))
      y += ROW
    }
    y += ROW / 2
  }
  const grid = TICKS.map((tick) => {
    const x = xOf(tick).toFixed(1)
    return `<line x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${y}" stroke="${tick === 1 ? '#555' : '#ddd'}"/><text x="${x}" y="${TOP - 12}" text-anchor="middle" fill="#555">${tick}</text>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y + 12}" viewBox="0 0 ${WIDTH} ${y + 12}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="12" y="20" font-size="14" font-weight="bold">forumd compared with others: forumd divided by the peer; a black line is the aim</text>`,
    ...grid,
    ...lines,
    '</svg>',
    '',
  ].join('\n')
}

function barOf(ratio: Ratio, y: number): string[] {
  if (!Number.isFinite(ratio.value)) return []
  const [one, at] = [xOf(1), xOf(ratio.value)]
  const met = reaches(ratio)
  const color = met === null ? '#8aa' : met ? '#3a3' : '#c64'
  const aim = ratio.least ?? ratio.most
  const label = aim === undefined ? ratio.label : `${ratio.label} (${aimOf(ratio)})`
  const bar = `<rect x="${Math.min(one, at).toFixed(1)}" y="${y + 2}" width="${Math.max(1, Math.abs(at - one)).toFixed(1)}" height="${ROW - 8}" fill="${color}"/>`
  const beside = `<text x="${(Math.max(one, at, xOf(aim ?? LEAST)) + 6).toFixed(1)}" y="${y + 13}">${ratio.value.toFixed(2)}</text>`
  const stroke =
    aim === undefined
      ? []
      : [
          `<line x1="${xOf(aim).toFixed(1)}" x2="${xOf(aim).toFixed(1)}" y1="${y}" y2="${y + ROW - 4}" stroke="#000" stroke-width="2"/>`,
        ]
  return [`<text x="24" y="${y + 13}">${escaped(label)}</text>`, bar, beside, ...stroke]
}
