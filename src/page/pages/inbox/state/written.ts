/** A part of a paragraph; `url`: the target of a link, null for text. */
export type Part = { text: string; url: string | null }

export type Block = { kind: 'text' | 'quote' | 'code'; parts: Part[] }

/** Blocks of one text; the remainder follows as one paragraph. */
const BLOCKS_MAX = 500

const LINK =
  /\[([^\][\n]{1,300})\]\((https:\/\/[^()\s]{1,2000})\)|(https:\/\/[^\s<>"'`)\]]{1,2000})/g
/** Punctuation after an address that belongs to the sentence. */
const TRAILING = /[.,;:!?]+$/

/** Splits a text in markdown into blocks. Links become parts of their own; all other markup stays as it is written. */
export function blocksOf(text: string): Block[] {
  const paragraphs = text
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n+/)
    .map((it) => it.replace(/^\n+|\s+$/g, ''))
    .filter((it) => it.trim() !== '')
  const first = paragraphs.slice(0, BLOCKS_MAX)
  const rest = paragraphs.slice(BLOCKS_MAX).join('\n\n')
  return [...first, ...(rest === '' ? [] : [rest])].map(blockOf)
}

function blockOf(paragraph: string): Block {
  const lines = paragraph.split('\n')
  if (lines.every((it) => /^(?: {4}|\t)/.test(it)))
    return {
      kind: 'code',
      parts: [{ text: lines.map((it) => it.replace(/^(?: {4}|\t)/, '')).join('\n'), url: null }],
    }
  if (lines.every((it) => /^\s*(?:>|&gt;)/.test(it)))
    return {
      kind: 'quote',
      parts: partsOf(lines.map((it) => it.replace(/^\s*(?:>|&gt;)\s?/, '')).join('\n')),
    }
  return { kind: 'text', parts: partsOf(paragraph) }
}

function partsOf(text: string): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const { 0: whole, 1: label, 2: target, 3: bare = '', index } of text.matchAll(LINK)) {
    const shown = bare.replace(TRAILING, '')
    const end = label === undefined ? index + shown.length : index + whole.length
    if (index > at) parts.push({ text: text.slice(at, index), url: null })
    parts.push({ text: label ?? shown, url: target ?? shown })
    at = end
  }
  if (at < text.length) parts.push({ text: text.slice(at), url: null })
  return parts
}
