import { createHash } from 'node:crypto'
import { join } from 'node:path'

import * as z from 'zod'

import { isObject } from '../../../src/core/base/object.ts'
import { INTENTS, type IntentTag } from '../../../src/core/enrichment/lexicon/cues.ts'
import { type Sentiment, SENTIMENT_LABELS } from '../../../src/core/enrichment/sentiment.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { isNode, toComment, toPost } from '../../../src/platforms/reddit/readers/items.ts'
import { commentOf } from '../../../test/support/items.ts'
import { readRecordings, unescaped } from '../../../test/support/replay.ts'

// The labelled sets (docs/enrichment.md): contents, sources and annotators.

/** An item with the labels of its annotator. */
export type Labelled = {
  item: Item
  sentiment: Sentiment['label']
  /** Null if not labelled. */
  intent: IntentTag | null
  /** Half of every set is only measured; the other half may be used to write rules. */
  held_out: boolean
}

const Review = z.tuple([
  z.enum(['amazon', 'imdb', 'yelp']),
  z.enum(SENTIMENT_LABELS),
  z.enum(INTENTS).or(z.literal('')),
  z.string().min(1),
])
const Recorded = z.tuple([
  z.string().regex(/^t[13]_\w+$/),
  z.enum(SENTIMENT_LABELS),
  z.enum(INTENTS),
])

/** Sentences of reviews, which the repository carries, as if each were a comment. */
export async function reviewSet(): Promise<Labelled[]> {
  const rows = await rowsOf('reviews.tsv')
  return rows.map((row, at) => {
    const [, sentiment, intent, body] = Review.parse(row)
    const item = commentOf({ id: `r${at}`, name: `t1_r${at}`, body, link_title: null })
    return { item, sentiment, intent: intent === '' ? null : intent, held_out: isHeldOut(body) }
  })
}

/** Posts and comments of the recordings in `folder`; the repository carries their ids and labels only. */
export async function recordedSet(folder: string): Promise<Labelled[]> {
  const items = itemsIn(folder)
  const rows = await rowsOf('recorded.tsv')
  return rows.map((row) => {
    const [name, sentiment, intent] = Recorded.parse(row)
    const item = items.get(name)
    if (item === undefined) throw new Error(`${folder} does not hold ${name}`)
    return { item, sentiment, intent, held_out: isHeldOut(name) }
  })
}

const isHeldOut = (key: string): boolean =>
  (createHash('sha256').update(key).digest()[0] ?? 0) % 2 === 0

async function rowsOf(file: string): Promise<string[][]> {
  const text = await Bun.file(join(import.meta.dir, file)).text()
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.slice(1).map((line) => line.split('\t'))
}

// Sorted by path, the first copy of an item counts, which is the labelled one.
function itemsIn(folder: string): Map<string, Item> {
  const items = new Map<string, Item>()
  for (const { file, body, escaped } of readRecordings(folder).toSorted((a, b) =>
    a.file < b.file ? -1 : 1,
  ))
    if (file.endsWith('.json') && body !== '')
      gather(JSON.parse(escaped ? unescaped(body) : body), items)
  return items
}

function gather(value: unknown, items: Map<string, Item>): void {
  if (isNode(value)) {
    const { kind, data } = value
    const item = kind === 't3' ? postIn(data) : kind === 't1' ? commentIn(data) : null
    if (item !== null && !items.has(item.name)) items.set(item.name, item)
  }
  if (Array.isArray(value)) for (const inner of value) gather(inner, items)
  else if (isObject(value)) for (const inner of Object.values(value)) gather(inner, items)
}

const postIn = (row: Record<string, unknown>): Item => ({ ...toPost('', row), kind: 'post' })
const commentIn = (row: Record<string, unknown>): Item => ({
  ...toComment('', row),
  kind: 'comment',
})
