import { type Item, MORE_PLACES } from '../forum/items.ts'

/** Rows of one second of creation. A second that is full goes on in the next ones. */
export const ROWS_PER_SECOND = 4096
const SPAN_S = 4 * 86_400

/** First row of an instant, epoch ms. */
export const firstRowOf = (at: number): number =>
  Math.max(0, Math.floor(at / 1000)) * ROWS_PER_SECOND

/** Creation of the item of a row, epoch ms; a few seconds late where seconds were full. */
export const createdAtOf = (row: number): number => Math.floor(row / ROWS_PER_SECOND) * 1000

/** Number of the span of creation time that a row is in. */
export const indexSpanOf = (row: number): number => Math.floor(row / (SPAN_S * ROWS_PER_SECOND))

export const firstRowOfSpan = (span: number): number => span * SPAN_S * ROWS_PER_SECOND

export const encodeItem = (item: Item): string => {
  const { [MORE_PLACES]: more_places } = item
  return JSON.stringify(more_places === undefined ? item : { ...item, more_places })
}

type Stored = Item & { more_places?: readonly string[] | null }

export function decodeItem(text: string): Item {
  const stored: Stored = JSON.parse(text)
  if (!('more_places' in stored)) return stored
  const { more_places, ...item } = stored
  return { ...item, [MORE_PLACES]: more_places }
}
