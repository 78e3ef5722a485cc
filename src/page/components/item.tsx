import type { ComponentChildren } from 'preact'

import { useCurrentUser } from '../hooks/contexts.ts'
import { ellipsize, safeUrl, words as inWords } from '../lib/format.ts'
import type { Item } from '../lib/types.ts'
import { Time } from './base/time.tsx'

type OutwardProps = { url: unknown; own?: boolean; children: ComponentChildren }

/** An external link without a referrer. */
export function Outward({ url, own = false, children }: OutwardProps) {
  const href = safeUrl(url, own)
  if (href === null) return <>{children}</>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

const TITLE_MAX = 300
const EXCERPT_MAX = 280

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The title of a post or comment in a list. */
export const titleOf = (item: Item): string =>
  textOf(item.title) || textOf(item.link_title) || ellipsize(textOf(item.body), 80) || item.id

/** A post or comment. Platform content is rendered as plain text only. */
export function ItemView({ item }: { item: Item }) {
  const { words } = useCurrentUser()
  const excerpt = textOf(item.body) || textOf(item.text)
  const place = textOf(item[words.community])
  const terms = item.enrichment?.relevance.matched_terms ?? []
  return (
    <article class="item">
      <h3>
        <Outward url={item.url} own>
          {ellipsize(titleOf(item), TITLE_MAX)}
        </Outward>
      </h3>
      {excerpt !== '' && <p class="excerpt">{ellipsize(excerpt, EXCERPT_MAX)}</p>}
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
