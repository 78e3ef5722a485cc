import { normalise } from '../base/form.ts'
import { ofItemKey } from '../forum/items.ts'
import { isErasedRow } from '../forum/purge.ts'

/** An item of a match, as the inbox stores it: what its list filters by, without texts. Names are in lower case. */
export type InboxArrival = {
  item_id: string
  source: string
  place: string
  /** Null if unknown or erased. */
  author: string | null
}

// Rows are our own: each match is read here, where a schema costs more than the rest.
const fieldOf = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Names in the place of accounts that are gone. */
const NO_AUTHORS: ReadonlySet<string> = new Set(['', '[deleted]'])

/** Reads a row, in the form in which it is delivered. `community`: the API's word for a subforum. */
export function arrivalOf(item_id: string, row: object, community: string): InboxArrival {
  const author = textOf(fieldOf(row, 'author'))
  const is_known = author !== null && !NO_AUTHORS.has(author) && !isErasedRow({ author })
  return {
    item_id,
    source: ofItemKey(item_id).source,
    place: normalise(textOf(fieldOf(row, community)) ?? ''),
    author: is_known ? normalise(author) : null,
  }
}
