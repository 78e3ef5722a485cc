/** Untrusted text without control characters that colour, move the cursor or reverse the text direction. */
export const escapeControl = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

type Cell = string | number | boolean | null

/** Rows as aligned columns under their field names; `none` when there are no rows. */
export function table(rows: readonly Readonly<Record<string, Cell>>[], none: string): string {
  const [first] = rows
  if (first === undefined) return `${none}\n`
  const names = Object.keys(first)
  const lines = [names, ...rows.map((row) => names.map((name) => cellText(row[name] ?? null)))]
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

const cellText = (cell: Cell): string => {
  if (cell === null) return '-'
  return typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : escapeControl(String(cell))
}

/** Fields one per line, with aligned names. */
export function card(fields: Readonly<Record<string, Cell>>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields)
    .map(([name, cell]) => `${name.padEnd(width)}  ${cellText(cell)}\n`)
    .join('')
}
