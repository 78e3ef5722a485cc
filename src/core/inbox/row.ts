import * as z from 'zod'

import { once } from '../base/lazy.ts'
import { visibleText } from '../enrichment/markdown.ts'
import { ofItemKey } from '../forum/items.ts'
import { isErasedRow, keyOfRow } from '../forum/purge.ts'
import { excerptAround, findTerms, type TextRange } from './excerpt.ts'

/** Text of an item with its terms, as the inbox shows it. Null: not known, or erased. */
export type InboxText = {
  kind: 'post' | 'comment'
  title: string | null
  excerpt: string
  highlights: (TextRange & { in: 'title' | 'excerpt' })[]
  matched_terms: string[]
  url: string | null
  place: string
  author: string | null
  score: number | null
  comments: number | null
  created: string | null
  sentiment: string | null
  intent: string | null
  relevance: number | null
  erased: boolean
}

const rowShape = once(() => {
  const text = z.string().catch('')
  const textOrNull = z.string().nullable().catch(null)
  const numberOrNull = z.number().nullable().catch(null)
  const enrichment = z.looseObject({
    relevance: z
      .looseObject({
        score: numberOrNull,
        matched_terms: z.array(z.string()).catch([]),
      })
      .catch({ score: null, matched_terms: [] }),
    sentiment: z.looseObject({ label: textOrNull }).catch({ label: null }),
    intent: z.looseObject({ tag: textOrNull }).catch({ tag: null }),
  })
  return z.looseObject({
    name: text,
    title: textOrNull,
    link_title: textOrNull,
    text,
    body: text,
    url: textOrNull,
    author: textOrNull,
    upvotes: numberOrNull,
    comments: numberOrNull,
    score_hidden: z.boolean().catch(false),
    created: textOrNull,
    enrichment: enrichment.catch(() => enrichment.parse({})),
    judgement: z.looseObject({}).nullable().catch(null),
  })
})

const bodyShape = once(() => z.looseObject({ items: z.array(z.looseObject({})).catch([]) }))

export type StoredRow = Record<string, unknown>

/** The rows of a stored match, by the keys of their items. */
export function rowsOfBody(body: Uint8Array): Map<string, StoredRow> {
  const { items } = bodyShape().parse(JSON.parse(new TextDecoder().decode(body)))
  return new Map(
    items.flatMap((it) => {
      const key = keyOfRow(it)
      return key === null ? [] : [[key, it] as const]
    }),
  )
}

export function searchableText(row: StoredRow): string {
  const { title, link_title, text, body } = rowShape().parse(row)
  return `${title ?? link_title ?? ''}\n${visibleText(text === '' ? body : text)}`
}

/** The most of a text that is answered, in UTF-16 units. Longer texts end with an ellipsis. */
const WHOLE_TEXT_MAX = 40_000

/** The whole text of a row, in the markdown of its author; null: erased. */
export function wholeText(row: StoredRow): string | null {
  if (isErasedRow(row)) return null
  const { text, body } = rowShape().parse(row)
  const written = text === '' ? body : text
  // Never ends within a surrogate pair.
  return written.length <= WHOLE_TEXT_MAX
    ? written
    : `${written.slice(0, WHOLE_TEXT_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Verdict of the operator's model on a match of a monitor; scores are from 0 to 1, null: it was unavailable. */
export type RowJudgement = { score: number | null; min_score: number | null; reason: string | null }

const judgementShape = once(() =>
  z.object({
    score: z.number().nullable().catch(null),
    min_score: z.number().nullable().catch(null),
    reason: z.string().nullable().catch(null),
  }),
)

/** The verdict in a row; null if its monitor asks for none, or the row is erased. */
export function judgementOfRow(row: StoredRow): RowJudgement | null {
  if (isErasedRow(row)) return null
  const { judgement } = rowShape().parse(row)
  return judgement === null ? null : judgementShape().parse(judgement)
}

/** Terms that monitors matched in a row, at most a few dozen. */
export const termsOfRow = (row: StoredRow): string[] =>
  rowShape().parse(row).enrichment.relevance.matched_terms

/** A row as the inbox shows it. `terms`: those of all monitors. `community`: the API's word for a subforum. */
export function toInboxText(
  row: StoredRow,
  terms: readonly string[],
  community: string,
): InboxText {
  const it = rowShape().parse(row)
  const erased = isErasedRow(row)
  const place = row[community]
  const shown = erased ? '' : visibleText(it.text === '' ? it.body : it.text)
  const excerpt = excerptAround(shown, terms)
  const is_comment = it.name.startsWith('t1_')
  const title = (is_comment ? it.link_title : it.title) || null
  const { relevance, sentiment, intent } = it.enrichment
  return {
    kind: is_comment ? 'comment' : 'post',
    title: erased ? null : title,
    excerpt,
    highlights: erased
      ? []
      : [
          ...findTerms(title ?? '', terms).map((range) => ({ in: 'title' as const, ...range })),
          ...findTerms(excerpt, terms).map((range) => ({ in: 'excerpt' as const, ...range })),
        ],
    matched_terms: erased ? [] : [...terms],
    url: erased ? null : it.url || null,
    place: typeof place === 'string' ? place : '',
    author: erased ? null : it.author || null,
    score: it.score_hidden || erased ? null : it.upvotes,
    comments: erased ? null : it.comments,
    created: it.created,
    sentiment: sentiment.label || null,
    intent: intent.tag || null,
    relevance: relevance.score,
    erased,
  }
}

/** An item of which no body is stored any more. */
export const missingText = (item_id: string): InboxText => ({
  ...toInboxText({ name: ofItemKey(item_id).name }, [], ''),
  erased: true,
})
