import * as z from 'zod'

import { once } from '../base/lazy.ts'
import { ofItemKey } from '../forum/items.ts'
import { isErasedRow } from '../forum/purge.ts'

/** An item of a match, as the inbox stores it: what its list filters by, without texts. Names are in lower case. */
export type InboxArrival = {
  item_id: string
  source: string
  place: string
  /** Null if unknown or erased. */
  author: string | null
  /** Label of its sentiment. */
  sentiment: string | null
}

const rowShape = once(() =>
  z.looseObject({
    author: z.string().nullable().catch(null),
    enrichment: z
      .looseObject({
        sentiment: z
          .looseObject({ label: z.string().nullable().catch(null) })
          .catch({ label: null }),
      })
      .catch({ sentiment: { label: null } }),
  }),
)

/** Names in the place of accounts that are gone. */
const NO_AUTHORS: ReadonlySet<string> = new Set(['', '[deleted]'])

/** Reads a row, in the form in which it is delivered. `community`: the API's word for a subforum. */
export function arrivalOf(item_id: string, row: object, community: string): InboxArrival {
  const { author, enrichment, [community]: place } = rowShape().parse(row)
  const is_known = author !== null && !NO_AUTHORS.has(author) && !isErasedRow({ author })
  return {
    item_id,
    source: ofItemKey(item_id).source,
    place: typeof place === 'string' ? place.toLowerCase() : '',
    author: is_known ? author.toLowerCase() : null,
    sentiment: enrichment.sentiment.label,
  }
}
