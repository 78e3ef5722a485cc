import { useWho } from '../around.ts'
import { cut, words as inWords } from '../show.ts'
import type { Item } from '../types.ts'
import { Outward } from './outward.tsx'
import { Time } from './time.tsx'

const TITLE_MAX = 300
const EXCERPT_MAX = 280

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What a post or comment is called in a list. */
export const titleOf = (item: Item): string =>
  textOf(item.title) || textOf(item.link_title) || cut(textOf(item.body), 80) || item.id

/** A post or a comment: what strangers wrote is text here, and nothing else. */
export function ItemView({ item }: { item: Item }) {
  const { words } = useWho()
  const excerpt = textOf(item.body) || textOf(item.text)
  const place = textOf(item[words.community])
  const terms = item.enrichment?.relevance.matched_terms ?? []
  return (
    <article class="item">
      <h3>
        <Outward url={item.url} own>
          {cut(titleOf(item), TITLE_MAX)}
        </Outward>
      </h3>
      {excerpt !== '' && <p class="excerpt">{cut(excerpt, EXCERPT_MAX)}</p>}
      <p class="quiet small-text facts">
        {place !== '' && <span>{place}</span>}
        {textOf(item.author) !== '' && <span>by {textOf(item.author)}</span>}
        <span>
          <Time at={item.created} none="at an unknown time" />
        </span>
        {item.enrichment && (
          <span>
            {inWords(item.enrichment.intent.tag)}, {item.enrichment.sentiment.label}
          </span>
        )}
      </p>
      {terms.length > 0 && (
        <ul class="terms" aria-label="Matched terms">
          {terms.map((it) => (
            <li key={it}>{it}</li>
          ))}
        </ul>
      )}
    </article>
  )
}
