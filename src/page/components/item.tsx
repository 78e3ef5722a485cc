import type { ComponentChildren } from 'preact'

import { useCurrentUser } from '../hooks/contexts.ts'
import { ellipsize, safeUrl, words as inWords } from '../lib/format.ts'
import type { Item } from '../lib/types.ts'
import { Time } from './base/time.tsx'

type OutwardProps = { url: unknown; own?: boolean; children: ComponentChildren }

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

/** Text without its line breaks, and without the markup that only spoils reading it: links, quotes, headings. */
const plainText = (markdown: string): string =>
  markdown
    .replace(/\[([^\][]*)\]\([^()\s]*\)/g, '$1')
    .replace(/^\s*(?:>|#{1,6}(?= ))\s?/gm, '')
    .replace(/\s+/g, ' ')
    .trim()

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const titleOf = (item: Item): string =>
  textOf(item.title) || textOf(item.link_title) || ellipsize(textOf(item.body), 80) || item.id

/** Characters of an excerpt before its first term. */
const LEAD = 60

/** The start of a text, or the part around its first term. */
function excerptOf(text: string, terms: RegExp | null): string {
  const at = terms === null ? -1 : text.search(terms)
  // Never cuts a surrogate pair: a space comes before the part.
  const from = at < EXCERPT_MAX - LEAD ? 0 : text.lastIndexOf(' ', at - LEAD) + 1
  return (from > 0 ? '… ' : '') + ellipsize(text.slice(from), EXCERPT_MAX)
}

/** An expression for any of these terms as whole words; null: none. */
export const termsOf = (terms: readonly string[]): RegExp | null =>
  terms.length === 0
    ? null
    : new RegExp(
        `(?<![\\p{L}\\p{N}])(${terms.map((it) => it.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|')})(?![\\p{L}\\p{N}])`,
        'iu',
      )

export function Marked({ text, terms }: { text: string; terms: RegExp | null }) {
  if (terms === null) return <>{text}</>
  // Split by a group: the odd parts are the terms.
  return (
    <>
      {text
        .split(new RegExp(terms, 'giu'))
        .map((part, at) => (at % 2 === 1 ? <mark key={at}>{part}</mark> : part))}
    </>
  )
}

/** A post or comment. Platform content is rendered as plain text only. `children`: beside its matched terms. */
export function ItemView({ item, children }: { item: Item; children?: ComponentChildren }) {
  const { words } = useCurrentUser()
  const text = plainText(textOf(item.body) || textOf(item.text))
  // A title that repeats the text says all of it.
  const excerpt = text === textOf(item.title).trim() ? '' : text
  const place = textOf(item[words.community])
  const terms = item.enrichment?.relevance.matched_terms ?? []
  const marked = termsOf(terms)
  return (
    <article class="item">
      <h3>
        <Outward url={item.url} own>
          <Marked text={ellipsize(titleOf(item), TITLE_MAX)} terms={marked} />
        </Outward>
      </h3>
      {excerpt !== '' && (
        <p class="excerpt">
          <Marked text={excerptOf(excerpt, marked)} terms={marked} />
        </p>
      )}
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
      {(terms.length > 0 || children !== undefined) && (
        <div class="item-foot">
          {terms.length > 0 && (
            <ul class="terms" aria-label="Matched terms">
              {terms.map((it) => (
                <li key={it}>{it}</li>
              ))}
            </ul>
          )}
          {children}
        </div>
      )}
    </article>
  )
}
