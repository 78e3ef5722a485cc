import { useMemo } from 'preact/hooks'

import { Marked, Outward } from '../../components/item.tsx'
import { safeUrl } from '../../lib/format.ts'
import { type Block, blocksOf, type Part } from './state/written.ts'

/** A text of the platform in paragraphs, quotes and links, with its terms marked. Other markup stays as written. */
export function WrittenText({ text, terms }: { text: string; terms: RegExp | null }) {
  const pattern = terms?.source ?? ''
  // The same elements are not compared again while the list around them changes.
  return useMemo(
    () => (
      <div class="written-blocks">
        {blocksOf(text).map((block, at) => (
          <BlockView key={at} block={block} terms={terms} />
        ))}
      </div>
    ),
    [text, pattern],
  )
}

function BlockView({ block, terms }: { block: Block; terms: RegExp | null }) {
  const parts = block.parts.map((part, at) => <PartView key={at} part={part} terms={terms} />)
  if (block.kind === 'quote')
    return (
      <blockquote>
        <p>{parts}</p>
      </blockquote>
    )
  if (block.kind === 'code') return <pre>{block.parts.map(({ text }) => text).join('')}</pre>
  return <p>{parts}</p>
}

/** A link shows its host, because its text may name another one. */
function PartView({ part: { text, url }, terms }: { part: Part; terms: RegExp | null }) {
  const href = url === null ? null : safeUrl(url)
  if (href === null) return <Marked text={text} terms={terms} />
  const { host } = new URL(href)
  return (
    <>
      <Outward url={href}>{text}</Outward>
      {!text.includes(host) && <span class="quiet"> ({host})</span>}
    </>
  )
}
