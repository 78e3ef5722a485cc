import type { Naming } from '../forum/naming.ts'
export const EXPORT_FORMATS = ['ndjson', 'csv'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

type Row = Readonly<Record<string, unknown>>

/** Columns of a CSV export: `text` is the text of a post or a comment. */
const columnsWith = (community: string): readonly string[] => [
  'id',
  'source',
  'kind',
  community,
  'author',
  'created',
  'score',
  'comments',
  'title',
  'text',
  'permalink',
  'url',
  'first_seen',
]

/** First line of an export; empty for NDJSON. */
export const exportHead = (format: ExportFormat, community: string): string =>
  format === 'csv' ? `${columnsWith(community).join(',')}\r\n` : ''

export function exportLine(
  format: ExportFormat,
  { community, home }: Pick<Naming, 'community' | 'home'>,
  row: object,
): string {
  if (format === 'ndjson') return `${JSON.stringify(row)}\n`
  const item: Row = Object.fromEntries(Object.entries(row))
  return `${columnsWith(community)
    .map((column) => cell(valueOf(item, column, home)))
    .join(',')}\r\n`
}

function valueOf(item: Row, column: string, home: string | null): unknown {
  switch (column) {
    case 'id':
      return item['name']
    case 'source':
      return item['source'] ?? home
    case 'score':
      return item['upvotes']
    case 'title':
      return item['title'] ?? item['link_title']
    case 'text':
      return item['text'] ?? item['body']
    case 'first_seen':
      return Object(item['archived']).first_seen
    default:
      return item[column]
  }
}

/** A spreadsheet runs a cell that begins so as a formula, and the text is a stranger's. */
const FORMULA = /^[=+\-@\t\r]/

/** A cell by RFC 4180. A text that a spreadsheet would run gets an apostrophe before it. */
function cell(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return ''
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
