import { escapeHtml } from '../server/response.ts'

/** Part of an address for a title: `a-quiet-grinder`. */
export const slugOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'topic'

/** ISO 8601 with milliseconds, in UTC. */
export const isoOf = (at: number): string => new Date(at).toISOString()

/** Paragraphs of Markdown as HTML: links, bold, code and quotes. */
export const paragraphsOf = (markdown: string): string[] =>
  markdown
    .split(/\n{2,}/)
    .map((block) =>
      block.startsWith('> ')
        ? `<blockquote>\n<p>${inlineHtml(block.slice(2))}</p>\n</blockquote>`
        : `<p>${inlineHtml(block)}</p>`,
    )

const inlineHtml = (text: string) =>
  escapeHtml(text)
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\n/g, '<br>\n')

/** Beginning of a text for a list, in one line. */
export function excerptOf(text: string, most = 200): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > most ? `${line.slice(0, most).trimEnd()}…` : line
}

/** True if every word of a query begins a word of the text. */
export const matchesWords = (text: string, words: readonly string[]): boolean => {
  const found = new Set(text.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  return words.every((word) => [...found].some((each) => each.startsWith(word.toLowerCase())))
}

/** Addresses of invented sites that posts link to. */
export const LINKED_SITES = [
  'https://www.example.com/stories/',
  'https://notes.example.org/',
  'https://blog.example.com/2026/',
  'https://shop.example.net/p/',
]
