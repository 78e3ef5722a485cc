import { plain } from './plain.ts'

type Cell = string | number | boolean | null

/** Rows as aligned columns under the names of their fields; a sentence when there are none. */
export function table(rows: readonly Readonly<Record<string, Cell>>[], none: string): string {
  const [first] = rows
  if (first === undefined) return `${none}\n`
  const names = Object.keys(first)
  const lines = [names, ...rows.map((row) => names.map((name) => shown(row[name] ?? null)))]
  const widths = names.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ''))),
  )
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
    .concat('\n')
}

const shown = (cell: Cell): string => {
  if (cell === null) return '-'
  return typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : plain(String(cell))
}

/** Fields one under the other, their names aligned. */
export function card(fields: Readonly<Record<string, Cell>>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields)
    .map(([name, cell]) => `${name.padEnd(width)}  ${shown(cell)}\n`)
    .join('')
}
